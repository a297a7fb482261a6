"""Two periods or two models beside each other, and whether the data carry a difference.

Calls of one trace resemble each other, so traces are what is sampled, not calls. Each share gets a Wilson interval over its effective
number of calls: their number divided by the design effect, which is how much the spread between traces exceeds that of independent
calls. The interval of a difference joins both (Newcombe's method). All of a comparison's intervals hold together with 95%: each is
as wide as that takes. Pure, and the same every time: nothing is drawn at random.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from hunkwatch.report import words
from hunkwatch.report.counts import Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hunkwatch.report.rows import Row

LEAST_TRACES = 20
"""Traces on each side below which no difference is called, whatever the numbers say."""

LEVEL = 0.95
"""How often all intervals of one comparison hold together."""

_MEASURES: tuple[tuple[str, Callable[[Counts], tuple[int, int]]], ...] = (
    ("calls with a blind rewrite", lambda its: (its.blind_calls, its.counted)),
    ("blind hunks", lambda its: (its.blind_hunks, its.hunks)),
    ("calls with a retyped line", lambda its: (its.retyped_calls, its.counted)),
    ("calls that failed to apply", lambda its: (its.failed, its.tried)),
)
_Z = NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / len(_MEASURES))
_DAY = r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?"
_PERIOD = re.compile(rf"{_DAY}(?:/{_DAY})?")

METHOD = (
    f"A difference is called only if its interval leaves out zero and both sides have {LEAST_TRACES} traces or more.",
    f"All four intervals hold together with {LEVEL:.0%}.",
    "Calls of one trace resemble each other: the intervals are those of traces, not of calls. They cover chance alone.",
    "Other tasks, people or repositories on one side make a difference too; the numbers cannot tell that from a better model.",
)
"""What has to be read with a comparison."""


@dataclass(frozen=True, slots=True)
class Side:
    """The calls on one side: those of a model, or those that began in a time."""

    name: str
    model: str = ""
    start: datetime | None = None
    end: datetime | None = None

    def holds(self, row: Row) -> bool:
        """Say whether a call belongs to this side."""
        if self.start is None or self.end is None:
            return row.model == self.model
        return self.start <= row.at < self.end


def sides(text: str) -> tuple[Side, Side]:
    """Read ``A..B``: two periods (a year, a month, a day, or two of them with a slash between, ends included), or two models.

    Raises ValueError, worded for whoever typed it.
    """
    first, between, second = text.partition("..")
    if not (first and between and second):
        raise ValueError("write A..B: two periods like 2026-01..2026-02, or two models")
    found = _side(first), _side(second)
    if (found[0].start is None) != (found[1].start is None):
        raise ValueError("one side is a period and the other is not; write model:NAME for a model that looks like a date")
    return found


class Sampled:
    """A share over traces: sums from which it and its spread follow, whatever the number of traces."""

    def __init__(self) -> None:
        """Begin with no trace."""
        self.traces = self.part = self.whole = 0
        self._parts = self._wholes = self._both = 0

    def add(self, part: int, whole: int) -> None:
        """Take one trace; one without anything to count says nothing."""
        if not whole:
            return
        self.traces += 1
        self.part += part
        self.whole += whole
        self._parts += part * part
        self._wholes += whole * whole
        self._both += part * whole

    @property
    def share(self) -> float:
        """The share over everything."""
        return self.part / self.whole

    def effective(self) -> float:
        """Return how many independent calls would spread the share as much as these traces do, at most as many as there are.

        Where nothing spreads, since the share is none or all, or one trace is all there is, each trace counts once.
        """
        share, traces = self.share, self.traces
        if traces == 1 or not 0 < share < 1:
            return traces
        spread = (self._parts - 2 * share * self._both + share * share * self._wholes) / self.whole**2 * traces / (traces - 1)
        alone = share * (1 - share) / self.whole
        return self.whole / max(spread / alone, 1)

    def interval(self) -> tuple[float, float]:
        """Return the Wilson interval of the share, wider for few traces as Student's distribution is."""
        share, number, z = self.share, self.effective(), _student(self.traces - 1)
        middle = (share + z * z / (2 * number)) / (1 + z * z / number)
        half = z / (1 + z * z / number) * sqrt(share * (1 - share) / number + z * z / (4 * number * number))
        return max(middle - half, 0.0), min(middle + half, 1.0)


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure on both sides. ``low`` and ``high`` bound the second share minus the first; None where a side has nothing."""

    measure: str
    first: Sampled
    second: Sampled
    low: float | None
    high: float | None

    @property
    def called(self) -> bool:
        """Say whether the data carry a difference."""
        if self.low is None or self.high is None or min(self.first.traces, self.second.traces) < LEAST_TRACES:
            return False
        return self.low > 0 or self.high < 0

    @property
    def verdict(self) -> str:
        """Return in words what the data carry."""
        if self.low is None or self.high is None:
            return "nothing to compare"
        fewest = min(self.first.traces, self.second.traces)
        if fewest < LEAST_TRACES:
            return f"not called: {words.many(fewest, 'trace')} on one side, {LEAST_TRACES} are needed"
        if not self.called:
            return "no difference that the data carry"
        return "higher in the second" if self.low > 0 else "lower in the second"

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return the measure, both shares, the interval of the difference, and the verdict."""
        bounds = "-" if self.low is None or self.high is None else f"{100 * self.low:+.1f} to {100 * self.high:+.1f} points"
        return (self.measure, _told(self.first), _told(self.second), bounds, self.verdict)

    def plain(self) -> dict[str, object]:
        """Return everything for machines."""
        return {
            "measure": self.measure,
            "first": _plain(self.first),
            "second": _plain(self.second),
            "difference_low": None if self.low is None else round(self.low, 4),
            "difference_high": None if self.high is None else round(self.high, 4),
            "called": self.called,
            "verdict": self.verdict,
        }


@dataclass(slots=True)
class Comparison:
    """Two sides while they are counted, trace by trace."""

    sides: tuple[Side, Side]
    _sampled: list[tuple[Sampled, Sampled]] = field(default_factory=lambda: [(Sampled(), Sampled()) for _ in _MEASURES])

    def add(self, rows: Iterable[Row]) -> None:
        """Count the rows of one trace on the side that they belong to; a row may belong to both."""
        its = list(rows)
        for at, side in enumerate(self.sides):
            counted = Counts()
            for row in its:
                if side.holds(row):
                    counted.add(row.hunks, row.blind_hunks, row.retyped_lines, row.outcome, abstained=row.abstained)
            for pair, (_, facts) in zip(self._sampled, _MEASURES, strict=True):
                pair[at].add(*facts(counted))

    @property
    def title(self) -> str:
        """Return what is compared with what."""
        return f"{self.sides[0].name} with {self.sides[1].name}"

    def differences(self) -> list[Difference]:
        """Return every measure with the interval of its difference."""
        return [Difference(name, *pair, *_newcombe(*pair)) for (name, _), pair in zip(_MEASURES, self._sampled, strict=True)]


def _newcombe(first: Sampled, second: Sampled) -> tuple[float | None, float | None]:
    if not first.traces or not second.traces:
        return None, None
    (low1, high1), (low2, high2) = first.interval(), second.interval()
    share1, share2 = first.share, second.share
    apart = share2 - share1
    return apart - sqrt((share2 - low2) ** 2 + (high1 - share1) ** 2), apart + sqrt((high2 - share2) ** 2 + (share1 - low1) ** 2)


def _student(freedom: int) -> float:
    """Return the quantile of Student's distribution at our level, by its expansion around the normal one."""
    z, free = _Z, max(freedom, 1)
    return z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)


def _side(text: str) -> Side:
    text = text.strip()
    if text.startswith("model:"):
        return Side(text, model=text.removeprefix("model:"))
    found = _PERIOD.fullmatch(text)
    if found is None:
        return Side(text, model=text)
    begins, ends = found.groups()[:3], found.groups()[3:] if found[4] else found.groups()[:3]
    start, end = _span(*begins)[0], _span(*ends)[1]
    if start >= end:
        raise ValueError(f"{text} ends before it begins")
    return Side(text, start=start, end=end)


def _span(year: str, month: str | None, day: str | None) -> tuple[datetime, datetime]:
    """Return the first moment of a year, month or day, and the first one after it."""
    start = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
    last = datetime(int(year), int(month or 12), int(day or monthrange(int(year), int(month or 12))[1]), tzinfo=UTC)
    return start, datetime.max.replace(tzinfo=UTC) if last.date() == date.max else last + timedelta(days=1)


def _told(one: Sampled) -> str:
    return words.of(one.part, one.whole, f"in {words.many(one.traces, 'trace')}") if one.traces else "none"


def _plain(one: Sampled) -> dict[str, object]:
    low, high = one.interval() if one.traces else (None, None)
    return {
        "traces": one.traces,
        "part": one.part,
        "whole": one.whole,
        "share": round(one.share, 4) if one.traces else None,
        "low": None if low is None else round(low, 4),
        "high": None if high is None else round(high, 4),
    }

"""What the worker would write of one day, from the data that is there: read, graded and counted, and nothing kept.

Bounded by pages: where a day has too many, an hour stands for it, then five minutes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from hunkwatch.core import evaluate
from hunkwatch.core.window import Window
from hunkwatch.daemon.haul import sampled
from hunkwatch.ports import ObservationKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from hunkwatch.core.model import GradedCall, Score
    from hunkwatch.ports import ObservationSource
    from hunkwatch.settings import Settings

DAY = timedelta(days=1)
DAYS_A_MONTH = 30
STRETCHES = (DAY, timedelta(hours=1), timedelta(minutes=5))
MOST_PAGES = 40
"""Of one stretch; the last is cut here."""

_LATER = timedelta(days=1)
"""Everything of the stretch counts as settled."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a stretch of time came to. Calls are counted once, however often they were recorded."""

    stretch: timedelta
    traces: int
    calls: int
    scores: Mapping[str, int] = field(default_factory=dict)
    """By name, under these settings; each once, however often a trace that goes on is rolled up."""

    def __str__(self) -> str:
        """Say it in a sentence."""
        its = ", ".join(f"{count} {name}" for name, count in self.scores.items() if count) or "none"
        seen = f"{_words(self.stretch)}: {self.calls} calls in {self.traces} traces would get {sum(self.scores.values())} scores ({its})"
        return f"{seen}; at that rate {self.a_month} a month, each a billable unit on Langfuse Cloud"

    @property
    def a_day(self) -> int:
        """Return how many scores a day like this has."""
        return round(sum(self.scores.values()) * (DAY / self.stretch))

    @property
    def a_month(self) -> int:
        """Return how many scores a month of such days has."""
        return self.a_day * DAYS_A_MONTH


async def estimate(source: ObservationSource, settings: Settings, *, now: datetime) -> Estimate:
    """Count what the last day, or what stands for it, would come to."""
    for stretch in STRETCHES:
        calls = await _calls(source, settings, Window(now - stretch, now))
        if calls is not None:
            break
    else:
        calls = []
    by_trace: dict[str, list[GradedCall]] = {}
    for call in calls:
        by_trace.setdefault(call.trace_id, []).append(call)
    evaluated = [evaluate.trace("", its, now=now + _LATER, request_grace=timedelta(0)) for its in by_trace.values()]
    scores = _counts((score for one in evaluated for score in one.scores), settings.scores.write)
    return Estimate(stretch, len(by_trace), sum(len(one.counted) for one in evaluated), scores)


async def _calls(source: ObservationSource, settings: Settings, window: Window) -> list[GradedCall] | None:
    """Return the calls of a window; None when it has too many pages, unless it is the last that is tried."""
    found: dict[ObservationKey, tuple[GradedCall, ...]] = {}
    pages = 0
    last = window.end - window.start == STRETCHES[-1]
    async for page in source.candidates(window, complete=True):
        pages += 1
        if pages > MOST_PAGES:
            if not last:
                return None
            break
        for row in sampled(page, settings.sweep.sample).observations:
            found[ObservationKey(row.trace_id, row.id)] = evaluate.grade_observation(row)
    return [call for calls in found.values() for call in calls]


def _words(stretch: timedelta) -> str:
    return {DAY: "the last day", STRETCHES[1]: "the last hour"}.get(stretch, "the last five minutes")


def _counts(scores: Iterable[Score], written: Iterable[str]) -> dict[str, int]:
    counts = dict.fromkeys(written, 0)
    for score in scores:
        if score.name in counts:
            counts[score.name] += 1
    return counts

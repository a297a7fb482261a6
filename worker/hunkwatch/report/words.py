"""The words around the numbers of a report, the same on a terminal and in a page; the caveats are those of the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unicodedata import category

from hunkwatch.core import caveats
from hunkwatch.core.model import Shape

if TYPE_CHECKING:
    from datetime import datetime

    from hunkwatch.report.counts import Counts
    from hunkwatch.report.made import Report
    from hunkwatch.report.survey import TraceLine

GROUP_NAMES = {
    "day": "day",
    "environment": "environment",
    "trace_name": "trace name",
    "producer": "producer",
    "model": "model",
    "session": "session",
    "file_type": "file type",
}

CAVEATS = (
    f"Blind rewrite: {caveats.of('blind_rewrite').caveat}",
    f"Retyped lines: {caveats.of('retyped_lines').caveat}",
    "Abstaining is not zero: a call without a number stands in no share, and its reason is counted beside them.",
    "Failures to apply stand beside the numbers and never move them: what goes together need not be cause and effect.",
    "Nobody here has the repository or a better patch to compare with: no number says that a model or an agent is good.",
)
"""What has to be read with the numbers."""

LONGEST_NAME = 120
"""Characters of a name that are shown; machines get all of it."""

ORDER = "Most retyped lines first, then most blind hunks, then most failures, then the newest."


def title(report: Report) -> str:
    """Return what is counted."""
    total = report.survey.total
    return f"{many(total.calls, 'call')} in {many(total.traces, 'trace')}"


def period(report: Report) -> str:
    """Return from when to when the counted calls began."""
    first, last = report.survey.first, report.survey.last
    if first is None or last is None:
        return "no call"
    days = f"{first.date()}" if first.date() == last.date() else f"{first.date()} to {last.date()}"
    return f"{days} (UTC)"


def summary(total: Counts) -> list[tuple[str, str]]:
    """Return the numbers that come first, each with its name and what it is a share of."""
    reasons = ", ".join(f"{count:,} {name}" for name, count in total.abstained.most_common())
    others = "".join(f"; {total.outcomes[name]:,} {name}" for name in ("rejected", "unknown") if total.outcomes[name])
    return [
        ("calls with a blind rewrite", of(total.blind_calls, total.counted, "calls with a number")),
        ("blind hunks", of(total.blind_hunks, total.hunks, "hunks")),
        ("retyped lines", f"{total.retyped_lines:,} in {many(total.retyped_calls, 'call')}"),
        ("calls without a number", f"{total.without_number:,}{f': {reasons}' if reasons else ''}"),
        ("failed to apply", of(total.failed, total.tried, "calls tried") + others),
    ]


def left_out(report: Report) -> str:
    """Return which files were left out, and how many."""
    counted = report.survey.leaves_out.counted
    if not report.asked.patterns:
        return "No file is left out."
    if not counted:
        return "Generated files and lockfiles are left out; there was none."
    named = ", ".join(f"{pattern} {count:,}" for pattern, count in counted.most_common(5))
    more = f" and {len(counted) - 5} more patterns" if len(counted) > 5 else ""  # noqa: PLR2004 - as many as were named
    return f"Left out as generated, or because it was asked: {many(counted.total(), 'file')} of calls ({named}{more})."


def reason(shape: str) -> str:
    """Return in words why a call has no number."""
    return caveats.SHAPES[Shape(shape)]


def name(text: str) -> str:
    """Return a name as people read it: bounded, and with nothing in it that nobody sees."""
    cut = text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}..."
    return visible(cut)


def visible(text: str, instead: str = "?") -> str:
    """Return a text with ``instead`` for what would steer whatever shows it, or turn it around: controls, overrides, half characters."""
    if text.isprintable():
        return text
    return "".join(sign if sign in _JOINERS or category(sign) not in _HIDDEN else instead for sign in text)


def minute(at: datetime) -> str:
    """Return a moment to the minute; moments of any year are in order as texts."""
    return at.replace(tzinfo=None).isoformat(" ", "minutes")


def many(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def of(part: int, whole: int, what: str) -> str:
    """Return a part of a whole, with its share."""
    return f"{part:,} of {whole:,} {what}{f' ({percent(part / whole)})' if whole else ''}"


def percent(share: float | None) -> str:
    """Return a share as people read it: never 0% for something, never 100% for not all."""
    if share is None:
        return "-"
    if 0 < share <= 0.005:  # noqa: PLR2004 - what would round to 0%
        return "<1%"
    if 0.995 <= share < 1:  # noqa: PLR2004 - what would round to 100%
        return ">99%"
    return f"{share:.0%}"


def cell(number: int | float | None) -> str:  # noqa: PYI041 - which of the two it is decides
    """Return a number as it stands in a table: a count, or a share."""
    return percent(number) if number is None or isinstance(number, float) else f"{number:,}"


def about(line: TraceLine) -> str:
    """Return the numbers of one trace in a sentence."""
    its = line.counts
    return (
        f"{minute(line.at)}, {many(its.calls, 'call')}: {many(its.retyped_lines, 'retyped line')}, "
        f"{its.blind_hunks:,} of {many(its.hunks, 'hunk')} blind, {its.failed:,} failed"
    )


_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = {"\u200c", "\u200d"}
"""Signs of these kinds are not shown, but for the two that scripts and emoji need."""

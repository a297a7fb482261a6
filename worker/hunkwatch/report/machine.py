"""A report for machines: one JSON value, or CSV lines of one form whatever they count."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from hunkwatch.report import counts, words
from hunkwatch.report.compare import LEVEL, METHOD
from hunkwatch.report.counts import Counts
from hunkwatch.report.survey import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hunkwatch.report.compare import Comparison
    from hunkwatch.report.made import Report
    from hunkwatch.report.survey import TraceLine

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_COLUMNS = tuple(Counts().plain())


def as_json(report: Report) -> dict[str, object]:
    """Return everything but the lines of single traces beyond those worth opening."""
    survey = report.survey
    return {
        "source": report.source,
        "made_at": report.made_at.isoformat(),
        "since": None if report.asked.since is None else report.asked.since.isoformat(),
        "until": None if report.asked.until is None else report.asked.until.isoformat(),
        "first": None if survey.first is None else survey.first.isoformat(),
        "last": None if survey.last is None else survey.last.isoformat(),
        "left_out": {"patterns": list(report.asked.patterns), "files": dict(survey.leaves_out.counted)},
        "total": survey.total.plain(),
        "without_number": {"reasons": dict(survey.total.abstained)},
        "by": {name: [{name: value, **its.plain()} for value, its in survey.group(name)] for name in GROUPS},
        "by_retyped_lines": [
            {"retyped_lines": counts.step_name(step), **survey.by_retyped[step].plain()} for step in sorted(survey.by_retyped)
        ],
        "compared": None if survey.comparison is None else _compared(survey.comparison),
        "worth_opening": [_trace(report, line) for line in survey.worth_opening()],
        "caveats": list(words.CAVEATS),
    }


def as_csv(report: Report) -> Iterator[str]:
    """Yield lines, the header first: the total, every member of every group, every trace."""
    yield _line("by", "value", *_COLUMNS)
    survey = report.survey
    yield _counted("total", "", survey.total)
    for name in GROUPS:
        for value, its in survey.group(name):
            yield _counted(name, value, its)
    for step in sorted(survey.by_retyped):
        yield _counted("retyped_lines", counts.step_name(step), survey.by_retyped[step])
    for line in sorted(survey.traces, key=lambda line: line.rank):
        yield _counted("trace", line.trace_id, line.counts)


def _compared(comparison: Comparison) -> dict[str, object]:
    first, second = comparison.sides
    differences = [difference.plain() for difference in comparison.differences()]
    return {"first": first.name, "second": second.name, "level": LEVEL, "differences": differences, "method": list(METHOD)}


def _trace(report: Report, line: TraceLine) -> dict[str, object]:
    return {
        "project": line.project,
        "trace_id": line.trace_id,
        "trace_name": line.name,
        "at": line.at.isoformat(),
        "environment": line.environment,
        "session": line.session,
        "producers": list(line.producers),
        "models": list(line.models),
        "shapes": dict(line.shapes),
        "blind_rewrite": line.counts.blind_rewrite,
        **line.counts.plain(),
        "link": report.link(line.project, line.trace_id) or None,
    }


def _counted(by: str, value: str, its: Counts) -> str:
    return _line(by, value, *its.plain().values())


def _line(*cells: object) -> str:
    """Write one line; a text that a spreadsheet would take for a formula is quoted as one that is none."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow([_guarded(cell) if isinstance(cell, str) else cell for cell in cells])
    return stream.getvalue()


def _guarded(text: str) -> str:
    whole = text.encode("utf-8", "replace").decode("utf-8")  # half a character is in no encoding
    return f"'{whole}" if whole.startswith(_FORMULA) else whole

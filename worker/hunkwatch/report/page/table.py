"""The table of traces in a page: a bounded number of lines, those worth opening first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunkwatch.report import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.report.made import Report
    from hunkwatch.report.survey import TraceLine

MOST_TRACES = 5000

COLUMNS: tuple[dict[str, object], ...] = (
    {"id": "name", "title": "trace", "text": True},
    {"id": "at", "title": "began (UTC)", "text": True},
    {"id": "calls", "title": "calls"},
    {"id": "blind_hunks", "title": "blind hunks"},
    {"id": "hunks", "title": "hunks"},
    {"id": "retyped_lines", "title": "retyped lines"},
    {"id": "failed", "title": "failed"},
    {"id": "without_number", "title": "no number"},
    {"id": "trace_id", "about": "trace"},
    {"id": "environment", "about": "environment"},
    {"id": "session", "about": "session"},
    {"id": "producers", "about": "written by"},
    {"id": "models", "about": "model"},
    {"id": "shapes", "about": "shapes"},
    {"id": "link"},
    {"id": "worth"},
)
"""What a line holds: columns with a title are shown, those with ``about`` stand in the details."""


def of(report: Report, worth: Sequence[TraceLine]) -> dict[str, object]:
    """Return the columns and the lines."""
    places = {id(line): number for number, line in enumerate(worth, start=1)}
    lines = sorted(report.survey.traces, key=lambda line: line.rank)[:MOST_TRACES]
    return {"columns": COLUMNS, "rows": [_row(report, line, places.get(id(line), 0)) for line in lines]}


def about(report: Report) -> str:
    """Return what the table shows, and what it does not."""
    total = len(report.survey.traces)
    if total <= MOST_TRACES:
        return f"All {words.many(total, 'trace')}. {words.ORDER}"
    return f"{MOST_TRACES:,} of {total:,} traces; --csv prints all of them. {words.ORDER}"


def _row(report: Report, line: TraceLine, worth: int) -> list[object]:
    its = line.counts
    shapes = ", ".join(f"{name} {count}" for name, count in line.shapes.most_common())
    return [
        words.name(line.name),
        words.minute(line.at),
        its.calls,
        its.blind_hunks,
        its.hunks,
        its.retyped_lines,
        its.failed,
        its.without_number,
        line.trace_id,
        words.name(line.environment),
        words.name(line.session),
        ", ".join(line.producers),
        words.name(", ".join(line.models)),
        shapes,
        report.link(line.project, line.trace_id),
        worth,
    ]

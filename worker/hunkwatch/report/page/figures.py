"""The plots of a page: what the plotting library draws, and the same numbers as tables for whoever does not look at plots.

Counted groups are drawn and never single calls, so that a page over a hundred thousand calls is as light as one over a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from html import escape
from typing import TYPE_CHECKING, Any

from hunkwatch.report import counts, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.report.counts import Counts
    from hunkwatch.report.survey import Survey

MOST_BARS = 15
MOST_ROWS = 50
"""Members of a group that are drawn, and that stand in its table."""

COLUMNS = ("calls", "traces", "with a number", "with a blind rewrite", "share", "retyped lines", "no number", "failed", "of tried", "share")
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers in rows; the first cell of a row is its name."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """One plot: ``drawn`` is what the page's script gets. ``choices`` are the values and names of a list to choose from."""

    id: str
    title: str
    drawn: dict[str, Any]
    tables: tuple[Table, ...]
    choices: tuple[tuple[str, str], ...] = ()


def of(survey: Survey) -> tuple[Figure, ...]:
    """Return every plot that has something to show."""
    days = survey.group("day")
    drawn = (_calls_a_day(days), _shares_a_day(days), _by_group(survey), _by_retyped(survey), _reasons(survey))
    return tuple(figure for figure in drawn if any(table.rows for table in figure.tables))


def _calls_a_day(days: Sequence[tuple[str, Counts]]) -> Figure:
    names = [name for name, _ in days]
    series = [
        _bars("no blind rewrite", names, [its.counted - its.blind_calls for _, its in days], "plain"),
        _bars("with a blind rewrite", names, [its.blind_calls for _, its in days], "blind"),
        _bars("no number", names, [its.without_number for _, its in days], "none"),
    ]
    layout = {"barmode": "stack", "bargap": 0.2, "xaxis": {"type": _axis(names)}}
    return _figure("calls", "Calls a day", series, layout, _table("By day", "day", days))


def _shares_a_day(days: Sequence[tuple[str, Counts]]) -> Figure:
    names = [name for name, _ in days]
    series = [
        _line("with a blind rewrite", names, [_rounded(its.blind_share) for _, its in days], "blind"),
        _line("failed to apply", names, [_rounded(its.failed_share) for _, its in days], "failed"),
    ]
    layout = {"yaxis": _SHARES, "xaxis": {"type": _axis(names)}}
    return _figure(
        "shares", "Share of calls with a blind rewrite, and that failed to apply, by day", series, layout, _table("By day", "day", days)
    )


def _by_group(survey: Survey) -> Figure:
    groups = {name: survey.group(name) for name in words.GROUP_NAMES if name != "day"}
    variants = {name: _shares_of(members) for name, members in groups.items()}
    tables = tuple(_table(f"By {words.GROUP_NAMES[name]}", words.GROUP_NAMES[name], members) for name, members in groups.items())
    choices = tuple((name, words.GROUP_NAMES[name]) for name in groups)
    return Figure(
        "groups",
        "Share of calls with a blind rewrite, and that failed to apply, by group",
        {"id": "groups", "variants": variants},
        tables,
        choices,
    )


def _shares_of(members: Sequence[tuple[str, Counts]]) -> dict[str, Any]:
    shown = members[:MOST_BARS][::-1]
    names = _axis_names([name for name, _ in shown])
    series = [
        _bars("failed to apply", [_rounded(its.failed_share) for _, its in shown], names, "failed", orientation="h"),
        _bars("with a blind rewrite", [_rounded(its.blind_share) for _, its in shown], names, "blind", orientation="h"),
    ]
    layout = {
        "xaxis": _SHARES,
        "yaxis": {"type": "category"},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1, "traceorder": "reversed"},
    }
    return {"series": series, "layout": layout, "lines": 1.4 * len(shown)}


def _by_retyped(survey: Survey) -> Figure:
    members = [(counts.step_name(step), survey.by_retyped[step]) for step in sorted(survey.by_retyped)]
    series = [_bars("failed to apply", [name for name, _ in members], [_rounded(its.failed_share) for _, its in members], "failed")]
    layout = {"yaxis": _SHARES, "xaxis": {"type": "category", "title": {"text": "retyped lines of the call"}}, "showlegend": False}
    title = "Share of calls that failed to apply, by retyped lines"
    return _figure("retyped", title, series, layout, _table(title, "retyped lines", members))


def _reasons(survey: Survey) -> Figure:
    reasons = survey.total.abstained.most_common()
    series = [_bars("calls", [count for _, count in reasons[::-1]], [name for name, _ in reasons[::-1]], "none", orientation="h")]
    layout = {"yaxis": {"type": "category"}, "showlegend": False}
    table = Table(
        "Why there is no number", ("shape", "calls", "why"), tuple((name, f"{count:,}", words.reason(name)) for name, count in reasons)
    )
    drawn = {"id": "reasons", "series": series, "layout": layout, "lines": len(reasons)}
    return Figure("reasons", "Why calls have no number", drawn, (table,))


def _table(caption: str, first: str, members: Sequence[tuple[str, Counts]]) -> Table:
    shown = members[-MOST_ROWS:] if first == "day" else members[:MOST_ROWS]
    more = f", {MOST_ROWS} of {len(members):,}" if len(members) > len(shown) else ""
    return Table(f"{caption}{more}", (first, *COLUMNS), tuple((words.name(name), *_cells(its)) for name, its in shown))


def _cells(its: Counts) -> tuple[str, ...]:
    numbers = (its.calls, its.traces, its.counted, its.blind_calls, its.blind_share, its.retyped_lines, its.without_number)
    return tuple(words.cell(number) for number in (*numbers, its.failed, its.tried, its.failed_share))


def _figure(name: str, title: str, series: list[dict[str, Any]], layout: dict[str, Any], table: Table) -> Figure:
    return Figure(name, title, {"id": name, "series": series, "layout": layout}, (table,))


def _bars(name: str, x: Sequence[object], y: Sequence[object], paint: str, **more: object) -> dict[str, Any]:
    return {"type": "bar", "name": name, "x": list(x), "y": list(y), "paint": paint, **more}


def _line(name: str, x: Sequence[object], y: Sequence[object], paint: str) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines+markers", "name": name, "x": list(x), "y": list(y), "paint": paint}


def _rounded(share: float | None) -> float | None:
    return counts.rounded(share)


def _axis(days: Sequence[str]) -> str:
    """Say how days stand on an axis: by their names where they are few or, as one wrong clock makes them, far apart; else by time."""
    if len(days) <= _MOST_NAMED_DAYS:
        return "category"
    span = date.fromisoformat(days[-1]) - date.fromisoformat(days[0])
    return "category" if span.days > _SPARSE * len(days) else "date"


def _axis_names(names: Sequence[str]) -> list[str]:
    """Return names short enough for an axis, each another one."""
    shown: list[str] = []
    for at, name in enumerate(names):
        seen = words.name(name)
        cut = seen if len(seen) <= _LONGEST_NAME else f"{seen[: _LONGEST_NAME - 6]}... {at}"
        shown.append(_as_text(cut if _as_text(cut) not in shown else f"{cut} {at}"))
    return shown


def _as_text(name: str) -> str:
    """Write a name so that the plotting library takes nothing in it for markup or for a formula."""
    return escape(name, quote=False).replace("$", "&#36;")


_MOST_NAMED_DAYS = 14
_SPARSE = 10
_SHARES = {"tickformat": ".0%", "range": [0, 1.02]}

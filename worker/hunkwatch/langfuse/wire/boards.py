"""The dashboard about patches and its widgets, as the unstable dashboards API takes them.

Every chart counts or adds up. An average would show a day without patches as 0, since Langfuse fills empty days with it, and 0 is the worst
score there is. What is ours is known by a mark in its description: ids are the server's, and names may be changed by people.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hunkwatch.langfuse.wire.kept import Kept

MARK = "managed-by: hunkwatch v1"
_MARK = re.compile(r"managed-by: hunkwatch v\d+(?: \(([a-z-]+)\))?")

TITLE = "Patch quality"
_ABOUT = "What the patches look like that coding agents wrote. Low is not wasteful, high is not minimal: each widget says what it counts."
_SIDE = 6
_COLUMNS = 12

_BLIND = "blind_rewrite_patch"
_RETYPED = "retyped_lines_patch"
_SHAPE = "patch_shape"
_MOST_ROWS = 20


class Chart(NamedTuple):
    """One widget. ``of`` is the score it looks at; ``along`` are the fields that it groups by."""

    key: str
    title: str
    about: str
    of: str
    kind: str
    along: tuple[str, ...] = ()
    measure: str = "count"
    aggregation: str = "count"
    below: float | None = None
    rows: int | None = None


CHARTS = (
    Chart(
        "blind-per-day",
        "Patches with a blind rewrite, per day",
        "How many observations have at least one blind rewrite: a count, so a day without patches is 0.",
        _BLIND,
        "BAR_TIME_SERIES",
        below=1,
    ),
    Chart(
        "distribution",
        "Distribution of blind_rewrite_patch",
        "How many observations have each of the scores 0, 0.25, 0.5, 0.75 and 1; 1 is no blind rewrite.",
        _BLIND,
        "VERTICAL_BAR",
        ("value",),
        rows=10,
    ),
    Chart(
        "retyped-per-day",
        "Retyped lines, per day",
        "How many lines were deleted and added again unchanged, added up.",
        _RETYPED,
        "BAR_TIME_SERIES",
        measure="value",
        aggregation="sum",
    ),
    Chart(
        "shapes-over-time",
        "Patch shapes over time",
        "What kinds of patches were written, and which could not be read.",
        _SHAPE,
        "BAR_TIME_SERIES",
        ("stringValue",),
    ),
    Chart(
        "blind-by-environment",
        "Patches with a blind rewrite, by environment",
        "How many observations of each environment have at least one blind rewrite; an environment with more patches has more.",
        _BLIND,
        "HORIZONTAL_BAR",
        ("environment",),
        below=1,
        rows=_MOST_ROWS,
    ),
    Chart(
        "blind-by-trace-name",
        "Patches with a blind rewrite, by trace name",
        "How many observations under each trace name have at least one blind rewrite; a name with more patches has more.",
        _BLIND,
        "HORIZONTAL_BAR",
        ("traceName",),
        below=1,
        rows=_MOST_ROWS,
    ),
    Chart(
        "shapes-by-environment",
        "Patch shapes, by environment",
        "What kinds of patches each environment has, counted.",
        _SHAPE,
        "PIVOT_TABLE",
        ("environment", "stringValue"),
        rows=100,
    ),
    Chart(
        "shapes-by-trace-name",
        "Patch shapes, by trace name",
        "What kinds of patches each trace name has, counted.",
        _SHAPE,
        "PIVOT_TABLE",
        ("traceName", "stringValue"),
        rows=100,
    ),
)
"""Every widget, in the order of their tiles."""


def widget_body(chart: Chart) -> dict[str, Any]:
    """Return the widget as it is created and patched."""
    filters: list[dict[str, Any]] = [{"column": "name", "type": "stringOptions", "operator": "any of", "value": [chart.of]}]
    if chart.below is not None:
        filters.append({"column": "value", "type": "number", "operator": "<", "value": chart.below})
    config: dict[str, Any] = {"type": chart.kind}
    if chart.rows is not None:
        config["row_limit"] = chart.rows
    return {
        "name": chart.title,
        "description": f"{chart.about} {MARK} ({chart.key})",
        "view": "scores-categorical" if chart.of == _SHAPE else "scores-numeric",
        "dimensions": [{"field": field} for field in chart.along],
        "metrics": [{"measure": chart.measure, "agg": chart.aggregation}],
        "filters": filters,
        "chartType": chart.kind,
        "chartConfig": config,
    }


def dashboard_body() -> dict[str, Any]:
    """Return the dashboard's own words, without its tiles: these may be moved by people and are never replaced."""
    return {"name": TITLE, "description": f"{_ABOUT} {MARK}"}


def new_dashboard(widget_ids: Mapping[str, str]) -> dict[str, Any]:
    """Return a dashboard with a tile for each widget, by the widgets' keys."""
    tiles = [tile_body(chart, widget_ids[chart.key]) for chart in CHARTS]
    return {**dashboard_body(), "filters": [], "definition": {"widgets": tiles}}


def tile_body(chart: Chart, widget_id: str) -> dict[str, Any]:
    """Return a tile at the place of its widget in the grid."""
    number = CHARTS.index(chart)
    row, column = divmod(number, _COLUMNS // _SIDE)
    place = {"x": column * _SIDE, "y": row * _SIDE, "width": _SIDE, "height": _SIDE}
    return {"type": "widget", "id": tile_id(chart), "widgetId": widget_id, **place}


def tile_id(chart: Chart) -> str:
    """Return the id of a widget's tile, which is ours to choose and unique within a dashboard."""
    return f"hunkwatch-{chart.key}"


def tiles_of(dashboard: Kept) -> dict[str, str]:
    """Return the ids of the widgets on a dashboard by the ids of their tiles."""
    definition = dashboard.content.get("definition")
    tiles = definition.get("widgets") if isinstance(definition, dict) else None
    return {str(tile.get("id")): str(tile.get("widgetId")) for tile in tiles or () if isinstance(tile, dict)}


def mark_of(thing: Kept) -> str | None:
    """Return the key in the mark of a description, ``""`` for a mark without one; None for what is not ours."""
    found = _MARK.search(thing.description)
    return None if found is None else found[1] or ""

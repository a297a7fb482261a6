"""The dashboard and its widgets.

A widget is brought back to its definition. Of the dashboard only its words and the missing tiles are: where people moved a tile it stays,
and tiles of their own are never touched. A copy that somebody made under another name carries our mark too and is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from hunkwatch.langfuse import wire
from hunkwatch.langfuse.http import Route
from hunkwatch.langfuse.setup.steps import Did, Step, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hunkwatch.langfuse.http import Http
    from hunkwatch.langfuse.setup.steps import Hand
    from hunkwatch.langfuse.wire import Chart, Kept

WIDGETS = "api/public/unstable/dashboard-widgets"
DASHBOARDS = "api/public/unstable/dashboards"
WIDGET, DASHBOARD = "widget", "dashboard"

DASHBOARDS_SINCE = "3.216"
"""The first version of Langfuse with the API for dashboards."""

_TWICE = "it was there twice"


@dataclass(frozen=True, slots=True)
class NoDashboards:
    """The server has no API for dashboards."""


async def put_up(http: Http, hand: Hand) -> tuple[list[Step], str | NoDashboards]:
    """Make or mend every widget and the dashboard; return the steps and the dashboard's id, "" for one that is only rehearsed."""
    boards = await listed(http, DASHBOARDS, route=Route.DASHBOARDS)
    widgets = await listed(http, WIDGETS, route=Route.DASHBOARDS)
    if boards is None or widgets is None:
        return [], NoDashboards()
    steps, ids = [], {}
    for chart in wire.CHARTS:
        step, ids[chart.key] = await _put_up_widget(hand, chart, _marked(widgets, chart.key))
        steps.append(step)
    step, dashboard = await _put_up_dashboard(hand, _marked(boards, ""), ids)
    steps.append(step)
    if any(step.did is Did.CREATED for step in steps) or _doubles(boards, widgets):
        steps += await _without_doubles(http, hand)
    return steps, dashboard


async def take_down(http: Http, hand: Hand) -> list[Step]:
    """Remove every widget and dashboard that carries our mark: tiles first, since a widget that is placed cannot go."""
    boards = [board for board in await listed(http, DASHBOARDS, route=Route.DASHBOARDS) or () if wire.mark_of(board) == ""]
    widgets = [widget for widget in await listed(http, WIDGETS, route=Route.DASHBOARDS) or () if wire.mark_of(widget)]
    ours = {widget.id for widget in widgets}
    for board in boards:
        for tile in [tile for tile, widget in wire.tiles_of(board).items() if widget in ours]:
            await hand.remove(_tile_path(board, tile), route=Route.DASHBOARDS)
    steps = [await _remove(hand, WIDGET, WIDGETS, widget) for widget in widgets]
    return [*steps, *[await _remove(hand, DASHBOARD, DASHBOARDS, board) for board in boards]]


async def _put_up_widget(hand: Hand, chart: Chart, marked: Sequence[Kept]) -> tuple[Step, str]:
    body = wire.widget_body(chart)
    if not marked:
        return Step(Did.CREATED, WIDGET, chart.title), (await hand.create(WIDGETS, body, route=Route.DASHBOARDS)).id
    there = marked[0]
    if not wire.changes(there, body):
        return Step(Did.UNCHANGED, WIDGET, chart.title), there.id
    # The whole body, since what a widget shows is valid only together.
    await hand.change(_path(WIDGETS, there), body, route=Route.DASHBOARDS)
    return Step(Did.CHANGED, WIDGET, chart.title), there.id


async def _put_up_dashboard(hand: Hand, marked: Sequence[Kept], ids: Mapping[str, str]) -> tuple[Step, str]:
    if not marked:
        made = await hand.create(DASHBOARDS, wire.new_dashboard(ids), route=Route.DASHBOARDS)
        return Step(Did.CREATED, DASHBOARD, wire.TITLE), made.id
    there = marked[0]
    change = wire.changes(there, wire.dashboard_body())
    if change:
        await hand.change(_path(DASHBOARDS, there), change, route=Route.DASHBOARDS)
    tiles = wire.tiles_of(there)
    missing = [chart for chart in wire.CHARTS if tiles.get(wire.tile_id(chart)) != ids[chart.key]]
    for chart in missing:
        if wire.tile_id(chart) in tiles:
            await hand.remove(_tile_path(there, wire.tile_id(chart)), route=Route.DASHBOARDS)
        path = f"{_path(DASHBOARDS, there)}/placements"
        await hand.create(path, wire.tile_body(chart, ids[chart.key]), route=Route.DASHBOARDS)
    note = f"{len(missing)} tiles put on it" if missing else ""
    return Step(Did.CHANGED if change or missing else Did.UNCHANGED, DASHBOARD, wire.TITLE, note), there.id


async def _without_doubles(http: Http, hand: Hand) -> list[Step]:
    """Remove what a lost answer, or a setup at the same time, made twice."""
    boards = await listed(http, DASHBOARDS, route=Route.DASHBOARDS) or ()
    widgets = await listed(http, WIDGETS, route=Route.DASHBOARDS) or ()
    doubles = _doubles(boards, widgets)
    return [await _remove(hand, *_room(thing), thing, _TWICE) for thing in doubles]


def _doubles(boards: Sequence[Kept], widgets: Sequence[Kept]) -> list[Kept]:
    """Return what has the mark and the name of ours and is younger, dashboards first: what is placed on them can go only after them."""
    found = [board for board in _marked(boards, "")[1:] if board.name == wire.TITLE]
    for chart in wire.CHARTS:
        found += [widget for widget in _marked(widgets, chart.key)[1:] if widget.name == chart.title]
    return found


def _room(thing: Kept) -> tuple[str, str]:
    return (WIDGET, WIDGETS) if wire.mark_of(thing) else (DASHBOARD, DASHBOARDS)


async def _remove(hand: Hand, kind: str, path: str, thing: Kept, note: str = "") -> Step:
    if await hand.remove(_path(path, thing), route=Route.DASHBOARDS):
        return Step(Did.REMOVED, kind, thing.name, note)
    return Step(Did.LEFT, kind, thing.name, "another dashboard still shows it: take it off there and run this again")


def _marked(things: Sequence[Kept], key: str) -> list[Kept]:
    return [thing for thing in things if wire.mark_of(thing) == key]


def _path(root: str, thing: Kept) -> str:
    return f"{root}/{quote(thing.id, safe='')}"


def _tile_path(dashboard: Kept, tile: str) -> str:
    return f"{_path(DASHBOARDS, dashboard)}/placements/{quote(tile, safe='')}"

"""Dashboards and their widgets (the unstable API): kept as sent, listed by last update, with the rules that the server enforces.

Ids are the server's; placement ids are the client's and unique per dashboard; a widget that is placed cannot be deleted.
"""

import secrets
import uuid
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import QueryParams

from hunkwatch.sandbox import charts, moments, pages
from hunkwatch.sandbox.answers import Answer

Kept = dict[str, dict[str, Any]]
WIDGET = ("name", "description", "view", "dimensions", "metrics", "filters", "chartType", "chartConfig")
DASHBOARD = ("name", "description", "definition", "filters")
SIDE = 6


def missing(what: str) -> Answer:
    """404 as the unstable API words it."""
    return Answer(404, {"message": f"{what} not found", "code": "not_found"})


def conflict(message: str) -> Answer:
    """409 as the unstable API words it."""
    return Answer(409, {"message": message, "code": "conflict"})


def listed(kept: Kept, params: QueryParams) -> dict[str, Any]:
    """A page, the newest update first."""
    page, limit = pages.numbers(params)
    everything = sorted(kept.values(), key=lambda entry: entry["updatedAt"])[::-1]
    part, meta = pages.cut(everything, page, limit)
    return {"data": part, "meta": meta}


def get(kept: Kept, id_: str, what: str) -> dict[str, Any]:
    """One of them, or a 404."""
    if id_ not in kept:
        raise missing(what)
    return kept[id_]


def create_widget(kept: Kept, body: object, now: int) -> dict[str, Any]:
    """A new widget, or a 400."""
    return _keep(kept, charts.widget(_object(body)), now)


def change_widget(kept: Kept, id_: str, body: object, now: int) -> dict[str, Any]:
    """Change what the body names."""
    old = get(kept, id_, "Widget")
    return _change(kept, id_, charts.widget({**{key: old[key] for key in WIDGET}, **_object(body)}), now)


def delete_widget(widgets: Kept, dashboards: Kept, id_: str) -> dict[str, str]:
    """Forget a widget that no dashboard shows."""
    get(widgets, id_, "Widget")
    if any(id_ == tile["widgetId"] for board in dashboards.values() for tile in board["definition"]["widgets"]):
        raise conflict("Widget is still used by a dashboard")
    del widgets[id_]
    return {"message": "Widget successfully deleted"}


def create_dashboard(kept: Kept, widgets: Kept, body: object, now: int) -> dict[str, Any]:
    """A new dashboard, or a 400."""
    return _keep(kept, _dashboard(_object(body), widgets), now)


def change_dashboard(kept: Kept, widgets: Kept, id_: str, body: object, now: int) -> dict[str, Any]:
    """Change what the body names; a definition replaces all tiles."""
    old = get(kept, id_, "Dashboard")
    return _change(kept, id_, _dashboard({**{key: old[key] for key in DASHBOARD}, **_object(body)}, widgets), now)


def delete_dashboard(kept: Kept, id_: str) -> dict[str, str]:
    """Forget a dashboard."""
    get(kept, id_, "Dashboard")
    del kept[id_]
    return {"message": "Dashboard successfully deleted"}


def place(kept: Kept, widgets: Kept, id_: str, body: object, now: int) -> dict[str, Any]:
    """Put a widget on a dashboard, below everything if no place is named."""
    board, sent = get(kept, id_, "Dashboard"), _object(body)
    tiles = board["definition"]["widgets"]
    below = max((tile["y"] + tile["height"] for tile in tiles), default=0)
    tile = _tile({"x": 0, "y": below, "width": SIDE, "height": SIDE, "id": str(uuid.uuid4()), **sent}, widgets)
    if any(tile["id"] == other["id"] for other in tiles):
        raise conflict(f"Placement {tile['id']} already exists")
    _change(kept, id_, {"definition": {"widgets": [*tiles, tile]}}, now)
    return tile


def move(kept: Kept, widgets: Kept, path: Mapping[str, str], body: object, now: int) -> dict[str, Any]:
    """Change a tile."""
    id_, placement = path["id"], path["placement"]
    tiles = get(kept, id_, "Dashboard")["definition"]["widgets"]
    old = next((tile for tile in tiles if tile["id"] == placement), None)
    if old is None:
        raise missing("Placement")
    tile = _tile({**old, **_object(body), "id": placement}, widgets)
    _change(kept, id_, {"definition": {"widgets": [tile if other is old else other for other in tiles]}}, now)
    return tile


def remove(kept: Kept, id_: str, placement: str, now: int) -> dict[str, str]:
    """Take a tile away."""
    tiles = get(kept, id_, "Dashboard")["definition"]["widgets"]
    rest = [tile for tile in tiles if tile["id"] != placement]
    if len(rest) == len(tiles):
        raise missing("Placement")
    _change(kept, id_, {"definition": {"widgets": rest}}, now)
    return {"message": "Placement successfully deleted"}


def _object(body: object) -> Mapping[str, Any]:
    if not isinstance(body, Mapping):
        raise charts.refused("Invalid request body", "body")
    return body


def _keep(kept: Kept, content: Mapping[str, Any], now: int) -> dict[str, Any]:
    id_ = f"cm{secrets.token_hex(12)}"[:25]
    kept[id_] = {"id": id_, "createdAt": moments.write(now), "updatedAt": moments.write(now), **content}
    return kept[id_]


def _change(kept: Kept, id_: str, content: Mapping[str, Any], now: int) -> dict[str, Any]:
    kept[id_] = {**kept[id_], **content, "updatedAt": moments.write(now)}
    return kept[id_]


def _dashboard(body: Mapping[str, Any], widgets: Kept) -> dict[str, Any]:
    if not isinstance(body.get("name"), str) or not body["name"]:
        raise charts.refused("Name is required", "name")
    tiles = [_tile(tile, widgets) for tile in (body.get("definition") or {"widgets": []})["widgets"]]
    if len({tile["id"] for tile in tiles}) < len(tiles):
        raise charts.refused("Placement ids must be unique", "definition.widgets")
    return {
        "name": body["name"],
        "description": body.get("description", ""),
        "definition": {"widgets": tiles},
        "filters": body.get("filters", []),
    }


def _tile(tile: Mapping[str, Any], widgets: Kept) -> dict[str, Any]:
    if tile.get("widgetId") not in widgets:
        raise missing("Widget")
    for field, least in (("x", 0), ("y", 0), ("width", 1), ("height", 1)):
        if not isinstance(tile.get(field), int) or tile[field] < least:
            raise charts.refused(f"Invalid {field}", field)
    return {"type": "widget", **{key: tile[key] for key in ("id", "widgetId", "x", "y", "width", "height")}}

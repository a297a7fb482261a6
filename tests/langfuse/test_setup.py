"""What ``setup`` puts up: each body against the recorded exchanges and the SDK's own types, and the order in which things go."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import given, settings, strategies
from langfuse.api.core.pydantic_utilities import parse_obj_as
from langfuse.api.score_configs.types import CreateScoreConfigRequest, UpdateScoreConfigRequest
from langfuse.api.unstable.dashboard_widgets.types import CreateDashboardWidgetRequest
from langfuse.api.unstable.dashboards.types import CreateDashboardPlacementRequest_Widget, CreateDashboardRequest

from hunkwatch.core import caveats
from hunkwatch.core.model import Shape
from hunkwatch.errors import Halt, Refused, RetryLater
from hunkwatch.langfuse import configs, setup, wire
from hunkwatch.langfuse.http import Route
from hunkwatch.langfuse.setup import configs as config_setup
from hunkwatch.sandbox import Habits, Plan, Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable

    Recorded = Callable[[str], dict[str, Any]]

LONGEST_NAME = 35


def chart(key: str) -> wire.Chart:
    """Return a chart by its key."""
    return next(one for one in wire.CHARTS if one.key == key)


def kept(content: dict[str, Any]) -> wire.Kept:
    """Return a thing as the server lists it."""
    thing = wire.kept(json.dumps(content).encode())
    assert thing is not None
    return thing


# ---------------------------------------------------------------- bodies


@pytest.mark.parametrize(("number", "key"), [("300", "blind-per-day"), ("302", "shapes-over-time")])
def test_a_widget_is_what_a_real_server_took(recorded: Recorded, number: str, key: str) -> None:
    """Apart from its description, and from the chart's type that the server fills in itself."""
    exchange = recorded(number)
    body = wire.widget_body(chart(key))

    expected = {**exchange["request"]["body"], "chartConfig": exchange["response"]["body"]["chartConfig"]}
    assert {**expected, "description": body["description"]} == body


def test_the_distribution_is_what_a_real_server_took_with_a_limit_of_rows(recorded: Recorded) -> None:
    """Exact quarters: a bar for each value, not a histogram that interpolates."""
    body = wire.widget_body(chart("distribution"))

    expected = {**recorded("301")["request"]["body"], "name": body["name"], "description": body["description"]}
    assert {**expected, "chartConfig": {"type": "VERTICAL_BAR", "row_limit": 10}} == body


def test_a_recorded_widget_needs_no_change_but_its_words(recorded: Recorded) -> None:
    """The server's own order of keys and what it fills in are no difference."""
    shown = kept(recorded("300")["response"]["body"])

    assert {"description"} == set(wire.changes(shown, wire.widget_body(chart("blind-per-day"))))


def test_the_dashboard_is_what_a_real_server_took(recorded: Recorded) -> None:
    """The same members, and tiles of the same form in the same grid."""
    asked = recorded("303")["request"]["body"]
    body = wire.new_dashboard({one.key: f"w-{one.key}" for one in wire.CHARTS})

    assert (set(asked), asked["name"], asked["filters"]) == (set(body), body["name"], body["filters"])
    tiles = body["definition"]["widgets"]
    shapes = [{name: value for name, value in tile.items() if name not in {"id", "widgetId"}} for tile in asked["definition"]["widgets"]]
    assert shapes == [{name: value for name, value in tile.items() if name not in {"id", "widgetId"}} for tile in tiles[:3]]
    assert set(recorded("307")["request"]["body"]) == set(tiles[0])
    assert [(x, y) for y in (0, 6, 12, 18) for x in (0, 6)] == [(tile["x"], tile["y"]) for tile in tiles]


def test_every_body_passes_the_types_of_the_sdk() -> None:
    """Which were made from the server's own contract, later than the recordings; no member is unknown to them."""
    ids = {one.key: one.key for one in wire.CHARTS}
    bodies: list[tuple[Any, dict[str, Any]]] = [
        *((CreateDashboardWidgetRequest, wire.widget_body(one)) for one in wire.CHARTS),
        (CreateDashboardRequest, wire.new_dashboard(ids)),
        *((CreateDashboardPlacementRequest_Widget, wire.tile_body(one, "w")) for one in wire.CHARTS),
        *((CreateScoreConfigRequest, wire.config_body(meaning, "d")) for meaning in caveats.MEANINGS),
        (UpdateScoreConfigRequest, wire.archiving()),
    ]
    for kind, body in bodies:
        assert parse_obj_as(kind, body).model_extra == {}, kind.__name__


def test_no_chart_shows_an_average() -> None:
    """Langfuse fills empty days with 0, which would be the worst score there is."""
    assert {"count", "sum"} == {one.aggregation for one in wire.CHARTS}
    assert {("sum", "retyped_lines_patch")} == {(one.aggregation, one.of) for one in wire.CHARTS if one.aggregation != "count"}
    assert {meaning.name for meaning in caveats.MEANINGS} >= {one.of for one in wire.CHARTS}


def test_a_config_is_what_a_real_server_took(recorded: Recorded) -> None:
    """A range for numbers, labels with a number each for categories."""
    numeric = wire.config_body(caveats.of("blind_rewrite"), "d")
    labels = wire.config_body(caveats.of("patch_shape"), "d")

    assert {**recorded("085")["request"]["body"], "name": "blind_rewrite"} == numeric
    assert set(recorded("087")["request"]["body"]) | {"description"} == set(labels)
    assert [set(one) for one in recorded("087")["request"]["body"]["categories"][:1]] == [set(labels["categories"][0])]
    assert [shape.value for shape in Shape] == [category["label"] for category in labels["categories"]]
    assert len(Shape) == len({category["value"] for category in labels["categories"]})
    assert recorded("100")["request"]["body"] == wire.archiving()


def test_the_upper_end_of_a_count_is_open() -> None:
    """A bound would make Langfuse drop the largest scores without a word."""
    assert "maxValue" not in wire.config_body(caveats.of("retyped_lines"), "d")


def test_every_config_of_ours_is_one_that_the_writer_takes() -> None:
    """What ``setup`` makes and what the writer looks for agree, name by name."""
    for number, meaning in enumerate(caveats.MEANINGS):
        body = wire.config_body(meaning, config_setup.described(meaning))
        shown = kept({"id": str(number), "isArchived": False, **body})
        assert configs.fits(wire.config_of(shown)), meaning.name
        assert {} == wire.config_change(shown, meaning, config_setup.described(meaning))
        assert re.fullmatch(r"[\w .()-]+", meaning.name)
        assert len(meaning.name) <= LONGEST_NAME


# ---------------------------------------------------------------- marks and differences


@pytest.mark.parametrize(
    ("description", "key"),
    [
        ("managed-by: hunkwatch v1", ""),
        ("words of anybody. managed-by: hunkwatch v1 (blind-per-day)", "blind-per-day"),
        ("managed-by: hunkwatch v12 (blind-per-day) and more words", "blind-per-day"),
        ("managed-by: hunkwatch", None),
        ("managed-by: somebody v1", None),
        ("", None),
        (None, None),
    ],
)
def test_what_is_ours_is_known_by_its_mark(description: str | None, key: str | None) -> None:
    """Wherever it stands in the description, and of whatever version."""
    assert key == wire.mark_of(kept({"id": "1", "name": "x", "description": description}))


JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers(-3, 3) | strategies.sampled_from(["a", "b", ""]),
    lambda inner: strategies.lists(inner, max_size=3) | strategies.dictionaries(strategies.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


MEMBERS, OTHERS = (strategies.dictionaries(strategies.sampled_from(names), JSON) for names in ("xyz", "uvw"))


@settings(max_examples=80)
@given(body=MEMBERS, more=OTHERS)
def test_what_the_server_adds_is_no_change_and_what_is_gone_is_one(body: dict[str, Any], more: dict[str, Any]) -> None:
    """A body is unchanged against itself and whatever beside it; every member that is missing or another is named."""
    shown = kept({"id": "1", "name": "x", **more, **body})
    bare = kept({"id": "1", "name": "x", **more})

    assert {} == wire.changes(shown, body)
    assert {name: value for name, value in body.items() if value is not None} == wire.changes(bare, body)


@settings(max_examples=60)
@given(row=strategies.dictionaries(strategies.sampled_from(["id", "name", "description", "definition", "categories", "minValue"]), JSON))
def test_a_row_of_any_form_is_read_or_left_out(row: dict[str, Any]) -> None:
    """Nothing that a server lists stops a setup."""
    things, _pages = wire.kept_page(json.dumps({"data": [row], "meta": {}}).encode())

    for thing in things:
        wire.mark_of(thing)
        wire.tiles_of(thing)
        wire.config_of(thing)


# ---------------------------------------------------------------- order and doubles


class Shelf:
    """A server that only lists, as a script."""

    def __init__(self, **listing: list[dict[str, Any]]) -> None:
        """``listing`` is by the last word of a path, underscores for dashes."""
        self.listing = listing
        self.asked: list[tuple[str, str]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer a listing, or agree."""
        route = request.url.path.rpartition("/")[2]
        if request.method == "GET":
            return httpx.Response(200, json={"data": self.listing.get(route.replace("-", "_"), []), "meta": {"totalPages": 1}})
        self.asked.append((request.method, request.url.path.partition("/public/")[2]))
        return httpx.Response(200, json={"id": "made", "name": "made"})


def shown(body: dict[str, Any], identity: str, made: str, **more: Any) -> dict[str, Any]:
    """Return a body as the server lists it."""
    return {"id": identity, "createdAt": made, **body, **more}


def everything() -> Shelf:
    """Return a server on which all is as it should be."""
    widgets = [shown(wire.widget_body(one), f"w-{one.key}", "2026-01-01") for one in wire.CHARTS]
    board = shown(wire.new_dashboard({one.key: f"w-{one.key}" for one in wire.CHARTS}), "board", "2026-01-01")
    its = [
        shown(wire.config_body(meaning, config_setup.described(meaning)), f"c-{meaning.name}", "2026-01-01", isArchived=False)
        for meaning in caveats.MEANINGS
    ]
    return Shelf(score_configs=its, dashboard_widgets=widgets, dashboards=[board])


async def test_younger_doubles_go_and_copies_under_other_names_stay(edge: Any) -> None:
    """The oldest is ours; a dashboard that somebody copied carries our mark and a name of its own."""
    server = everything()
    (board,), first = server.listing["dashboards"], wire.CHARTS[0]
    server.listing["dashboards"].append({**board, "id": "twin", "createdAt": "2026-01-02"})
    server.listing["dashboards"].append({**board, "id": "copy", "createdAt": "2026-01-03", "name": "Copy"})
    server.listing["dashboard_widgets"].insert(0, shown(wire.widget_body(first), "w-twin", "2026-01-02"))
    http = edge.http(server)

    steps, dashboard = await setup.put_up(http, setup.Writing(http))

    removed = [("DELETE", "unstable/dashboards/twin"), ("DELETE", "unstable/dashboard-widgets/w-twin")]
    assert (removed, "board") == (server.asked, dashboard)
    assert [("removed", "dashboard"), ("removed", "widget")] == [(step.did, step.kind) for step in steps if step.did != "unchanged"]


async def test_tiles_go_before_widgets_and_widgets_before_the_dashboard(edge: Any) -> None:
    """A widget that is placed cannot be deleted."""
    server = everything()
    http = edge.http(server)

    await setup.take_down(http, setup.Writing(http))

    kinds = [(method, path.count("/"), path.split("/")[1 if path.startswith("unstable") else 0]) for method, path in server.asked]
    count = len(wire.CHARTS)
    assert [("DELETE", 4, "dashboards")] * count == kinds[:count]
    assert [("DELETE", 2, "dashboard-widgets")] * count == kinds[count : 2 * count]
    assert [("DELETE", 2, "dashboards")] == kinds[2 * count : 2 * count + 1]
    assert [("PATCH", 1, "score-configs")] * len(caveats.MEANINGS) == kinds[2 * count + 1 :]


async def test_a_tile_whose_widget_is_gone_shows_the_new_one(edge: Any) -> None:
    """Somebody deleted a widget with its tile's content: the tile is taken off and put on again."""
    server = everything()
    server.listing["dashboard_widgets"] = server.listing["dashboard_widgets"][1:]
    http = edge.http(server)

    await setup.put_up(http, setup.Writing(http))

    tile = f"unstable/dashboards/board/placements/{wire.tile_id(wire.CHARTS[0])}"
    expected = [("POST", "unstable/dashboard-widgets"), ("DELETE", tile), ("POST", "unstable/dashboards/board/placements")]
    assert expected == server.asked


async def test_a_config_that_somebody_narrowed_is_left_and_another_made(edge: Any) -> None:
    """A bound cannot be taken off again; the narrow one would cost scores."""
    server = everything()
    narrow = next(config for config in server.listing["score_configs"] if config["name"] == "retyped_lines")
    narrow["maxValue"] = 100
    http = edge.http(server)

    steps = await config_setup.put_up(http, setup.Writing(http))

    (step,) = [step for step in steps if step.did != "unchanged"]
    assert ([("POST", "score-configs")], "created", "retyped_lines") == (server.asked, step.did, step.name)


async def test_many_pages_are_read(edge: Any) -> None:
    """What is ours may stand on any page."""
    server = everything()
    every = server.listing["dashboard_widgets"]

    def paged(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("dashboard-widgets") and request.method == "GET":
            number = int(request.url.params["page"])
            return httpx.Response(200, json={"data": every[number - 1 : number], "meta": {"totalPages": len(every)}})
        return server(request)

    http = edge.http(paged)

    assert {"unchanged"} == {step.did for step in (await setup.put_up(http, setup.Writing(http)))[0]}


@pytest.mark.parametrize(("status", "kind"), [(403, Halt), (401, Halt), (400, Refused), (500, RetryLater)])
async def test_what_stops_a_setup_says_what_to_do_next(edge: Any, status: int, kind: type[Exception]) -> None:
    """Sorted as every other answer of Langfuse."""
    http = edge.http(lambda _: httpx.Response(status, json={"message": "no"}), attempts=2)

    with pytest.raises(kind):
        await setup.put_up(http, setup.Writing(http))


async def test_a_rehearsal_asks_only_to_read(edge: Any) -> None:
    """On a server without anything, with something, and for the removal too."""
    for server in (Shelf(), everything()):
        http = edge.http(server)
        await setup.put_up(http, setup.Looking(http))
        await setup.take_down(http, setup.Looking(http))

    assert {"GET"} == {request.method for request in edge.asked}


async def test_a_limit_of_the_server_only_takes_time(edge: Any, on_socket: Any) -> None:
    """Thirty requests a minute on the smallest plan, most of them used by others: everything is made once all the same."""
    sandbox = Sandbox("4.60.0", habits=Habits(plan=Plan.HOBBY), now=edge.clock.now)
    async with sandbox.serving() as url, on_socket(url, ("pk-lf-demo", "sk-lf-demo")) as http:
        for _ in range(20):
            await http.get("api/public/projects", route=Route.PROJECTS)
        steps, _dashboard = await setup.put_up(http, setup.Writing(http))

    assert {"created"} == {step.did for step in steps}
    assert edge.clock.slept
    assert {429} == {status for _, _, status in sandbox.requests if status >= 400}


async def test_the_sandbox_takes_every_body(on_socket: Any) -> None:
    """With the rules that the real server's schemas have."""
    async with Sandbox("4.60.0").serving() as url, on_socket(url, ("pk-lf-demo", "sk-lf-demo")) as http:
        steps, dashboard = await setup.put_up(http, setup.Writing(http))

    assert {"created"} == {step.did for step in steps}
    assert dashboard

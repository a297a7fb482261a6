"""The v2 observations beyond what was recorded: filters, order, bounds, odd texts."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from hunkwatch.sandbox import Sandbox, moments, observations, xxhash
from hunkwatch.sandbox.rows import Row
from hunkwatch.sandbox.shelf import Shelf

Make = Callable[..., Any]
URL = "/api/public/v2/observations"


def condition(column: str, kind: str, operator: str, value: Any, **more: Any) -> dict[str, Any]:
    """One entry of the ``filter`` parameter."""
    return {"column": column, "type": kind, "operator": operator, "value": value, **more}


def seeded(tool: Make) -> list[dict[str, Any]]:
    """Five observations, each with something of its own."""
    return [
        tool(1, traceName="codex", tags=["lab", "ci"], metadata={"call": {"id": "c1"}}, endTime="2026-11-30T11:00:02.001Z"),
        tool(
            2,
            type="GENERATION",
            name="model",
            input="history *** Begin Patch",
            output=[{"name": "apply_patch", "input": "*** begin patch"}],
        ),
        tool(3, type="SPAN", name="shell", input={"cmd": "ls"}, environment="staging", level="ERROR", parentObservationId="o1"),
        tool(4, traceId="t2", name="Bash", input="nothing", sessionId="s9", userId="u9", version="7"),
        tool(5, traceId="t2", input=None, statusMessage="oops"),
    ]


FILTERS: dict[str, tuple[list[dict[str, Any]], set[int]]] = {
    "matches in any case": ([condition("output", "string", "matches", "BEGIN patch")], {2}),
    "matches a longer text": ([condition("input", "string", "matches", "*** Begin Patch\\n*** Update File: a.py")], {1}),
    "matches no wildcard": ([condition("input", "string", "matches", "Begin.Patch")], set()),
    "equal input": ([condition("input", "string", "=", "nothing")], {4}),
    "none of some types": (
        [condition("input", "string", "matches", "begin patch"), condition("type", "stringOptions", "none of", ["GENERATION"])],
        {1},
    ),
    "any of some names": ([condition("name", "stringOptions", "any of", ["shell", "Bash"])], {3, 4}),
    "not containing": ([condition("name", "string", "does not contain", "patch")], {2, 3, 4}),
    "starting and ending": ([condition("name", "string", "starts with", "apply"), condition("id", "string", "ends with", "5")], {5}),
    "ids": ([condition("id", "stringOptions", "any of", ["o1", "o4", "nobody"])], {1, 4}),
    "traces": ([condition("traceId", "string", "=", "t2")], {4, 5}),
    "some start times": (
        [
            condition("startTime", "datetime", ">", "2026-11-30T11:00:00.002Z"),
            condition("startTime", "datetime", "<=", "2026-11-30T11:00:00.004Z"),
        ],
        {3, 4},
    ),
    "an end time": ([condition("endTime", "datetime", "<", "2026-11-30T12:00:00Z")], {1}),
    "no end time": ([condition("endTime", "null", "is null", "")], {2, 3, 4, 5}),
    "a status": ([condition("statusMessage", "null", "is not null", "")], {5}),
    "nested metadata": ([condition("metadata", "stringObject", "=", "c1", key="call.id")], {1}),
    "all of some tags": ([condition("tags", "arrayOptions", "all of", ["lab", "ci"])], {1}),
    "none of some tags": ([condition("traceTags", "arrayOptions", "none of", ["lab"])], {2, 3, 4, 5}),
    "roots": ([condition("isRootObservation", "boolean", "=", value=False)], {3}),
    "a latency": ([condition("latency", "number", ">=", 2)], {1}),
    "level and environment": (
        [condition("level", "string", "=", "ERROR"), condition("environment", "stringOptions", "any of", ["staging"])],
        {3},
    ),
    "session, user and version": (
        [condition(c, "string", "=", v) for c, v in (("sessionId", "s9"), ("userId", "u9"), ("version", "7"))],
        {4},
    ),
    "nothing asked": ([], {1, 2, 3, 4, 5}),
}


@pytest.mark.parametrize(("conditions", "found"), FILTERS.values(), ids=FILTERS)
async def test_a_filter_finds_what_it_says(conditions: list[dict[str, Any]], found: set[int], serve: Make, tool: Make) -> None:
    """Conditions are ANDed, texts compared exactly, the patch marker in any case."""
    served = await serve()
    served.sandbox.add_observations(seeded(tool))
    assert sorted((f"o{number}" for number in found), reverse=True) == [
        row["id"] for row in await served.rows(filter=json.dumps(conditions))
    ]


PARAMS: dict[str, tuple[dict[str, Any], set[int]]] = {
    "from is inclusive": ({"fromStartTime": "2026-11-30T11:00:00.004Z"}, {4, 5}),
    "to is exclusive": ({"toStartTime": "2026-11-30T11:00:00.002Z"}, {1}),
    "offsets": ({"fromStartTime": "2026-11-30T12:00:00.005+01:00"}, {5}),
    "microseconds are floored": ({"fromStartTime": "2026-11-30T11:00:00.004999Z"}, {4, 5}),
    "environments": ({"environment": ["staging", "nowhere"]}, {3}),
    "no parent": ({"parentObservationId": ""}, {1, 2, 4, 5}),
    "roots": ({"isRootObservation": "false"}, {3}),
    "level": ({"level": "ERROR"}, {3}),
    "a filter overrides its column": (
        {"name": "nobody", "type": "TOOL", "filter": json.dumps([condition("name", "string", "=", "Bash")])},
        {4},
    ),
    "a filter on start times overrides both": (
        {
            "fromStartTime": "2026-11-30T11:00:00.005Z",
            "filter": json.dumps([condition("startTime", "datetime", ">=", "2026-11-30T11:00:00.004Z")]),
        },
        {4, 5},
    ),
}


@pytest.mark.parametrize(("params", "found"), PARAMS.values(), ids=PARAMS)
async def test_a_parameter_finds_what_it_says(params: dict[str, Any], found: set[int], serve: Make, tool: Make) -> None:
    """Plain parameters, and what a filter does to them."""
    served = await serve()
    served.sandbox.add_observations(seeded(tool))
    assert sorted((f"o{number}" for number in found), reverse=True) == [row["id"] for row in await served.rows(**params)]


REFUSED = [
    {"filter": "{}"},
    {"filter": '["x"]'},
    {"filter": json.dumps([condition("name", "odd", "=", "x")])},
    {"filter": json.dumps([condition("name", "string", "resembles", "x")])},
    {"filter": json.dumps([condition("name", "string", "=", 7)])},
    {"filter": json.dumps([condition("name", "number", "=", 7)])},
    {"filter": json.dumps([condition("id", "stringOptions", "any of", [1])])},
    {"filter": json.dumps([condition("startTime", "datetime", ">", "soon")])},
    {"filter": json.dumps([condition("metadata", "stringObject", "=", "x")])},
    {"limit": "-1"},
    {"limit": "many"},
    {"level": "LOUD"},
    {"cursor": "e30="},
    {"toStartTime": "2026-11-30"},
]


@pytest.mark.parametrize("params", REFUSED, ids=str)
async def test_what_cannot_be_asked_is_a_400(params: dict[str, str], serve: Make) -> None:
    """With a message, never a 500."""
    served = await serve()
    answer = await served.client.get(URL, params=params)
    assert (400, True) == (answer.status_code, bool(answer.json()["message"]))


ODD = ["", "null", '"*** Begin Patch"', "\ud800 lone", "\x00\x1b", "ä" * 10_000, "[" * 10_000, "1e999", "\u2028", '{"a":9007199254740993}']


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
async def test_odd_texts_come_back_as_they_were_written(text: str, serve_on_socket: Make, tool: Make) -> None:
    """v2 gives every text raw, even one that is no valid Unicode."""
    served = await serve_on_socket()
    served.sandbox.add_observations([tool(1, input=text)])
    assert [text] == [row["input"] for row in await served.rows(fields="io")]


V1 = {"7": 7, "x": "x", "": None, '{"a":9007199254740993}': {"a": "9007199254740993"}, "[" * 10_000: "[" * 10_000}


@pytest.mark.parametrize(("text", "parsed"), V1.items(), ids=range(len(V1)))
async def test_v1_gives_texts_parsed(text: str, parsed: Any, serve: Make, tool: Make) -> None:
    """What is JSON as JSON, whole numbers beyond JavaScript's as texts, nothing as null."""
    served = await serve(mode="dual")
    served.sandbox.add_observations([tool(1, input=text)])
    assert [parsed] == [row["input"] for row in (await served.get("/observations"))["data"]]


async def test_metadata_is_cut_unless_io_or_its_key_is_asked_for(serve: Make, tool: Make) -> None:
    """At 200 characters."""
    served = await serve()
    served.sandbox.add_observations([tool(1, metadata={"a": "x" * 300})])
    asked = ({"fields": "metadata"}, {"fields": "metadata", "expandMetadata": "a"}, {"fields": "metadata,io"})
    assert [200, 300, 300] == [len((await served.rows(**params))[0]["metadata"]["a"]) for params in asked]


async def test_a_row_with_the_same_key_replaces_and_with_another_start_does_not(serve: Make, tool: Make) -> None:
    """The start time is part of the key."""
    served = await serve()
    served.sandbox.add_observations([tool(1, name="old"), tool(1, name="new"), tool(2, id="o1", name="moved")])
    assert ["moved", "new"] == [row["name"] for row in await served.rows()]


async def test_rows_added_between_pages_do_not_disturb_the_walk(serve: Make, tool: Make) -> None:
    """Newer rows are not met, older ones are, none is met twice."""
    served = await serve()
    served.sandbox.add_observations([tool(number) for number in (10, 20, 30)])
    first = await served.get("/v2/observations", limit=2)
    served.sandbox.add_observations([tool(40), tool(5)])
    second = await served.get("/v2/observations", limit=5, **first["meta"])
    assert (["o30", "o20"], ["o10", "o5"]) == tuple([row["id"] for row in page["data"]] for page in (first, second))


ROWS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["t1", "t2", "t3"]), st.sampled_from(["a", "b", "c", "d"])), max_size=40)


@given(ROWS, st.integers(1, 7), st.integers(1, 9))
def test_any_walk_meets_every_row_once_in_order(keys: list[tuple[int, str, str]], limit: int, batch: int) -> None:
    """However the rows came and however large the pages are."""
    shelf = Shelf()
    for at in range(0, len(keys), batch):
        shelf.add(Row(id_, trace, start) for start, trace, id_ in keys[at : at + batch])
        len(shelf)
    met: list[tuple[int, str, str]] = []
    params: dict[str, Any] | None = {"limit": limit}
    while params is not None:
        query = observations.parse(QueryParams(params))
        rows, more = observations.select(shelf, query, now=10)
        met += [(row.start, row.trace, row.id) for row in rows]
        page = observations.page(rows, query, "p", more=more)
        params = {"limit": limit, **page["meta"]} if page["meta"] else None
    assert sorted(set(keys), key=lambda key: (key[0], xxhash.digest(key[1]), key[2]), reverse=True) == met


@given(ROWS)
def test_the_indexes_know_what_the_shelf_knows(keys: list[tuple[int, str, str]]) -> None:
    """By id and by trace, whether built before or after a row came."""
    shelf = Shelf()
    for start, trace, id_ in keys:
        shelf.add([Row(id_, trace, start)])
        shelf.with_ids(["a"])
        shelf.of_traces(["t1"])
    kept = list(shelf.newest_first(None, None))
    assert [row for row in kept if row.id in {"a", "c"}] == shelf.with_ids(["a", "c", "nobody"])
    assert [row for row in kept if row.trace == "t2"] == shelf.of_traces(["t2"])


@given(st.datetimes(datetime(1971, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - hypothesis wants bounds without a zone
def test_a_moment_written_is_read_back_at_millisecond_precision(moment: datetime) -> None:
    """What is finer is floored."""
    text = moments.write(moments.millis(moment))
    read = datetime.fromisoformat(text)
    assert timedelta(0) <= moment - read < timedelta(milliseconds=1)
    assert moments.millis(moment) == moments.parse(text)


def test_the_hash_is_xxhash32() -> None:
    """Its published examples."""
    assert [0x02CC5D05, 0x32D153FF, 0xE2293B2F] == [xxhash.digest(text) for text in ("", "abc", "Nobody inspects the spammish repetition")]


def test_an_unknown_mode_is_refused() -> None:
    """Before anything is served."""
    with pytest.raises(ValueError, match="events_only, dual"):
        Sandbox(mode="legacy")

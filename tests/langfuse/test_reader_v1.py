"""Reading through v1: from a sandbox that answers as 3.x, and from an edge whose order among equals is as unstable as it can be."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hunkwatch.core import discover
from hunkwatch.core.model import Observation
from hunkwatch.core.window import Window
from hunkwatch.errors import AskForLess, RetryLater
from hunkwatch.langfuse.reader_v1 import ReaderV1
from hunkwatch.ports import ObservationKey
from hunkwatch.sandbox import Habits, Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hunkwatch.ports import Page

KEYS = ("pk-lf-demo", "sk-lf-demo")
NINE = datetime(2026, 11, 30, 9, tzinfo=UTC)
WINDOW = Window(NINE, NINE + timedelta(hours=2))
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"


def row(identity: str, *, at: float = 0.0, **parts: Any) -> dict[str, Any]:
    """Return an observation in v1 form, a patch call unless told otherwise; ``at`` seconds after nine."""
    start = (NINE + timedelta(seconds=at)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"id": identity, "traceId": "t1", "type": "TOOL", "name": "edit", "startTime": start, "input": {"input": PATCH}, **parts}


async def pages_of(reader: ReaderV1, window: Window = WINDOW) -> list[Page]:
    """Return every page of a window."""
    return [page async for page in reader.candidates(window, complete=False)]


def ids(pages: Sequence[Page]) -> list[str]:
    """Return the ids on the pages, in their order."""
    return [one.id for page in pages for one in page.observations]


class OldServer:
    """Answers v1 pages as a database without a tie-break: equal start times come in another order each time."""

    def __init__(self, rows: Sequence[dict[str, Any]], seed: int = 0) -> None:
        """Keep the rows; ``arriving`` are added one before each answer."""
        self.rows = list(rows)
        self.arriving: list[dict[str, Any]] = []
        self.random = Random(seed)  # noqa: S311 - no secret
        self.largest = 10**9

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer one page."""
        params = request.url.params
        if self.arriving:
            self.rows.append(self.arriving.pop(0))
        inside = [one for one in self.rows if params["fromStartTime"] <= one["startTime"] < params["toStartTime"]]
        self.random.shuffle(inside)
        inside.sort(key=lambda one: str(one["startTime"]), reverse=True)
        limit, number = int(params["limit"]), int(params["page"])
        part = inside[(number - 1) * limit : number * limit]
        if len(json.dumps(part)) > self.largest:
            return httpx.Response(422, json={"message": "Response payload is too large"})
        meta = {"page": number, "limit": limit, "totalItems": len(inside), "totalPages": -(-len(inside) // limit)}
        return httpx.Response(200, json={"data": part, "meta": meta})


async def test_a_server_of_3_gives_every_candidate_whole(on_socket: Any) -> None:
    """Tools by input or name, models by output; each page is complete, so that nothing is read twice."""
    sandbox = Sandbox(version="3.200.0", mode="dual")
    sandbox.add_observations(
        [
            row("tool", at=1),
            row("lower", at=2, input="*** begin patch"),
            row("asked", at=3, type="GENERATION", output={"tool_calls": [{"arguments": {"input": PATCH}}]}, input=None),
            row("hidden", at=4, name="ApplyPatchAction", input=None),
            row("key", at=5, input={"apply_patch": []}),
            row("history", at=6, type="GENERATION", input=[PATCH], output="Hello"),
            row("other", at=7, input={"path": "a.py"}),
            row("own", at=8, environment="langfuse-code-eval"),
            row("early", at=-1),
            row("late", at=7200),
        ]
    )
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        pages = await pages_of(ReaderV1(http, names=discover.NAMES))

    assert sorted(["asked", "hidden", "key", "lower", "tool"]) == sorted(ids(pages))
    assert {True} == {page.complete for page in pages}
    assert {"input": PATCH} in [one.input for page in pages for one in page.observations]


async def test_many_pages_of_3_lose_nothing(on_socket: Any) -> None:
    """Over a real socket: 450 rows, ten of them at each moment."""
    sandbox = Sandbox(version="3.200.0", mode="dual", habits=Habits(duplicated_rows=0.1))
    sandbox.add_observations([row(f"o{number:03}", at=number // 10) for number in range(450)])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        pages = await pages_of(ReaderV1(http, names=()))

    assert [f"o{number:03}" for number in range(450)] == sorted(ids(pages))


MOMENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 130)), min_size=1, max_size=4)


@given(moments=MOMENTS, seed=st.integers(0, 10**6), shrunk=st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_equal_start_times_lose_nothing_however_they_are_ordered(
    edge: Any,
    moments: list[tuple[int, int]],
    seed: int,
    shrunk: bool,  # noqa: FBT001 - drawn
) -> None:
    """Every row is met once: across pages, across moments, and where one millisecond fills more than a page."""
    rows = [row(f"o{moment}-{number}", at=moment / 1000) for moment, count in moments for number in range(count)]
    wanted = {one["id"] for one in rows}
    server = OldServer([row(identity, at=int(identity[1]) / 1000) for identity in sorted(wanted)], seed)
    reader = ReaderV1(edge.http(server), names=())
    reader._limit = 7 if shrunk else 100
    found = ids(await pages_of(reader))

    assert sorted(wanted) == sorted(found)


async def test_rows_that_arrive_meanwhile_push_none_out(edge: Any) -> None:
    """A growing table shifts numbered pages; a walk by start time does not feel it."""
    server = OldServer([row(f"o{number:03}", at=number) for number in range(300)])
    server.arriving = [row(f"new{number}", at=7000 + number) for number in range(50)]
    found = ids(await pages_of(ReaderV1(edge.http(server), names=())))

    assert {f"o{number:03}" for number in range(300)} <= set(found)
    assert len(found) == len(set(found))


async def test_a_count_that_never_agrees_comes_to_an_end(edge: Any) -> None:
    """A server whose count includes rows that it never shows is read until nothing new comes, and not for ever."""
    server = OldServer([row(f"o{number:03}") for number in range(150)])

    def miscounting(request: httpx.Request) -> httpx.Response:
        answer = server(request).json()
        answer["meta"]["totalItems"] += 5
        return httpx.Response(200, json=answer)

    found = ids(await pages_of(ReaderV1(edge.http(miscounting), names=())))

    assert [f"o{number:03}" for number in range(150)] == sorted(found)


async def test_large_rows_come_fewer_at_a_time(edge: Any) -> None:
    """Where a hundred rows are too much, fewer are asked for, and all are met."""
    server = OldServer([row(f"o{number:02}", at=number, output="y" * 1000) for number in range(60)])
    server.largest = 10_000
    found = ids(await pages_of(ReaderV1(edge.http(server), names=())))

    assert [f"o{number:02}" for number in range(60)] == sorted(found)


async def test_a_row_that_is_too_much_alone_is_named_and_passed(edge: Any) -> None:
    """v1 cannot leave the text out, so such a row is known by its time only; its neighbours, also of the same millisecond, are met."""
    good = [row(f"o{number:02}", at=number) for number in range(60)]
    huge = [row("huge", at=30, output="y" * 20_000), row("first", at=-0.0, output="y" * 20_000), row("last", at=59.5, output="y" * 20_000)]
    server = OldServer([*good, *huge])
    server.largest = 10_000
    pages = await pages_of(ReaderV1(edge.http(server), names=()))
    lost = {key: reason for page in pages for key, reason in page.unreadable.items()}

    assert [one["id"] for one in good] == sorted(ids(pages))
    assert {"", "too large to be read: Langfuse answered 422: Response payload is too large"} == {
        word for key, reason in lost.items() for word in (key.trace_id, reason)
    }
    assert ["09:00:00.000Z", "09:00:30.000Z", "09:00:59.500Z"] == sorted({key.observation_id[-13:] for key in lost})
    assert len(edge.asked) < 200


async def test_a_window_that_is_too_much_is_the_callers(edge: Any) -> None:
    """Where every row can be read by itself, it is the window that the daemon has to cut."""
    server = OldServer([row("o1", at=10), row("o2", at=20)])

    def narrow(request: httpx.Request) -> httpx.Response:
        params = request.url.params
        span = datetime.fromisoformat(params["toStartTime"]) - datetime.fromisoformat(params["fromStartTime"])
        return server(request) if span < timedelta(minutes=30) else httpx.Response(422, json={"message": "narrow"})

    with pytest.raises(AskForLess, match="narrow"):
        await pages_of(ReaderV1(edge.http(narrow), names=()))


async def test_a_page_out_of_order_is_not_walked(edge: Any) -> None:
    """Walking by start time over a page that is not in that order would skip rows; it is asked for again instead."""
    rows = [row("o1", at=1), row("o2", at=5)]
    answer = {"data": rows, "meta": {"totalItems": 300, "totalPages": 3}}

    with pytest.raises(RetryLater, match="order"):
        await pages_of(ReaderV1(edge.http(lambda _: httpx.Response(200, json=answer)), names=()))


async def test_rows_without_a_trace_are_named_and_walked_past(edge: Any) -> None:
    """A page of nothing but unusable rows still says where it ends."""
    lost = [row(f"x{number:03}", at=100 - number / 10, traceId=None) for number in range(100)]
    pages = await pages_of(ReaderV1(edge.http(OldServer([*lost, row("o1")])), names=()))

    assert (["o1"], 100) == (ids(pages), len({key for page in pages for key in page.unreadable}))
    assert ObservationKey("", "x000") in {key for page in pages for key in page.unreadable}


async def test_reading_again_asks_row_by_row(on_socket: Any) -> None:
    """What is gone is left out; the first start is kept."""
    sandbox = Sandbox(version="3.200.0", mode="dual")
    sandbox.add_observations([row("o1", at=5)])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        page = await ReaderV1(http, names=()).read([Observation("o1", "t1", NINE), Observation("gone", "t1", NINE)])

    assert [("o1", NINE, {"input": PATCH})] == [(one.id, one.start_time, one.input) for one in page.observations]


async def test_fetching_by_trace_and_by_id(on_socket: Any) -> None:
    """``explain`` gets whole rows of any type, and nothing where there is nothing."""
    sandbox = Sandbox(version="3.200.0", mode="dual")
    sandbox.add_observations([row(f"o{number:03}", at=number) for number in range(150)])
    sandbox.add_observations([row("other", traceId="t2")])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        reader = ReaderV1(http, names=())
        by_trace = await reader.fetch(trace_id="t1")
        by_id = await reader.fetch(observation_id="other")
        wrong, gone = await reader.fetch(trace_id="t1", observation_id="other"), await reader.fetch(observation_id="gone/?x")

    assert (150, ["other"], [], []) == (len(by_trace), [one.id for one in by_id], list(wrong), list(gone))


async def test_a_recorded_page_of_v1_is_read(edge: Any, replayed: Callable[[str], httpx.Response]) -> None:
    """The patch calls of the recorded trace, and no other row of it."""
    window = Window(NINE, NINE + timedelta(days=1))
    reader = ReaderV1(edge.script(replayed("202")), names=discover.NAMES)
    pages = [page async for page in reader.candidates(window, complete=True)]

    assert {"TOOL"} == {one.type for page in pages for one in page.observations}
    assert len(ids(pages)) == 2

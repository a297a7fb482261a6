"""Reading through v2: over a real socket from the sandbox, and at a scripted edge where a server misbehaves."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from hunkwatch.core import discover
from hunkwatch.core.model import Observation
from hunkwatch.core.window import Window
from hunkwatch.errors import AskForLess, Halt, RetryLater
from hunkwatch.langfuse.reader import ReaderV2
from hunkwatch.ports import ObservationKey
from hunkwatch.sandbox import Habits, Sandbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.langfuse.http import Http
    from hunkwatch.ports import Page

KEYS = ("pk-lf-demo", "sk-lf-demo")
NINE = datetime(2026, 11, 30, 9, tzinfo=UTC)
WINDOW = Window(NINE, NINE + timedelta(hours=2))
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"


def row(identity: str, *, at: float = 0.0, **parts: Any) -> dict[str, Any]:
    """Return an observation in v1 form, a patch call unless told otherwise; ``at`` seconds after nine."""
    start = NINE + timedelta(seconds=at)
    return {
        "id": identity,
        "traceId": "t1",
        "type": "TOOL",
        "name": "edit",
        "startTime": start.isoformat(),
        "endTime": (start + timedelta(seconds=1)).isoformat(),
        "input": {"input": PATCH},
        "output": "Done!",
        **parts,
    }


async def pages_of(reader: ReaderV2, window: Window = WINDOW, *, complete: bool = False) -> list[Page]:
    """Return every page of a window."""
    return [page async for page in reader.candidates(window, complete=complete)]


def ids(pages: Sequence[Page]) -> list[str]:
    """Return the ids on the pages, in their order."""
    return [one.id for page in pages for one in page.observations]


@pytest.fixture
def sandbox() -> Sandbox:
    """Return an empty sandbox."""
    return Sandbox()


async def test_every_kind_of_candidate_is_found_and_nothing_else(sandbox: Sandbox, on_socket: Any) -> None:
    """Tools by their input whatever they are called, models and agents by their output, hidden calls by their name."""
    model = {"type": "GENERATION", "name": "gpt", "input": [{"content": PATCH}]}
    sandbox.add_observations(
        [
            row("tool", at=1),
            row("span", at=2, type="SPAN"),
            row("asked", at=3, **{**model, "output": {"tool_calls": [{"arguments": PATCH}]}}),
            row("headerless", at=4, **{**model, "output": [{"type": "apply_patch_call", "operation": {"type": "create_file"}}]}),
            row("hidden", at=5, name="ApplyPatchAction", input=None),
            row("history", at=6, **{**model, "output": "Hello"}),
            row("agent", at=7, type="AGENT", output=PATCH),
            row("other", at=8, input={"path": "a.py"}),
            row("own", at=9, environment="langfuse-code-eval"),
            row("early", at=-1),
            row("late", at=7200),
        ]
    )
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        pages = await pages_of(ReaderV2(http, names=discover.NAMES))

    assert ["agent", "asked", "headerless", "hidden", "span", "tool"] == sorted(ids(pages))
    assert [False] * len(pages) == [page.complete for page in pages]


async def test_a_row_that_two_questions_find_is_handed_on_once(sandbox: Sandbox, on_socket: Any) -> None:
    """A tool called apply_patch with an envelope is found by its text and by its name."""
    sandbox.add_observations([row("both", name="apply_patch")])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        pages = await pages_of(ReaderV2(http, names=discover.NAMES))

    assert ["both"] == ids(pages)


@pytest.mark.parametrize("complete", [False, True])
async def test_a_thousand_equal_start_times_lose_nothing(sandbox: Sandbox, on_socket: Any, complete: bool) -> None:  # noqa: FBT001 - a case
    """Whatever the pages' size, every row of the window is met once, newest first within its page."""
    sandbox.add_observations([row(f"o{number:04}", traceId=f"t{number % 7}", at=number // 600) for number in range(1300)])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        pages = await pages_of(ReaderV2(http, names=()), complete=complete)

    assert [f"o{number:04}" for number in range(1300)] == sorted(ids(pages))
    for page in pages:
        starts = [one.start_time for one in page.observations]
        assert sorted(starts, reverse=True) == starts


async def test_complete_pages_carry_the_text(sandbox: Sandbox, on_socket: Any) -> None:
    """Input, output and the whole of the metadata come along, as raw text."""
    sandbox.add_observations([row("o1", metadata={"long": "x" * 500}, traceName="Turn", tags=["a"])])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        (page,) = await pages_of(ReaderV2(http, names=()), complete=True)

    (found,) = page.observations
    assert (True, {"input": PATCH}, "Done!") == (page.complete, json.loads(str(found.input)), found.output)
    assert ("x" * 500, "Turn", ("a",)) == ((found.metadata or {})["long"], found.trace_name, found.tags)


async def test_reading_completes_what_discovery_found(sandbox: Sandbox, on_socket: Any) -> None:
    """Phase two brings the text of exactly the rows that were asked for."""
    sandbox.add_observations([row(f"o{number:03}", at=number, metadata={"long": "x" * 500}) for number in range(250)])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        reader = ReaderV2(http, names=())
        (found,) = await pages_of(reader)
        wanted = [one for one in found.observations if one.id != "o007"]
        page = await reader.read(wanted)

    assert (True, {}) == (page.complete, page.unreadable)
    assert sorted(one.id for one in wanted) == sorted(one.id for one in page.observations)
    assert {PATCH} == {json.loads(str(one.input))["input"] for one in page.observations}
    assert {"x" * 500} == {(one.metadata or {})["long"] for one in page.observations}


async def test_a_row_sent_again_keeps_its_first_start(sandbox: Sandbox, on_socket: Any) -> None:
    """A span that moved in time is one observation: its newest text with its earliest start."""
    sandbox.habits = Habits(resent_rows=1.0, resent_by=90.0)
    sandbox.add_observations([row("o1")])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        reader = ReaderV2(http, names=())
        found = [one for page in await pages_of(reader) for one in page.observations]
        (again,) = (await reader.read(found)).observations

    assert again.start_time == NINE
    assert ({"o1"}, NINE) == ({one.id for one in found}, min(one.start_time for one in found))


async def test_a_duplicated_row_comes_once_a_page(sandbox: Sandbox, on_socket: Any) -> None:
    """Langfuse does not deduplicate what it reads."""
    sandbox.habits = Habits(duplicated_rows=1.0)
    sandbox.add_observations([row(f"o{number}") for number in range(20)])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        pages = await pages_of(ReaderV2(http, names=()), complete=True)

    assert sorted(f"o{number}" for number in range(20)) == sorted(ids(pages))


async def test_a_span_id_of_another_trace_is_another_observation(sandbox: Sandbox, on_socket: Any) -> None:
    """Ids are unique within their trace only."""
    sandbox.add_observations([row("o1", traceId="t1"), row("o1", traceId="t2")])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        reader = ReaderV2(http, names=())
        (found,) = await pages_of(reader)
        page = await reader.read([one for one in found.observations if one.trace_id == "t2"])

    assert ({"t1", "t2"}, ["t2"]) == ({one.trace_id for one in found.observations}, [one.trace_id for one in page.observations])


async def test_what_is_gone_is_left_out(sandbox: Sandbox, on_socket: Any) -> None:
    """A row that was deleted between the two phases is no error."""
    sandbox.add_observations([row("o1")])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        reader = ReaderV2(http, names=())
        (found,) = await pages_of(reader)
        page = await reader.read([*found.observations, found.observations[0]._replace(id="gone")])

    assert (["o1"], {}) == ([one.id for one in page.observations], page.unreadable)


async def test_nothing_to_read_asks_nothing(edge: Any) -> None:
    """An empty question costs no request."""
    page = await ReaderV2(edge.script(), names=()).read([])

    assert ([], []) == (page.observations, edge.asked)


@pytest.mark.parametrize("complete", [False, True])
async def test_one_row_over_every_limit_costs_that_row(sandbox: Sandbox, on_socket: Any, complete: bool) -> None:  # noqa: FBT001 - a case
    """A server that refuses large answers still gives every other row; the one that it cannot give is named."""
    sandbox.habits = Habits(answer_limit=200_000)
    sandbox.add_observations([row(f"o{number:02}", at=number, output="y" * 20_000) for number in range(40)])
    sandbox.add_observations([row("huge", at=17.5, output="y" * 300_000)])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        reader = ReaderV2(http, names=())
        pages = await pages_of(reader, complete=complete)
        if not complete:
            pages = [await reader.read([one for page in pages for one in page.observations])]

    assert [f"o{number:02}" for number in range(40)] == sorted(ids(pages))
    assert [ObservationKey("t1", "huge")] == [key for page in pages for key in page.unreadable]
    assert all("too large to be read" in reason for page in pages for reason in page.unreadable.values())


async def test_pages_of_whole_rows_are_aimed_at_what_an_answer_holds(sandbox: Sandbox, on_socket: Any) -> None:
    """After a few pages of large rows, no answer is far above the aim; Cloud would refuse 5 MB."""
    sandbox.add_observations([row(f"o{number:03}", at=number, output="y" * 100_000) for number in range(150)])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        reader = ReaderV2(http, names=())
        await pages_of(reader, complete=True)
        first = reader._whole_page
        sandbox.habits = Habits(answer_limit=5_000_000)
        pages = await pages_of(reader, complete=True)

    assert 20 <= first <= 40
    assert 150 == len(ids(pages))
    assert 422 not in {status for _, _, status in sandbox.requests}


async def test_fetching_by_trace_and_by_id(sandbox: Sandbox, on_socket: Any) -> None:
    """``explain`` gets whole rows of any type, old ones too; what is not there is empty."""
    sandbox.add_observations([row("o1", at=-1e7), row("o2", type="GENERATION"), row("o3", traceId="t2")])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        reader = ReaderV2(http, names=())
        by_trace = await reader.fetch(trace_id="t1")
        by_id = await reader.fetch(observation_id="o3")
        both = await reader.fetch(trace_id="t1", observation_id="o3")

    assert ({"o1", "o2"}, ["o3"], []) == ({one.id for one in by_trace}, [one.id for one in by_id], list(both))
    assert json.loads(str(by_id[0].input)) == {"input": PATCH}


# ---------------------------------------------------------------- at a scripted edge


def answered(*rows: dict[str, Any], cursor: str | None = None) -> httpx.Response:
    """Return a page as v2 answers it."""
    return httpx.Response(200, json={"data": list(rows), "meta": {"cursor": cursor} if cursor else {}})


def v2(identity: str, start: str = "2026-11-30T09:00:00.000Z", **parts: Any) -> dict[str, Any]:
    """Return a row as v2 answers it."""
    return {"id": identity, "traceId": "t1", "startTime": start, "type": "TOOL", "name": "n", "environment": "default", **parts}


async def test_a_cursor_in_a_circle_is_noticed(edge: Any) -> None:
    """A server that answers the same cursor again would be read for ever."""
    http = edge.script(answered(v2("o1"), cursor="a"), answered(v2("o2"), cursor="b"), answered(v2("o3"), cursor="a"))

    with pytest.raises(RetryLater, match="cursor"):
        await pages_of(ReaderV2(http, names=()))


async def test_an_empty_page_with_a_cursor_is_not_the_end(edge: Any) -> None:
    """Only a page without a cursor is the last."""
    http = edge.script(answered(cursor="a"), answered(v2("o1")), answered(), answered(), answered())

    assert ["o1"] == ids(await pages_of(ReaderV2(http, names=())))


async def test_a_window_that_is_too_much_is_the_callers_to_cut(edge: Any) -> None:
    """Discovery raises AskForLess; it is the daemon that halves windows."""
    with pytest.raises(AskForLess):
        await pages_of(ReaderV2(edge.http(lambda _: httpx.Response(422, json={"message": "narrow"})), names=()))


async def test_a_window_that_is_too_much_names_no_row_as_poison(edge: Any) -> None:
    """When the single row can be read by its id, it is the window that is too much."""

    def answer(request: httpx.Request) -> httpx.Response:
        params = parse_qs(urlsplit(str(request.url)).query)
        readable = '"column":"id"' in params["filter"][0] or "io" not in params["fields"][0]
        return answered(v2("o1", input=PATCH)) if readable else httpx.Response(422, json={"message": "narrow"})

    with pytest.raises(AskForLess):
        await pages_of(ReaderV2(edge.http(answer), names=()), complete=True)


async def test_a_gateway_that_gives_up_is_asked_for_less_next_time(edge: Any) -> None:
    """A 504 may well come from the size of the answer, so the next page is smaller."""
    reader = ReaderV2(edge.http(lambda _: httpx.Response(504)), names=())
    edge_http_proven(reader._http)

    with pytest.raises(RetryLater):
        await pages_of(reader, complete=True)
    assert reader._whole_page == 100


def edge_http_proven(http: Http) -> None:
    """Take the server for one that answered before."""
    http._proven = True


async def test_of_several_updates_the_newest_counts_with_the_smallest_start(edge: Any) -> None:
    """Within one page a row comes once."""
    rows = [
        v2("o1", "2026-11-30T09:00:05.000Z", name="new", updatedAt="2026-11-30T10:00:00Z"),
        v2("o1", "2026-11-30T09:00:01.000Z", name="old", updatedAt="2026-11-30T09:30:00Z"),
        v2("o1", "2026-11-30T09:00:03.000Z", name="none"),
    ]
    (page,) = await pages_of(ReaderV2(edge.script(answered(*rows), answered(), answered(), answered()), names=()))

    assert [("new", NINE + timedelta(seconds=1))] == [(one.name, one.start_time) for one in page.observations]


async def test_an_earlier_start_on_a_later_page_is_news(edge: Any) -> None:
    """The same row with an earlier start is handed on again: the core keeps the smallest it sees."""
    http = edge.script(
        answered(v2("o1", "2026-11-30T09:00:05.000Z"), cursor="a"),
        answered(v2("o1", "2026-11-30T09:00:01.000Z"), cursor="b"),
        answered(v2("o1", "2026-11-30T09:00:05.000Z")),
        *(answered() for _question in range(3)),
    )
    pages = await pages_of(ReaderV2(http, names=()))

    assert [5, 1] == [one.start_time.second for page in pages for one in page.observations]


async def test_reading_keeps_the_start_that_discovery_saw(edge: Any) -> None:
    """A row that moved between the two phases keeps the earlier start: scores are stamped with the first that was ever seen."""
    page = await ReaderV2(edge.script(answered(v2("o1", "2026-11-30T09:01:30.000Z"))), names=()).read([_observation("o1")])

    assert [NINE] == [one.start_time for one in page.observations]


async def test_ids_of_any_length_fit_into_an_address(edge: Any) -> None:
    """Batches are cut by the room that the ids take, so no proxy refuses the address."""
    rows = [_observation(f"{'ö' * 60}{number}") for number in range(100)]
    await ReaderV2(edge.http(lambda _: answered()), names=()).read(rows)

    assert max(len(str(request.url)) for request in edge.asked) < 8000
    asked = [one for request in edge.asked for one in json.loads(parse_qs(urlsplit(str(request.url)).query)["filter"][0])[0]["value"]]
    assert sorted(row.id for row in rows) == sorted(asked)


async def test_an_unreadable_row_is_named_once_it_is_read(edge: Any) -> None:
    """A row whose bytes make no observation is named, and only if it was asked for."""
    rows = [_observation("o1"), _observation("o2")]
    bad = [{**v2("o2"), "startTime": "x"}, {**v2("o9"), "startTime": "x"}]
    page = await ReaderV2(edge.script(answered(v2("o1"), *bad)), names=()).read(rows)

    assert (["o1"], [ObservationKey("t1", "o2")]) == ([one.id for one in page.observations], list(page.unreadable))


async def test_a_key_that_may_not_read_is_told_so(edge: Any) -> None:
    """A scores-only key gets a message that names what is missing."""
    refused = httpx.Response(403, json={"message": "Access denied - insufficient permissions"})

    with pytest.raises(Halt, match="may not read observations"):
        await pages_of(ReaderV2(edge.script(refused), names=()))


def _observation(identity: str) -> Observation:
    return Observation(identity, "t1", NINE)

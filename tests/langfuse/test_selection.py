"""Only what is selected is read: through v2 and v1, in discovery, by id and by trace, whatever the server makes of the conditions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from hunkwatch.core.model import Observation
from hunkwatch.core.window import Window
from hunkwatch.errors import AskForLess
from hunkwatch.langfuse.contexts import Contexts
from hunkwatch.langfuse.reader import ReaderV2
from hunkwatch.langfuse.reader_v1 import ReaderV1
from hunkwatch.langfuse.selection import ROOM, Selection
from hunkwatch.ports import ObservationKey
from hunkwatch.sandbox import Sandbox
from hunkwatch.settings import SelectSection

if TYPE_CHECKING:
    from hunkwatch.ports import Page

KEYS = ("pk-lf-demo", "sk-lf-demo")
NINE = datetime(2026, 11, 30, 9, tzinfo=UTC)
WINDOW = Window(NINE, NINE + timedelta(hours=2))
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
SERVERS = {"v2": ("4.16.0", "events_only", ReaderV2), "v1": ("3.200.0", "dual", ReaderV1)}

TRACES: dict[str, dict[str, Any]] = {
    "plain": {},
    "staged": {"environment": "staging", "traceName": "build"},
    "ours": {"environment": "production", "traceName": "build", "userId": "ann", "sessionId": "s-1", "tags": ["codex", "night"]},
    "theirs": {"environment": "production", "traceName": "deploy", "userId": "bob", "sessionId": "s-2", "tags": ["codex"]},
    "own": {"environment": "langfuse-llm-as-a-judge", "traceName": "build", "userId": "ann", "tags": ["codex"]},
}

CASES: list[tuple[dict[str, tuple[str, ...]], set[str]]] = [
    ({}, {"plain", "staged", "ours", "theirs"}),
    ({"environments": ("production",)}, {"ours", "theirs"}),
    ({"environments": ("production", "staging")}, {"staged", "ours", "theirs"}),
    ({"environments": ("langfuse-llm-as-a-judge",)}, set()),
    ({"not_environments": ("production",)}, {"plain", "staged"}),
    ({"environments": ("production", "staging"), "not_environments": ("staging",)}, {"ours", "theirs"}),
    ({"tags": ("night",)}, {"ours"}),
    ({"tags": ("night", "codex")}, {"ours", "theirs"}),
    ({"trace_names": ("build",)}, {"staged", "ours"}),
    ({"trace_names": ("build", "deploy")}, {"staged", "ours", "theirs"}),
    ({"users": ("ann",)}, {"ours"}),
    ({"users": ("ann", "bob")}, {"ours", "theirs"}),
    ({"sessions": ("s-2",)}, {"theirs"}),
    ({"sessions": ("s-1", "s-2", "s-3")}, {"ours", "theirs"}),
    ({"trace_names": ("build",), "environments": ("staging",)}, {"staged"}),
    ({"tags": ("night",), "users": ("bob",)}, set()),
]


def fill(sandbox: Sandbox) -> None:
    """Put a call into each trace."""
    sandbox.add_observations(
        {"id": f"o-{name}", "traceId": name, "type": "TOOL", "name": "edit", "startTime": NINE.isoformat(), "input": PATCH, **context}
        for name, context in TRACES.items()
    )


@pytest.mark.parametrize("api", SERVERS)
@pytest.mark.parametrize(("chosen", "expected"), CASES)
async def test_only_what_is_selected_is_read(on_socket: Any, api: str, chosen: dict[str, Any], expected: set[str]) -> None:
    """Discovery in both phases, reading by id and fetching by trace agree on what is selected."""
    version, mode, reader_of = SERVERS[api]
    sandbox = Sandbox(version=version, mode=mode)
    fill(sandbox)
    everything = [Observation(f"o-{name}", name, NINE) for name in TRACES]
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        reader = reader_of(http, names=(), selection=Selection(SelectSection(**chosen)))
        slim: list[Page] = [page async for page in reader.candidates(WINDOW, complete=False)]
        whole = [page async for page in reader.candidates(WINDOW, complete=True)]
        read = await reader.read(everything)
        fetched = [row for name in TRACES for row in await reader.fetch(trace_id=name)]

    assert [expected] * 4 == [
        {row.trace_id for row in rows}
        for rows in ([row for page in slim for row in page.observations], [row for page in whole for row in page.observations],
                     read.observations, fetched)
    ]  # fmt: skip


async def test_the_server_is_asked_for_the_selection(on_socket: Any) -> None:
    """Rows that are not selected are not even transferred, so that a selection saves what it promises."""
    sandbox = Sandbox()
    fill(sandbox)
    sizes = {}
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        for name, chosen in {"all": SelectSection(), "one": SelectSection(users=("ann",), sessions=("s-1",))}.items():
            reader = ReaderV2(http, names=(), selection=Selection(chosen))
            pages = [page async for page in reader._pages(WINDOW, Selection(chosen).conditions(), complete=False)]
            sizes[name] = sum(len(page.observations) for page in pages)
            assert [page async for page in reader.candidates(WINDOW, complete=False)]

    assert {"all": 5, "one": 1} == sizes


def test_conditions_that_do_not_fit_into_an_address_are_only_looked_at_here() -> None:
    """A selection of any length leaves room for the rest of the address."""
    many = tuple(f"session-{number:0>60}" for number in range(100))
    selection = Selection(SelectSection(environments=("production",), sessions=many, users=many, tags=("a",)))

    assert ["environment", "tags"] == [condition["column"] for condition in selection.conditions()]
    assert {"environment": ["production"]} == selection.parameters()
    assert len(many) * 60 > ROOM


def trace(edge: Any, answer: httpx.Response, **chosen: Any) -> Contexts:
    """Return what is known of traces that the server answers for so."""
    return Contexts(edge.http(lambda _: answer), Selection(SelectSection(**chosen)))


async def test_v1_asks_for_a_trace_once(edge: Any) -> None:
    """A selected trace stays so; one that is not may get its name or its tags later, so it is asked for again after a while."""
    ours = trace(edge, httpx.Response(200, json={"id": "t", "name": "build"}), trace_names=["build"])
    assert [True] * 3 == [await ours.takes("t") for _ in range(3)]
    assert len(edge.asked) == 1

    theirs = trace(edge, httpx.Response(200, json={"id": "t", "name": None, "tags": "no list"}), trace_names=["build"])
    assert [False] * 3 == [await theirs.takes("t") for _ in range(3)]
    edge.clock.forward(301)
    assert not await theirs.takes("t")
    assert len(edge.asked) == 3


async def test_v1_without_a_choice_of_traces_asks_for_none(edge: Any) -> None:
    """The default costs nothing."""
    assert await trace(edge, httpx.Response(500), environments=["production"]).takes("t")
    assert [] == edge.asked


async def test_a_trace_that_is_not_there_yet_is_not_selected(edge: Any) -> None:
    """Its observations are found again by the overlap, once it is there."""
    assert not await trace(edge, httpx.Response(404, json={"message": "Trace not found"}), users=["ann"]).takes("t")


async def test_a_row_whose_trace_is_too_large_to_be_shown_is_named(edge: Any) -> None:
    """It is put on record as unreadable and holds nothing up."""

    def answer(request: httpx.Request) -> httpx.Response:
        if "/traces/" in request.url.path:
            return httpx.Response(422, json={"message": "Response payload is too large"})
        row = {"id": "o1", "traceId": "t1", "type": "TOOL", "name": "apply_patch", "startTime": "2026-11-30T09:00:00.000Z", "input": PATCH}
        return httpx.Response(200, json={"data": [row], "meta": {"totalItems": 1, "totalPages": 1}})

    reader = ReaderV1(edge.http(answer), names=(), selection=Selection(SelectSection(tags=("night",))))
    (page,) = [page async for page in reader.candidates(WINDOW, complete=True)]

    assert ([], [ObservationKey("t1", "o1")]) == (list(page.observations), list(page.unreadable))
    assert "too large" in next(iter(page.unreadable.values()))
    with pytest.raises(AskForLess):
        await Contexts(edge.http(answer), Selection(SelectSection(tags=("night",)))).takes("t1")

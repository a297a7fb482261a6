"""Writing, reading back and withdrawing scores: what goes out, what comes back, and what a refusal costs."""

from __future__ import annotations

import json
from datetime import timedelta
from math import inf, nan
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from hunkwatch.errors import Halt, RetryLater
from hunkwatch.langfuse.faults import Missing, SingleWanted
from hunkwatch.langfuse.writer import IngestionOffer, ListOffer, Sink
from hunkwatch.ports import Parcel, Verdict
from hunkwatch.sandbox import Habits, Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hunkwatch.core.model import Score
    from hunkwatch.langfuse.http import Http
    from hunkwatch.ports import Receipt

KEYS = ("pk-lf-demo", "sk-lf-demo")
ACCEPTED, UNCERTAIN, REFUSED = Verdict.ACCEPTED, Verdict.UNCERTAIN, Verdict.REFUSED


def by_events(http: Http, configs: Mapping[str, str] | None = None) -> Sink:
    """Return a sink for servers up to 4.58."""
    return Sink(http, IngestionOffer(http), reads_v3=True, configs=configs or {})


def by_lists(http: Http, configs: Mapping[str, str] | None = None) -> Sink:
    """Return a sink for servers from 4.59 on."""
    return Sink(http, ListOffer(http), reads_v3=True, configs=configs or {})


def verdicts(receipts: Sequence[Receipt]) -> list[tuple[str, Verdict]]:
    """Return what was said of each score."""
    return [(receipt.score_id, receipt.verdict) for receipt in receipts]


def batch_of(request: httpx.Request) -> list[dict[str, Any]]:
    """Return the events or the elements of a request."""
    body = json.loads(request.content)
    events: list[dict[str, Any]] = body["batch"] if isinstance(body, dict) else body
    return events


def taken(request: httpx.Request) -> httpx.Response:
    """Answer that every event was taken."""
    return httpx.Response(207, json={"successes": [{"id": event["id"], "status": 201} for event in batch_of(request)], "errors": []})


@pytest.fixture
def parcels(make_score: Callable[..., Score]) -> Callable[..., list[Parcel]]:
    """Return a builder of parcels, one an id."""
    return lambda *ids, **parts: [Parcel(make_score(identity, **parts)) for identity in ids]


# ---------------------------------------------------------------- over a real socket


@pytest.mark.parametrize(("version", "sink"), [("4.16.0", by_events), ("4.60.0", by_lists)])
async def test_what_is_sent_is_seen(version: str, sink: Callable[[Http], Sink], on_socket: Any, make_score: Callable[..., Score]) -> None:
    """Every part of a score arrives, and its fingerprint is read back; sending it again changes nothing."""
    number = make_score("s1", observation_id="o1", environment="staging")
    label = make_score("s2", name="patch_shape", value="new_file")
    sandbox = Sandbox(version=version)
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        sent = [await sink(http).send([Parcel(number), Parcel(label)]) for _ in range(2)]
        seen = await sink(http).look_up(["s1", "s2", "s3"])

    assert [[("s1", ACCEPTED), ("s2", ACCEPTED)]] * 2 == [verdicts(receipts) for receipts in sent]
    assert {"s1": (0.75, "f-s1", number.timestamp), "s2": ("new_file", "f-s2", label.timestamp)} == {
        one: (score.value, score.fingerprint, score.timestamp) for one, score in seen.items()
    }
    stored = {score["id"]: score for score in sandbox.all_scores()}
    assert ("o1", "staging", number.comment, "blind_rewrite") == tuple(
        stored["s1"][part] for part in ("observationId", "environment", "comment", "name")
    )
    assert (None, 2) == (stored["s2"]["observationId"], len(sandbox.all_scores()))


async def test_a_server_of_3_shows_scores_through_v2(on_socket: Any, make_score: Callable[..., Score]) -> None:
    """Written by events, read back by the older route, labels too; that route shows only scores of traces that are there."""
    sandbox = Sandbox(version="3.200.0", mode="dual")
    sandbox.add_observations([{"id": "o1", "traceId": "t1", "type": "TOOL", "name": "edit", "startTime": "2026-11-30T09:00:00.000Z"}])
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        sink = Sink(http, IngestionOffer(http), reads_v3=False, configs={})
        await sink.send([Parcel(make_score("s1")), Parcel(make_score("s2", name="patch_shape", value="new_file"))])
        seen = await sink.look_up(["s1", "s2", "s3"])

    assert {"s1": (0.75, "f-s1"), "s2": ("new_file", "f-s2")} == {one: (score.value, score.fingerprint) for one, score in seen.items()}


async def test_any_number_of_scores_is_looked_up(on_socket: Any, parcels: Callable[..., list[Parcel]]) -> None:
    """A hundred ids a request, as many requests as it takes."""
    ids = [f"00000000-0000-5000-8000-{number:012}" for number in range(250)]
    sandbox = Sandbox()
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        sink = by_events(http)
        await sink.send(parcels(*ids))
        seen = await sink.look_up(ids)

    assert set(ids) == set(seen)
    assert 3 == sum(path.endswith("/v3/scores") for _, path, _ in sandbox.requests)


async def test_a_withdrawn_score_is_gone_and_so_is_one_that_never_was(on_socket: Any, parcels: Callable[..., list[Parcel]]) -> None:
    """Deleting is asked for once and may be asked for again."""
    sandbox = Sandbox()
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        sink = by_events(http)
        await sink.send(parcels("s1", "s2"))
        await sink.withdraw("s1")
        await sink.withdraw("never/was")

    assert ["s2"] == [score["id"] for score in sandbox.scores()]


async def test_events_that_fail_alone_spoil_nobody(on_socket: Any, parcels: Callable[..., list[Parcel]]) -> None:
    """Each event of a 207 is judged by its own status."""
    sandbox = Sandbox(habits=Habits(partial_errors=0.4, seed=3))
    ids = [f"s{number}" for number in range(20)]
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        receipts = await by_events(http).send(parcels(*ids))

    accepted = {receipt.score_id for receipt in receipts if receipt.verdict is ACCEPTED}
    assert accepted == {score["id"] for score in sandbox.scores()}
    assert 0 < len(accepted) < 20


# ---------------------------------------------------------------- at a scripted edge


async def test_nothing_to_send_asks_nothing(edge: Any) -> None:
    """An empty batch costs no request."""
    assert ([], []) == (list(await by_events(edge.script()).send([])), edge.asked)


async def test_the_verdict_of_an_event_is_its_own(edge: Any, parcels: Callable[..., list[Parcel]]) -> None:
    """A success is taken, a client error refused with its reason, a server error or silence a matter for the read-back."""

    def answer(request: httpx.Request) -> httpx.Response:
        ids = [event["id"] for event in batch_of(request)]
        errors = [
            {"id": ids[1], "status": 400, "message": "bad\nvalue", "error": "long"},
            {"id": ids[2], "status": 500, "message": "later"},
            {"id": ids[3], "status": 429},
        ]
        return httpx.Response(207, json={"successes": [{"id": ids[0], "status": 201}], "errors": errors})

    receipts = await by_events(edge.http(answer)).send(parcels("a", "b", "c", "d", "e"))

    assert [("a", ACCEPTED), ("b", REFUSED), ("c", UNCERTAIN), ("d", UNCERTAIN), ("e", UNCERTAIN)] == verdicts(receipts)
    assert receipts[1].reason == "400: bad value"


async def test_an_answer_that_says_nothing_leaves_it_to_the_read_back(edge: Any, parcels: Callable[..., list[Parcel]]) -> None:
    """A 2xx whose body names no event neither loses a score nor proves one."""
    receipts = await by_events(edge.script(httpx.Response(200, json={}))).send(parcels("a", "b"))

    assert [("a", UNCERTAIN), ("b", UNCERTAIN)] == verdicts(receipts)


async def test_the_recorded_answer_to_an_event_accepts_it(
    edge: Any, recorded: Callable[[str], Any], parcels: Callable[..., list[Parcel]]
) -> None:
    """What a real server said of an event says the same of ours, under our event's id."""
    answer = recorded("080")["response"]["body"]

    def replay(request: httpx.Request) -> httpx.Response:
        ((ours,), (theirs,)) = batch_of(request), answer["successes"]
        return httpx.Response(207, json={**answer, "successes": [{**theirs, "id": ours["id"]}]})

    assert [("a", ACCEPTED)] == verdicts(await by_events(edge.http(replay)).send(parcels("a")))


@pytest.mark.parametrize("sink", [by_events, by_lists])
@pytest.mark.parametrize(("status", "verdict"), [(400, REFUSED), (413, UNCERTAIN), (422, UNCERTAIN)])
async def test_one_score_that_spoils_a_batch_is_found(
    sink: Callable[[Http], Sink], status: int, verdict: Verdict, edge: Any, parcels: Callable[..., list[Parcel]]
) -> None:
    """A refused batch is offered in halves, until only the one at fault is; "too much" may pass, so it is tried again."""

    def answer(request: httpx.Request) -> httpx.Response:
        batch = batch_of(request)
        if any("bad" in (event.get("body") or event)["id"] for event in batch):
            return httpx.Response(status, json={"message": "Invalid request data"})
        return taken(request) if "body" in batch[0] else httpx.Response(202, json={"message": "Accepted"})

    ids = [*(f"s{number}" for number in range(11)), "bad", "s11"]
    receipts = await sink(edge.http(answer)).send(parcels(*ids))

    assert [(one, verdict if one == "bad" else ACCEPTED) for one in ids] == verdicts(receipts)
    assert receipts[11].reason == f"Langfuse answered {status}: Invalid request data"
    assert len(edge.asked) <= 9


@pytest.mark.parametrize("value", [nan, inf, -inf])
@pytest.mark.parametrize("sink", [by_events, by_lists])
async def test_a_value_that_json_cannot_carry_is_refused_here(
    sink: Callable[[Http], Sink], value: float, edge: Any, make_score: Callable[..., Score]
) -> None:
    """It is not sent, and spoils nobody."""
    http = edge.http(lambda request: taken(request) if b"batch" in request.content else httpx.Response(202, json={}))
    receipts = await sink(http).send([Parcel(make_score("a")), Parcel(make_score("b", value=value)), Parcel(make_score("c"))])

    assert [("a", ACCEPTED), ("b", REFUSED), ("c", ACCEPTED)] == verdicts(receipts)


async def test_metadata_that_json_cannot_carry_is_refused_here(edge: Any, make_score: Callable[..., Score]) -> None:
    """Even what no type checker saw coming costs its own score only."""
    receipts = await by_events(edge.http(taken)).send([Parcel(make_score("a", metadata={"x": {1, 2}})), Parcel(make_score("b"))])

    assert [("a", REFUSED), ("b", ACCEPTED)] == verdicts(receipts)


async def test_a_list_that_is_taken_whole_is_accepted(edge: Any, parcels: Callable[..., list[Parcel]]) -> None:
    """202 for the list is the word for each."""
    receipts = await by_lists(edge.script(httpx.Response(202, json={"message": "Accepted"}))).send(parcels("a", "b"))

    assert [("a", ACCEPTED), ("b", ACCEPTED)] == verdicts(receipts)


async def test_a_list_that_is_taken_in_part_proves_nothing(edge: Any, parcels: Callable[..., list[Parcel]]) -> None:
    """A 207 names no ids: of every score only a read-back tells, with the server's complaint as the hint."""
    answer = httpx.Response(207, json={"accepted": 1, "rejected": 1, "errors": [{"message": "value out of range"}]})
    receipts = await by_lists(edge.script(answer)).send(parcels("a", "b"))

    assert [("a", UNCERTAIN), ("b", UNCERTAIN)] == verdicts(receipts)
    assert {"value out of range"} == {receipt.reason for receipt in receipts}


async def test_a_list_of_which_nothing_was_refused_is_accepted(edge: Any, parcels: Callable[..., list[Parcel]]) -> None:
    """A 207 that counts no rejection is as good as a 202."""
    answer = httpx.Response(207, json={"accepted": 2, "rejected": 0, "errors": []})

    assert [("a", ACCEPTED), ("b", ACCEPTED)] == verdicts(await by_lists(edge.script(answer)).send(parcels("a", "b")))


@pytest.mark.parametrize(("sink", "bound"), [(by_events, 3_500_000), (by_lists, 1_000_000)])
async def test_no_body_is_larger_than_the_server_takes(
    sink: Callable[[Http], Sink], bound: int, edge: Any, parcels: Callable[..., list[Parcel]]
) -> None:
    """Scores with long comments go in as many requests as it takes, each close to what fits."""
    http = edge.http(lambda request: taken(request) if b"batch" in request.content else httpx.Response(202, json={}))
    ids = [f"s{number}" for number in range(60)]
    receipts = await sink(http).send(parcels(*ids, comment="ö" * 40_000))

    sizes = [len(request.content) for request in edge.asked]
    assert [(one, ACCEPTED) for one in ids] == verdicts(receipts)
    assert max(sizes) <= bound
    assert len(sizes) <= sum(sizes) // (bound * 0.8) + 1


async def test_a_server_that_stops_halfway_leaves_the_rest_to_the_read_back(
    edge: Any, parcels: Callable[..., list[Parcel]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was answered stays answered; of what came after nothing is known."""
    monkeypatch.setattr(IngestionOffer, "room", 10)
    http = edge.http(lambda request: taken(request) if len(edge.asked) == 1 else httpx.Response(401, json={"message": "Invalid"}))
    receipts = await by_events(http).send(parcels("a", "b", "c"))

    assert [("a", ACCEPTED), ("b", UNCERTAIN), ("c", UNCERTAIN)] == verdicts(receipts)


@pytest.mark.parametrize("sink", [by_events, by_lists])
async def test_a_server_of_which_nothing_is_known_raises(
    sink: Callable[[Http], Sink], edge: Any, parcels: Callable[..., list[Parcel]]
) -> None:
    """Then every score is put back as it was."""
    with pytest.raises(RetryLater):
        await sink(edge.http(lambda _: httpx.Response(503, json={}))).send(parcels("a", "b"))


async def test_a_key_that_may_not_write_is_told_so(edge: Any, parcels: Callable[..., list[Parcel]]) -> None:
    """Whether the request is refused or each of its events, the message names what is missing."""

    def by_event(request: httpx.Request) -> httpx.Response:
        errors = [{"id": event["id"], "status": 403, "message": "Access denied"} for event in batch_of(request)]
        return httpx.Response(207, json={"successes": [], "errors": errors})

    for answer in (by_event, lambda _: httpx.Response(403, json={"message": "Access denied"})):
        with pytest.raises(Halt, match="may not write scores"):
            await by_events(edge.http(answer)).send(parcels("a"))


async def test_a_server_that_takes_no_lists_is_noticed(
    edge: Any, replayed: Callable[[str], httpx.Response], parcels: Callable[..., list[Parcel]]
) -> None:
    """The recorded refusal of a list is no fault of any score: the way of writing is chosen anew."""
    with pytest.raises(SingleWanted):
        await by_lists(edge.script(replayed("187"))).send(parcels("a", "b"))


async def test_a_server_without_the_route_is_noticed(edge: Any, parcels: Callable[..., list[Parcel]]) -> None:
    """No score is refused because a route went away."""
    with pytest.raises(Missing):
        await by_events(edge.script(httpx.Response(404, json={"message": "gone"}))).send(parcels("a", "b"))


async def test_a_config_goes_along_unless_it_is_the_last_try(edge: Any, make_score: Callable[..., Score]) -> None:
    """Langfuse drops what a config forbids without a word, so the last send of a score goes without."""
    with_config, without = Parcel(make_score("a")), Parcel(make_score("b"), with_config=False)
    await by_events(edge.http(taken), {"blind_rewrite": "c1"}).send([with_config, without, Parcel(make_score("c", name="retyped_lines"))])

    (request,) = edge.asked
    assert ["c1", None, None] == [event["body"].get("configId") for event in batch_of(request)]


async def test_a_days_quota_of_deletions_is_the_callers_to_wait_for(edge: Any, replayed: Callable[[str], httpx.Response]) -> None:
    """The recorded refusal names a day."""
    with pytest.raises(RetryLater) as caught:
        await by_events(edge.script(replayed("120"))).withdraw("s1")

    assert timedelta(days=1) == caught.value.after

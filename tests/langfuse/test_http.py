"""Retries, waits, bounds and events of one conversation, at a scripted network edge."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from hunkwatch import events
from hunkwatch.errors import AskForLess, Exit, Halt, Refused, RetryLater
from hunkwatch.langfuse import http as conversation
from hunkwatch.langfuse.http import Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

OK = {"data": []}
HTML = "<!DOCTYPE html><title>Sign in</title>"


def busy(status: int = 503, **headers: str) -> httpx.Response:
    """Return an answer that asks to come later."""
    return httpx.Response(
        status, json={"message": "Service Unavailable"}, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )


def fine() -> httpx.Response:
    """Return an answer with nothing wrong."""
    return httpx.Response(200, json=OK)


def page(status: int) -> httpx.Response:
    """Return a page for people."""
    return httpx.Response(status, html=HTML)


async def test_an_answer_is_handed_on_with_its_bytes(edge: Any) -> None:
    """A 2xx with JSON is an answer."""
    answer = await edge.script(fine()).get("api/public/x", route=Route.PROJECTS)

    assert (200, OK) == (answer.status, json.loads(answer.content))


async def test_the_base_path_and_the_key_go_with_every_request(edge: Any) -> None:
    """A server under a path is asked under its path, with basic authentication."""
    await edge.script(fine()).get("api/public/health", route=Route.HEALTH, query={"a": "b c"})

    (asked,) = edge.asked
    assert str(asked.url) == "https://langfuse.example/base/api/public/health?a=b+c"
    assert asked.headers["authorization"] == "Basic " + base64.b64encode(b"pk-lf-test:sk-lf-test").decode()


async def test_a_busy_server_is_asked_again_ever_later(edge: Any) -> None:
    """Without a wish of the server the pauses grow, with jitter, and the answer comes in the end."""
    answer = await edge.script(busy(), busy(500), httpx.ReadTimeout("x"), fine()).get("x", route=Route.PROJECTS)

    assert answer.status == 200
    assert [True] * 3 == [least <= pause <= least + 1 for least, pause in zip((0.5, 1.0, 2.0), edge.clock.slept, strict=True)]
    assert [503, 500, 0, 200] == [event.status for event in edge.told_of(events.RequestAnswered)]
    assert [1, 2, 3] == [event.attempt for event in edge.told_of(events.RequestRetried)]


async def test_no_request_is_tried_more_than_six_times(edge: Any) -> None:
    """After six attempts the error is the caller's."""
    with pytest.raises(RetryLater):
        await edge.http(lambda _: busy()).get("x", route=Route.PROJECTS)

    assert len(edge.asked) == 6


async def test_no_request_is_tried_longer_than_ninety_seconds(edge: Any) -> None:
    """A wait that would end later than that is left to the caller, with the server's wish."""
    with pytest.raises(RetryLater) as caught:
        await edge.http(lambda _: busy(429, retry_after="40")).get("x", route=Route.PROJECTS)

    assert (3, [40.0, 40.0], timedelta(seconds=40)) == (len(edge.asked), edge.clock.slept, caught.value.after)


@pytest.mark.parametrize(
    ("wish", "seconds"),
    [("7", 7.0), (" 0 ", 0.0), ("Mon, 30 Nov 2026 12:00:09 GMT", 9.0), ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0)],
)
async def test_retry_after_is_believed(edge: Any, wish: str, seconds: float) -> None:
    """Seconds and dates alike; a date that has passed means now."""
    await edge.script(busy(503, retry_after=wish), fine()).get("x", route=Route.PROJECTS)

    assert [seconds] == edge.clock.slept


@pytest.mark.parametrize("wish", ["soon", "-5", "1e9", "\xbd", "Mon, 99 Nov 2026 12:00:09 GMT", ""])
async def test_a_wish_that_makes_no_sense_is_no_wish(edge: Any, wish: str) -> None:
    """Then our own pause counts."""
    await edge.script(httpx.Response(503, headers=[(b"retry-after", wish.encode("latin-1"))]), fine()).get("x", route=Route.PROJECTS)

    assert 0.5 <= edge.clock.slept[0] <= 1.5


async def test_a_recorded_429_teaches_the_pace(edge: Any, replayed: Callable[[str], httpx.Response]) -> None:
    """After the recorded refusal (30 a minute) at most 14 requests start within a minute."""
    http = edge.script(replayed("113"), *(fine() for _ in range(20)))
    began = edge.clock.passed
    for _ in range(15):
        await http.get("x", route=Route.OBSERVATIONS_V2)

    assert [events.RateLimited("", "observations_v2", 40.0)] == edge.told_of(events.RateLimited)
    assert edge.clock.passed - began == 100.0


async def test_the_body_of_a_429_says_how_long_where_the_header_does_not(edge: Any) -> None:
    """``details.retryAfterSeconds`` is as good as the header."""
    refused = httpx.Response(429, json={"message": "Rate limit exceeded", "details": {"retryAfterSeconds": 12, "limit": 30}})
    await edge.script(refused, fine()).get("x", route=Route.PROJECTS)

    assert edge.clock.slept == [12.0]


async def test_a_used_up_quota_stops_deletions_and_nothing_else(edge: Any, replayed: Callable[[str], httpx.Response]) -> None:
    """The next deletion is not even asked for before the day is over; reads go on at once."""
    http = edge.script(replayed("120"), fine())
    with pytest.raises(RetryLater) as first:
        await http.delete("scores/a", route=Route.SCORE_DELETE)
    with pytest.raises(RetryLater) as second:
        await http.delete("scores/b", route=Route.SCORE_DELETE)
    await http.get("x", route=Route.OBSERVATIONS_V2)

    assert [timedelta(days=1)] * 2 == [first.value.after, second.value.after]
    assert (2, []) == (len(edge.asked), edge.clock.slept)


async def test_what_is_no_use_is_not_asked_again(edge: Any) -> None:
    """Refused, AskForLess and Halt leave at once."""
    for status, kind in ((400, Refused), (422, AskForLess), (401, Halt), (403, Halt)):
        with pytest.raises(kind):
            await edge.script(httpx.Response(status, json={"message": "no"})).get("x", route=Route.PROJECTS)

    assert len(edge.asked) == 4


async def test_a_status_that_is_allowed_is_an_answer(edge: Any) -> None:
    """Who asks whether something is there gets the 404 itself."""
    answer = await edge.script(page(404)).get("x", route=Route.PROJECTS, allow=frozenset({404}))

    assert answer.status == 404


@pytest.mark.parametrize("answer", [page(200), page(404), httpx.Response(302, headers={"location": "https://login.example"})])
async def test_an_address_that_is_not_langfuse_stops_at_once(edge: Any, answer: httpx.Response) -> None:
    """The first answer decides whether the address is right; nothing of it gets into the message."""
    with pytest.raises(Halt) as caught:
        await edge.script(answer).get("x", route=Route.HEALTH)

    assert (Exit.UNAVAILABLE, False) == (caught.value.exit_code, "Sign in" in str(caught.value) or "login" in str(caught.value))


async def test_a_gateway_page_between_good_answers_passes(edge: Any) -> None:
    """A running worker survives the maintenance page of a proxy, status 200 and all."""
    http = edge.script(fine(), page(200), fine())
    await http.get("x", route=Route.HEALTH)

    assert (await http.get("x", route=Route.HEALTH)).status == 200


async def test_a_server_that_never_answered_is_not_there(edge: Any) -> None:
    """Before the first answer, patience ends in a Halt that names what to check."""
    with pytest.raises(Halt) as caught:
        await edge.http(_raise(httpx.ConnectError("secret"))).get("x", route=Route.HEALTH)

    assert (Exit.UNAVAILABLE, "Langfuse cannot be reached: no connection", 6) == (
        caught.value.exit_code,
        str(caught.value),
        len(edge.asked),
    )


async def test_a_server_that_went_away_comes_back(edge: Any) -> None:
    """After a first answer, silence is for the caller to wait out."""
    http = edge.script(fine(), *(httpx.ConnectError("x") for _ in range(6)))
    await http.get("x", route=Route.HEALTH)

    with pytest.raises(RetryLater):
        await http.get("x", route=Route.HEALTH)


async def test_an_answer_without_end_is_asked_for_in_pieces(edge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading stops at the bound, however much would follow."""
    monkeypatch.setattr(conversation, "LARGEST", 10_000)
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1000
            yield b"x" * 1000

    with pytest.raises(AskForLess):
        await edge.script(httpx.Response(200, headers={"content-type": "application/json"}, content=endless())).get(
            "x", route=Route.PROJECTS
        )

    assert sent == 11_000


async def test_a_compressed_answer_is_bounded_by_what_it_becomes(edge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small body that unpacks to a large one is as large as that."""
    monkeypatch.setattr(conversation, "LARGEST", 10_000)
    packed = gzip.compress(b" " * 100_000)
    headers = {"content-type": "application/json", "content-encoding": "gzip"}

    with pytest.raises(AskForLess):
        await edge.script(httpx.Response(200, headers=headers, content=packed)).get("x", route=Route.PROJECTS)


async def test_an_error_says_the_servers_short_message_and_nothing_else(edge: Any) -> None:
    """One line, no key, no more than 200 characters; never another part of the body."""
    body = {"message": "Invalid\nrequest for sk-lf-1234-abcd " + "x" * 500, "input": "*** Begin Patch"}
    with pytest.raises(Refused) as caught:
        await edge.script(httpx.Response(400, json=body)).get("x", route=Route.PROJECTS)

    assert str(caught.value).startswith("Langfuse answered 400: Invalid request for sk-lf-... xxx")
    assert len(str(caught.value)) <= 230


async def test_a_key_leaves_no_trace_in_errors_and_events(edge: Any) -> None:
    """Neither the key nor a header is part of any event or message."""
    with pytest.raises(Halt) as caught:
        await edge.script(busy(), httpx.Response(401, json={"message": "Invalid credentials for sk-lf-test."})).get(
            "x", route=Route.PROJECTS
        )

    said = f"{caught.value!r} {caught.value.mend} {edge.told!r}"
    assert ("sk-lf-test" in said, "Basic" in said) == (False, False)


async def test_an_own_budget_is_kept(edge: Any) -> None:
    """With two requests a minute, the third waits for its minute; the health check is free."""
    http = edge.http(lambda _: fine(), per_minute=2)
    for _ in range(3):
        await http.get("x", route=Route.OBSERVATIONS_V2)
    await http.get("x", route=Route.HEALTH)

    assert edge.clock.slept == [60.0]


async def test_a_body_goes_out_as_json(edge: Any) -> None:
    """What is posted says what it is."""
    await edge.script(fine()).post("x", b'{"a":1}', route=Route.INGESTION)

    (asked,) = edge.asked
    assert ("POST", "application/json", b'{"a":1}') == (asked.method, asked.headers["content-type"], asked.content)


async def test_every_answer_is_told_with_its_size(edge: Any) -> None:
    """Route, status and bytes of each request are known to the telemetry, by route names only."""
    await edge.script(fine()).get("api/public/v2/observations", route=Route.OBSERVATIONS_V2)

    assert [events.RequestAnswered("", "observations_v2", 200, 0.0, len(json.dumps(OK, separators=(",", ":"))))] == edge.told


def _raise(error: Exception) -> Callable[[httpx.Request], httpx.Response]:
    def answer(_request: httpx.Request) -> httpx.Response:
        raise error

    return answer

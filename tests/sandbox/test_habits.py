"""Every habit can be switched on, strikes as said, and strikes again the same way for the same seed."""

import itertools
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from hunkwatch.sandbox import Delays, Fault, Habits, Wrong
from hunkwatch.sandbox.habits import MEASURED, FaultDice

Make = Callable[..., Any]
HEALTH = "/api/public/health"
STATUS = {
    Wrong.RATE_LIMITED: 429,
    Wrong.UNAUTHORIZED: 401,
    Wrong.FORBIDDEN: 403,
    Wrong.TOO_HEAVY: 422,
    Wrong.BROKEN: 500,
    Wrong.BAD_GATEWAY: 502,
    Wrong.UNAVAILABLE: 503,
    Wrong.GATEWAY_PAGE: 200,
}


@pytest.mark.parametrize("wrong", STATUS, ids=str)
async def test_a_request_is_refused_with_the_status_of_its_fault(wrong: Wrong, serve: Make) -> None:
    """Each refusal has its status."""
    served = await serve(Habits(faults=(Fault(wrong),)))
    assert STATUS[wrong] == (await served.client.get(HEALTH)).status_code


async def test_a_gateways_page_is_html_with_a_good_status(serve_on_socket: Make) -> None:
    """What a proxy or a wrong base URL answers."""
    served = await serve_on_socket(Habits(faults=(Fault(Wrong.GATEWAY_PAGE),)))
    assert "text/html; charset=utf-8" == (await served.client.get(HEALTH)).headers["content-type"]


async def test_a_forced_429_says_when_to_come_back(serve: Make) -> None:
    """Body and header agree."""
    served = await serve(Habits(faults=(Fault(Wrong.RATE_LIMITED, seconds=17),)))
    answer = await served.client.get(HEALTH)
    assert ("17", 17) == (answer.headers["retry-after"], answer.json()["details"]["retryAfterSeconds"])


@pytest.mark.parametrize("wrong", [Wrong.CUT, Wrong.REFUSED, Wrong.HANGING], ids=str)
async def test_a_connection_is_cut(wrong: Wrong, serve_on_socket: Make) -> None:
    """Before an answer, in the middle of one, or after a long silence; the client sees no HTTP any more."""
    served = await serve_on_socket(Habits(faults=(Fault(wrong, seconds=0.01),)))
    with pytest.raises(httpx.TransportError):
        await served.client.get(HEALTH)


async def test_a_slow_body_arrives_whole(serve_on_socket: Make) -> None:
    """In pieces, and nothing is missing."""
    served = await serve_on_socket(Habits(faults=(Fault(Wrong.SLOW, seconds=0.02),)))
    assert {"status": "OK", "version": "4.16.0"} == (await served.client.get(HEALTH)).json()


async def test_a_fault_strikes_where_when_and_as_often_as_it_says(serve: Make) -> None:
    """Only its path and method, after the first ones, at most so often."""
    served = await serve(Habits(faults=(Fault(Wrong.BROKEN, path="/api/public/v2", method="GET", after=1, times=2),)))
    other = (await served.client.get("/api/public/projects")).status_code
    statuses = [(await served.client.get("/api/public/v2/observations")).status_code for _ in range(5)]
    assert (200, [200, 500, 500, 200, 200]) == (other, statuses)


def strikes(seed: int, *faults: Fault) -> list[str]:
    """What a run of a hundred requests meets."""
    dice = FaultDice(Habits(seed=seed, faults=faults))
    struck = (dice.strike("GET", HEALTH) for _ in range(100))
    return ["" if fault is None else str(fault.wrong) for fault in struck]


BROKEN, HEAVY = Fault(Wrong.BROKEN, share=0.3), Fault(Wrong.TOO_HEAVY, share=0.3)


def test_a_run_repeats_by_its_seed() -> None:
    """The same seed gives the same faults, another seed others."""
    assert strikes(1, BROKEN) == strikes(1, BROKEN) != strikes(2, BROKEN)


def test_switching_a_fault_off_leaves_the_others_as_they_were() -> None:
    """Each fault has its own stream of chances."""
    both, alone = strikes(1, BROKEN, HEAVY), strikes(1, BROKEN)
    assert [at for at, wrong in enumerate(alone) if wrong] == [at for at, wrong in enumerate(both) if wrong == "500"]


async def test_duplicated_rows_come_twice_within_the_limit(serve: Make, tool: Make) -> None:
    """A page never has more rows than asked for, and a walk meets every row."""
    served = await serve(Habits(duplicated_rows=0.5))
    served.sandbox.add_observations(tool(number) for number in range(40))
    met: list[str] = []
    sizes: list[int] = []
    cursor: dict[str, str] | None = {}
    while cursor is not None:
        page = await served.get("/v2/observations", limit=7, **cursor)
        met += [row["id"] for row in page["data"]]
        sizes.append(len(page["data"]))
        cursor = page["meta"] or None
    assert {f"o{number}" for number in range(40)} == set(met)
    assert len(met) > 50
    assert max(sizes) == 7


async def test_resent_rows_are_there_again_with_another_start(serve: Make, tool: Make) -> None:
    """Both are kept, since the start time is part of the key."""
    served = await serve(Habits(resent_rows=1, resent_by=90))
    served.sandbox.add_observations([tool(1)])
    assert ["2026-11-30T11:01:30.001Z", "2026-11-30T11:00:00.001Z"] == [row["startTime"] for row in await served.rows()]


async def test_late_rows_are_seen_when_the_clock_says_so(serve: Make, tool: Make) -> None:
    """They keep their old start."""
    served = await serve(Habits(late_rows=1, late_by=600))
    served.sandbox.add_observations([tool(1)])
    before = await served.rows()
    served.wait(600)
    assert (0, 1) == (len(before), len(await served.rows()))


async def test_dropped_scores_are_accepted_and_never_seen(serve: Make) -> None:
    """A 200, and nothing to read."""
    served = await serve(Habits(dropped_scores=1))
    assert (200, []) == ((await served.score()).status_code, served.sandbox.all_scores())


async def test_a_dropped_score_has_a_new_chance_when_sent_again(serve: Make) -> None:
    """Half of the sendings are lost, so of two scores sent ten times both arrive."""
    served = await serve(Habits(dropped_scores=0.5))
    for id_ in ["s1", "s2"] * 10:
        await served.score(id=id_)
    assert {"s1", "s2"} == {score["id"] for score in served.sandbox.scores()}


async def test_a_part_of_a_batch_fails_alone(serve: Make) -> None:
    """The event's own error stands in the 207 under its id."""
    served = await serve(Habits(partial_errors=1))
    answer = await served.ingest("score-create", {"traceId": "t1", "name": "q", "value": 1}, id_="e7")
    assert ([], [("e7", 500)]) == (answer["successes"], [(error["id"], error["status"]) for error in answer["errors"]])


async def test_an_answer_over_the_limit_is_a_422(serve: Make, tool: Make) -> None:
    """A smaller page is let through."""
    served = await serve(Habits(answer_limit=4000))
    served.sandbox.add_observations(tool(number) for number in range(20))
    statuses = [(await served.client.get("/api/public/v2/observations", params={"limit": limit})).status_code for limit in (20, 5)]
    assert [422, 200] == statuses


async def test_a_large_input_becomes_a_token_and_is_found_behind_it(serve: Make, tool: Make) -> None:
    """The filter no longer finds it, the media endpoint says where it is."""
    served = await serve(Habits(overflow=100))
    served.sandbox.add_observations([tool(1, input="*** Begin Patch" + "x" * 100)])
    (row,) = await served.rows(fields="core,io")
    id_ = row["input"].split("id=")[1].split("|")[0]
    about = await served.get(f"/media/{id_}")
    assert f"@@@langfuseMedia:type=text/plain|id={id_}|source=field_size_limit@@@" == row["input"]
    assert "*** Begin Patch" + "x" * 100 == (await served.client.get(about["url"])).text


async def test_the_version_changes_while_it_runs(serve: Make) -> None:
    """After the third request the server is a newer one."""
    served = await serve(Habits(changes_version_after=3, changes_version_to="4.60.0"))
    assert ["4.16.0", "4.16.0", "4.16.0", "4.60.0"] == [(await served.get("/health"))["version"] for _ in range(4)]


PATHS = {
    "direct": ({"x-langfuse-ingestion-version": "4"}, 1.0),
    "staged": ({}, 600.0),
    "recent python sdk": ({"x-langfuse-sdk-name": "python", "x-langfuse-sdk-version": "4.2.0"}, 1.0),
    "old python sdk": ({"x-langfuse-sdk-name": "python", "x-langfuse-sdk-version": "3.9.0"}, 600.0),
}


@pytest.mark.parametrize(("headers", "seconds"), PATHS.values(), ids=PATHS)
async def test_a_span_is_seen_in_the_events_table_after_its_paths_delay(headers: dict[str, str], seconds: float, serve: Make) -> None:
    """In ``dual`` mode the ingestion version decides; not a moment before, and then at once."""
    served = await serve(Habits(delays=MEASURED), mode="dual")
    await served.export({}, **headers)
    served.wait(seconds - 0.001)
    before = await served.rows()
    served.wait(0.001)
    assert (0, True) == (len(before), len(await served.rows()) > 0)


async def test_events_only_knows_one_path(serve: Make) -> None:
    """Without the ingestion version a span is as quick, and gets no made-up root."""
    served = await serve(Habits(delays=MEASURED))
    await served.export({})
    served.wait(1)
    assert [("b" * 16, None)] == [(row["id"], row["parentObservationId"]) for row in await served.rows()]


async def test_a_batch_is_seen_by_v1_long_before_the_events_table(serve: Make) -> None:
    """Six seconds there, ten minutes here."""
    served = await serve(Habits(delays=MEASURED), mode="dual")
    await served.ingest("span-create", {"id": "o1", "traceId": "t1", "name": "x"})
    seen = []
    for seconds in (5.999, 0.001, 593.999, 0.001):
        served.wait(seconds)
        seen.append((len((await served.get("/observations"))["data"]), len(await served.rows())))
    assert [(0, 0), (1, 0), (1, 0), (1, 1)] == seen


async def test_a_delete_loses_against_a_score_on_its_way(serve: Make) -> None:
    """The delete takes effect first, finds nothing, and the score stays."""
    served = await serve(Habits(delays=Delays(score=6, deletion=1)))
    await served.score(id="s1")
    await served.client.delete("/api/public/scores/s1")
    counts = []
    for _ in range(4):
        served.wait(2)
        counts.append(len(served.sandbox.scores()))
    assert [0, 0, 1, 1] == counts


async def test_no_habit_and_no_delay_by_default(serve_on_socket: Make) -> None:
    """A hundred requests are answered well, and what is written is read at once."""
    served = await serve_on_socket()
    statuses = [(await served.score(id=f"s{number}")).status_code for number in range(100)]
    assert ({200}, 100) == (set(statuses), len(served.sandbox.scores()))


def test_every_kind_of_fault_is_tested() -> None:
    """No fault was added without a test above."""
    assert set(Wrong) == set(itertools.chain(STATUS, [Wrong.CUT, Wrong.REFUSED, Wrong.HANGING, Wrong.SLOW]))

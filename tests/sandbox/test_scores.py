"""How scores are kept, beyond what was recorded: identity, merging, lists, strict parameters, pages."""

from collections.abc import Callable
from typing import Any

import pytest

from hunkwatch.sandbox import Delays, Habits, Project

Make = Callable[..., Any]
DAY1, LATER, DAY2 = "2026-11-29T10:00:00Z", "2026-11-29T23:59:59.999Z", "2026-11-30T00:00:00Z"


def body(**more: Any) -> dict[str, Any]:
    """A score with an id on trace ``t1``."""
    return {"id": "s1", "traceId": "t1", "name": "q", "value": 1, **more}


async def test_the_same_id_name_and_day_is_one_score(serve: Make) -> None:
    """Another time of the day is merged, and the first timestamp stays."""
    served = await serve()
    await served.ingest("score-create", body(value=1), at=DAY1)
    await served.ingest("score-create", body(value=2), at=LATER)
    assert [(2, "2026-11-29T10:00:00.000Z")] == [(score["value"], score["timestamp"]) for score in served.sandbox.all_scores()]


async def test_the_same_id_on_another_day_is_a_second_score(serve: Make) -> None:
    """A reader finds the newer one, the table keeps both."""
    served = await serve()
    await served.ingest("score-create", body(value=1), at=DAY1)
    await served.ingest("score-create", body(value=2), at=DAY2)
    counts = (len(served.sandbox.scores()), len(served.sandbox.all_scores()))
    assert (2, (1, 2)) == (served.sandbox.scores()[0]["value"], counts)


async def test_a_server_that_keeps_score_events_joins_the_days(serve: Make) -> None:
    """With the habit the first day's score is updated."""
    served = await serve(Habits(keeps_score_events=True))
    await served.ingest("score-create", body(value=1), at=DAY1)
    await served.ingest("score-create", body(value=2), at=DAY2)
    assert [(2, "2026-11-29T10:00:00.000Z")] == [(score["value"], score["timestamp"]) for score in served.sandbox.all_scores()]


async def test_another_name_is_a_second_score_that_covers_the_first(serve: Make) -> None:
    """The id shows the name written last."""
    served = await serve()
    for name in ("q", "r"):
        await served.ingest("score-create", body(name=name), at=DAY1)
        served.wait(1)
    assert (["r"], 2) == ([score["name"] for score in served.sandbox.scores()], len(served.sandbox.all_scores()))


async def test_what_was_first_written_stays_and_the_rest_is_merged(serve: Make) -> None:
    """Trace and environment stay; an omitted comment stays; metadata merges deeply; null clears."""
    served = await serve()
    await served.score(id="s1", comment="c", environment="prod", metadata={"a": {"x": 1}, "b": 1})
    await served.score(id="s1", traceId="t2", environment="dev", metadata={"a": {"y": 2}, "b": 2})
    (merged,) = served.sandbox.scores()
    await served.score(id="s1", comment=None)
    (cleared,) = served.sandbox.scores()
    assert ("t1", "prod", "c", {"a": {"x": 1, "y": 2}, "b": 2}) == tuple(
        merged[key] for key in ("traceId", "environment", "comment", "metadata")
    )
    assert (None, merged["metadata"]) == (cleared["comment"], cleared["metadata"])


async def test_a_deleted_score_is_gone_and_may_begin_anew(serve: Make) -> None:
    """Nothing of the old one is merged into the new one."""
    served = await serve()
    await served.score(id="s1", comment="old", metadata={"a": 1})
    await served.client.delete("/api/public/scores/s1")
    gone = served.sandbox.scores()
    await served.score(id="s1")
    (score,) = served.sandbox.scores()
    assert ([], None, {}) == (gone, score["comment"], score["metadata"])


async def test_all_scores_shows_what_is_under_way(serve: Make) -> None:
    """And looking changes nothing."""
    served = await serve(Habits(delays=Delays(score=6)))
    await served.score(id="s1")
    looks = [(len(served.sandbox.scores()), len(served.sandbox.all_scores())) for _ in range(2)]
    assert [(0, 1), (0, 1)] == looks


async def test_a_list_is_taken_from_4_59_on_with_a_timestamp_per_score(serve: Make) -> None:
    """All good: 202. Some bad: 207 that says how many and why, without ids."""
    served = await serve(version="4.60.0")
    good = await served.client.post("/api/public/scores", json=[body(timestamp=DAY1), body(id="s2")])
    mixed = await served.client.post("/api/public/scores", json=[body(id="s3"), {"name": "q", "traceId": "t1"}])
    assert (202, {"message": "Accepted"}) == (good.status_code, good.json())
    assert (207, 1, 1, [["message"]]) == (
        mixed.status_code,
        *(mixed.json()[k] for k in ("accepted", "rejected")),
        [list(e) for e in mixed.json()["errors"]],
    )
    assert {"s1": "2026-11-29T10:00:00.000Z", "s2": "2026-11-30T12:00:00.000Z", "s3": "2026-11-30T12:00:00.000Z"} == {
        score["id"]: score["timestamp"] for score in served.sandbox.scores()
    }


async def test_a_timestamp_in_the_body_is_ignored_before_4_59(serve: Make) -> None:
    """The server's own time counts."""
    served = await serve(version="4.58.9")
    await served.score(timestamp=DAY1)
    assert ["2026-11-30T12:00:00.000Z"] == [score["timestamp"] for score in served.sandbox.scores()]


async def test_an_update_by_list_needs_the_same_timestamp(serve: Make) -> None:
    """Another day's timestamp makes a second score."""
    served = await serve(version="4.60.0")
    for value, moment in ((1, DAY1), (2, DAY1), (3, DAY2)):
        await served.client.post("/api/public/scores", json=[body(value=value, timestamp=moment)])
    assert [3, 2] == [score["value"] for score in served.sandbox.all_scores()]


async def test_a_page_by_cursor_meets_every_score_once(serve: Make) -> None:
    """Also those with one timestamp."""
    served = await serve()
    for number in range(17):
        await served.ingest("score-create", body(id=f"s{number}"), at=DAY1)
    met: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await served.get("/v3/scores", limit=5, **({"cursor": cursor} if cursor else {}))
        met += [score["id"] for score in page["data"]]
        cursor = page["meta"].get("cursor")
    assert sorted(f"s{number}" for number in range(17)) == sorted(met)


V3: dict[str, tuple[dict[str, Any], set[str]]] = {
    "ids": ({"id": "s1,s3,nobody"}, {"s1", "s3"}),
    "names": ({"name": "q,c"}, {"s1", "s2", "s3"}),
    "trace": ({"traceId": "t2"}, {"s3"}),
    "observation": ({"traceId": "t1", "observationId": "o1"}, {"s2"}),
    "environment": ({"environment": "prod"}, {"s4"}),
    "type": ({"dataType": "CATEGORICAL"}, {"s3"}),
    "value": ({"dataType": "CATEGORICAL", "value": "good,bad"}, {"s3"}),
    "number": ({"dataType": "NUMERIC", "value": "0.25"}, {"s2"}),
    "from is inclusive, to exclusive": ({"fromTimestamp": "2026-11-30T12:00:01Z", "toTimestamp": "2026-11-30T12:00:03Z"}, {"s2", "s3"}),
    "bounds": ({"dataType": "NUMERIC", "valueMin": "0.2", "valueMax": "0.9"}, {"s2"}),
    "session": ({"sessionId": "x1"}, {"s4"}),
    "two filters": ({"name": "q", "traceId": "t1"}, {"s1", "s2"}),
}


@pytest.mark.parametrize(("params", "found"), V3.values(), ids=V3)
async def test_v3_finds_what_is_asked(params: dict[str, str], found: set[str], serve: Make) -> None:
    """Lists are ORed, parameters ANDed."""
    served = await serve()
    for number, more in enumerate(({}, {"observationId": "o1", "value": 0.25}, {"traceId": "t2", "name": "c", "value": "good"})):
        await served.score(id=f"s{number + 1}", **more)
        served.wait(1)
    await served.client.post("/api/public/scores", json={"id": "s4", "sessionId": "x1", "name": "r", "value": 1, "environment": "prod"})
    assert found == {score["id"] for score in (await served.get("/v3/scores", **params))["data"]}


REFUSED: list[dict[str, str]] = [
    {"scoreIds": "s1"},
    {"limit": "0"},
    {"limit": "101"},
    {"limit": "x"},
    {"dataType": "ODD"},
    {"fields": "everything"},
    {"value": "1"},
    {"valueMin": "1"},
    {"dataType": "NUMERIC", "valueMin": "much"},
    {"fromTimestamp": "now"},
    {"cursor": "!!"},
]


@pytest.mark.parametrize("params", REFUSED, ids=str)
async def test_v3_is_strict(params: dict[str, str], serve: Make) -> None:
    """Unknown parameters and bad values are a 400."""
    served = await serve()
    assert (await served.client.get("/api/public/v3/scores", params=params)).status_code == 400


BAD: list[dict[str, Any]] = [
    {"name": ""},
    {"name": 7},
    {"value": True},
    {"value": {}},
    {"dataType": "ODD"},
    {"source": "EVAL"},
    {"sessionId": "x1"},
    {"comment": 7},
    {"timestamp": "now"},
    {"dataType": "TEXT", "value": "x" * 501},
]


@pytest.mark.parametrize("more", BAD, ids=lambda more: str(more)[:40])
async def test_a_bad_score_is_refused_by_both_ways_of_writing(more: dict[str, Any], serve: Make) -> None:
    """400 there, an error in the 207 here; nothing is kept."""
    served = await serve()
    status = (await served.client.post("/api/public/scores", json=body(**more))).status_code
    batch = await served.ingest("score-create", body(**more))
    assert (400, [400], []) == (status, [error["status"] for error in batch["errors"]], served.sandbox.all_scores())


ENVIRONMENTS = {"Prod": "prod", "langfuse-evil": "evil", "a b": "default", "x" * 50: "x" * 40, "": "default"}


@pytest.mark.parametrize(("sent", "kept"), ENVIRONMENTS.items(), ids=range(len(ENVIRONMENTS)))
async def test_an_environment_is_brought_into_form(sent: str, kept: str, serve: Make) -> None:
    """As Langfuse does to scores."""
    served = await serve()
    await served.score(environment=sent)
    assert [kept] == [score["environment"] for score in served.sandbox.scores()]


async def test_projects_do_not_see_each_other(serve: Make) -> None:
    """A key opens its own project only."""
    second = Project(id="p2", public_key="pk-2", secret_key="sk-2")
    served = await serve(projects=(Project(), second))
    await served.score(id="s1")
    other = await served.client.get("/api/public/v3/scores", auth=("pk-2", "sk-2"))
    assert ([], 1, []) == (other.json()["data"], len(served.sandbox.scores()), served.sandbox.scores(project="p2"))

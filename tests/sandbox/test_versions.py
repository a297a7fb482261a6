"""What each version and mode answers, who may enter, and the server as a command."""

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from hunkwatch.sandbox import Access, Habits, Plan, Project, Sandbox

Make = Callable[..., Any]
READINGS = (
    "v2/observations",
    "observations",
    "v3/scores",
    "v2/scores",
    "scores",
    "traces",
    "sessions",
    "unstable/dashboards",
    "score-configs",
    "projects",
)
SERVERS = {
    ("3.200.0", "events_only"): (404, 200, 404, 200, 200, 200, 200, 404, 200, 200),
    ("3.216.0", "dual"): (404, 200, 404, 200, 200, 200, 200, 200, 200, 200),
    ("4.16.0", "events_only"): (200, 404, 200, 404, 404, 404, 404, 200, 200, 200),
    ("4.16.0", "dual"): (200, 200, 200, 200, 200, 200, 200, 200, 200, 200),
    ("4.60.0", "events_only"): (200, 404, 200, 404, 404, 404, 404, 200, 200, 200),
    ("4.60.0", "dual"): (200, 200, 200, 200, 200, 200, 200, 200, 200, 200),
}


@pytest.mark.parametrize(("version", "mode"), SERVERS, ids="-".join)
async def test_a_server_has_the_readings_of_its_version_and_mode(version: str, mode: str, serve: Make) -> None:
    """And no others."""
    served = await serve(version=version, mode=mode)
    assert SERVERS[version, mode] == tuple([(await served.client.get(f"/api/public/{path}")).status_code for path in READINGS])


LISTS = {"3.200.0": 400, "4.16.0": 400, "4.58.3": 400, "4.59.0": 202, "4.60.0": 202, "5.0.0-rc.1": 202}


@pytest.mark.parametrize(("version", "status"), LISTS.items())
async def test_lists_of_scores_are_taken_from_4_59_on(version: str, status: int, serve: Make) -> None:
    """Before, a list is refused; one score by itself is always taken."""
    served = await serve(version=version)
    score = {"traceId": "t1", "name": "q", "value": 1}
    posted = [(await served.client.post("/api/public/scores", json=body)).status_code for body in ([score], score)]
    assert [status, 200] == posted


@pytest.mark.parametrize(
    ("version", "mode", "status"), [("3.200.0", "events_only", 201), ("4.16.0", "events_only", 400), ("4.16.0", "dual", 201)]
)
async def test_batches_of_spans_are_taken_where_old_sdks_work(version: str, mode: str, status: int, serve: Make) -> None:
    """Scores are taken everywhere."""
    served = await serve(version=version, mode=mode)
    answer = await served.ingest("span-create", {"id": "o1", "traceId": "t1"})
    assert [status] == [one["status"] for one in [*answer["successes"], *answer["errors"]]]


async def test_a_server_changes_mode_and_version_while_it_runs(serve: Make) -> None:
    """As when it is deployed anew; the data stays."""
    served = await serve(mode="dual", version="4.16.0")
    await served.ingest("span-create", {"id": "o1", "traceId": "t1"})
    served.sandbox.mode, served.sandbox.version = "events_only", "4.60.0"
    assert ("4.60.0", 1, 404) == (
        (await served.get("/health"))["version"],
        len(await served.rows()),
        (await served.client.get("/api/public/observations")).status_code,
    )


ENTRIES: dict[str, tuple[Any, dict[str, str], int]] = {
    "both keys": (("pk-lf-demo", "sk-lf-demo"), {}, 200),
    "a wrong public key": (("pk-other", "sk-lf-demo"), {}, 200),
    "a wrong secret key": (("pk-lf-demo", "sk-other"), {}, 401),
    "keys that are no base64": (None, {"authorization": "Basic ???"}, 401),
    "nothing": (None, {}, 401),
    "the public key alone": (None, {"authorization": "Bearer pk-lf-demo"}, 403),
    "an unknown public key": (None, {"authorization": "Bearer pk-other"}, 401),
}


@pytest.mark.parametrize(("auth", "headers", "status"), ENTRIES.values(), ids=ENTRIES)
async def test_the_secret_key_opens_the_project(auth: Any, headers: dict[str, str], status: int, serve: Make) -> None:
    """The public one is not compared, as in Langfuse."""
    served = await serve()
    request = httpx.Request("GET", "http://sandbox/api/public/projects", headers=headers)
    assert status == (await served.client.send(request, auth=auth)).status_code


async def test_the_public_key_alone_may_write_scores(serve: Make) -> None:
    """For feedback from a browser."""
    served = await serve()
    headers = {"authorization": "Bearer pk-lf-demo"}
    request = httpx.Request("POST", "http://sandbox/api/public/scores", headers=headers, json={"traceId": "t1", "name": "q", "value": 1})
    assert (await served.client.send(request, auth=None)).status_code == 200


@pytest.mark.parametrize(
    ("plan", "path", "usable"), [(Plan.HOBBY, "observations", 14), (Plan.CORE, "observations", 29), (Plan.HOBBY, "v3/scores", 29)]
)
async def test_a_plan_allows_one_less_than_it_says_and_again_in_the_next_window(plan: Plan, path: str, usable: int, serve: Make) -> None:
    """Per bucket; the answer says when to come back, and then it is true."""
    served = await serve(Habits(plan=plan), mode="dual")
    statuses = [(await served.client.get(f"/api/public/{path}")).status_code for _ in range(usable)]
    late = await served.client.get(f"/api/public/{path}")
    served.wait(int(late.headers["retry-after"]))
    assert ({200}, 429, 200) == (set(statuses), late.status_code, (await served.client.get(f"/api/public/{path}")).status_code)


async def test_a_bad_request_costs_a_point_too(serve: Make) -> None:
    """The limit stands before the parameters."""
    served = await serve(Habits(plan=Plan.HOBBY))
    statuses = [(await served.client.get("/api/public/v3/scores", params={"x": "1"})).status_code for _ in range(30)]
    assert [*[400] * 29, 429] == statuses


async def test_dashboards_keep_their_rules(serve: Make) -> None:
    """A widget that is placed stays; tiles can be moved and taken away; then the widget can go."""
    served = await serve()
    widgets, boards = "/api/public/unstable/dashboard-widgets", "/api/public/unstable/dashboards"
    widget = {
        "name": "w",
        "view": "scores-numeric",
        "dimensions": [],
        "metrics": [{"measure": "count", "agg": "count"}],
        "filters": [],
        "chartType": "NUMBER",
    }
    bad = await served.client.post(widgets, json={**widget, "view": "traces"})
    made = (await served.client.post(widgets, json=widget)).json()["id"]
    board = (await served.client.post(boards, json={"name": "b"})).json()["id"]
    tile = (await served.client.post(f"{boards}/{board}/placements", json={"type": "widget", "id": "p1", "widgetId": made})).json()
    kept = (await served.client.delete(f"{widgets}/{made}")).status_code
    moved = (await served.client.patch(f"{boards}/{board}/placements/p1", json={"x": 6})).json()
    gone = (await served.client.delete(f"{boards}/{board}/placements/p1")).status_code
    after = (await served.client.delete(f"{widgets}/{made}")).status_code
    assert (400, ["scores-numeric" in bad.json()["details"]["allowedValues"]]) == (bad.status_code, [True])
    assert ((0, 0, 6, 6), 6, 409, 200, 200) == (tuple(tile[key] for key in ("x", "y", "width", "height")), moved["x"], kept, gone, after)


CHART = {
    "name": "w",
    "view": "scores-numeric",
    "dimensions": [],
    "metrics": [{"measure": "count", "agg": "count"}],
    "filters": [],
    "chartType": "VERTICAL_BAR",
}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"view": "traces"}, "view"),
        ({"chartType": "BAR"}, "chartType"),
        ({"metrics": []}, "metrics"),
        ({"metrics": [{"measure": "latency", "agg": "count"}]}, "measure"),
        ({"metrics": [{"measure": "count", "agg": "mean"}]}, "agg"),
        ({"view": "scores-categorical", "metrics": [{"measure": "value", "agg": "sum"}]}, "measure"),
        ({"dimensions": [{"field": "name"}, {"field": "environment"}]}, "dimensions"),
        ({"dimensions": [{"field": "metadata"}]}, "dimensions.field"),
        ({"dimensions": [{"field": "stringValue"}]}, "dimensions.field"),
        ({"dimensions": [{"field": "traceId"}]}, "chartConfig.row_limit"),
        ({"dimensions": [{"field": "traceId"}], "chartType": "BAR_TIME_SERIES"}, "dimensions.field"),
        ({"filters": [{"column": "observationId", "type": "string", "operator": "=", "value": "x"}]}, "filters.column"),
        ({"filters": [{"column": "value", "type": "string", "operator": "=", "value": "1"}]}, "filters.type"),
        ({"filters": [{"column": "metadata", "type": "stringObject", "operator": "=", "value": "1"}]}, "filters.type"),
        ({"chartConfig": {"type": "PIE"}}, "chartConfig.type"),
        ({"chartConfig": {"type": "VERTICAL_BAR", "row_limit": 1001}}, "chartConfig.row_limit"),
        ({"chartConfig": {"type": "VERTICAL_BAR", "bins": 5}}, "chartConfig.bins"),
        ({"chartType": "BAR_TIME_SERIES", "chartConfig": {"row_limit": 5}}, "chartConfig.row_limit"),
        ({"dimensions": None}, "dimensions"),
    ],
)
async def test_a_widget_that_langfuse_refuses_is_refused(change: dict[str, Any], field: str, serve: Make) -> None:
    """With 400 and the field in the words of the unstable API; the same widget without the change is taken."""
    served = await serve()
    path = "/api/public/unstable/dashboard-widgets"

    bad = await served.client.post(path, json={**CHART, **change})
    good = await served.client.post(path, json=CHART)

    assert (400, "invalid_request", field, 200) == (bad.status_code, bad.json()["code"], bad.json()["details"]["field"], good.status_code)


@pytest.mark.parametrize(
    ("access", "may"),
    [(Access.PROJECT, {"read", "score", "ingest", "config"}), (Access.READ_ONLY, {"read"}), (Access.SCORES_ONLY, {"score", "ingest"})],
)
async def test_a_key_may_be_held_to_reading_or_to_scores(access: Access, may: set[str], serve: Make) -> None:
    """Everything else is a 403, before any rate limit; health asks for no key."""
    served = await serve(mode="dual", projects=(Project(access=access),))
    tries = {
        "read": ("GET", "v2/observations", None),
        "score": ("POST", "scores", {"traceId": "t", "name": "q", "value": 1}),
        "ingest": ("POST", "ingestion", {"batch": []}),
        "config": ("POST", "score-configs", {"name": "q", "dataType": "NUMERIC"}),
    }

    answers = {what: await served.client.request(method, f"/api/public/{path}", json=body) for what, (method, path, body) in tries.items()}

    assert may == {what for what, answer in answers.items() if answer.status_code < 300}
    assert {"Access denied - insufficient permissions for this endpoint"} >= {answers[what].json()["message"] for what in set(tries) - may}
    assert (await served.client.get("/api/public/health")).status_code == 200


async def test_an_archived_config_is_listed_and_takes_no_scores(serve: Make) -> None:
    """Configs are never deleted."""
    served = await serve()
    config = (await served.client.post("/api/public/score-configs", json={"name": "q", "dataType": "NUMERIC"})).json()["id"]
    await served.client.patch(f"/api/public/score-configs/{config}", json={"isArchived": True})
    await served.score(configId=config)
    assert ([True], []) == ([one["isArchived"] for one in (await served.get("/score-configs"))["data"]], served.sandbox.all_scores())


async def test_it_serves_as_a_command_until_it_is_told_to_stop() -> None:
    """``python -m hunkwatch.sandbox`` says where it listens, answers as it was told, and ends well on SIGTERM."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "hunkwatch.sandbox",
        "--port",
        "0",
        "--version",
        "4.60.0",
        "--mode",
        "dual",
        "--realistic",
    ]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    url = (await process.stdout.readline()).decode().split()[0]
    async with httpx.AsyncClient(base_url=url) as client:
        health = (await client.get("/api/public/health")).json()
    process.send_signal(signal.SIGTERM)
    _, complaints = await process.communicate()
    assert ({"status": "OK", "version": "4.60.0"}, 0, b"") == (health, process.returncode, complaints)


async def test_two_sandboxes_serve_side_by_side() -> None:
    """Each on its own port, with its own data."""
    first, second = Sandbox(), Sandbox(version="4.60.0")
    async with first.serving() as one, second.serving() as two, httpx.AsyncClient() as client:
        versions = [(await client.get(f"{url}/api/public/health")).json()["version"] for url in (one, two)]
    assert ["4.16.0", "4.60.0"] == versions

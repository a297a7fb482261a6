"""Clients that are not ours work against the sandbox: the Langfuse SDK 5, and SDK 4.18 from an interpreter of its own."""

import asyncio
import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langfuse.api import AsyncLangfuseAPI, LangfuseAPI
from langfuse.batch_evaluation import EvaluatorInputs
from opentelemetry.sdk.trace import TracerProvider

from hunkwatch.sandbox import Project, Sandbox
from langfuse import Evaluation, Langfuse, propagate_attributes

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-ä\n+b\n*** End Patch"
SDK4 = os.environ.get("HUNKWATCH_TEST_SDK4", "")


@pytest.fixture
def project() -> Project:
    """A project of its own for each test, since the SDK keeps one client per public key."""
    return Project(public_key=f"pk-lf-{uuid.uuid4()}")


@pytest.fixture
def sandbox(project: Project) -> Sandbox:
    """A server that the SDK 5 is made for."""
    return Sandbox(version="4.60.0", projects=(project,))


@pytest.fixture
def url(sandbox: Sandbox) -> Iterator[str]:
    """Where it listens, from a thread of its own."""
    with sandbox.serving_in_thread() as base_url:
        yield base_url


@pytest.fixture
def client(url: str, project: Project) -> Iterator[Langfuse]:
    """The SDK's client, with a tracer provider that no other test shares."""
    keys = {"public_key": project.public_key, "secret_key": project.secret_key}
    with httpx.Client(timeout=5) as connection:
        made = Langfuse(**keys, base_url=url, tracer_provider=TracerProvider(), environment="ci", httpx_client=connection)
        yield made
        made.shutdown()


@pytest.fixture
def api(url: str) -> Iterator[LangfuseAPI]:
    """The SDK's plain API client."""
    with httpx.Client(timeout=5) as connection:
        yield LangfuseAPI(base_url=url, username="pk-lf-demo", password="sk-lf-demo", httpx_client=connection)


def trace(client: Langfuse) -> tuple[str, str]:
    """Record an agent with one patch call; gives the ids of the trace and of the call."""
    context = {"trace_name": "codex-session", "user_id": "u1", "session_id": "s1", "tags": ["lab"], "metadata": {"repo": "demo"}}
    with (
        propagate_attributes(**context),
        client.start_as_current_observation(name="agent", as_type="agent", input={"task": "x"}),
        client.start_as_current_observation(name="apply_patch", as_type="tool", input={"input": PATCH}, metadata={"call_id": "c1"}) as tool,
    ):
        tool.update(output="failed", level="ERROR", status_message="no such lines")
    client.flush()
    return tool.trace_id, tool.id


def test_sdk_5_sends_traces_and_reads_them_back(client: Langfuse, api: LangfuseAPI) -> None:
    """Type, texts, level, metadata and the trace's fields arrive where the v2 reading shows them."""
    trace_id, tool_id = trace(client)
    (tool,) = api.observations.get_many(type="TOOL", fields="core,basic,io,metadata,trace_context").data
    assert (trace_id, tool_id, "apply_patch", "TOOL") == (tool.trace_id, tool.id, tool.name, tool.type)
    assert (json.dumps({"input": PATCH}), "failed", "ERROR", "no such lines") == (tool.input, tool.output, tool.level, tool.status_message)
    assert ("c1", "demo") == (tool.metadata["call_id"], tool.metadata["repo"])
    assert ("codex-session", "u1", "s1", ["lab"], "ci") == (tool.trace_name, tool.user_id, tool.session_id, tool.tags, tool.environment)
    parents = {row.name: row.parent_observation_id for row in api.observations.get_many().data}
    assert (None, True) == (parents["agent"], parents["apply_patch"] is not None)


def test_sdk_5_scores_one_by_one(client: Langfuse, sandbox: Sandbox) -> None:
    """``create_score`` sends lists, which this version takes, for every type of score."""
    trace_id, tool_id = trace(client)
    client.create_score(name="n", value=0.5, trace_id=trace_id, observation_id=tool_id, score_id="s1", comment="why", metadata={"a": 1})
    client.create_score(name="b", value=1, data_type="BOOLEAN", trace_id=trace_id)
    client.create_score(name="c", value="good", data_type="CATEGORICAL", trace_id=trace_id)
    client.flush()
    scores = {score["name"]: score for score in sandbox.scores()}
    assert {"n": (0.5, None), "b": (1, "True"), "c": (0, "good")} == {n: (s["value"], s["stringValue"]) for n, s in scores.items()}
    assert ("s1", tool_id, "why", {"a": 1}) == tuple(scores["n"][key] for key in ("id", "observationId", "comment", "metadata"))


def test_sdk_5_evaluates_in_batches(client: Langfuse, sandbox: Sandbox) -> None:
    """``run_batched_evaluation`` walks the observations and scores each."""
    for _ in range(3):
        trace(client)
    done = client.run_batched_evaluation(
        mapper=lambda *, item: EvaluatorInputs(input=item.input, output=item.output, expected_output=None, metadata={}),
        evaluators=[lambda **item: Evaluation(name="length", value=float(len(item["input"])))],
        fetch_batch_size=2,
    )
    client.flush()
    assert (6, 6) == (done.total_items_processed, len(sandbox.scores()))


def test_sdk_5_reads_configs_scores_projects_and_health(api: LangfuseAPI) -> None:
    """Every answer passes the SDK's own validation."""
    config = api.score_configs.create(name="q", data_type="NUMERIC", min_value=0, max_value=1)
    api.score_configs.update(config.id, description="a fact, not a verdict")
    api.scores.create(request=[{"id": "s1", "traceId": "t1", "name": "other", "value": 0.5, "configId": config.id}])
    (score,) = api.scores.get_many(fields="core,details,subject").data
    assert ("q", 0.5, config.id, "trace", "t1") == (score.name, score.value, score.config_id, score.subject.kind, score.subject.id)
    assert ["a fact, not a verdict"] == [kept.description for kept in api.score_configs.get().data]
    assert ("4.60.0", ["project-1"]) == (api.health.health().version, [project.id for project in api.projects.get().data])


def test_sdk_5_builds_a_dashboard(api: LangfuseAPI) -> None:
    """Widgets, a dashboard, a placement and their removal through the unstable API."""
    boards = api.unstable
    widget = boards.dashboard_widgets.create(
        name="per day",
        view="scores-numeric",
        dimensions=[],
        metrics=[{"measure": "count", "agg": "count"}],
        filters=[],
        chart_type="NUMBER",
    )
    tile = {"type": "widget", "id": "hw-0", "widgetId": widget.id, "x": 0, "y": 0, "width": 6, "height": 6}
    board = boards.dashboards.create(name="Patch quality", description="d", definition={"widgets": [tile]}, filters=[])
    assert ([board.id], [widget.id]) == (
        [one.id for one in boards.dashboards.list().data],
        [one.id for one in boards.dashboard_widgets.list().data],
    )


async def test_sdk_5_works_asynchronously(client: Langfuse, url: str) -> None:
    """The client that the worker itself uses."""
    await asyncio.to_thread(trace, client)
    async with httpx.AsyncClient(timeout=5) as connection:
        api = AsyncLangfuseAPI(base_url=url, username="pk-lf-demo", password="sk-lf-demo", httpx_client=connection)
        assert len((await api.observations.get_many(limit=10)).data) == 2


def test_sdk_5_loses_its_scores_on_a_server_before_4_59(client: Langfuse, sandbox: Sandbox) -> None:
    """The list is refused with 400 and the SDK gives up, as with a real one."""
    sandbox.version = "4.16.0"
    client.create_score(name="n", value=1, trace_id="t1")
    client.flush()
    assert ([], [400]) == (sandbox.scores(), [status for method, path, status in sandbox.requests if path.endswith("/scores")])


@pytest.mark.skipif(not SDK4, reason="HUNKWATCH_TEST_SDK4 names no interpreter that has langfuse 4.18")
def test_sdk_4_traces_scores_evaluates_and_reads() -> None:
    """The SDK for servers before 4.59: scores by ``/ingestion``, batched evaluation over v1."""
    sandbox = Sandbox(version="4.16.0", mode="dual")
    with sandbox.serving_in_thread() as base_url:
        session = Path(__file__).parent / "sdk4_session.py"
        run = subprocess.run([SDK4, str(session), base_url], capture_output=True, text=True, timeout=90, check=True)
    seen: dict[str, Any] = json.loads(run.stdout)
    assert {
        "evaluated": 2,
        "trace": ["codex-session", "s1", ["agent", "apply_patch"], ["by_batch", "by_batch", "by_hand"]],
        "listed": [True],
        "observations": [{"input": PATCH.replace("ä", "a")}],
    } == seen
    paths = {path for method, path, status in sandbox.requests}
    assert {"/api/public/otel/v1/traces", "/api/public/ingestion", "/api/public/observations", "/api/public/traces"} <= paths


def test_sdk_5_uploads_media(client: Langfuse, api: LangfuseAPI) -> None:
    """An image in an input is uploaded beside it and found behind its token."""
    image = "data:image/png;base64,aGVsbG8="
    with client.start_as_current_observation(name="look", as_type="tool", input={"picture": image}):
        pass
    client.flush()
    (row,) = api.observations.get_many(fields="io").data
    token = json.loads(row.input)["picture"]
    about = api.media.get(token.split("id=")[1].split("|")[0])
    assert ("image/png", b"hello") == (about.content_type, httpx.get(about.url).content)

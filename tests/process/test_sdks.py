"""The real SDKs around the real worker: they write the traces, it scores them, they read the scores back."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from langfuse.api import LangfuseAPI
from opentelemetry.sdk.trace import TracerProvider

from hunkwatch.sandbox import Project, Sandbox
from langfuse import Langfuse

if TYPE_CHECKING:
    from collections.abc import Callable

SDK4 = os.environ.get("HUNKWATCH_TEST_SDK4", "")
PATCH = "*** Begin Patch\n*** Update File: b.py\n@@\n-a1\n-a2\n-a3\n-a4\n+b1\n+b2\n+b3\n+b4\n*** End Patch"
OF_CALL = {"blind_rewrite_patch": 0, "retyped_lines_patch": 0}
OF_TRACE = {"blind_rewrite": 0, "blind_hunks": 1, "retyped_lines": 0}


def keys() -> Project:
    """Return a project of its own, since the SDK keeps one client per public key."""
    return Project(public_key=f"pk-lf-{uuid.uuid4()}", secret_key="sk-lf-sdk")


@pytest.fixture
def score(station: Any) -> Callable[[str, Project], None]:
    """Return what makes one pass of the worker over a server."""

    def _score(url: str, project: Project) -> None:
        environment = {"LANGFUSE_BASE_URL": url, "LANGFUSE_PUBLIC_KEY": project.public_key, "LANGFUSE_SECRET_KEY": project.secret_key}
        code, _, log = station.finish("run", "--once", **environment)
        assert code == 0, log

    return _score


def test_sdk_5_traces_and_reads_the_scores_back(score: Callable[[str, Project], None]) -> None:
    """On the servers that it is made for, its own reading shows each score with its target, comment and metadata."""
    project = keys()
    with Sandbox("4.60.0", projects=(project,)).serving_in_thread() as url, httpx.Client(timeout=10) as connection:
        client = Langfuse(
            public_key=project.public_key,
            secret_key=project.secret_key,
            base_url=url,
            tracer_provider=TracerProvider(),
            environment="ci",
            httpx_client=connection,
        )
        with client.start_as_current_observation(name="apply_patch", as_type="tool", input={"input": PATCH}) as tool:
            tool.update(output="Done!")
        client.flush()
        score(url, project)
        api = LangfuseAPI(base_url=url, username=project.public_key, password=project.secret_key, httpx_client=connection)
        shown = api.scores.get_many(trace_id=tool.trace_id, fields="details,subject").data
        client.shutdown()

    named = {one.name: one for one in shown}
    assert {**OF_CALL, **OF_TRACE, "patch_shape": "blind_rewrite"} == {name: one.value for name, one in named.items()}
    about = {name: (one.subject.kind, one.subject.id) for name, one in named.items()}
    assert {
        **dict.fromkeys((*OF_CALL, "patch_shape"), ("observation", tool.id)),
        **dict.fromkeys(OF_TRACE, ("trace", tool.trace_id)),
    } == about
    assert {"ci"} == {one.environment for one in shown}
    assert all(one.comment and PATCH.splitlines()[3] not in one.comment for one in shown)


@pytest.mark.skipif(not SDK4, reason="HUNKWATCH_TEST_SDK4 names no interpreter that has langfuse 4.18")
@pytest.mark.parametrize("version", ["3.200.0", "4.16.0", "4.58.0"])
def test_sdk_4_traces_and_reads_the_scores_back(version: str, score: Callable[[str, Project], None]) -> None:
    """On the servers before 4.59, the SDK of their time shows each score under its trace."""
    project = keys()
    script = Path(__file__).parent / "sdk4_way.py"

    def run(url: str, *words: str) -> Any:
        command = [SDK4, str(script), url, project.public_key, project.secret_key, *words]
        return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout)

    with Sandbox(version, mode="dual", projects=(project,)).serving_in_thread() as url:
        written = run(url, "write", "-")
        score(url, project)
        shown = run(url, "read", written["trace"])

    assert {(name, written["call"]) for name in (*OF_CALL, "patch_shape")} | {(name, None) for name in OF_TRACE} == {
        (name, observation) for name, observation, _ in shown
    }
    assert OF_CALL | OF_TRACE | {"patch_shape": "blind_rewrite"} == {name: value for name, _, value in shown}

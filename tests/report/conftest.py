"""Graded calls and surveys for the tests of the report, with only what a test is about."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from hunkwatch.core import evaluate
from hunkwatch.core.model import Call, Evidence, GradedCall, Outcome
from hunkwatch.report import Asked, Report, Survey
from hunkwatch.report.leaving_out import LeavingOut

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BLIND = "-a\n-b\n-c\n+a\n+y\n+z"
SMALL = " x\n-a\n+b"


@pytest.fixture
def patch() -> Callable[..., str]:
    """Build a patch that updates files by path; a body is one hunk."""

    def build(**bodies: str) -> str:
        sections = [f"*** Update File: {path}\n@@\n{body}" for path, body in bodies.items()]
        return "\n".join(("*** Begin Patch", *sections, "*** End Patch"))

    return build


@pytest.fixture
def call() -> Callable[..., GradedCall]:
    """Build a graded call: an applied execution by codex at noon that holds one small hunk, but for what is told."""

    def build(text: str | None = None, **given: Any) -> GradedCall:
        facts: dict[str, Any] = {
            "trace_id": "t",
            "observation_id": "o",
            "start_time": NOON,
            "end_time": None,
            "call_id": None,
            "index": 0,
            "producer": "codex",
            "evidence": Evidence.EXECUTION,
            "outcome": Outcome.APPLIED,
            "text": f"*** Begin Patch\n*** Update File: a.py\n@@\n{SMALL}\n*** End Patch" if text is None else text,
        }
        return evaluate.grade(Call(**{**facts, **given}))

    return build


@pytest.fixture
def blind(patch: Callable[..., str]) -> str:
    """Return a patch with one blind hunk that retypes one line."""
    return patch(**{"src/b.py": BLIND})


@pytest.fixture
def counted() -> Callable[..., Survey]:
    """Count calls, each trace on its own, with these patterns left out."""

    def count(*calls: GradedCall, patterns: tuple[str, ...] = ()) -> Survey:
        survey = Survey(LeavingOut(patterns))
        for trace_id in dict.fromkeys(one.trace_id for one in calls):
            survey.add("p", [one for one in calls if one.trace_id == trace_id])
        return survey

    return count


@pytest.fixture
def reported(counted: Callable[..., Survey]) -> Callable[..., Report]:
    """Make a report of calls whose traces have pages on a server."""

    def make(*calls: GradedCall, **given: Any) -> Report:
        asked = Asked(patterns=given.get("patterns", ()))
        return Report(counted(*calls, **given), asked, "a test", NOON, lambda project, trace_id: f"https://lf.example/{project}/{trace_id}")

    return make

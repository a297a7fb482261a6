"""The sessions go through the real Langfuse SDK to a server that keeps what it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from hunkwatch.demo import harvest, send, sessions
from hunkwatch.demo.send import Sent
from hunkwatch.sandbox import Project, Sandbox

UNTIL = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEYS = {"public_key": "pk-lf-test-send", "secret_key": "sk-lf-test-send"}
Received = tuple[tuple[Sent, ...], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def received() -> Iterator[Received]:
    """Send everything once; give what was sent, and every observation that the server then has."""
    sandbox = Sandbox(projects=(Project(**KEYS),))
    with sandbox.serving_in_thread() as base_url:
        sent = send.send(sessions.load(), base_url=base_url, until=UNTIL, **KEYS)
        asked = {"limit": "1000", "fields": "core,basic,time,io,metadata,trace_context"}
        answer = httpx.get(
            f"{base_url}/api/public/v2/observations", params=asked, auth=(KEYS["public_key"], KEYS["secret_key"]), trust_env=False
        )
        assert harvest.visible(base_url=base_url, **KEYS) == len(answer.json()["data"])
        yield sent, answer.json()["data"]


def test_the_server_has_every_observation(received: Received) -> None:
    """Nothing is lost on the way through the SDK."""
    sent, rows = received

    assert sum(one.observations for one in sent) == len(rows)


def test_what_was_planted_is_there_under_its_id(received: Received) -> None:
    """The ids in the plan are those on the server, in the same traces."""
    sent, rows = received
    planted = {(one.trace_id, key) for one in sent for key in one.planted}

    assert planted == planted & {(row["traceId"], row["id"]) for row in rows}


def test_the_traces_lie_in_the_hours_before(received: Received) -> None:
    """Every observation is older than the grace for calls that only a model tells of, and younger than a day."""
    _, rows = received
    starts = [datetime.fromisoformat(row["startTime"]) for row in rows]

    assert (max(starts) < UNTIL - timedelta(minutes=10), min(starts) > UNTIL - timedelta(days=1)) == (True, True)


def test_a_freeform_patch_arrives_as_it_was_written(received: Received) -> None:
    """The raw text of a tool's input is no JSON text."""
    sent, rows = received
    session = next(one for one in sent if one.session.title == "Retry payment webhooks")
    inputs = {row["input"] for row in rows if row["traceId"] == session.trace_id and row["type"] == "TOOL"}

    assert {patch for call in session.session.calls for patch in call.patches} == inputs


def test_a_failed_call_has_the_level_error(received: Received) -> None:
    """The tools that failed, and only they, are marked."""
    sent, rows = received
    failed = sum(call.outcome != "applied" for one in sent if one.session.agent != "cline" for call in one.session.calls)

    assert failed == sum(row["level"] == "ERROR" for row in rows)


def test_traces_carry_their_names_and_tags(received: Received) -> None:
    """A person finds a session by its title and its agent."""
    sent, rows = received

    assert {(one.trace_id, one.session.title, one.session.agent) for one in sent} == {
        (row["traceId"], row["traceName"], row["tags"][0]) for row in rows
    }

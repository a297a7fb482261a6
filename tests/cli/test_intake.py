"""Reading: bounded, whatever comes in."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings, strategies

from hunkwatch.cli import intake
from hunkwatch.core.model import Observation

JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.text(max_size=20),
    lambda inner: (
        strategies.lists(inner, max_size=4)
        | strategies.dictionaries(strategies.sampled_from(["id", "traceId", "input", "data", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def observation(row: Any) -> Observation:
    """Read a row strictly, as an adapter does."""
    return Observation(id=str(row["id"]), trace_id=str(row["traceId"]), start_time=datetime(2026, 1, 1, tzinfo=UTC), input=row.get("input"))


@settings(max_examples=120, deadline=None)
@given(content=strategies.binary(max_size=400))
def test_any_bytes_are_read(content: bytes) -> None:
    """Nothing that a file may hold raises."""
    list(intake.read(io.BytesIO(content), observation))


@settings(max_examples=120, deadline=None)
@given(values=strategies.lists(JSON, min_size=1, max_size=4))
def test_any_json_lines_are_read(values: list[Any]) -> None:
    """Nothing that JSON may hold raises, alone or line by line."""
    text = "\n".join(json.dumps(value) for value in values)

    list(intake.read(io.BytesIO(text.encode()), observation))


def test_blank_lines_before_the_first_observation_are_counted_and_not_read() -> None:
    """A line is called by its number in the file."""
    row = json.dumps({"id": "o", "traceId": "t", "input": "nothing"})

    items = list(intake.read(io.BytesIO(f"\n\n{row}\n\n{{broken\n".encode()), observation))

    assert items == [(), intake.Unreadable("line 5", "not JSON")]

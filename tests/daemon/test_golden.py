"""Every recorded form through the whole worker: what it scores in Langfuse is what the golden file says, on both readings."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    Clock = Any

GOLDEN = Path(__file__).parent.parent / "golden"
FILES: dict[str, dict[str, Any]] = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(GOLDEN.glob("*.json"))}


def counted(words: list[str]) -> str:
    """Return a count of words as the metadata of a score spells it."""
    return ", ".join(f"{word} {times}" for word, times in sorted(Counter(words).items(), key=lambda each: (-each[1], each[0])))


def expected() -> dict[str, tuple[int, int, str, str]]:
    """Return the calls, the unresolved ones, the outcomes and the producers of each golden file that holds a call."""
    told = {}
    for name, data in FILES.items():
        calls = data["calls"]
        if calls:
            unresolved = sum(call["text"] is None for call in calls)
            outcomes = counted([call["outcome"] for call in calls])
            told[name] = (len(calls), unresolved, outcomes, counted([data["producer"]] * len(calls)))
    return told


def unresolved_of(shapes: str) -> int:
    """Return how many calls of a score are unresolved."""
    return next((int(each.removeprefix("unresolved ")) for each in shapes.split(", ") if each.startswith("unresolved ")), 0)


@pytest.mark.parametrize("version", ["4.16.0", "3.200.0"])
async def test_each_recorded_form_is_scored_as_its_golden_file_says(
    world: Any, clock: Clock, stamped: Callable[[datetime], str], version: str
) -> None:
    """Each form in a trace of its own, one pass: its calls, the unresolved ones, their outcomes and producers, and nothing else."""
    world.sandbox.version = version
    start = clock.now() - timedelta(hours=2)
    for at, (name, data) in enumerate(FILES.items()):
        times = {"startTime": stamped(start + timedelta(seconds=at)), "endTime": stamped(start + timedelta(seconds=at + 1))}
        world.add({**data["observation"], **times, "id": f"o-{name}", "traceId": name})

    await world.once()

    seen = {
        row["traceId"]: (
            row["metadata"]["calls"],
            unresolved_of(row["metadata"]["shapes"]),
            row["metadata"]["outcomes"],
            row["metadata"]["producers"],
        )
        for row in world.sandbox.scores()
        if row["name"] == "patch_shape"
    }
    assert expected() == seen

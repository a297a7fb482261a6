"""The scorer's version moves when, and only when, a number moves."""

from __future__ import annotations

import hashlib
import itertools
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import hunkwatch
from hunkwatch.core import evaluate

GOLDEN = Path(__file__).parent / "golden" / "numbers.json"
HINT = "a golden number moved: raise evaluate.SCORER, give it its numbers in golden/numbers.json, and say in docs/changelog.md what moved"


def golden() -> dict[str, Any]:
    """Return the golden file: patches and traces with the numbers of today's version, and a digest of them for each version so far."""
    loaded: dict[str, Any] = json.loads(GOLDEN.read_text("utf-8"))
    return loaded


def numbers(text: str) -> list[object]:
    """Return everything in a patch's scores that is a number or a word."""
    score = hunkwatch.score_patch(text)
    return [str(score.shape), score.blind_rewrite, score.retyped_lines, score.hunks, score.blind_hunks]


def of_trace(patches: list[str]) -> list[list[object]]:
    """Return name and value of every score of a trace in which the patches were applied one after the other."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        hunkwatch.Observation(f"o{at:04}", "t", start + timedelta(minutes=at), type="TOOL", name="apply_patch", input=text, output="Done!")
        for at, text in enumerate(patches)
    ]
    return [[score.name, score.value] for trace in hunkwatch.score_observations(rows) for score in trace.scores]


def digest(rows: list[list[object]]) -> str:
    """Return one fingerprint of all numbers."""
    return hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest()[:16]


def test_the_numbers_are_those_of_this_version() -> None:
    """Each golden patch scores as it did when this version was made."""
    told = golden()

    assert dict(told["patches"]) == {text: numbers(text) for text, _ in told["patches"]}, HINT


def test_the_numbers_of_a_trace_are_those_of_this_version() -> None:
    """Pooling, the grid of hundredths, rewrites across calls and merged copies move a number as much as a patch does."""
    told = golden()["traces"]

    assert [scores for _, scores in told] == [of_trace(patches) for patches, _ in told], HINT


def test_this_version_is_the_last_and_has_its_own_numbers() -> None:
    """The version is on record with these numbers, and no version has the numbers of the one before: then it would be none."""
    told = golden()
    digests = list(told["versions"].values())

    assert list(told["versions"])[-1] == evaluate.SCORER
    assert digests[-1] == digest([row for _, row in (*told["patches"], *told["traces"])]), HINT
    assert [later for earlier, later in itertools.pairwise(digests) if earlier == later] == []

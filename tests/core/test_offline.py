"""The public interface in Python."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hunkwatch
from hunkwatch.core import identity
from hunkwatch.core.model import Shape

START = datetime(2026, 1, 1, tzinfo=UTC)
PATCH = "*** Begin Patch\n*** Update File: a\n@@\n-a\n-b\n-c\n+a\n+y\n+z\n@@\n-k\n+l\n*** End Patch"


def test_a_patch_is_scored_from_its_text() -> None:
    """One call, one frozen result, with what the numbers rest on."""
    score = hunkwatch.score_patch(PATCH)

    assert (score.shape, score.blind_rewrite, score.retyped_lines, score.hunks, score.blind_hunks) == ("blind_rewrite", 0.5, 1, 2, 1)
    assert [(place.path, place.hunk, place.first_line, place.last_line) for place in score.facts.blind_at] == [("a", 1, 4, 9)]
    with pytest.raises(AttributeError):
        score.hunks = 3  # type: ignore[misc] - it must not be possible


def test_observations_are_scored_trace_by_trace() -> None:
    """Calls are found in what tools and models left, duplicates merge within a trace, and the scores are the worker's own."""
    tool = hunkwatch.Observation("o1", "t1", START, "TOOL", "apply_patch", input={"input": PATCH}, output="Done!")
    other = hunkwatch.Observation("o2", "t2", START + timedelta(seconds=1), "TOOL", "apply_patch", input=PATCH)
    first, second = hunkwatch.score_observations([tool, other], project="p")

    assert [first.trace_id, second.trace_id] == ["t1", "t2"]
    assert {(score.name, score.value) for score in first.scores} == {(score.name, score.value) for score in second.scores}
    assert identity.score_id("p", "t1", "o1", "patch_shape") in {score.id for score in first.scores}
    assert [call.shape for call in first.calls] == [Shape.BLIND_REWRITE]


@given(st.text(st.characters()) | st.lists(st.sampled_from([*PATCH.split("\n"), "x", "", "\ud800", "\x00"]), max_size=20).map("\n".join))
@settings(max_examples=300)
def test_scoring_is_total(text: str) -> None:
    """Any text gives a result: numbers where something is counted, none elsewhere, 1 only without a blind hunk."""
    score = hunkwatch.score_patch(text)

    assert (score.blind_rewrite is None) is (score.retyped_lines is None) is (score.hunks == 0)
    assert (score.blind_rewrite == 1) is (score.hunks > 0 and score.blind_hunks == 0)
    assert 0 <= score.blind_hunks <= score.hunks


def test_importing_the_package_loads_nothing() -> None:
    """The core is loaded at first use, so that a command line or a plugin may import the package for free."""
    code = "import sys, hunkwatch; print([name for name in sys.modules if name.startswith('hunkwatch.')], 'score_patch' in dir(hunkwatch))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[] True\n"


def test_there_is_nothing_else() -> None:
    """A name that the package does not have is an error, as with any module."""
    with pytest.raises(AttributeError, match="score_patches"):
        _ = hunkwatch.score_patches  # type: ignore[attr-defined] - that is the point


def test_the_next_generation_tells_what_became_of_a_call() -> None:
    """A call that only a model asked for learns its outcome from the generation behind it in the same trace, and from no other."""
    call = {"type": "tool_call", "id": "call_1", "name": "apply_patch", "arguments": {"input": PATCH}}
    history = [{"role": "tool", "tool_call_id": "call_1", "content": "apply_patch verification failed: no such line"}]
    asked = hunkwatch.Observation("g1", "t", START, type="GENERATION", output=[{"role": "assistant", "parts": [call]}])
    later = hunkwatch.Observation("g2", "t", START + timedelta(seconds=9), type="GENERATION", input=history)

    outcomes = [
        [call.outcome.value for trace in hunkwatch.score_observations(rows) for call in trace.calls]
        for rows in ([asked], [later, asked], [asked, later._replace(trace_id="u")], [asked, later._replace(start_time=START)])
    ]

    assert outcomes == [["unknown"], ["failed"], ["unknown"], ["failed"]]

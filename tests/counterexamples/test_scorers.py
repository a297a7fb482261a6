"""Every scorer against the patches that would fool a wrong one. A scorer without pairs fails here: its counterexamples ship first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from hunkwatch.core import grading
from hunkwatch.core.model import Call, Evidence, Shape
from hunkwatch.core.scoring import SCORERS, tally

if TYPE_CHECKING:
    from hunkwatch.core.scoring.tally import Scorer, Tally

LOOSER_IS = {
    "blind_rewrite": "lower",
    "blind_hunks": "higher",
    "retyped_lines": "higher",
    "blind_rewrite_patch": "lower",
    "retyped_lines_patch": "higher",
    "patch_shape": "an earlier word",
}
"""What the score of the looser patch of a pair must be, compared with the tighter one's."""


def counts(text: str) -> Tally:
    """Return the counts of one call with this patch."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return tally.of([grading.grade(Call("t", "o", start, None, None, 0, "test", Evidence.EXECUTION, text))])


def told_apart(scorer: Scorer, tighter: str, looser: str) -> bool:
    """Say whether the scorer puts the two patches in the right order."""
    better, worse = scorer.grade(counts(tighter)), scorer.grade(counts(looser))
    if isinstance(better, str) and isinstance(worse, str):
        words = [shape.value for shape in Shape]
        return words.index(worse) < words.index(better)
    assert isinstance(better, float)
    assert isinstance(worse, float)
    return worse < better if LOOSER_IS[scorer.name] == "lower" else worse > better


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: scorer.name)
def test_each_scorer_tells_its_pairs_apart(scorer: Scorer, pairs: dict[str, list[tuple[str, str, str, list[str]]]]) -> None:
    """In every pair the scorer likes the tighter patch better."""
    its = pairs.get(scorer.name, [])

    assert len(its) > 1, "a new score ships with its counterexamples"
    assert [name for name, tighter, looser, _ in its if not told_apart(scorer, tighter, looser)] == []


def test_no_scorer_punishes_a_surgical_patch(surgical: dict[str, str]) -> None:
    """No hunk is blind; no line but the anchor of an insert or one side of a swap counts as retyped."""
    for name, text in surgical.items():
        pooled = counts(text)

        assert (pooled.blind_hunks, pooled.shape in {Shape.NO_BLIND_REWRITE, Shape.NEW_FILE}) == (0, True), name
        assert pooled.retyped_lines == (1 if name == "anchor insert" else 0), name


def test_excused_patches_are_flagged_as_large_blocks_with_nothing_retyped(excused: dict[str, str]) -> None:
    """A necessary rewrite is blind as far as the text tells; that no line of it is retyped tells it from waste."""
    for name, text in excused.items():
        pooled = counts(text)

        assert (pooled.blind_hunks, pooled.retyped_lines, pooled.shape) == (1, 0, Shape.BLIND_REWRITE), name


def test_known_blind_spots_are_not_seen(unseen: dict[str, str]) -> None:
    """What the documents call a blind spot is one: should a scorer learn to see it, the documents must change."""
    for name, text in unseen.items():
        pooled = counts(text)

        assert (pooled.blind_hunks, pooled.retyped_lines, pooled.shape) == (0, 0, Shape.NO_BLIND_REWRITE), name


def test_granularity_moves_the_share_and_not_the_counts(unseen: dict[str, str]) -> None:
    """The same edits in one hunk or in four: a blind hunk among them weighs differently, which is why the counts stand beside it."""
    blind = "*** Update File: b\n@@\n-a\n-b\n-c\n+x\n+y\n+z\n*** End Patch"
    diluted = counts(unseen["one hunk cut into many"].replace("*** End Patch", blind))
    alone = counts("*** Begin Patch\n" + blind)
    score = next(scorer.grade for scorer in SCORERS if scorer.name == "blind_rewrite_patch")

    assert (score(alone), score(diluted)) == (0.0, 0.75)
    assert (alone.blind_hunks, diluted.blind_hunks) == (1, 1)

"""Blind rewrites: which hunks are blind, where, and what the score makes of them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.core.model import Hunk
from hunkwatch.core.scoring import blind_rewrite


def hunk(kinds: str) -> Hunk:
    """Return a hunk of these kinds of lines."""
    return Hunk((), kinds, tuple(f"{kind}line {at}" for at, kind in enumerate(kinds)), range(1, len(kinds) + 1))


@pytest.mark.parametrize(
    ("kinds", "blind"),
    [
        ("---+++", True),
        ("+++---", True),
        ("  -----++++ ", True),
        ("---++", False),
        ("--+++", False),
        ("--- +++", False),
        ("---+-+++", False),
        ("--- --+++", False),
        ("-+-+-+-+", False),
        ("------", False),
        ("", False),
        ("++---+++", True),
    ],
)
def test_a_hunk_is_blind_when_two_long_runs_touch(kinds: str, *, blind: bool) -> None:
    """Runs count at their full length, in either order, and a context line between them keeps them apart."""
    assert blind is blind_rewrite.is_blind(hunk(kinds))


def test_blocks_say_where_and_how_large() -> None:
    """Each pair of long neighbouring runs is a block; a run may stand in two."""
    found = blind_rewrite.blocks(hunk(" ---++++---- -+"))

    assert found == (blind_rewrite.Block(1, 8, 3, 4), blind_rewrite.Block(4, 12, 4, 4))


@given(st.text("-+ ", max_size=30))
def test_a_hunk_is_blind_if_and_only_if_it_has_a_block(kinds: str) -> None:
    """The quick test and the places agree."""
    assert blind_rewrite.is_blind(hunk(kinds)) is bool(blind_rewrite.blocks(hunk(kinds)))


@given(st.integers(0, 3000), st.integers(1, 3000), st.sampled_from([4, 100]))
def test_the_score_is_one_if_and_only_if_no_hunk_is_blind(blind: int, more: int, steps: int) -> None:
    """Flooring never hides a blind hunk, and never takes more than one step off."""
    hunks = blind + more - 1 or 1
    blind = min(blind, hunks)
    exact = 1 - Fraction(blind, hunks)
    kept = blind_rewrite.kept(blind, hunks, steps)

    assert kept is not None
    assert (kept == 1) is (blind == 0)
    assert 0 <= exact - Fraction(round(kept * steps), steps) < Fraction(1, steps)


@pytest.mark.parametrize(
    ("blind", "hunks", "steps", "expected"),
    [
        (0, 0, 4, None),
        (0, 3, 4, 1.0),
        (1, 8, 4, 0.75),
        (1, 3, 4, 0.5),
        (8, 8, 4, 0.0),
        (1, 3, 100, 0.66),
        (71, 100, 100, 0.29),
        (1, 10**6, 100, 0.99),
    ],
)
def test_the_score_is_floored(blind: int, hunks: int, steps: int, expected: float | None) -> None:
    """One of eight blind hunks is 0.75 in quarters; 0.29 stays 0.29, which binary fractions would floor to 0.28."""
    assert expected == blind_rewrite.kept(blind, hunks, steps)

"""Blind rewrites: does a hunk swap a block of lines for another without keeping a line in between?

A hunk is blind when a maximal run of at least ``FLOOR`` deleted lines is directly followed by a maximal run of at least ``FLOOR``
added ones, or the other way round. Low means "contains a large blind rewrite", which may be necessary: read it as large-block, not as
wasteful. High means "no blind rewrite", not "minimal". Dragged context is not seen, on purpose: context is what anchors a hunk.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hunkwatch.core.model import Hunk
    from hunkwatch.core.scoring.tally import Tally

FLOOR = 3
"""Shorter runs are the commonest surgical edit. A stated choice, not a setting."""

QUARTERS = 4
HUNDREDTHS = 100
"""A long session pools many hunks: in quarters most sessions would sit at 0.75."""

_SWAP = "-" * FLOOR + "+" * FLOOR
_SWAPPED = "+" * FLOOR + "-" * FLOOR
_PAIR = re.compile(rf"(?<!-)(-{{{FLOOR},}}+)(?=(\+{{{FLOOR},}}+))|(?<!\+)(\+{{{FLOOR},}}+)(?=(-{{{FLOOR},}}+))")


class Block(NamedTuple):
    """Two runs of a hunk that make it blind: indices into its lines, and how long each run is."""

    start: int
    stop: int
    deleted: int
    added: int


def is_blind(hunk: Hunk) -> bool:
    """Say whether the hunk is a blind rewrite."""
    return _SWAP in hunk.kinds or _SWAPPED in hunk.kinds


def first_block(hunk: Hunk) -> Block | None:
    """Return the first pair of neighbouring runs that makes the hunk blind."""
    found = _PAIR.search(hunk.kinds)
    return None if found is None else _block(found)


def blocks(hunk: Hunk) -> tuple[Block, ...]:
    """Return every pair of neighbouring runs that makes the hunk blind, in order; a run may stand in two of them."""
    return tuple(_block(found) for found in _PAIR.finditer(hunk.kinds))


def _block(found: re.Match[str]) -> Block:
    minus, plus, plus_before, minus_after = (len(run or "") for run in found.groups())
    return Block(found.start(), found.start() + minus + plus + plus_before + minus_after, minus + minus_after, plus + plus_before)


def kept(blind: int, hunks: int, steps: int) -> float | None:
    """Return ``1 - blind / hunks`` floored to ``1 / steps``: 1 if and only if no hunk is blind; ``None`` without hunks.

    Counted in whole numbers, so that no rounding of a binary fraction decides.
    """
    return (hunks - blind) * steps // hunks / steps if hunks else None


def in_hundredths(tally: Tally) -> float | None:
    """Return the share of hunks that are no blind rewrite, floored to hundredths: the score of a trace."""
    return kept(tally.blind_hunks, tally.hunks, HUNDREDTHS)


def in_quarters(tally: Tally) -> float | None:
    """Return the share of hunks that are no blind rewrite, floored to quarters: the score of an observation."""
    return kept(tally.blind_hunks, tally.hunks, QUARTERS)


def blind_hunks(tally: Tally) -> float | None:
    """Return how many hunks are blind, ``None`` where there is no hunk."""
    return float(tally.blind_hunks) if tally.hunks else None

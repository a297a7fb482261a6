"""Retyped lines: how many lines did a patch delete and add again unchanged?

Per change group (a maximal run of ``-`` and ``+`` lines), lines without a letter or digit are dropped; what counts is the longest
common subsequence of the deleted and the added lines that are left. It claims exactly this: these lines were deleted and added again
unchanged. It sees no whitespace-only rewraps and no work undone later. Past ``BOUND`` pairs of lines it abstains.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core.scoring import subsequence

if TYPE_CHECKING:
    from hunkwatch.core.model import Hunk
    from hunkwatch.core.scoring.tally import Tally

BOUND = 10**10
"""The most pairs of lines that one patch may need compared, summed over its change groups: an operation count, never a clock."""

_GROUP = re.compile(r"[-+]{2,}")
_telling = re.compile(r"[^\W_]").search


class Found(NamedTuple):
    """Retyped lines of a hunk, and how many pairs of lines had to be compared for them; ``None`` past what was left of the bound."""

    lines: int | None
    pairs: int


class Retyped(NamedTuple):
    """One retyped line: where the patch text deletes it and where it adds it again, from 1."""

    deleted: int
    added: int


def count(hunk: Hunk, left: int = BOUND) -> Found:
    """Count the retyped lines of a hunk, comparing at most ``left`` pairs of lines."""
    kinds = hunk.kinds
    if "-+" not in kinds and "+-" not in kinds:
        return _NOTHING
    total = pairs = 0
    for match in _GROUP.finditer(kinds):
        first, stop = match.span()
        group = hunk.lines[first:stop]
        deleted = [line[1:] for line in group if line[0] == "-"]
        added = [line[1:] for line in group if line[0] == "+"]
        shared = _shared(deleted, added)
        if shared:
            problem = subsequence.reduce([text for text in deleted if text in shared], [text for text in added if text in shared])
            pairs += problem.pairs
            if pairs > left:
                return Found(None, pairs)
            total += subsequence.length(problem)
    return Found(total, pairs)


def numbers(hunk: Hunk) -> tuple[Retyped, ...]:
    """Return the retyped lines of a hunk by number. Costs more than counting: only for people who look at one patch."""
    if count(hunk).lines is None:
        return ()
    found: list[Retyped] = []
    for match in _GROUP.finditer(hunk.kinds):
        group = range(*match.span())
        sides = [[at for at in group if hunk.kinds[at] == kind] for kind in "-+"]
        shared = _shared(*([hunk.lines[at][1:] for at in side] for side in sides))
        deleted, added = ([at for at in side if hunk.lines[at][1:] in shared] for side in sides)
        matched = subsequence.align([hunk.lines[at][1:] for at in deleted], [hunk.lines[at][1:] for at in added])
        found.extend(Retyped(hunk.numbers[deleted[left]], hunk.numbers[added[right]]) for left, right in matched)
    return tuple(found)


def lines(tally: Tally) -> float | None:
    """Return the retyped lines, ``None`` where there is no hunk or the bound was passed."""
    return float(tally.retyped_lines) if tally.hunks and tally.retyped_lines is not None else None


def _shared(deleted: list[str], added: list[str]) -> set[str]:
    both = set(deleted)
    if both.isdisjoint(added):
        return set()
    both.intersection_update(added)
    return {text for text in both if _telling(text)}


_NOTHING = Found(0, 0)

"""Retyped lines: how many lines did a patch delete and add again unchanged?

Per change group (a maximal run of ``-`` and ``+`` lines), lines without a letter or digit are dropped; what counts is the longest
common subsequence of the deleted and the added lines that are left. It claims exactly this: these lines were deleted and added again
unchanged. It sees no whitespace-only rewraps and no work undone later. Past ``BOUND`` pairs of lines it abstains.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core.scoring import subsequence

if TYPE_CHECKING:
    from hunkwatch.core.model import Hunk
    from hunkwatch.core.scoring.tally import Tally

BOUND = 10**10
"""The most pairs of lines that one patch may need compared, summed over its change groups: an operation count, never a clock."""

_text = itemgetter(slice(1, None))
_PAIR = 2
_GROUP = re.compile(r"[-+]{2,}")
_telling = re.compile(r"[^\W_]").search


class Retyped(NamedTuple):
    """One retyped line: where the patch text deletes it and where it adds it again, from 1."""

    deleted: int
    added: int


def count(hunk: Hunk, left: int = BOUND) -> tuple[int | None, int]:
    """Return the retyped lines of a hunk and how many pairs of lines were compared for them; ``None`` for what needs more than ``left``."""
    kinds = hunk.kinds
    if "-+" not in kinds and "+-" not in kinds:
        return _NOTHING
    body = kinds.strip(" ")
    minus = body.count("-")
    if body.rfind("-") < minus and " " not in body:
        first = kinds.index("-")
        if len(body) == _PAIR and hunk.lines[first][1:] != hunk.lines[first + 1][1:]:
            return _NOTHING
        middle = first + minus
        return _in_group([*map(_text, hunk.lines[first:middle])], [*map(_text, hunk.lines[middle : first + len(body)])], left)
    total = pairs = 0
    for match in _GROUP.finditer(kinds):
        group = match[0]
        minus = group.count("-")
        if 0 < minus < len(group):
            first, stop = match.span()
            texts = [*map(_text, hunk.lines[first:stop])]
            deleted, added = ([text for kind, text in zip(group, texts, strict=True) if kind == sign] for sign in "-+")
            lines, more = _in_group(deleted, added, left - pairs)
            pairs += more
            if lines is None:
                return None, pairs
            total += lines
    return total, pairs


def numbers(hunk: Hunk) -> tuple[Retyped, ...]:
    """Return the retyped lines of a hunk by number. Costs more than counting: only for people who look at one patch."""
    if count(hunk)[0] is None:
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


def _in_group(deleted: list[str], added: list[str], left: int) -> tuple[int | None, int]:
    shared = _shared(deleted, added)
    if not shared:
        return _NOTHING
    kept, again = list(filter(shared.__contains__, deleted)), list(filter(shared.__contains__, added))
    if kept == again:
        return len(kept), 0
    problem = subsequence.reduce(kept, again)
    if not problem.left or not problem.right:
        return problem.ends, 0
    pairs = problem.pairs
    return None if pairs > left else subsequence.length(problem), pairs


def _shared(deleted: list[str], added: list[str]) -> set[str]:
    """Return the lines on both sides that hold a letter or a digit; most show one as their first character."""
    both = set(deleted).intersection(added)
    return {text for text in both if text.strip()[:1].isalnum() or _telling(text)} if both else both


_NOTHING = (0, 0)

"""The longest common subsequence of two lists of lines, exactly, in bounded memory.

Three ways, all with the same answer. What the lists share at both ends is taken off first. Where lines are mostly unique, matching
pairs are few and are chained (Hunt and Szymanski). Elsewhere one row of the table is one Python integer, a bit a line
(Crochemore and others; Hyyro), which compares some fifty thousand pairs in a microsecond. ``align`` also says which lines match
(Hirschberg's halving over the same rows).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MASK_BYTES = 32 * 2**20
"""Bit masks of lines are kept up to this much memory; beyond it they are made anew each time they are needed."""

_SMALL = 4096
"""Up to this many pairs, weighing the ways costs more than it saves."""

_MOST_LINKS = 500_000
_MOST_COLUMNS = 2048


class Problem(NamedTuple):
    """Two lists with what they share at both ends taken off: ``ends`` lines match there."""

    left: Sequence[str]
    right: Sequence[str]
    ends: int

    @property
    def pairs(self) -> int:
        """Return how many pairs of lines there are to compare."""
        return len(self.left) * len(self.right)


def reduce(left: Sequence[str], right: Sequence[str]) -> Problem:
    """Take off what the lists share at both ends."""
    head, tail = _ends(left, right)
    if not head and not tail:
        return Problem(left, right, 0)
    return Problem(left[head : len(left) - tail], right[head : len(right) - tail], head + tail)


def length(problem: Problem) -> int:
    """Return the length of the longest common subsequence."""
    left, right, ends = problem
    if not left or not right:
        return ends
    if len(left) * len(right) <= _MOST_COLUMNS:
        return ends + _short(left, right)
    if _chaining_is_cheaper(_links(left, right), left, right):
        return ends + _chain(left, right)
    rows, columns = sorted((left, right), key=len)
    return ends + len(columns) - _last_row(rows, columns).bit_count()


def align(left: list[str], right: list[str]) -> list[tuple[int, int]]:
    """Return the index pairs of one longest common subsequence, rising on both sides."""
    head, tail = _ends(left, right)
    middle_left, middle_right = left[head : len(left) - tail], right[head : len(right) - tail]
    matched = [(at, at) for at in range(head)]
    matched += [(head + one, head + other) for one, other in _align_middle(middle_left, middle_right)]
    matched += [(len(left) - at, len(right) - at) for at in range(tail, 0, -1)]
    return matched


def _ends(left: Sequence[str], right: Sequence[str]) -> tuple[int, int]:
    most = min(len(left), len(right))
    head = 0
    while head < most and left[head] == right[head]:
        head += 1
    most -= head
    tail = 0
    while tail < most and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    return head, tail


def _links(left: Sequence[str], right: Sequence[str]) -> int:
    """Count the pairs of equal lines."""
    times = Counter(right)
    return sum(times[text] for text in left)


def _chaining_is_cheaper(links: int, left: Sequence[str], right: Sequence[str]) -> bool:
    """Weigh a quarter of a microsecond a link against half a one a row and a tenth of a nanosecond a pair (measured, not exact)."""
    rows, columns = sorted((len(left), len(right)))
    return links * 2500 < rows * (5000 + columns)


def _positions(texts: Sequence[str], wanted: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {text: [] for text in wanted}
    for at, text in enumerate(texts):
        if text in found:
            found[text].append(at)
    return found


# ---------------------------------------------------------------- chaining


def _chain(left: Sequence[str], right: Sequence[str]) -> int:
    positions = _positions(right, left)
    ends: list[int] = []
    for text in left:
        for at in reversed(positions[text]):
            slot = bisect_left(ends, at)
            if slot == len(ends):
                ends.append(at)
            else:
                ends[slot] = at
    return len(ends)


def _chain_back(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    positions = _positions(right, left)
    ends: list[int] = []
    newest: list[int] = []
    links: list[tuple[int, int]] = []
    earlier: list[int] = []
    for one, text in enumerate(left):
        for other in reversed(positions[text]):
            slot = bisect_left(ends, other)
            if slot == len(ends):
                ends.append(other)
                newest.append(len(links))
            else:
                ends[slot] = other
                newest[slot] = len(links)
            earlier.append(newest[slot - 1] if slot else -1)
            links.append((one, other))
    matched: list[tuple[int, int]] = []
    at = newest[-1] if newest else -1
    while at >= 0:
        matched.append(links[at])
        at = earlier[at]
    matched.reverse()
    return matched


# ---------------------------------------------------------------- rows of bits


def _short(rows: Sequence[str], columns: Sequence[str]) -> int:
    masks: dict[str, int] = {}
    bit = 1
    for text in columns:
        masks[text] = masks.get(text, 0) | bit
        bit <<= 1
    full = row = bit - 1
    for text in rows:
        shared = row & masks.get(text, 0)
        row = ((row + shared) | (row - shared)) & full
    return len(columns) - row.bit_count()


def _masks(rows: Sequence[str], columns: Sequence[str]) -> Callable[[str], int]:
    """Return the function that gives a line's mask: a bit for each column that holds it."""
    positions = _positions(columns, rows)
    size = len(columns) // 8 + 1
    often = sorted(positions, key=lambda text: len(positions[text]), reverse=True)[: max(1, MASK_BYTES // size)]
    kept = {text: _mask(positions[text], size) for text in often}

    def mask(text: str) -> int:
        known = kept.get(text)
        return _mask(positions[text], size) if known is None else known

    return mask


def _mask(positions: Sequence[int], size: int) -> int:
    bits = bytearray(size)
    for at in positions:
        bits[at >> 3] |= 1 << (at & 7)
    return int.from_bytes(bits, "little")


def _last_row(rows: Sequence[str], columns: Sequence[str]) -> int:
    """Return the table's last row: bit ``at`` is 0 where the length grows from column ``at`` to the next."""
    mask = _masks(rows, columns)
    full = row = (1 << len(columns)) - 1
    for text in rows:
        shared = row & mask(text)
        row = ((row + shared) | (row - shared)) & full
    return row


def _align_middle(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    if not left or not right:
        return []
    if len(right) < len(left):
        return sorted((one, other) for other, one in _align_middle(right, left))
    links = _links(left, right)
    if not links:
        return []
    if links <= _MOST_LINKS and _chaining_is_cheaper(links, left, right):
        return _chain_back(left, right)
    if len(left) == 1:
        return [(0, right.index(left[0]))]
    if len(right) <= _MOST_COLUMNS:
        return _walk_back(left, right)
    half = len(left) // 2
    cut = _best_cut(_last_row(left[:half], right), _last_row(left[: half - 1 : -1], right[::-1]), len(right))
    upper = _align_middle(left[:half], right[:cut])
    lower = _align_middle(left[half:], right[cut:])
    return upper + [(half + one, cut + other) for one, other in lower]


def _best_cut(upper: int, lower: int, columns: int) -> int:
    """Return the column at which the upper rows' lengths from the left and the lower rows' from the right sum up to the most."""
    forward = f"{upper:0{columns}b}"[::-1]
    backward = f"{lower:0{columns}b}"
    best = here = columns - lower.bit_count()
    cut = 0
    for at in range(columns):
        here += (forward[at] == "0") - (backward[at] == "0")
        if here > best:
            best, cut = here, at + 1
    return cut


def _walk_back(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    mask = _masks(left, right)
    full = row = (1 << len(right)) - 1
    table = [row]
    for text in left:
        shared = row & mask(text)
        row = ((row + shared) | (row - shared)) & full
        table.append(row)
    matched: list[tuple[int, int]] = []
    one, other = len(left), len(right)
    while one and other:
        if table[one] >> (other - 1) & 1:
            other -= 1
        elif _zeros(table[one - 1], other) == _zeros(table[one], other):
            one -= 1
        else:
            one, other = one - 1, other - 1
            matched.append((one, other))
    matched.reverse()
    return matched


def _zeros(row: int, columns: int) -> int:
    return columns - (row & ((1 << columns) - 1)).bit_count()

"""The longest common subsequence on hunks that are made to hurt: its time beyond parsing, and the memory of all of it but the text."""

from __future__ import annotations

import random
from collections.abc import Iterator

from bench_compare import Step, peak, seconds

from hunkwatch import score_patch
from hunkwatch.core import grammar

MEGABYTE = 1_000_000
LIMIT = 100 * MEGABYTE


def measure() -> Iterator[Step]:
    """Yield a step for each kind of hunk."""
    chance = random.Random(5)  # noqa: S311 - a repeatable benchmark, not a secret
    equal = ["return nothing"] * 100_000
    unique = [f"value_{number} = {number}" for number in range(100_000)]
    two = [chance.choice(("left()", "right()")) for _ in range(200_000)]
    few = [f"call_{chance.randrange(1000)}()" for _ in range(200_000)]
    many = [f"call_{chance.randrange(100_000)}()" for _ in range(600_000)]
    yield _step("equal lines", equal, equal, LIMIT)
    yield _step("unique lines, reversed", unique, unique[::-1], LIMIT)
    yield _step("random lines, 2 different", two[:100_000], two[100_000:], LIMIT)
    yield _step("random lines, 1,000 different", few[:100_000], few[100_000:], LIMIT)
    yield _step("random lines, 100,000 different", many[:300_000], many[300_000:], 0)


def _step(name: str, deleted: list[str], added: list[str], limit: int) -> Step:
    edits = [*("-" + text for text in deleted), *("+" + text for text in added)]
    text = "\n".join(["*** Begin Patch", "*** Update File: a.py", "@@", *edits, "*** End Patch"])
    parsed = min(seconds(lambda: grammar.parse(text)) for _ in range(3))
    found: list[int | None] = []
    took = seconds(lambda: found.append(score_patch(text).retyped_lines)) - parsed
    most = peak(lambda: score_patch(text))
    note = "abstains" if found[0] is None else f"{found[0]:,} retyped"
    return Step(f"LCS: {name}", max(len(deleted), len(added)), took, most, limit, note)

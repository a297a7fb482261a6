"""How parsing and scoring grow with the size of one patch, from 10 KB to 10 MB. Everything but the LCS is meant to be linear."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from bench_compare import Step, peak, seconds
from bench_corpus import added_file, lines

from hunkwatch.core import evaluate, grammar
from hunkwatch.core.model import Call, Evidence
from hunkwatch.sandbox import patchwork

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)


def measure() -> Iterator[Step]:
    """Yield the curves: many hunks, one new file, one hunk that retypes a block."""
    for name, grow in (("many hunks", _many_hunks), ("one new file", added_file), ("one blind hunk", _blind_hunk)):
        for size in SIZES:
            text = grow(size)
            parsed = min(seconds(lambda text=text: grammar.parse(text)) for _ in range(3))
            yield Step(f"parse: {name}", len(text), parsed)
        for size in SIZES:
            call = _call(grow(size))
            graded = min(seconds(lambda call=call: evaluate.grade(call)) for _ in range(3))
            yield Step(f"parse and score: {name}", len(call.text or ""), graded, peak(lambda call=call: evaluate.grade(call)))


def _call(text: str) -> Call:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    return Call("trace", "observation", start, None, None, 0, "raw", Evidence.EXECUTION, text)


def _many_hunks(size: int) -> str:
    parts, length, number = ["*** Begin Patch"], 0, 0
    while length < size:
        patch = patchwork.write(number)
        number += 1
        if patch.updates:
            parts += patch.text.replace("\r", "").split("\n")[1:-1]
            length += len(patch.text)
    return "\n".join([*parts, "*** End Patch"])


def _blind_hunk(size: int) -> str:
    old = lines(size // 70)
    new = [line if number % 10 else line + " # changed" for number, line in enumerate(old)]
    edits = [*("-" + line for line in old), *("+" + line for line in new)]
    return "\n".join(["*** Begin Patch", "*** Update File: generated.py", "@@", *edits, "*** End Patch"])

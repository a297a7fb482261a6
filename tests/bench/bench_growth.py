"""How parsing and scoring grow with the size of one patch, from 10 KB to 10 MB. Everything but the LCS is meant to be linear."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from bench_compare import Step, peak, seconds
from bench_corpus import Corpus

from hunkwatch.core import evaluate, grammar
from hunkwatch.core.model import Call, Evidence

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)


def measure() -> Iterator[Step]:
    """Yield the curves: many hunks, one new file, one hunk that retypes a block."""
    for name, grow in (("many hunks", _many_hunks), ("one new file", _new_file), ("one blind hunk", _blind_hunk)):
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
    corpus, parts, length = Corpus(3), ["*** Begin Patch"], 0
    while length < size:
        body = [line for line in corpus.patch().split("\n")[1:-1] if not line.startswith("*** Delete")]
        parts += body
        length += sum(len(line) + 1 for line in body)
    return "\n".join([*parts, "*** End Patch"])


def _new_file(size: int) -> str:
    lines = Corpus(4).lines(size // 34)
    return "\n".join(["*** Begin Patch", "*** Add File: generated.py", *("+" + line for line in lines), "*** End Patch"])


def _blind_hunk(size: int) -> str:
    old = Corpus(5).lines(size // 68)
    new = [line if number % 10 else line + " # changed" for number, line in enumerate(old)]
    return "\n".join(
        ["*** Begin Patch", "*** Update File: generated.py", "@@", *("-" + x for x in old), *("+" + x for x in new), "*** End Patch"]
    )

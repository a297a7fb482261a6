"""Scoring against clinescope's ``diff_minimality`` on the same generated patches. Ours also counts retyped lines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from bench_compare import Duel, duel
from bench_corpus import Corpus
from clinescope.diff_minimality import score_diff_minimality
from clinescope.world_a import ToolCall, Trace

from hunkwatch.core import evaluate
from hunkwatch.core.model import Call, Evidence


def measure() -> Iterator[Duel]:
    """Yield the duel on patches of the real distribution, then on large ones alone."""
    patches = Corpus(7).patches(9330)
    yield _duel("score 9,330 patches of the real distribution", patches, target=1.25)
    large = sorted(patches, key=len)[-470:]
    yield _duel("score the largest 5% of them", large)


def _duel(name: str, patches: list[str], *, target: float = 0.0) -> Duel:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    calls = [Call("trace", f"{at}", start, None, None, 0, "raw", Evidence.EXECUTION, text) for at, text in enumerate(patches)]
    traces = [Trace(1, (), (ToolCall("call", "apply_patch", {"input": text}, None, None),), ()) for text in patches]
    return duel(
        name,
        lambda: [evaluate.grade(call) for call in calls],
        lambda: [score_diff_minimality(trace) for trace in traces],
        turns=7,
        target=target,
    )

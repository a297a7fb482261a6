"""Scoring against clinescope's ``diff_minimality`` on the same generated patches. Ours also counts retyped lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import bench_corpus
from bench_compare import Duel, duel
from clinescope.diff_minimality import score_diff_minimality
from clinescope.world_a import ToolCall, Trace

from hunkwatch import score_patch
from hunkwatch.core import evaluate
from hunkwatch.core.model import Call, Evidence


def measure() -> Iterator[Duel]:
    """Yield the duel on patches of the real distribution, on large ones alone, and with the record that the ledger keeps."""
    patches = bench_corpus.patches(3000)
    large = sorted(patches, key=len)[-150:]
    yield _duel("score 3,000 patches of the real distribution", patches, lambda: _drain(score_patch, patches), target=1.25)
    yield _duel("score the largest 5% of them", large, lambda: _drain(score_patch, large))
    start = datetime(2026, 3, 1, tzinfo=UTC)
    calls = [Call("trace", f"{at}", start, None, None, 0, "raw", Evidence.EXECUTION, text) for at, text in enumerate(patches)]
    yield _duel("grade 3,000 calls, with the record for the ledger", patches, lambda: _drain(evaluate.grade, calls))


def _duel(name: str, patches: list[str], ours: Callable[[], None], *, target: float = 0.0) -> Duel:
    traces = [Trace(1, (), (ToolCall("call", "apply_patch", {"input": text}, None, None),), ()) for text in patches]
    return duel(name, ours, lambda: _drain(score_diff_minimality, traces), turns=21, target=target)


def _drain(score: Callable[[Any], object], things: Iterable[Any]) -> None:
    """Score each and let the result go, as a worker does."""
    deque(map(score, things), maxlen=0)

"""From calls to what ``score`` prints of each, and whether each passes the gate. The numbers are the core's.

Calls are merged trace by trace exactly as the worker does it, so that a call recorded twice is printed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hunkwatch.core import evaluate
from hunkwatch.core.model import Shape
from hunkwatch.core.scoring import blind_rewrite, retyped_lines, tally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hunkwatch.core.model import Call, GradedCall

_NOT_READ = frozenset({Shape.UNRESOLVED, Shape.MALFORMED, Shape.TRUNCATED})


@dataclass(frozen=True, slots=True)
class Judged:
    """One call with its numbers. ``blind_rewrite`` and ``retyped_lines`` are None where there is nothing to say."""

    call: GradedCall
    blind_rewrite: float | None
    retyped_lines: int | None
    patch: str | None

    def as_json(self, *, with_patch: bool) -> dict[str, object]:
        """Return what ``--json`` prints."""
        call = self.call
        row: dict[str, object] = {
            "trace_id": call.trace_id or None,
            "observation_id": call.observation_id or None,
            "call_id": call.call_id,
            "index": call.index,
            "producer": call.producer,
            "outcome": call.outcome.value,
            "shape": call.shape.value,
            "blind_rewrite": self.blind_rewrite,
            "hunks": call.hunks,
            "blind_hunks": call.blind_hunks,
            "retyped_lines": self.retyped_lines,
            "flags": list(call.flags),
        }
        if call.why:
            row["why"] = call.why
        if with_patch:
            row["patch"] = self.patch
        return row


@dataclass(frozen=True, slots=True)
class Gate:
    """What a call must keep to. None: not asked."""

    fail_under: float | None = None
    max_retyped: int | None = None

    @property
    def is_set(self) -> bool:
        """Say whether anything is asked at all."""
        return self.fail_under is not None or self.max_retyped is not None

    def judges(self, judged: Judged) -> bool:
        """Say whether there is a number that the gate asks about."""
        asked = ((self.fail_under, judged.blind_rewrite), (self.max_retyped, judged.retyped_lines))
        return any(limit is not None and value is not None for limit, value in asked)

    def misses(self, judged: Judged) -> bool:
        """Say whether a number that the gate asks about is missing because the call could not be read or counted, not for want of hunks."""
        abstained = self.max_retyped is not None and judged.call.hunks > 0 and judged.retyped_lines is None
        return abstained or judged.call.shape in _NOT_READ

    def reasons(self, judged: Judged) -> list[str]:
        """Return why the call does not pass; empty when it does, or when there is nothing to judge."""
        reasons = []
        if self.fail_under is not None and judged.blind_rewrite is not None and judged.blind_rewrite < self.fail_under:
            call = judged.call
            reasons.append(
                f"blind_rewrite {judged.blind_rewrite:g} is under {self.fail_under:g} ({call.blind_hunks} of {call.hunks} hunks blind)"
            )
        if self.max_retyped is not None and judged.retyped_lines is not None and judged.retyped_lines > self.max_retyped:
            reasons.append(f"{judged.retyped_lines} retyped lines, more than {self.max_retyped}")
        return reasons


def judge(calls: Iterable[Call], *, keep_patches: bool) -> list[Judged]:
    """Grade the calls and merge those of each trace; traces in order of appearance. Calls without a trace stand for themselves."""
    traces: dict[str, list[GradedCall]] = {}
    alone: list[Judged] = []
    patches: dict[tuple[str, str, str | None, int], str | None] = {}
    for call in calls:
        graded = evaluate.grade(call)
        if not graded.trace_id:
            alone.append(_judged(graded, call.text))
            continue
        traces.setdefault(graded.trace_id, []).append(graded)
        if keep_patches:
            patches[_key(graded)] = call.text
    merged = [
        _judged(counted, patches.get(_key(counted))) for its in traces.values() for counted in evaluate.finished_trace("", its).counted
    ]
    return alone + merged


def _key(call: GradedCall) -> tuple[str, str, str | None, int]:
    return call.trace_id, call.observation_id, call.call_id, call.index


def _judged(call: GradedCall, patch: str | None) -> Judged:
    counts = tally.of((call,))
    lines = retyped_lines.lines(counts)
    return Judged(call, blind_rewrite.in_quarters(counts), None if lines is None else int(lines), patch)

"""File rewrites across the calls of a trace: an Add over a path that an earlier call added or updated.

Only an earlier call that was applied, or of which nothing is known, put its file there, or moved it away: then nothing is written over.
How many lines came back unchanged is known where the earlier content is: from the marks of the lines that an Add left behind.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hunkwatch.core.model import Action, Outcome, Shape
from hunkwatch.core.scoring import retyped_lines, subsequence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.core.model import GradedCall

_MARK = 8
_KEEP_THEIR_SHAPE = {Shape.UNRESOLVED, Shape.MALFORMED, Shape.TRUNCATED}


def across(calls: Sequence[GradedCall]) -> tuple[GradedCall, ...]:
    """Return the calls of a trace, given in order, with the shape ``file_rewrite`` where an earlier call had written the file."""
    there: dict[str, str] = {}
    seen: list[GradedCall] = []
    for call in calls:
        seen.append(_reshaped(call, there))
        if call.outcome in {Outcome.APPLIED, Outcome.UNKNOWN}:
            for file in call.files:
                if file.action == Action.ADD:
                    there[file.path] = file.marks
                elif file.action == Action.UPDATE:
                    there.pop(file.path, None)
                    there[file.moved_to or file.path] = ""
    return tuple(seen)


def _reshaped(call: GradedCall, there: dict[str, str]) -> GradedCall:
    over = [file for file in call.files if file.action == Action.ADD and file.path in there]
    if not over or call.shape in _KEEP_THEIR_SHAPE:
        return call
    known = [(there[file.path], file.marks) for file in over if there[file.path] and file.marks]
    returned = sum(_unchanged(before, after) for before, after in known) if known else None
    return replace(call, shape=Shape.FILE_REWRITE, returned_lines=returned)


def _unchanged(before: str, after: str) -> int:
    old, new = (_cut(marks) for marks in (before, after))
    problem = subsequence.reduce(old, new)
    return subsequence.length(problem) if problem.pairs <= retyped_lines.BOUND else problem.ends


def _cut(marks: str) -> list[str]:
    return [marks[at : at + _MARK] for at in range(0, len(marks), _MARK)]

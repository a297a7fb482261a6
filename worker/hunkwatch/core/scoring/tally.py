"""What scorers look at: the counts of some calls pooled, and which kind of thing a score is about."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core.model import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.core.model import GradedCall

_PRECEDENCE = {shape: at for at, shape in enumerate(Shape)}


class Subject(StrEnum):
    """What a score is about."""

    TRACE = "trace"
    OBSERVATION = "observation"


class Tally(NamedTuple):
    """The counts of one or more calls together. ``retyped_lines`` is ``None`` when any of them abstained."""

    hunks: int
    blind_hunks: int
    retyped_lines: int | None
    shape: Shape


class Scorer(NamedTuple):
    """A score: its name, what it is about, and its value from a tally, ``None`` when there is nothing to say."""

    name: str
    subject: Subject
    grade: Callable[[Tally], float | str | None]


def of(calls: Sequence[GradedCall]) -> Tally:
    """Pool the counts of at least one call."""
    retyped: int | None = 0
    for call in calls:
        retyped = None if retyped is None or call.retyped_lines is None else retyped + call.retyped_lines
    return Tally(
        hunks=sum(call.hunks for call in calls),
        blind_hunks=sum(call.blind_hunks for call in calls),
        retyped_lines=retyped,
        shape=min((call.shape for call in calls), key=_PRECEDENCE.__getitem__),
    )

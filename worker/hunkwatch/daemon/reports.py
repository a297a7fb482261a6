"""What a pass came to, and what a rehearsal says that a real one would."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hunkwatch.daemon import moves
from hunkwatch.errors import Exit
from hunkwatch.ports import Delivery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hunkwatch.daemon.once import Pass, Rehearsal
    from hunkwatch.ports import Status


@dataclass(frozen=True, slots=True)
class OnceReport:
    """What one pass did. ``exit`` is OK, or TEMPORARY when scores were still on their way when patience ended."""

    exit: Exit
    project: str
    observations: int
    """Observations read whole."""
    calls: int
    """Calls found in them, new or changed."""
    sent: int
    """Scores that were sent, by any try."""
    seen: int
    """Scores that this pass saw in Langfuse as they should be."""
    waiting: int
    """Scores still on their way."""
    dead: int
    """Dead letters on record."""
    poison: int
    """Observations on record as unreadable."""
    shapes: Mapping[str, int] = field(default_factory=dict)
    """Calls on record by shape, which says why some abstained."""


@dataclass(frozen=True, slots=True)
class DryRunReport:
    """What a real run would do; nothing was written to Langfuse or to the state."""

    project: str
    observations: int
    calls: int
    shapes: Mapping[str, int]
    would_send: Mapping[str, int]
    """By score name, how many scores a real run would send."""
    would_withdraw: Mapping[str, int]
    """By score name, how many scores a real run would delete."""
    already_there: int
    """Scores that Langfuse already shows as they should be."""


def of_pass(project_id: str, done: Pass, status: Status) -> OnceReport:
    """Say what a pass came to."""
    return OnceReport(
        exit=Exit.OK if done.finished else Exit.TEMPORARY,
        project=project_id,
        observations=done.swept.read,
        calls=done.swept.calls,
        sent=done.delivered.sent,
        seen=done.delivered.seen,
        waiting=sum(status.outbox.get(state, 0) for state in moves.UNDERWAY),
        dead=status.outbox.get(Delivery.DEAD, 0),
        poison=status.poison,
        shapes=status.shapes,
    )


def of_rehearsal(project_id: str, done: Rehearsal, status: Status) -> DryRunReport:
    """Say what a rehearsal came to."""
    return DryRunReport(
        project=project_id,
        observations=done.swept.read,
        calls=done.swept.calls,
        shapes=status.shapes,
        would_send=done.would_send,
        would_withdraw=done.would_withdraw,
        already_there=done.already_there,
    )

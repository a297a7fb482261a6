"""How an outbox row moves from state to state; pure, and the only place that knows.

``wanted`` and ``unwanted`` answer what the data says, ``looked`` what Langfuse shows, ``sent`` and ``refused`` what it answered.
Every row returned is complete: its ``next_at`` says when it wants attention again.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from hunkwatch.ports import Delivery, OutboxRow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from hunkwatch.core.model import Score
    from hunkwatch.ports import SeenScore

LOOKED_AT = (Delivery.NEW, Delivery.SENT, Delivery.DOOMED, Delivery.DELETED)
"""States in which the next thing to do is to look into Langfuse."""

UNDERWAY = (Delivery.NEW, Delivery.DUE, Delivery.SENT)
"""States of a score that Langfuse does not show yet as it should be."""

LEAVING = (Delivery.DOOMED, Delivery.DELETED)
"""States of a score that Langfuse may still show although it should not."""

DELETION = timedelta(seconds=20)
"""How long Langfuse gets to work a deletion off before the next look."""

_DELETION_LOOKS = 3
_DISCARDED = "discarded"
_UNDELETABLE = "deletion refused"
_MISSES = 2


def first(project: str, score: Score, fingerprint: str, *, scorer: str, now: datetime) -> OutboxRow:
    """Return the row of a score that was not on record: Langfuse is asked before it is told."""
    return OutboxRow(project, score, fingerprint, scorer, Delivery.NEW, now)


def wanted(row: OutboxRow, score: Score, fingerprint: str, *, scorer: str, now: datetime) -> OutboxRow | None:
    """Return the row that makes Langfuse show this score, None when the present one already does.

    The row keeps its timestamp, which is part of the score's identity.
    """
    fresh = replace(
        row,
        score=replace(score, timestamp=row.score.timestamp),
        fingerprint=fingerprint,
        scorer=scorer,
        next_at=now,
        sent=0,
        looks=0,
        reason="",
    )
    match row.state:
        case Delivery.NEW:
            return None if row.fingerprint == fingerprint else fresh
        case Delivery.DEAD if _is_undeletable(row):
            return replace(fresh, state=Delivery.NEW)
        case Delivery.DUE | Delivery.SENT | Delivery.SEEN | Delivery.DEAD:
            return None if row.fingerprint == fingerprint else replace(fresh, state=Delivery.DUE)
        case Delivery.DOOMED:
            return replace(fresh, state=Delivery.DUE if row.sent or row.looks else Delivery.NEW)
        case Delivery.GONE:
            # Who gave a dead letter up gave up this payload, and no other.
            return None if row.reason == _DISCARDED and row.fingerprint == fingerprint else replace(fresh, state=Delivery.NEW)
        case Delivery.DELETED:
            # A look now could still show what is about to vanish, so it is sent once the deletion had its time.
            return replace(fresh, state=Delivery.DUE, next_at=now + DELETION)
        case _:
            assert_never(row.state)


def unwanted(row: OutboxRow, *, now: datetime) -> OutboxRow | None:
    """Return the row that makes Langfuse forget this score, None when that is under way or done."""
    if row.state in {Delivery.DOOMED, Delivery.DELETED, Delivery.GONE} or _is_undeletable(row):
        return None
    return replace(row, state=Delivery.DOOMED, next_at=now, looks=0, reason="")


def purged(row: OutboxRow, *, now: datetime) -> OutboxRow | None:
    """Return the row that makes Langfuse forget a score that may ever have got there, None when that is under way or proven."""
    given_up = (row.state is Delivery.GONE and row.reason == _DISCARDED) or _is_undeletable(row)
    return unwanted(replace(row, state=Delivery.DEAD, reason="") if given_up else row, now=now)


def looked(row: OutboxRow, seen: SeenScore | None, *, look_after: Sequence[timedelta], sends: int, now: datetime) -> OutboxRow:
    """Return the row after a look into Langfuse. A DOOMED row comes back DOOMED and due when its deletion has to be asked for."""
    match row.state:
        case Delivery.NEW:
            return _found_before_sending(row, seen, now=now)
        case Delivery.SENT:
            return _looked_for(row, seen, look_after=look_after, sends=sends, now=now)
        case Delivery.DOOMED:
            return _looked_for_to_delete(row, seen, look_after=look_after, now=now)
        case Delivery.DELETED:
            return _looked_for_after_deletion(row, seen, now=now)
        case _:
            return row


def sent(row: OutboxRow, *, look_after: Sequence[timedelta], now: datetime, doubt: str = "") -> OutboxRow:
    """Return the row after the server took the score, which is not yet seen; ``doubt`` is what it said against that."""
    return replace(row, state=Delivery.SENT, sent=row.sent + 1, looks=0, next_at=now + look_after[0], reason=doubt)


def refused(row: OutboxRow, reason: str, *, now: datetime) -> OutboxRow:
    """Return the row after the server said never."""
    return replace(row, state=Delivery.DEAD, sent=row.sent + 1, next_at=now, reason=f"refused: {reason}" if reason else "refused")


def deletion_refused(row: OutboxRow, reason: str, *, now: datetime) -> OutboxRow:
    """Return the row after the server said that it never deletes it: a dead letter that still wants to go."""
    return replace(row, state=Delivery.DEAD, next_at=now, reason=f"{_UNDELETABLE}: {reason}" if reason else _UNDELETABLE)


def deletion_asked(row: OutboxRow, *, now: datetime) -> OutboxRow:
    """Return the row after its deletion was asked for."""
    return replace(row, state=Delivery.DELETED, looks=0, next_at=now + DELETION, reason="")


def requeued(row: OutboxRow, *, now: datetime) -> OutboxRow:
    """Return a dead letter as it is tried from the start again: sent, or deleted where that was refused."""
    return replace(row, state=Delivery.DOOMED if _is_undeletable(row) else Delivery.DUE, sent=0, looks=0, next_at=now, reason="")


def discarded(row: OutboxRow, *, now: datetime) -> OutboxRow:
    """Return a dead letter that somebody gave up; it stays so until its payload changes."""
    return replace(row, state=Delivery.GONE, next_at=now, reason=_DISCARDED)


def put_back(row: OutboxRow, *, at: datetime, reason: str = "") -> OutboxRow:
    """Return the row as it was, to be tried again."""
    return replace(row, next_at=at, reason=reason)


def is_last_send(row: OutboxRow, *, sends: int) -> bool:
    """Say whether the next send is the last of several: it goes without a config id, which may be what swallowed the others."""
    return 1 < sends <= row.sent + 1


def _is_undeletable(row: OutboxRow) -> bool:
    return row.state is Delivery.DEAD and row.reason.startswith(_UNDELETABLE)


def shows(row: OutboxRow, seen: SeenScore) -> bool:
    """Say whether what Langfuse shows is what the row wants: value and payload."""
    return seen.fingerprint == row.fingerprint and seen.name == row.score.name and seen.value == row.score.value


def _found_before_sending(row: OutboxRow, seen: SeenScore | None, *, now: datetime) -> OutboxRow:
    if seen is None:
        return replace(row, state=Delivery.DUE, next_at=now)
    return replace(
        row,
        score=replace(row.score, timestamp=seen.timestamp),
        state=Delivery.SEEN if shows(row, seen) else Delivery.DUE,
        next_at=now,
    )


def _looked_for(row: OutboxRow, seen: SeenScore | None, *, look_after: Sequence[timedelta], sends: int, now: datetime) -> OutboxRow:
    if seen is not None and shows(row, seen):
        return replace(row, state=Delivery.SEEN, next_at=now, reason="")
    looks = row.looks + 1
    if looks < len(look_after):
        return replace(row, looks=looks, next_at=now + look_after[looks])
    if row.sent < sends:
        return replace(row, state=Delivery.DUE, looks=0, next_at=now)
    what = "never seen" if seen is None else "another value stayed in its place"
    doubt = f"; last answer: {row.reason}" if row.reason else ""
    return replace(row, state=Delivery.DEAD, looks=looks, next_at=now, reason=f"sent {row.sent} times, {what}{doubt}")


def _looked_for_to_delete(row: OutboxRow, seen: SeenScore | None, *, look_after: Sequence[timedelta], now: datetime) -> OutboxRow:
    if seen is not None:
        return replace(row, score=replace(row.score, timestamp=seen.timestamp), next_at=now)
    # A send may be on its way even where none is on record: a process can die between the answer and its own note of it.
    looks = row.looks + 1
    if looks < len(look_after):
        return replace(row, looks=looks, next_at=now + look_after[looks])
    return replace(row, state=Delivery.GONE, next_at=now, reason="")


def _looked_for_after_deletion(row: OutboxRow, seen: SeenScore | None, *, now: datetime) -> OutboxRow:
    looks = row.looks + 1
    # One miss is no proof: an update that was under way when the deletion came brings the score back.
    if seen is None and looks >= _MISSES:
        return replace(row, state=Delivery.GONE, looks=looks, next_at=now, reason="")
    if seen is not None and looks >= _DELETION_LOOKS:
        return replace(row, state=Delivery.DOOMED, looks=0, next_at=now)
    return replace(row, looks=looks, next_at=now + DELETION)

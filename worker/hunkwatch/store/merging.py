"""What becomes of a row that two wrote: the present one meets one that was made from an older look. Pure; columns in, columns out.

The daemon decides which state a row moves to (``daemon.moves``); here two loops, or two processes, that move the same row are kept
from undoing each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hunkwatch.ports import Delivery
from hunkwatch.store import rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hunkwatch.ports import OutboxRow

LEAVING = (Delivery.DOOMED, Delivery.DELETED, Delivery.GONE)

_WANTED = (Delivery.NEW, Delivery.DUE)
_WORDLESS = {"comment": "", "metadata": "{}"}


def committed(present: Mapping[str, Any] | None, columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a committed outbox row, given what deliveries have made of it since the committer looked."""
    if present is None:
        return columns
    was, wanted = Delivery(present["state"]), Delivery(columns["state"])
    as_it_is = {name: present[name] for name in columns}
    if wanted in _WANTED:
        if was not in {*LEAVING, Delivery.DEAD} and present["fingerprint"] == columns["fingerprint"]:
            # It is on its way as it is wanted, or there: what was tried so far counts, and nothing is paid twice.
            return as_it_is
        if was is Delivery.NEW:
            return {**columns, "state": was.value}
        # A deletion under way, or being asked for, would take the score that is sent before it happened.
        at = {Delivery.DELETED: present["next_at"], Delivery.DOOMED: present["claimed_until"] or 0}.get(was, 0)
        return {**columns, "next_at": max(columns["next_at"], at)}
    if wanted is Delivery.DOOMED:
        if was is Delivery.DELETED or (was is Delivery.GONE and not present["reason"]):
            return as_it_is
        return {**columns, "sent": max(columns["sent"], present["sent"])}
    return columns


def is_ours(present: Mapping[str, Any] | None, row: OutboxRow) -> bool:
    """Say whether a settlement still counts: its claim may have run out and the row be somebody else's by now."""
    return present is not None and (not row.claim or present["claimed_by"] == row.claim.rpartition("/")[0])


def settled(present: Mapping[str, Any], row: OutboxRow, now: int) -> dict[str, Any]:
    """Return the columns to write for a settled row, given what a commit may have made of it since it was claimed.

    A payload that was changed stays and is due at once (still to be looked up if it never was); a doom that came meanwhile stays;
    a score that is wanted again stays wanted. The found timestamp and the number of sends are facts and always kept.
    """
    columns = {**rows.of_outbox(row), "claimed_until": None, "claimed_by": None}
    was = Delivery(present["state"])
    changed = present["fingerprint"] != row.fingerprint
    if row.claim:
        # The claim says in which state the row was handed out: another one now was a commit's doing, and nobody else's.
        moved = was is not Delivery(row.claim.rpartition("/")[2])
        doomed, revived = was is Delivery.DOOMED and moved, was not in LEAVING and moved
    else:
        doomed, revived = was is Delivery.DOOMED and row.state not in LEAVING, was not in LEAVING and row.state in LEAVING
    if not (changed or doomed or revived):
        # What Langfuse shows is never sent again as it is: a changed payload brings its own words.
        return {**columns, **_WORDLESS} if row.state is Delivery.SEEN else columns
    kept = {name: value for name, value in present.items() if name not in {"timestamp", "sent", "claimed_until", "claimed_by"}}
    merged = {**columns, **kept, "looks": 0}
    if doomed or was in LEAVING:
        return {**merged, "next_at": max(now, present["next_at"])}
    # A deletion under way would take the new score with it: what it asked for is given time to happen.
    next_at = columns["next_at"] if row.state is Delivery.DELETED else now
    state = Delivery.NEW if was is Delivery.NEW and row.state is Delivery.NEW else Delivery.DUE
    return {**merged, "state": state.value, "next_at": next_at, "sent": 0}


def scheduled(present: Mapping[str, Any] | None, columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a trace's state: who did not see the last touch neither takes it back nor has rolled it up."""
    if present is None or columns["touched_at"] >= present["touched_at"]:
        return columns
    dates = [at for at in (present["due_at"], columns["due_at"]) if at is not None]
    return {**present, "due_at": min(dates, default=None)}

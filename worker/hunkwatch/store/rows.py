"""Between rows and nouns: the only place that knows how each is spelled in a column.

Ids come back as they were, other texts lose what a database refuses (NUL) or an encoder cannot write (lone surrogates). Rows are read
by ``ids.read``, which gives the ids in them back their own spelling.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hunkwatch.core import record
from hunkwatch.core.model import Score
from hunkwatch.ports import Delivery, LedgerEntry, ObservationKey, OutboxRow, TraceState
from hunkwatch.store import ids

if TYPE_CHECKING:
    from collections.abc import Mapping

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(at: datetime) -> int:
    """Return a time as whole microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """Return the time that ``micros`` was made from."""
    return _EPOCH + timedelta(microseconds=value)


def clean(text: str) -> str:
    """Return the text as both databases can hold it."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\0", "\ufffd") if "\0" in text else text


def of_entry(entry: LedgerEntry) -> dict[str, object]:
    """Return the columns of a ledger entry."""
    return {
        "project": entry.project,
        "trace_id": ids.spelled(entry.key.trace_id),
        "observation_id": ids.spelled(entry.key.observation_id),
        "first_start": micros(entry.first_start),
        "version": clean(entry.version),
        "fingerprint": entry.fingerprint,
        "calls": record.dump(entry.calls) if entry.calls else "[]",
        "call_count": len(entry.calls),
        "seen_at": micros(entry.seen_at),
        "reason": clean(entry.reason),
    }


def calls_of(entry: LedgerEntry) -> list[dict[str, object]]:
    """Return the columns of an entry's calls, for counting and for finding copies."""
    return [
        {
            "project": entry.project,
            "trace_id": ids.spelled(entry.key.trace_id),
            "observation_id": ids.spelled(entry.key.observation_id),
            "position": position,
            "call_id": None if call.call_id is None else ids.spelled(call.call_id),
            "producer": clean(call.producer),
            "shape": call.shape.value,
            "outcome": call.outcome.value,
        }
        for position, call in enumerate(entry.calls)
    ]


def entry(row: Mapping[str, Any]) -> LedgerEntry:
    """Return the ledger entry of a row; its calls start when the observation was first seen to start."""
    first_start = moment(row["first_start"])
    return LedgerEntry(
        project=row["project"],
        key=ObservationKey(row["trace_id"], row["observation_id"]),
        first_start=first_start,
        version=row["version"],
        fingerprint=row["fingerprint"],
        calls=tuple(replace(call, start_time=first_start) for call in record.load(row["calls"])) if row["call_count"] else (),
        seen_at=moment(row["seen_at"]),
        reason=row["reason"],
    )


def of_outbox(row: OutboxRow) -> dict[str, object]:
    """Return the columns of an outbox row, its claim aside."""
    score = row.score
    is_label = isinstance(score.value, str)
    return {
        "project": row.project,
        "score_id": score.id,
        "trace_id": ids.spelled(score.trace_id),
        "observation_id": None if score.observation_id is None else ids.spelled(score.observation_id),
        "name": score.name,
        "number": None if is_label else float(score.value),
        "label": clean(str(score.value)) if is_label else None,
        "timestamp": micros(score.timestamp),
        "environment": clean(score.environment),
        "comment": clean(score.comment),
        "metadata": json.dumps(dict(score.metadata), separators=(",", ":")),
        "fingerprint": row.fingerprint,
        "scorer": row.scorer,
        "state": row.state.value,
        "next_at": micros(row.next_at),
        "sent": row.sent,
        "looks": row.looks,
        "reason": clean(row.reason),
    }


def outbox(row: Mapping[str, Any], *, claim: str = "") -> OutboxRow:
    """Return the outbox row of a row, under the claim that handed it out."""
    return OutboxRow(
        project=row["project"],
        score=Score(
            id=row["score_id"],
            name=row["name"],
            value=row["number"] if row["label"] is None else row["label"],
            trace_id=row["trace_id"],
            observation_id=row["observation_id"],
            timestamp=moment(row["timestamp"]),
            environment=row["environment"],
            comment=row["comment"],
            metadata=json.loads(row["metadata"]),
        ),
        fingerprint=row["fingerprint"],
        scorer=row["scorer"],
        state=Delivery(row["state"]),
        next_at=moment(row["next_at"]),
        sent=row["sent"],
        looks=row["looks"],
        reason=row["reason"],
        claim=claim,
    )


def of_trace(state: TraceState) -> dict[str, object]:
    """Return the columns of a trace's state."""
    return {
        "project": state.project,
        "trace_id": ids.spelled(state.trace_id),
        "touched_at": micros(state.touched_at),
        "due_at": None if state.due_at is None else micros(state.due_at),
        "rolled_at": None if state.rolled_at is None else micros(state.rolled_at),
    }


def trace(row: Mapping[str, Any]) -> TraceState:
    """Return the state of a trace from its row."""
    return TraceState(
        project=row["project"],
        trace_id=row["trace_id"],
        touched_at=moment(row["touched_at"]),
        due_at=None if row["due_at"] is None else moment(row["due_at"]),
        rolled_at=None if row["rolled_at"] is None else moment(row["rolled_at"]),
    )

"""The tables, once for both databases; their names begin with ours, since a Postgres database may hold other tables too.

Times are whole microseconds since 1970 in UTC, so that they sort, compare and mean the same everywhere. Nothing here knows a Langfuse
key or a line of a patch: what is kept of a call are counts, paths and hashes (``core.record``).
"""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Double, Index, Integer, MetaData, Table, Text

from hunkwatch.ports import Delivery

VERSION_TABLE = "hunkwatch_schema_version"
"""Where the newest migration is on record that the other tables have seen."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

ledger = Table(
    "hunkwatch_ledger",
    metadata,
    Column("project", Text, primary_key=True),
    Column("trace_id", Text, primary_key=True),
    Column("observation_id", Text, primary_key=True),
    Column("first_start", BigInteger, nullable=False),
    Column("version", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("calls", Text, nullable=False),
    Column("call_count", Integer, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
)
Index("ix_hunkwatch_ledger_seen_at", ledger.c.project, ledger.c.seen_at)
Index("ix_hunkwatch_ledger_first_start", ledger.c.project, ledger.c.first_start)

call = Table(
    "hunkwatch_call",
    metadata,
    Column("project", Text, primary_key=True),
    Column("trace_id", Text, primary_key=True),
    Column("observation_id", Text, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("call_id", Text),
    Column("producer", Text, nullable=False),
    Column("shape", Text, nullable=False),
    Column("outcome", Text, nullable=False),
)
Index("ix_hunkwatch_call_call_id", call.c.project, call.c.call_id)

long_id = Table(
    "hunkwatch_long_id",
    metadata,
    Column("project", Text, primary_key=True),
    Column("spelled", Text, primary_key=True),
    Column("words", Text, nullable=False),
)

outbox = Table(
    "hunkwatch_outbox",
    metadata,
    Column("project", Text, primary_key=True),
    Column("score_id", Text, primary_key=True),
    Column("trace_id", Text, nullable=False),
    Column("observation_id", Text),
    Column("name", Text, nullable=False),
    Column("number", Double),
    Column("label", Text),
    Column("timestamp", BigInteger, nullable=False),
    Column("environment", Text, nullable=False),
    Column("comment", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("scorer", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("queued_at", BigInteger, nullable=False),
    Column("next_at", BigInteger, nullable=False),
    Column("sent", Integer, nullable=False),
    Column("looks", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("claimed_until", BigInteger),
    Column("claimed_by", Text),
    CheckConstraint("state IN (" + ", ".join(f"'{state}'" for state in Delivery) + ")", name="state"),
    CheckConstraint("(number IS NULL) <> (label IS NULL)", name="value"),
)
Index("ix_hunkwatch_outbox_trace_id", outbox.c.project, outbox.c.trace_id)
Index("ix_hunkwatch_outbox_due", outbox.c.project, outbox.c.state, outbox.c.next_at, outbox.c.score_id)
_CLAIMED = outbox.c.claimed_until.is_not(None)
Index("ix_hunkwatch_outbox_claimed", outbox.c.project, outbox.c.claimed_until, sqlite_where=_CLAIMED, postgresql_where=_CLAIMED)

trace = Table(
    "hunkwatch_trace",
    metadata,
    Column("project", Text, primary_key=True),
    Column("trace_id", Text, primary_key=True),
    Column("touched_at", BigInteger, nullable=False),
    Column("due_at", BigInteger),
    Column("rolled_at", BigInteger),
)
Index("ix_hunkwatch_trace_due_at", trace.c.project, trace.c.due_at)

watermark = Table(
    "hunkwatch_watermark",
    metadata,
    Column("project", Text, primary_key=True),
    Column("lane", Text, primary_key=True),
    Column("at", BigInteger, nullable=False),
)

sends = Table(
    "hunkwatch_sends",
    metadata,
    Column("project", Text, primary_key=True),
    Column("day", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
)

lease = Table(
    "hunkwatch_lease",
    metadata,
    Column("project", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("until", BigInteger, nullable=False),
)

replica = Table(
    "hunkwatch_replica",
    metadata,
    Column("project", Text, primary_key=True),
    Column("holder", Text, primary_key=True),
    Column("until", BigInteger, nullable=False),
)

lag = Table(
    "hunkwatch_lag",
    metadata,
    Column("project", Text, primary_key=True),
    Column("producer", Text, primary_key=True),
    Column("hour", BigInteger, primary_key=True),
    Column("seconds", Double, nullable=False),
)

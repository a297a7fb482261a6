"""The first schema: ledger, calls, long ids, outbox, traces, watermarks, sends, leases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_STATES = "state IN ('new', 'due', 'sent', 'seen', 'dead', 'doomed', 'deleted', 'gone')"


def upgrade() -> None:
    """Apply this step."""
    op.create_table(
        "hunkwatch_ledger",
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("observation_id", sa.Text, nullable=False),
        sa.Column("first_start", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("calls", sa.Text, nullable=False),
        sa.Column("call_count", sa.Integer, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id", "observation_id", name="pk_hunkwatch_ledger"),
    )
    op.create_index("ix_hunkwatch_ledger_seen_at", "hunkwatch_ledger", ["project", "seen_at"])
    op.create_index("ix_hunkwatch_ledger_first_start", "hunkwatch_ledger", ["project", "first_start"])
    op.create_table(
        "hunkwatch_call",
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("observation_id", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("call_id", sa.Text),
        sa.Column("producer", sa.Text, nullable=False),
        sa.Column("shape", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("project", "trace_id", "observation_id", "position", name="pk_hunkwatch_call"),
    )
    op.create_index("ix_hunkwatch_call_call_id", "hunkwatch_call", ["project", "call_id"])
    op.create_table(
        "hunkwatch_long_id",
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("spelled", sa.Text, nullable=False),
        sa.Column("words", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("project", "spelled", name="pk_hunkwatch_long_id"),
    )
    op.create_table(
        "hunkwatch_outbox",
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("score_id", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("observation_id", sa.Text),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("number", sa.Double),
        sa.Column("label", sa.Text),
        sa.Column("timestamp", sa.BigInteger, nullable=False),
        sa.Column("environment", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("scorer", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("queued_at", sa.BigInteger, nullable=False),
        sa.Column("next_at", sa.BigInteger, nullable=False),
        sa.Column("sent", sa.Integer, nullable=False),
        sa.Column("looks", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("claimed_until", sa.BigInteger),
        sa.Column("claimed_by", sa.Text),
        sa.PrimaryKeyConstraint("project", "score_id", name="pk_hunkwatch_outbox"),
        sa.CheckConstraint(_STATES, name=op.f("ck_hunkwatch_outbox_state")),
        sa.CheckConstraint("(number IS NULL) <> (label IS NULL)", name=op.f("ck_hunkwatch_outbox_value")),
    )
    op.create_index("ix_hunkwatch_outbox_trace_id", "hunkwatch_outbox", ["project", "trace_id"])
    op.create_index("ix_hunkwatch_outbox_due", "hunkwatch_outbox", ["project", "state", "next_at", "score_id"])
    claimed = sa.text("claimed_until IS NOT NULL")
    op.create_index(
        "ix_hunkwatch_outbox_claimed",
        "hunkwatch_outbox",
        ["project", "claimed_until"],
        sqlite_where=claimed,
        postgresql_where=claimed,
    )
    op.create_table(
        "hunkwatch_trace",
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("touched_at", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger),
        sa.Column("rolled_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("project", "trace_id", name="pk_hunkwatch_trace"),
    )
    op.create_index("ix_hunkwatch_trace_due_at", "hunkwatch_trace", ["project", "due_at"])
    op.create_table(
        "hunkwatch_watermark",
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("lane", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("project", "lane", name="pk_hunkwatch_watermark"),
    )
    op.create_table(
        "hunkwatch_sends",
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("day", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("project", "day", "name", name="pk_hunkwatch_sends"),
    )
    op.create_table(
        "hunkwatch_lease",
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("project", name="pk_hunkwatch_lease"),
    )

"""Which processes are there, and how late observations come."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply this step."""
    op.create_table(
        "hunkwatch_replica",
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("project", "holder", name="pk_hunkwatch_replica"),
    )
    op.create_table(
        "hunkwatch_lag",
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("producer", sa.Text, nullable=False),
        sa.Column("hour", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("project", "producer", "hour", name="pk_hunkwatch_lag"),
    )

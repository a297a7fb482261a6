"""What Alembic runs: the connection comes from ``migrating``, nothing is read from a file or the environment."""

from __future__ import annotations

from alembic import context

from hunkwatch.store import schema

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=schema.metadata,
    version_table=schema.VERSION_TABLE,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()

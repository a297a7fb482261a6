"""Bring a schema to head; refuse one from the future, and tables that are not ours."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from hunkwatch.errors import Exit, Halt
from hunkwatch.store import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection


def migrate(connection: Connection) -> None:
    """Apply every step that is missing, in the open transaction; raises Halt as ``check`` does."""
    with _config() as config:
        _look(connection, config)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def check(connection: Connection) -> str | None:
    """Return the schema's version, None for an empty database; raises Halt on what a newer version made, or somebody else."""
    with _config() as config:
        return _look(connection, config)


@contextmanager
def _config() -> Iterator[Config]:
    with as_file(files("hunkwatch.store") / "migrations") as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        yield config


def _look(connection: Connection, config: Config) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table": schema.VERSION_TABLE})
    present = context.get_current_revision()
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if present is not None and present not in known:
        raise Halt(
            f"the state was made by a newer version of hunkwatch (schema {present})",
            mend="Upgrade hunkwatch, or start it with another state file.",
            exit_code=Exit.STATE,
        )
    if present is None:
        _refuse_foreign(connection)
    return present


def _refuse_foreign(connection: Connection) -> None:
    """A file with tables and no version of ours is somebody else's; in Postgres others may have theirs, under other names."""
    tables = inspect(connection).get_table_names()
    in_the_way = tables if connection.dialect.name == "sqlite" else [name for name in tables if name in schema.metadata.tables]
    if in_the_way:
        raise Halt(
            f"the database is not a state of hunkwatch: it has {len(in_the_way)} tables and no version",
            mend="Name another file or database in store.url.",
            exit_code=Exit.STATE,
        )

"""Bring a schema to head, or refuse one from the future."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from hunkwatch.errors import Exit, Halt
from hunkwatch.store import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection


def migrate(connection: Connection) -> None:
    """Apply every step that is missing, in the open transaction; raises Halt on a schema that a newer version made."""
    with _config() as config:
        _refuse_newer(connection, config)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def check(connection: Connection) -> str | None:
    """Return the schema's version, None for an empty database; raises Halt on a schema that a newer version made."""
    with _config() as config:
        return _refuse_newer(connection, config)


@contextmanager
def _config() -> Iterator[Config]:
    with as_file(files("hunkwatch.store") / "migrations") as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        yield config


def _refuse_newer(connection: Connection, config: Config) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table": schema.VERSION_TABLE})
    present = context.get_current_revision()
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if present is not None and present not in known:
        raise Halt(
            f"the state was made by a newer version of hunkwatch (schema {present})",
            mend="Upgrade hunkwatch, or start it with another state file.",
            exit_code=Exit.STATE,
        )
    return present

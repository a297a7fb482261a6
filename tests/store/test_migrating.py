"""The schema's steps: from any of them to the newest, with everything that was on record, and side by side during an upgrade."""

from __future__ import annotations

import ast
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.ext.asyncio import create_async_engine

from hunkwatch.errors import Exit, Halt
from hunkwatch.ports import Commit, Delivery
from hunkwatch.store import open_store, schema

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

with as_file(files("hunkwatch.store") / "migrations") as folder:
    SCRIPTS = ScriptDirectory(str(folder))
STEPS = [script.revision for script in SCRIPTS.walk_revisions()][::-1]

_LEDGER = (
    "INSERT INTO hunkwatch_ledger (project, trace_id, observation_id, first_start, version, fingerprint, calls, call_count, seen_at,"
    " reason) VALUES ('project', 'trace-1', 'observation-1', 1777896000123456, 'v1', 'print', '[]', 0, 1777896000123456, '')"
)
_OUTBOX = (
    "INSERT INTO hunkwatch_outbox (project, score_id, trace_id, name, number, timestamp, environment, comment, metadata, fingerprint,"
    " scorer, state, queued_at, next_at, sent, looks, reason)"
    " VALUES ('project', 'score-1', 'trace-1', 'blind_rewrite', 0.75, 1777896000123456,"
    " 'default', '', '{}', 'print-1', '1', 'sent', 0, 0, 1, 0, '')"
)
_WATERMARK = "INSERT INTO hunkwatch_watermark (project, lane, at) VALUES ('project', 'live', 1777896000123456)"


@pytest.mark.parametrize("step", STEPS)
async def test_a_state_of_any_version_upgrades_to_the_newest_with_all_it_holds(store_url: str, step: str, make: Any) -> None:
    """What an older version wrote is read by this one, in the schema that a fresh start makes."""
    engine = _engine(store_url)
    async with engine.begin() as connection:
        await connection.run_sync(_upgrade, step)
        for statement in (_LEDGER, _OUTBOX, _WATERMARK):
            await connection.execute(sa.text(statement))
    async with open_store(store_url) as store:
        known = await store.known("project", [make.entry().key])
        [row] = (await store.outbox_of("project", ["trace-1"]))["trace-1"]
        assert ([make.now], make.now) == ([entry.first_start for entry in known.values()], await store.watermark("project"))
        assert (Delivery.SENT, 0.75) == (row.state, row.score.value)
    upgraded = await _tables(engine)
    async with engine.begin() as connection:
        await connection.run_sync(schema.metadata.drop_all)
        await connection.run_sync(schema.metadata.create_all)

    assert upgraded == await _tables(engine)
    await engine.dispose()


@pytest.mark.postgres
async def test_a_running_worker_goes_on_beside_a_newer_one(postgres_url: str, make: Any) -> None:
    """A step only adds, so the older worker does not notice; only when it starts anew it is told to be upgraded."""
    async with open_store(postgres_url) as older:
        engine = _engine(postgres_url)
        async with engine.begin() as connection:
            await connection.execute(sa.text("ALTER TABLE hunkwatch_outbox ADD COLUMN novelty TEXT"))
            await connection.execute(sa.text("CREATE TABLE hunkwatch_novelty (project TEXT PRIMARY KEY)"))
            await connection.execute(sa.text("UPDATE hunkwatch_schema_version SET version_num = '9999'"))
        await engine.dispose()
        await older.commit(Commit("project", ledger=[make.entry()], outbox=[make.row()], watermark=make.now))
        [row] = await older.claim("project", [Delivery.DUE], now=make.now, until=make.later(minutes=1), limit=9)
        await older.settle([row], now=make.now)
        with pytest.raises(Halt, match="newer version of hunkwatch") as refused:
            async with open_store(postgres_url):
                pass

    assert Exit.STATE == refused.value.exit_code


@pytest.mark.parametrize("step", STEPS[1:])
def test_a_step_only_adds(step: str) -> None:
    """New tables, indexes, and columns that an older worker may leave out: it is still running when the step is made."""
    tree = ast.parse((files("hunkwatch.store") / "migrations" / "versions" / f"{_module(step)}.py").read_text("utf-8"))
    done = {node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_op(node.func)}

    assert done <= {"create_table", "create_index", "add_column"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_op(node.func) and node.func.attr == "add_column":
            given = {word.arg: ast.unparse(word.value) for word in node.args[1].keywords}  # type: ignore[attr-defined] # a call of sa.Column
            assert given.get("nullable") != "False" or "server_default" in given


def _is_op(node: ast.expr) -> Any:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "op"


def _module(step: str) -> str:
    script = SCRIPTS.get_revision(step)
    assert script is not None
    return script.module.__name__.removesuffix("_py")


def _engine(url: str) -> AsyncEngine:
    driver = "sqlite+aiosqlite" if url.startswith("sqlite") else "postgresql+psycopg"
    if url.startswith("sqlite"):
        from pathlib import Path  # noqa: PLC0415 - only where there is a file

        Path(sa.make_url(url).database or "").parent.mkdir(parents=True, exist_ok=True)
    return create_async_engine(sa.make_url(url).set(drivername=driver))


def _upgrade(connection: sa.Connection, step: str) -> None:
    with as_file(files("hunkwatch.store") / "migrations") as folder:
        config = Config()
        config.set_main_option("script_location", str(folder))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = connection
        command.upgrade(config, step)


async def _tables(engine: AsyncEngine) -> dict[str, object]:
    def look(connection: sa.Connection) -> dict[str, object]:
        inspector = sa.inspect(connection)
        return {
            table: (
                [(column["name"], str(column["type"]), column["nullable"]) for column in inspector.get_columns(table)],
                inspector.get_pk_constraint(table),
                sorted((index["name"] or "", tuple(index["column_names"])) for index in inspector.get_indexes(table)),
                sorted((check["name"] or "", check["sqltext"]) for check in inspector.get_check_constraints(table)),
            )
            for table in inspector.get_table_names()
            if table != schema.VERSION_TABLE
        }

    async with engine.connect() as connection:
        return await connection.run_sync(look)

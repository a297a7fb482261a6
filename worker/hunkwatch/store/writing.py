"""Inserting and replacing rows in either dialect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

_Item = TypeVar("_Item")

_CHUNK = 500
"""Parameters of one statement, well inside either database's limit."""


def chunks(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    """Cut a list into pieces whose items fit into one statement."""
    return (items[at : at + _CHUNK] for at in range(0, len(items), _CHUNK))


async def upsert(  # noqa: PLR0913 - the three ways in which a column may resist being replaced
    connection: AsyncConnection,
    table: sa.Table,
    values: Sequence[dict[str, Any]],
    *,
    keep: Collection[str] = (),
    largest: str = "",
    least: str = "",
    add: str = "",
) -> None:
    """Insert rows, or replace those with the same key: ``keep`` stay, ``largest`` only rises, ``least`` only falls, ``add`` adds up."""
    key = [column.name for column in table.primary_key]
    is_postgres = connection.dialect.name == "postgresql"
    # One statement cannot replace a row twice: a key given twice is written twice in order, one statement a row.
    at_once = is_postgres and len({tuple(row[name] for name in key) for row in values}) == len(values)
    statement = postgresql.insert(table) if is_postgres else sqlite.insert(table)
    if at_once:
        statement = statement.from_select(list(values[0]), sa.select(*_all_rows(table, list(values[0])).c))
    new: dict[str, Any] = {}
    for name in values[0]:
        if name in key or name in keep:
            continue
        given, present = statement.excluded[name], table.c[name]
        if name == largest:
            new[name] = sa.case((given > present, given), else_=present)
        elif name == least:
            new[name] = sa.case((given < present, given), else_=present)
        else:
            new[name] = present + given if name == add else given
    if new:
        statement = statement.on_conflict_do_update(index_elements=key, set_=new)
    else:
        statement = statement.on_conflict_do_nothing(index_elements=key)
    if at_once:
        await connection.execute(statement, {"all_rows": json.dumps(values)})
    else:
        await connection.execute(statement.execution_options(insertmanyvalues_page_size=1), list(values))


def _all_rows(table: sa.Table, names: Sequence[str]) -> sa.TableValuedAlias:
    """Rows as one parameter: what Postgres and Python both read and write fastest."""
    given = sa.cast(sa.bindparam("all_rows", type_=sa.Text), postgresql.JSON)
    columns = [sa.column(name, table.c[name].type) for name in names]
    return sa.func.json_to_recordset(given).table_valued(*columns, name="given").render_derived(with_types=True)


async def replace_rows(connection: AsyncConnection, table: sa.Table, values: Sequence[dict[str, Any]], key: Sequence[str]) -> None:
    """Update rows that exist, each by its key."""
    place = sa.and_(*(table.c[name] == sa.bindparam(f"key_{name}") for name in key))
    names = [name for name in values[0] if name not in key]
    statement = sa.update(table).where(place).values({name: sa.bindparam(f"new_{name}") for name in names})
    bound = [{**{f"key_{name}": row[name] for name in key}, **{f"new_{name}": row[name] for name in names}} for row in values]
    await connection.execute(statement, bound)

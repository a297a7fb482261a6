"""Inserting and replacing rows in either dialect."""

from __future__ import annotations

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
    dialect = connection.dialect.name
    statement = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    key = [column.name for column in table.primary_key]
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
    # A key given twice is written twice in order: one statement a row.
    await connection.execute(statement.execution_options(insertmanyvalues_page_size=1), list(values))


async def replace_rows(connection: AsyncConnection, table: sa.Table, values: Sequence[dict[str, Any]], key: Sequence[str]) -> None:
    """Update rows that exist, each by its key."""
    place = sa.and_(*(table.c[name] == sa.bindparam(f"key_{name}") for name in key))
    names = [name for name in values[0] if name not in key]
    statement = sa.update(table).where(place).values({name: sa.bindparam(f"new_{name}") for name in names})
    bound = [{**{f"key_{name}": row[name] for name in key}, **{f"new_{name}": row[name] for name in names}} for row in values]
    await connection.execute(statement, bound)

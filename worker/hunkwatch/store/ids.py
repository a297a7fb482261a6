r"""How an id is spelled in a column: any text, unambiguous, and short enough for an index entry.

What a database refuses (NUL), an encoder cannot write (lone surrogates) or we write ourselves (a backslash) is escaped as ``\uXXXX``.
An id that is long even so stands in its columns as ``\#`` and its hash; the table ``long_id`` has its words.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

import sqlalchemy as sa

from hunkwatch.store import schema
from hunkwatch.store.writing import chunks, upsert

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from sqlalchemy.ext.asyncio import AsyncConnection

LONGEST = 200
"""Characters of an id that stand in an index as they are: three such ids in four-byte characters stay below Postgres's limit."""

_COLUMNS = ("trace_id", "observation_id")
_LONG = r"\#"
_ODD = re.compile("[\\\\\0\ud800-\udfff]")
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")


def spelled(text: str) -> str:
    """Return an id as its columns hold it."""
    text = escaped(text)
    return text if len(text) <= LONGEST else _LONG + sha256(text.encode()).hexdigest()


def escaped(text: str) -> str:
    """Return an id in its full length, as both databases can hold it."""
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", text) if _ODD.search(text) else text


def unspelled(text: str) -> str:
    """Return the id that was escaped."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "\\" in text else text


def is_long(text: str) -> bool:
    """Say whether a spelling is a hash."""
    return text.startswith(_LONG)


async def remember(connection: AsyncConnection, project: str, given: Iterable[str | None]) -> None:
    """Keep the words of those ids that are too long for their columns."""
    long = {text for text in given if text is not None and len(text) * 6 > LONGEST and is_long(spelled(text))}
    if long:
        words = [{"project": project, "spelled": spelled(text), "words": escaped(text)} for text in sorted(long)]
        await upsert(connection, schema.long_id, words, keep={"words"})


async def read(connection: AsyncConnection, project: str, query: sa.Executable) -> list[dict[str, Any]]:
    """Return the rows of a query, with the ids in them as they were given."""
    found = [dict(row) for row in (await connection.execute(query)).mappings()]
    odd = {row[name] for row in found for name in _COLUMNS if row.get(name) and "\\" in row[name]}
    if not odd:
        return found
    given = {text: unspelled(text) for text in odd} | await _words(connection, project, [text for text in odd if is_long(text)])
    return [{**row, **{name: given.get(row[name], row[name]) for name in _COLUMNS if name in row}} for row in found]


async def forget(connection: AsyncConnection, project: str) -> None:
    """Drop the words of ids that nothing on record names."""
    words = schema.long_id
    named = (table.c[name] for table in (schema.ledger, schema.outbox, schema.trace) for name in _COLUMNS if name in table.c)
    unnamed = [~sa.exists().where(column.table.c.project == project, column == words.c.spelled) for column in named]
    await connection.execute(sa.delete(words).where(words.c.project == project, *unnamed))


async def _words(connection: AsyncConnection, project: str, long: Sequence[str]) -> dict[str, str]:
    table, found = schema.long_id, {}
    for chunk in chunks(long):
        query = sa.select(table.c.spelled, table.c.words).where(table.c.project == project, table.c.spelled.in_(chunk))
        found.update({text: unspelled(words) for text, words in await connection.execute(query)})
    return found

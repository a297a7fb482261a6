"""What a database says, translated once into what the caller does next.

Sorted by error code, never by the text of a message. No statement, value or password reaches our own message.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import exc

from hunkwatch.errors import Exit, Halt, HunkwatchError, RetryLater

if TYPE_CHECKING:
    from collections.abc import Iterator

_SQLITE = {
    sqlite3.SQLITE_FULL: ("the disk of the state file is full", "Free some space there; nothing was lost, the next start goes on."),
    sqlite3.SQLITE_READONLY: ("the state file cannot be written", "Give this user write permission on the file and its folder."),
    sqlite3.SQLITE_PERM: ("the state file cannot be opened", "Give this user read and write permission on the file and its folder."),
    sqlite3.SQLITE_AUTH: ("the state file cannot be opened", "Give this user read and write permission on the file and its folder."),
    sqlite3.SQLITE_CANTOPEN: ("the state file cannot be opened", "Check that its folder exists and that this user may write there."),
    sqlite3.SQLITE_CORRUPT: (
        "the state file is damaged",
        "Put a backup in its place, or move it aside with --reset-state: Langfuse keeps every score, and the next run adopts them.",
    ),
    sqlite3.SQLITE_NOTADB: (
        "the state file is not a database",
        "Name another file, or move it aside with --reset-state: Langfuse keeps every score, and the next run adopts them.",
    ),
    sqlite3.SQLITE_IOERR: ("the disk of the state file gave an error", "Check the disk; nothing that was acknowledged is lost."),
}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL}

_POSTGRES = {
    "28": ("Postgres does not let this user in", "Check user and password in store.url."),
    "3D": ("the database does not exist", "Create it, or name another one in store.url."),
    "42501": ("Postgres refuses permission", "Let this user create and write tables in the database's schema."),
    "53100": ("the disk of the database is full", "Free some space there; nothing was lost, the next start goes on."),
}
_PASSING = ("08", "40", "53", "55P03", "57", "58")
"""Postgres classes that pass by themselves: connection, rollback, resources, locks, an operator's intervention, the system."""


@contextmanager
def translated() -> Iterator[None]:
    """Turn whatever the database raises inside into RetryLater or Halt."""
    try:
        yield
    except HunkwatchError:
        raise
    except exc.DBAPIError as error:
        raise of(error.orig, lost=error.connection_invalidated) from error
    except (exc.TimeoutError, TimeoutError) as error:
        raise RetryLater("the database does not answer") from error
    except exc.SQLAlchemyError as error:
        raise Halt(f"the state cannot be used: {type(error).__name__}", mend="Check store.url.", exit_code=Exit.STATE) from error
    except sqlite3.Error as error:
        raise of(error, lost=False) from error
    except OSError as error:
        raise Halt(
            f"the state cannot be opened: {error.strerror or type(error).__name__}",
            mend="Check that its folder exists and that this user may write there.",
            exit_code=Exit.STATE,
        ) from error


def of(error: BaseException | None, *, lost: bool) -> HunkwatchError:
    """Return what an error of a driver means; ``lost`` says that the connection is gone."""
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int):
        primary = code & 0xFF
        if primary in _BUSY:
            return RetryLater("the state file is busy")
        message, mend = _SQLITE.get(
            primary, (f"the state file cannot be used ({getattr(error, 'sqlite_errorname', code)})", "Check the file.")
        )
        return Halt(message, mend=mend, exit_code=Exit.STATE)
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        for prefix, (message, mend) in _POSTGRES.items():
            if state.startswith(prefix):
                return Halt(message, mend=mend, exit_code=Exit.STATE)
        if state.startswith(_PASSING):
            return RetryLater("the database is busy or away")
        return Halt(f"the database refuses (SQLSTATE {state})", mend="Check that the schema is ours and complete.", exit_code=Exit.STATE)
    if lost or type(error).__name__ in {"OperationalError", "InterfaceError", "ConnectionTimeout"}:
        return RetryLater("the database cannot be reached")
    return Halt(f"the state cannot be used: {type(error).__name__}", mend="Check store.url.", exit_code=Exit.STATE)

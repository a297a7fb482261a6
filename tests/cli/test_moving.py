"""``migrate-store``: the words in, the counts out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hunkwatch.errors import Exit
from hunkwatch.ports import Commit
from hunkwatch.store import open_for_reading, open_store

if TYPE_CHECKING:
    from pathlib import Path

Say = Callable[..., Any]

AT = datetime(2026, 5, 4, 12, tzinfo=UTC)


def test_the_state_moves_from_where_the_settings_say(say: Say, tmp_path: Path) -> None:
    """Files are named as files, each table is counted, and what comes next is said."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"

    async def fill() -> None:
        async with open_store(f"sqlite:///{old}") as store:
            await store.commit(Commit("project", watermark=AT))

    asyncio.run(fill())
    moved = say("migrate-store", "--to", new, "--set", f"store.url=sqlite:///{old}")

    async def found() -> datetime | None:
        async with open_for_reading(f"sqlite:///{new}") as store:
            return None if store is None else await store.watermark("project")

    assert (0, AT) == (moved.code, asyncio.run(found()))
    assert "1 hunkwatch_watermark" in moved.out
    assert "set store.url to" in moved.out
    [again] = say("migrate-store", "--from", old, "--to", tmp_path / "third.db", "--json").objects
    assert (1, 0) == (again["rows"]["hunkwatch_watermark"], again["rows"]["hunkwatch_ledger"])


def test_what_cannot_be_moved_is_one_line_and_a_code(say: Say, tmp_path: Path) -> None:
    """Neither a missing source nor a password is a surprise."""
    missing = say("migrate-store", "--from", tmp_path / "absent.db", "--to", "postgresql://me:hidden-word@127.0.0.1:1/none")

    assert (Exit.STATE, 1) == (missing.code, len(missing.err.splitlines()))
    assert "no state at the source" in missing.err
    assert "hidden-word" not in missing.out + missing.err

"""Several processes on one state: one of them sweeps, and another takes over when it is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hunkwatch.daemon.tenure import LEASE, Tenure
from hunkwatch.store import SqlStore, open_store

if TYPE_CHECKING:
    from pathlib import Path


async def test_one_process_sweeps_and_the_other_waits_until_it_is_gone(tmp_path: Path, clock: Any) -> None:
    """The lease of a process that died ends by itself; until then nobody else may sweep."""
    async with open_store(f"sqlite:///{tmp_path}/s.db", holder="one") as store:
        one = Tenure(store, "p1", clock)
        other = Tenure(SqlStore(store._engine, holder="other"), "p1", clock)

        first = [await one.renew(), await other.renew()]
        clock.forward(seconds=LEASE.total_seconds() - 1)
        early = await other.renew()
        clock.forward(seconds=1)
        late = await other.renew()

    assert (first, early, late, one.held) == ([True, False], False, True, False)


async def test_who_stops_in_order_hands_on_at_once(tmp_path: Path, clock: Any) -> None:
    """A release lets the other one begin without waiting."""
    async with open_store(f"sqlite:///{tmp_path}/s.db", holder="one") as store:
        one = Tenure(store, "p1", clock)
        other = Tenure(SqlStore(store._engine, holder="other"), "p1", clock)
        await one.renew()

        await one.release()

        assert (one.held, await other.renew()) == (False, True)


async def test_ours_ends_before_anybody_elses_begins(tmp_path: Path, clock: Any) -> None:
    """A process that could not renew stops believing well before the lease is free."""
    async with open_store(f"sqlite:///{tmp_path}/s.db", holder="one") as store:
        one = Tenure(store, "p1", clock)
        await one.renew()

        clock.forward(seconds=(LEASE - one.renew_every).total_seconds())

        assert not one.held

"""Where a report's calls come from: the worker's own state, trace by trace, a few hundred at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from hunkwatch.core.model import GradedCall
    from hunkwatch.ports import Store

AT_ONCE = 500
"""Traces that are read in one transaction."""

_IDS_AT_ONCE = 20_000


async def traces(store: Store, project: str, *, tell: Callable[[int, int, int], None]) -> AsyncIterator[Sequence[GradedCall]]:
    """Yield all records of the calls of each trace on record; ``tell`` hears of traces done, of how many, and of calls."""
    ids = await _trace_ids(store, project)
    calls = 0
    for at in range(0, len(ids), AT_ONCE):
        part = ids[at : at + AT_ONCE]
        entries = await store.entries_of(project, part)
        for its in entries.values():
            records = [call for entry in its for call in entry.calls]
            calls += len(records)
            yield records
        tell(at + len(part), len(ids), calls)


async def _trace_ids(store: Store, project: str) -> list[str]:
    ids: list[str] = []
    while True:
        more = await store.trace_ids(project, after=ids[-1] if ids else "", limit=_IDS_AT_ONCE)
        ids += more
        if len(more) < _IDS_AT_ONCE:
            return ids

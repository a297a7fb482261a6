"""Read observations through v2: ask for what may carry a call, a thousand rows at a time, then for the text of what is new.

Pages come newest first. A row may come in several pages, and once more with another start time: the newest update is handed on,
with the smallest start time seen. Environments of Langfuse's own are never handed on.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hunkwatch.core.window import Window
from hunkwatch.errors import AskForLess, RetryLater
from hunkwatch.langfuse import wire
from hunkwatch.langfuse.http import Route
from hunkwatch.langfuse.probe import OBSERVATIONS_V2
from hunkwatch.ports import ObservationKey, Page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from datetime import datetime

    from hunkwatch.core.model import Observation
    from hunkwatch.langfuse.http import Http
    from hunkwatch.langfuse.wire import ObservationPage

PAGE = 1000
"""What the server gives at most."""

WHOLE_PAGE = 200
"""Rows a page to begin with when their text comes along: Langfuse Cloud stops at 5 MB."""

ROOM = 3_500_000
"""Bytes of an answer that are aimed at when text comes along."""

READ_BATCH = 100
"""Ids a request: their filter stays well below the 8 KB at which proxies stop."""

OWN = "langfuse-"
"""Langfuse's own environments start so; what it evaluates there is not an agent's work."""


class ReaderV2:
    """Reads one project. Remembers only how many whole rows fit into an answer."""

    def __init__(self, http: Http, *, names: Sequence[str]) -> None:
        """``names`` are those that are asked for by name, since no text search finds them."""
        self._http = http
        self._names = names
        self._whole_page = WHOLE_PAGE

    async def candidates(self, window: Window, *, complete: bool) -> AsyncIterator[Page]:
        """Page through every observation of the window that may carry a call; see ``ports.ObservationSource``."""
        met: dict[ObservationKey, Observation] = {}
        for filters in wire.discovery(self._names):
            async for page in self._pages(window, filters, complete=complete):
                rows = [row for row in merged(page.observations) if _is_news(row, met)]
                if rows or page.unreadable:
                    yield Page(rows, complete, page.unreadable)

    async def read(self, observations: Sequence[Observation]) -> Page:
        """Return the same observations with input, output and metadata; see ``ports.ObservationSource``."""
        found: list[Observation] = []
        unreadable: dict[ObservationKey, str] = {}
        for at in range(0, len(observations), READ_BATCH):
            await self._read(observations[at : at + READ_BATCH], found, unreadable)
        return Page(merged(found), complete=True, unreadable=unreadable)

    async def fetch(self, *, trace_id: str | None = None, observation_id: str | None = None) -> Sequence[Observation]:
        """Return whole observations by trace or by id."""
        filters = wire.by_id([observation_id]) if observation_id is not None else []
        found: list[Observation] = []
        cursor: str | None = None
        met: set[str] = set()
        while True:
            query = wire.query(fields=wire.WHOLE_FIELDS, limit=self._whole_page, filters=filters, trace_id=trace_id, cursor=cursor)
            page = await self._get(query)
            found += page.observations
            cursor = _next(page, met)
            if cursor is None:
                return merged(found)

    async def _pages(self, window: Window, filters: Sequence[Mapping[str, object]], *, complete: bool) -> AsyncIterator[ObservationPage]:
        fields = wire.WHOLE_FIELDS if complete else wire.DISCOVERY_FIELDS
        cursor: str | None = None
        met: set[str] = set()
        while True:
            limit = self._whole_page if complete else PAGE
            try:
                answer = await self._http.get(
                    OBSERVATIONS_V2,
                    route=Route.OBSERVATIONS_V2,
                    query=wire.query(fields=fields, limit=limit, window=window, filters=filters, cursor=cursor),
                )
                page = wire.observations(answer.content)
            except AskForLess:
                if not complete or self._whole_page == 1:
                    raise
                self._whole_page //= 2
                continue
            if complete:
                self._fit(len(answer.content), len(page.observations))
            yield page
            cursor = _next(page, met)
            if cursor is None:
                return

    def _fit(self, size: int, rows: int) -> None:
        """Aim the next page at what an answer may hold, growing no faster than twofold."""
        if rows:
            self._whole_page = max(1, min(PAGE, self._whole_page * 2, ROOM * rows // max(size, 1)))

    async def _read(self, rows: Sequence[Observation], found: list[Observation], unreadable: dict[ObservationKey, str]) -> None:
        """Read some rows in one request, in halves where that is too much; a single one that is too much is named."""
        wanted = {key_of(row) for row in rows}
        window = _around(rows)
        limit = min(PAGE, len(rows) * 4)
        cursor: str | None = None
        met: set[str] = set()
        kept: list[Observation] = []
        try:
            while True:
                filters = wire.by_id(sorted({row.id for row in rows}))
                page = await self._get(wire.query(fields=wire.WHOLE_FIELDS, limit=limit, window=window, filters=filters, cursor=cursor))
                kept += [row for row in page.observations if key_of(row) in wanted]
                unreadable.update((key, reason) for key, reason in page.unreadable.items() if key in wanted)
                cursor = _next(page, met)
                if cursor is None:
                    break
        except AskForLess as error:
            if len(rows) == 1:
                unreadable[key_of(rows[0])] = f"too large to be read: {error}"[:200]
                return
            half = len(rows) // 2
            await self._read(rows[:half], found, unreadable)
            await self._read(rows[half:], found, unreadable)
            return
        found += kept

    async def _get(self, query: Mapping[str, str]) -> ObservationPage:
        return wire.observations((await self._http.get(OBSERVATIONS_V2, route=Route.OBSERVATIONS_V2, query=query)).content)


def key_of(row: Observation) -> ObservationKey:
    """Return what tells an observation from all others of its project."""
    return ObservationKey(row.trace_id, row.id)


def merged(rows: Iterable[Observation]) -> list[Observation]:
    """Return each row once: the newest update, with the smallest start time seen; never of Langfuse's own environments."""
    found: dict[ObservationKey, Observation] = {}
    for row in rows:
        if row.environment.startswith(OWN):
            continue
        other = found.get(key_of(row))
        found[key_of(row)] = row if other is None else _newer(other, row)
    return list(found.values())


def _newer(one: Observation, other: Observation) -> Observation:
    newest = other if _updated(other) > _updated(one) else one
    start = min(one.start_time, other.start_time)
    return newest if newest.start_time == start else newest._replace(start_time=start)


def _is_news(row: Observation, met: dict[ObservationKey, Observation]) -> bool:
    """Say whether the row, or an earlier start or later update of it, was not handed on before."""
    key = key_of(row)
    other = met.get(key)
    if other is not None and row.start_time >= other.start_time and _updated(row) <= _updated(other):
        return False
    # What was handed on is kept without its text.
    slim = row._replace(input=None, output=None, metadata=None)
    met[key] = slim if other is None else _newer(other, slim)
    return True


def _updated(row: Observation) -> float:
    return row.updated_at.timestamp() if row.updated_at is not None else 0.0


def _next(page: ObservationPage, met: set[str]) -> str | None:
    """Return the next cursor; one that was there before would lead in a circle."""
    cursor = page.cursor
    if cursor is None:
        return None
    if cursor in met:
        raise RetryLater("Langfuse answered the same cursor twice")
    met.add(cursor)
    return cursor


def _around(rows: Sequence[Observation]) -> Window:
    starts: list[datetime] = [row.start_time for row in rows]
    return Window(min(starts) - _MARGIN, max(starts) + _MARGIN)


_MARGIN = timedelta(hours=1)
"""A row that was sent again may stand at another start time now."""

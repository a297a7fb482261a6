"""Read observations through v2: ask for what may carry a call, a thousand rows at a time, then for the text of what is new.

Pages come newest first. A row may come in several pages, and once more with another start time: the newest update is handed on,
with the smallest start time seen. What is not selected is never handed on.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hunkwatch.core.window import Window
from hunkwatch.errors import AskForLess, RetryLater
from hunkwatch.langfuse import following, parting, wire
from hunkwatch.langfuse.http import Route
from hunkwatch.langfuse.merging import key_of, merged, not_met_yet
from hunkwatch.langfuse.probe import OBSERVATIONS_V2
from hunkwatch.langfuse.selection import Selection
from hunkwatch.ports import ObservationKey, Page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

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
ID_ROOM = 6000
"""Ids a request, and bytes that they take in its address: proxies stop at 8 KB."""

_MARGIN = timedelta(hours=1)
"""A row that was sent again may stand at another start time now."""


class ReaderV2:
    """Reads one project. Remembers only how many whole rows fit into an answer."""

    def __init__(
        self, http: Http, *, names: Sequence[str], selection: Selection | None = None, more: Sequence[Sequence[Mapping[str, object]]] = ()
    ) -> None:
        """``names`` are those that are asked for by name, since no text search finds them; ``more`` are further filters."""
        self._http = http
        self._questions = [*wire.discovery(names), *more]
        self._selection = selection or Selection()
        self._whole_page = WHOLE_PAGE

    async def candidates(self, window: Window, *, complete: bool) -> AsyncIterator[Page]:
        """Page through every observation of the window that may carry a call; see ``ports.ObservationSource``."""
        met: dict[ObservationKey, Observation] = {}
        selected = self._selection.conditions()
        for filters in self._questions:
            async for page in self._pages(window, [*filters, *selected], complete=complete):
                rows = not_met_yet(self._merged(page.observations), met)
                if rows or page.unreadable:
                    yield Page(rows, complete, page.unreadable)

    async def read(self, observations: Sequence[Observation]) -> Page:
        """Return the same observations with input, output and metadata; see ``ports.ObservationSource``."""
        found: list[Observation] = []
        unreadable: dict[ObservationKey, str] = {}
        known = merged(observations)
        for part in parting.parts(sorted(known, key=lambda row: row.start_time), lambda row: row.id, most=READ_BATCH, room=ID_ROOM):
            await self._read(part, found, unreadable)
        first_start = {key_of(row): row.start_time for row in known}
        rows = [row._replace(start_time=min(row.start_time, first_start[key_of(row)])) for row in self._merged(found)]
        for row in rows:
            unreadable.pop(key_of(row), None)
        return Page(rows, complete=True, unreadable=unreadable)

    async def following(self, observations: Sequence[Observation]) -> Mapping[ObservationKey, Observation]:
        """Return the next generation of each one's session; see ``ports.ObservationSource``."""
        return await following.by_session(self._get, observations)

    async def fetch(self, *, trace_id: str | None = None, observation_id: str | None = None) -> Sequence[Observation]:
        """Return whole observations by trace or by id."""
        filters = wire.by_id([observation_id]) if observation_id is not None else []
        found: list[Observation] = []
        async for page in self._walk(None, filters, trace_id=trace_id):
            found += page.observations
        return self._merged(found)

    def _merged(self, rows: Iterable[Observation]) -> list[Observation]:
        return [row for row in merged(rows) if self._selection.takes(row)]

    async def _pages(self, window: Window, filters: Sequence[Mapping[str, object]], *, complete: bool) -> AsyncIterator[ObservationPage]:
        if complete:
            async for page in self._walk(window, filters):
                yield page
            return
        cursors = _Cursors()
        while True:
            query = wire.query(fields=wire.DISCOVERY_FIELDS, limit=PAGE, window=window, filters=filters, cursor=cursors.now)
            page, _size = await self._get(query)
            yield page
            if not cursors.move_on(page):
                return

    async def _walk(
        self, window: Window | None, filters: Sequence[Mapping[str, object]], *, trace_id: str | None = None
    ) -> AsyncIterator[ObservationPage]:
        """Page through whole rows, as many at a time as fit; a row that is too much even alone is named and passed."""
        cursors = _Cursors()
        while True:
            limit = self._whole_page
            query = wire.query(fields=wire.WHOLE_FIELDS, limit=limit, window=window, filters=filters, cursor=cursors.now, trace_id=trace_id)
            try:
                page, size = await self._get(query)
            except AskForLess as error:
                self._whole_page = max(1, limit // 4)
                if limit > 1:
                    continue
                page = await self._passed({**query, "fields": wire.DISCOVERY_FIELDS}, error)
            except RetryLater:
                # The next sweep asks for less: a gateway that gives up on a long answer says so with a 504.
                self._whole_page = max(1, limit // 2)
                raise
            else:
                self._fit(size, len(page.observations))
            yield page
            if not cursors.move_on(page):
                return

    async def _passed(self, query: Mapping[str, str], error: AskForLess) -> ObservationPage:
        """Name the one row that is too much, so that the walk can go on behind it.

        Where the row can be read by its id, it is the window that is too much: the error goes on.
        """
        page, _size = await self._get(query)
        found: list[Observation] = []
        unreadable: dict[ObservationKey, str] = {}
        rows = merged(page.observations)
        if rows:
            await self._read(rows, found, unreadable)
        if not unreadable:
            raise error
        return page._replace(observations=found, unreadable={**page.unreadable, **unreadable})

    def _fit(self, size: int, rows: int) -> None:
        """Aim the next page at what an answer may hold, growing no faster than twofold."""
        if rows:
            self._whole_page = max(1, min(PAGE, self._whole_page * 2, ROOM * rows // max(size, 1)))

    async def _read(self, rows: Sequence[Observation], found: list[Observation], unreadable: dict[ObservationKey, str]) -> None:
        """Read some rows in one request, in halves where that is too much; a single one that is too much is named."""
        wanted = {key_of(row) for row in rows}
        filters = wire.by_id(sorted({row.id for row in rows}))
        window = Window(min(row.start_time for row in rows) - _MARGIN, max(row.start_time for row in rows) + _MARGIN)
        limit = min(PAGE, len(rows) * 4)
        cursors = _Cursors()
        kept: list[Observation] = []
        try:
            while True:
                query = wire.query(fields=wire.WHOLE_FIELDS, limit=limit, window=window, filters=filters, cursor=cursors.now)
                page, _size = await self._get(query)
                kept += [row for row in page.observations if key_of(row) in wanted]
                unreadable.update((key, reason) for key, reason in page.unreadable.items() if key in wanted)
                if not cursors.move_on(page):
                    break
        except AskForLess as error:
            if len(rows) == 1:
                unreadable[key_of(rows[0])] = _too_large(error)
                return
            half = len(rows) // 2
            await self._read(rows[:half], found, unreadable)
            await self._read(rows[half:], found, unreadable)
            return
        found += kept

    async def _get(self, query: Mapping[str, str]) -> tuple[ObservationPage, int]:
        content = (await self._http.get(OBSERVATIONS_V2, route=Route.OBSERVATIONS_V2, query=query)).content
        return wire.observations(content), len(content)


class _Cursors:
    """Where a walk stands; a cursor that was there before would lead in a circle."""

    def __init__(self) -> None:
        self.now: str | None = None
        self._met: set[str] = set()

    def move_on(self, page: ObservationPage) -> bool:
        self.now = page.cursor
        if self.now in self._met:
            raise RetryLater("Langfuse answered the same cursor twice")
        if self.now is not None:
            self._met.add(self.now)
        return self.now is not None


def _too_large(error: AskForLess) -> str:
    return f"too large to be read: {error}"[:200]

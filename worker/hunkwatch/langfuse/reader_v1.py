"""Read observations through v1, on servers that have nothing else: pages of a hundred, whole rows, no search by text.

Page numbers count from the newest row, so a growing table shifts them, and the order among equal start times is not stable. So a
window is walked by start time: the first page of what is left, then the first page up to the oldest start on it, which is read once
more with all its equals. Only where one millisecond fills a page are page numbers used, again and again until nothing new comes.

A window that takes no more requests than there are types and names to ask for is read whole; a larger one by those types and names.
A row that is too much even alone is closed in on by its start time, named, and passed.
"""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import quote

from hunkwatch.core import tools
from hunkwatch.core.window import Window
from hunkwatch.errors import AskForLess, Refused, RetryLater
from hunkwatch.langfuse import following, wire
from hunkwatch.langfuse.contexts import Contexts
from hunkwatch.langfuse.faults import Missing
from hunkwatch.langfuse.http import Route
from hunkwatch.langfuse.merging import key_of, merged, not_met_yet
from hunkwatch.langfuse.probe import OBSERVATIONS_V1
from hunkwatch.langfuse.selection import Selection
from hunkwatch.ports import ObservationKey, Page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from datetime import datetime

    from hunkwatch.core.model import Observation
    from hunkwatch.langfuse.http import Http

PAGE = 100
ROOM = 8_000_000
"""Bytes of an answer that are aimed at: the inputs of a session's generations grow with the session."""

SETTLED = 6
"""So many readings of one full millisecond in a row bring nothing new before it is taken as read, if the count still differs."""

_TICK = timedelta(milliseconds=1)
_MARKERS = re.compile(f"{wire.MARKER}|{wire.TOOL}|{wire.OVERFLOW}", re.IGNORECASE)


class ReaderV1:
    """Reads one project. Remembers only how many rows fit into an answer."""

    def __init__(self, http: Http, *, names: Sequence[str], types: Sequence[str] = (), selection: Selection | None = None) -> None:
        """``types`` and ``names`` are what is asked for in a large window; without types, every window is read whole.

        A row of one of the ``names`` is handed on even where it shows no marker.
        """
        self._http = http
        self._names = frozenset(names)
        self._selection = selection or Selection()
        self._contexts = Contexts(http, self._selection)
        by_name = [{"name": name} for name in dict.fromkeys(names)] if types else []
        self._questions = [*({"type": kind} for kind in dict.fromkeys(types)), *by_name]
        self._limit = PAGE

    async def candidates(self, window: Window, *, complete: bool) -> AsyncIterator[Page]:  # noqa: ARG002 - v1 rows are always whole
        """Page through every observation of the window that may carry a call; pages are always complete."""
        met: dict[ObservationKey, Observation] = {}
        try:
            first = await self._page(window, {})
        except AskForLess:
            first = None
        if first is None or not self._questions or first.total_pages <= len(self._questions):
            async for page in self._walk(window, {}, met, first):
                yield page
            return
        for question in self._questions:
            try:
                async for page in self._walk(window, question, met):
                    yield page
            except Refused:
                # A type that this server does not know: it has no such rows.
                continue

    async def _walk(
        self,
        window: Window,
        question: Mapping[str, str],
        met: dict[ObservationKey, Observation],
        page: wire.ObservationPage | None = None,
    ) -> AsyncIterator[Page]:
        """Page through the rows that answer a question; its first page may be there already."""
        end = window.end
        while end > window.start:
            ahead = Window(window.start, end)
            try:
                page = page or await self._page(ahead, question)
            except AskForLess as error:
                tick = await self._closed_in(ahead, question, error)
                async for more in self._singly(tick, question, met):
                    yield more
                end = tick.start
                continue
            yield await self._chosen(page, met)
            if page.total_pages <= 1:
                return
            oldest, page = _oldest(page), None
            if oldest + _TICK < end:
                end = oldest + _TICK
            else:
                async for more in self._one_tick(Window(oldest, oldest + _TICK), question, met):
                    yield more
                end = oldest

    async def read(self, observations: Sequence[Observation]) -> Page:
        """Return the observations read anew, one by one; ``candidates`` brings them whole, so nobody needs this in a sweep."""
        found: list[Observation] = []
        unreadable: dict[ObservationKey, str] = {}
        known = merged(observations)
        for row in known:
            try:
                found += [again for again in await self._by_id(row.id) if key_of(again) == key_of(row)]
            except AskForLess as error:
                unreadable[key_of(row)] = _too_large(error)
        found = await self._selected(found, unreadable)
        first_start = {key_of(row): row.start_time for row in known}
        rows = [row._replace(start_time=min(row.start_time, first_start[key_of(row)])) for row in merged(found)]
        return Page(rows, complete=True, unreadable=unreadable)

    async def following(self, observations: Sequence[Observation]) -> Mapping[ObservationKey, Observation]:
        """Return the next generation of each one's trace or session; see ``ports.ObservationSource``."""
        return await following.trace_by_trace(self._http, observations)

    async def fetch(self, *, trace_id: str | None = None, observation_id: str | None = None) -> Sequence[Observation]:
        """Return whole observations by trace or by id."""
        if observation_id is not None:
            return await self._selected([row for row in await self._by_id(observation_id) if trace_id in (None, row.trace_id)], {})
        found: list[Observation] = []
        number, pages = 1, 1
        while number <= pages:
            page = await self._get(wire.query(limit=PAGE, page=number, trace_id=trace_id))
            found += page.observations
            pages, number = page.total_pages, number + 1
        return await self._selected(merged(found), {})

    async def _page(self, window: Window, question: Mapping[str, str]) -> wire.ObservationPage:
        """Read the newest rows of the window, fewer at a time where a hundred are too much; raises AskForLess when one row is."""
        while True:
            limit = self._limit
            try:
                page = await self._get({**wire.query(limit=limit, page=1, window=window), **question})
            except AskForLess:
                if limit == 1:
                    raise
                self._limit = max(1, limit // 2)
            else:
                return page

    async def _one_tick(self, tick: Window, question: Mapping[str, str], met: dict[ObservationKey, Observation]) -> AsyncIterator[Page]:
        """Read the rows of one millisecond that do not fit on one page, until as many were met as there are."""
        try:
            async for page in self._numbered(tick, question, met):
                yield page
        except AskForLess:
            async for page in self._singly(tick, question, met):
                yield page

    async def _numbered(self, tick: Window, question: Mapping[str, str], met: dict[ObservationKey, Observation]) -> AsyncIterator[Page]:
        seen: set[ObservationKey] = set()
        unchanged = 0
        while unchanged < SETTLED:
            before, limit, number, pages, total = len(seen), self._limit, 1, 1, 0
            while number <= pages:
                page = await self._get({**wire.query(limit=limit, page=number, window=tick), **question})
                seen.update(map(key_of, page.observations), page.unreadable)
                yield await self._chosen(page, met)
                pages, total, number = page.total_pages, page.total_items, number + 1
            if len(seen) >= total:
                return
            unchanged = unchanged + 1 if len(seen) == before else 0

    async def _closed_in(self, window: Window, question: Mapping[str, str], error: AskForLess) -> Window:
        """Return the millisecond of the window's newest row, which is too much even alone.

        Where that row can be read by itself, it is the window that is too much: the error goes on.
        """
        low, high = _floored(window.start), window.end
        while high - low > _TICK and (middle := _floored(low + (high - low) / 2)) > low:
            try:
                page = await self._get({**wire.query(limit=1, page=1, window=Window(middle, high)), **question})
            except AskForLess:
                low = middle
            else:
                if page.total_items:
                    raise error
                high = middle
        return Window(low, max(high, low + _TICK))

    async def _singly(self, tick: Window, question: Mapping[str, str], met: dict[ObservationKey, Observation]) -> AsyncIterator[Page]:
        """Read the rows of one millisecond one by one; those that are too much are named by their time, since nothing else is known."""
        seen: set[ObservationKey] = set()
        unchanged, total, reason, lost = 0, 0, "", 0
        while unchanged < SETTLED:
            before, number, pages, lost = len(seen), 1, 1, 0
            while number <= pages:
                try:
                    page = await self._get({**wire.query(limit=1, page=number, window=tick), **question})
                except AskForLess as error:
                    reason, lost, pages = _too_large(error), lost + 1, max(pages, number + 1)
                    if lost > PAGE:
                        raise
                else:
                    seen.update(map(key_of, page.observations), page.unreadable)
                    yield await self._chosen(page, met)
                    pages, total = page.total_pages, page.total_items
                number += 1
            if len(seen) + lost >= total:
                break
            unchanged = unchanged + 1 if len(seen) == before else 0
        if reason:
            keys = [
                ObservationKey("", f"row {number} at {wire.spelled(tick.start)}") for number in range(1, max(lost, total - len(seen)) + 1)
            ]
            yield Page((), complete=True, unreadable=dict.fromkeys(keys, reason))

    async def _chosen(self, page: wire.ObservationPage, met: dict[ObservationKey, Observation]) -> Page:
        rows = not_met_yet(merged(row for row in page.observations if self._may_carry(row)), met)
        unreadable = dict(page.unreadable)
        return Page(await self._selected(rows, unreadable), complete=True, unreadable=unreadable)

    async def _selected(self, rows: Iterable[Observation], unreadable: dict[ObservationKey, str]) -> list[Observation]:
        """Return the rows that are to be read; one of which that cannot be told is named."""
        kept: list[Observation] = []
        for row in rows:
            try:
                if self._selection.takes_environment(row) and await self._contexts.takes(row.trace_id):
                    kept.append(row)
            except AskForLess as error:
                unreadable[key_of(row)] = f"its trace is too large to be told from others: {error}"[:200]
        return kept

    async def _by_id(self, observation_id: str) -> list[Observation]:
        try:
            answer = await self._http.get(f"{OBSERVATIONS_V1}/{quote(observation_id, safe='')}", route=Route.OBSERVATIONS_V1)
        except Missing:
            return []
        try:
            return [wire.observation_of(answer.content)]
        except ValueError:
            raise RetryLater("Langfuse answered something that is no observation") from None

    async def _get(self, query: Mapping[str, str]) -> wire.ObservationPage:
        asked = {**query, **self._selection.parameters()}
        content = (await self._http.get(OBSERVATIONS_V1, route=Route.OBSERVATIONS_V1, query=asked)).content
        page = wire.observations(content)
        if page.observations:
            self._limit = max(1, min(PAGE, self._limit * 2, ROOM * len(page.observations) // max(len(content), 1)))
        return page

    def _may_carry(self, row: Observation) -> bool:
        if row.name in self._names or tools.kind(row.name) is tools.Kind.PATCH:
            return True
        return _mentions(row.output if row.type in {"GENERATION", "AGENT"} else row.input)


def _oldest(page: wire.ObservationPage) -> datetime:
    """Return where the page ends; raises RetryLater for a page from whose end no walk can go on."""
    starts = [*(row.start_time for row in page.observations), *page.lost_starts]
    if not starts or any(later < earlier for later, earlier in pairwise(row.start_time for row in page.observations)):
        raise RetryLater("Langfuse answered a page that is not in the order of start times")
    return min(starts)


def _floored(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


def _too_large(error: AskForLess) -> str:
    return f"too large to be read: {error}"[:200]


def _mentions(value: object) -> bool:
    """Say whether any text of a JSON value holds a marker; without recursion, so that no nesting is too deep."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if _MARKERS.search(item):
                return True
        elif isinstance(item, dict):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False

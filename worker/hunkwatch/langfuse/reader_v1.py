"""Read observations through v1, on servers that have nothing else: pages of a hundred, whole rows, no search by text.

Order among equal start times is not stable there, so rows can slip between pages while the table grows. A window is therefore read
until two counts agree: the number of rows that the server names before and after, and what was met is never fewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunkwatch.errors import AskForLess, RetryLater
from hunkwatch.langfuse import wire
from hunkwatch.langfuse.http import Route
from hunkwatch.langfuse.reader import key_of, merged
from hunkwatch.ports import Page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from hunkwatch.core.model import Observation
    from hunkwatch.core.window import Window
    from hunkwatch.langfuse.http import Http
    from hunkwatch.ports import ObservationKey

OBSERVATIONS_V1 = "api/public/observations"
PAGE = 100
MOST_PAGES = 50
"""A window with more pages is cut in two: the deeper the page, the more a growing table shifts it."""

_TRIES = 4


class ReaderV1:
    """Reads one project."""

    def __init__(self, http: Http, *, names: Sequence[str]) -> None:
        """``names`` are those of observations that may carry a call without showing a marker."""
        self._http = http
        self._names = frozenset(names)

    async def candidates(self, window: Window, *, complete: bool) -> AsyncIterator[Page]:  # noqa: ARG002 - v1 rows are always whole
        """Page through every observation of the window that may carry a call; pages are always complete."""
        for _ in range(_TRIES):
            met: dict[ObservationKey, Observation] = {}
            unreadable: dict[ObservationKey, str] = {}
            total = await self._walk(window, met, unreadable)
            if len(met) + len(unreadable) >= total:
                break
        else:
            raise AskForLess("the rows of the window shift while they are read")
        rows = [row for row in met.values() if self._may_carry(row)]
        yield Page(merged(rows), complete=True, unreadable=unreadable)

    async def read(self, observations: Sequence[Observation]) -> Page:
        """Return the rows as they are: v1 rows came whole."""
        return Page(merged(observations), complete=True)

    async def fetch(self, *, trace_id: str | None = None, observation_id: str | None = None) -> Sequence[Observation]:
        """Return whole observations by trace or by id."""
        if observation_id is not None:
            answer = await self._http.get(f"{OBSERVATIONS_V1}/{observation_id}", route=Route.OBSERVATIONS_V1, allow=frozenset({404}))
            if answer.status == 404:  # noqa: PLR2004 - not found
                return []
            return wire.observations(b'{"data":[' + answer.content + b"]}").observations
        found: list[Observation] = []
        number, pages = 1, 1
        while number <= pages:
            page = await self._page(wire.query(limit=PAGE, page=number, trace_id=trace_id))
            found += page.observations
            pages, number = page.total_pages, number + 1
        return merged(found)

    async def _walk(self, window: Window, met: dict[ObservationKey, Observation], unreadable: dict[ObservationKey, str]) -> int:
        """Read all pages of a window; return how many distinct rows there must be at least."""
        number, pages, total = 1, 1, 0
        while number <= pages:
            page = await self._page(wire.query(limit=PAGE, page=number, window=window))
            if page.total_pages > MOST_PAGES:
                raise AskForLess("the window has too many pages")
            for row in page.observations:
                other = met.get(key_of(row))
                met[key_of(row)] = row if other is None else merged([other, row])[0]
            unreadable.update(page.unreadable)
            pages, total, number = page.total_pages, max(total, page.total_items), number + 1
            if pages and not page.observations and not page.unreadable and number <= pages:
                raise RetryLater("Langfuse answered an empty page before the last")
        return total

    async def _page(self, query: dict[str, str]) -> wire.ObservationPage:
        return wire.observations((await self._http.get(OBSERVATIONS_V1, route=Route.OBSERVATIONS_V1, query=query)).content)

    def _may_carry(self, row: Observation) -> bool:
        if row.name in self._names:
            return True
        inside = row.output if row.type in {"GENERATION", "AGENT"} else row.input
        return _mentions(inside)


def _mentions(value: object) -> bool:
    """Say whether any text of a JSON value holds a marker; without recursion, so that no nesting is too deep."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if wire.MARKER in item or wire.TOOL in item:
                return True
        elif isinstance(item, dict):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False

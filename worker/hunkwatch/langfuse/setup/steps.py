"""What a setup does, step by step, and the two hands that may do it: one that writes and one that only looks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from hunkwatch.errors import RetryLater
from hunkwatch.langfuse import wire
from hunkwatch.langfuse.wire import Kept

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hunkwatch.langfuse.http import Http, Route

NOT_FOUND, CONFLICT = 404, 409
PAGE = 100
MOST_PAGES = 50


class Did(StrEnum):
    """What became of one thing."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    ARCHIVED = "archived"
    REMOVED = "removed"
    LEFT = "left"
    """Not ours, or not to be had: ``note`` says why."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing, what became of it, and a remark where there is one."""

    did: Did
    kind: str
    name: str
    note: str = ""


class Hand(Protocol):
    """Makes, changes and removes."""

    async def create(self, path: str, body: Mapping[str, Any], *, route: Route) -> Kept:
        """Make a thing and return it as the server shows it."""
        ...

    async def change(self, path: str, body: Mapping[str, Any], *, route: Route) -> None:
        """Change a thing."""
        ...

    async def remove(self, path: str, *, route: Route) -> bool:
        """Remove a thing; one that is gone already is removed. False when something else still holds it."""
        ...


class Writing:
    """The hand that writes."""

    def __init__(self, http: Http) -> None:
        """Take the conversation."""
        self._http = http

    async def create(self, path: str, body: Mapping[str, Any], *, route: Route) -> Kept:
        """Make a thing. A tile has no name, and comes back under its own id."""
        answer = await self._http.post(path, wire.encoded(body), route=route, allow=frozenset({CONFLICT}))
        made = wire.kept(answer.content)
        if made is None and "name" in body:
            raise RetryLater("Langfuse answered something that is not what was made")
        return made or Kept(str(body.get("id", "")), "", "", "", body)

    async def change(self, path: str, body: Mapping[str, Any], *, route: Route) -> None:
        """Change a thing."""
        await self._http.patch(path, wire.encoded(body), route=route)

    async def remove(self, path: str, *, route: Route) -> bool:
        """Remove a thing, unless something holds it."""
        answer = await self._http.delete(path, route=route, allow=frozenset({NOT_FOUND, CONFLICT}))
        return answer.status != CONFLICT


class Looking:
    """The hand that only looks: for a rehearsal."""

    def __init__(self, http: Http) -> None:
        """Take the conversation, and say nothing in it."""
        del http

    async def create(self, path: str, body: Mapping[str, Any], *, route: Route) -> Kept:
        """Return what would be made, without an id."""
        del path, route
        return Kept("", str(body.get("name", "")), str(body.get("description", "")), "", body)

    async def change(self, path: str, body: Mapping[str, Any], *, route: Route) -> None:
        """Change nothing."""

    async def remove(self, path: str, *, route: Route) -> bool:
        """Remove nothing."""
        del path, route
        return True


async def listed(http: Http, path: str, *, route: Route) -> Sequence[Kept] | None:
    """Return everything of a kind, the oldest first; None when the server has no such route."""
    found: list[Kept] = []
    number, pages = 1, 1
    while number <= min(pages, MOST_PAGES):
        answer = await http.get(path, route=route, query=wire.page_query(number, PAGE), allow=frozenset({NOT_FOUND}))
        if answer.status == NOT_FOUND:
            return None
        page, pages = wire.kept_page(answer.content)
        found += page
        number += 1
    return sorted({thing.id: thing for thing in found}.values(), key=lambda thing: (thing.made, thing.id))

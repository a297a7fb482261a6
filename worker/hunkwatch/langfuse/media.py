"""Fetch the arguments that a server has moved into its media store, and put them back in the place of their token.

Off unless the settings allow it. Only a field that is nothing but a token of text is fetched, only where an argument may stand, and only
so much. What cannot be had stays a token, which makes the call ``unresolved``; only Langfuse itself being away is worth another try.
The content's address is Langfuse's word, so it is met with care: https, or the very host of Langfuse; no other address of a private
network; no redirect; and never with our key.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import httpx

from hunkwatch import events
from hunkwatch.errors import AskForLess
from hunkwatch.langfuse import wire
from hunkwatch.langfuse.http import Route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.core.model import Observation
    from hunkwatch.events import Emit
    from hunkwatch.langfuse.http import Http

MEDIA = "api/public/media"

LARGEST = 8 * 2**20
"""Bytes of one file; a larger one stays a token."""

MOST = 64 * 2**20
"""Bytes of all the files of one page; where there are more, the window has to be cut."""

TRIES = 2
SLOWEST = 60.0
"""Seconds in which a file must be there."""

_TOKEN = re.compile(r"\s*@@@langfuseMedia:type=(?:text/[\w.+-]+|application/json)\|id=([\w-]{1,100})\|source=[\w-]{1,50}@@@\s*")
_MODELS = frozenset({"GENERATION", "AGENT"})
_UNKNOWN = frozenset({403, 404})
_LONGEST = 500
"""Characters of a token, with room to spare."""


class Media:
    """Fetches files of one server. ``client`` carries no key."""

    def __init__(self, http: Http, client: httpx.AsyncClient, *, base_url: str, emit: Emit) -> None:
        """Take both conversations: the one with Langfuse, and the one with whoever keeps its files."""
        self._http = http
        self._client = client
        self._home = urlsplit(base_url).hostname
        self._emit = emit

    async def filled(self, rows: Sequence[Observation]) -> list[Observation]:
        """Return the rows, those with a token for an argument with the text instead; raises AskForLess when that is too much at once."""
        found: list[Observation] = []
        room = MOST
        for row in rows:
            field = "output" if row.type in _MODELS else "input"
            token = _TOKEN.fullmatch(value) if isinstance(value := getattr(row, field), str) and len(value) < _LONGEST else None
            content = await self._content(token[1]) if token else None
            if content is None:
                found.append(row)
                continue
            room -= len(content)
            if room < 0:
                raise AskForLess("the window brings more media files than are kept in memory at once")
            changed: dict[str, Any] = {field: content.decode("utf-8", "replace")}
            found.append(row._replace(**changed))
        return found

    async def _content(self, media_id: str) -> bytes | None:
        answer = await self._http.get(f"{MEDIA}/{quote(media_id, safe='')}", route=Route.MEDIA, allow=_UNKNOWN)
        place = wire.media_of(answer.content) if answer.status not in _UNKNOWN else None
        if place is None or place.size > LARGEST or not is_safe(place.url, home=self._home):
            return None
        for _try in range(TRIES):
            with suppress(httpx.HTTPError, httpx.InvalidURL, TimeoutError, UnicodeError, ValueError):
                return await self._fetched(place.url)
        return None

    async def _fetched(self, url: str) -> bytes | None:
        began, status, size, parts = self._http.elapsed(), 0, 0, []
        try:
            async with asyncio.timeout(SLOWEST), self._client.stream("GET", url) as response:
                status = response.status_code
                if httpx.codes.is_server_error(status):
                    response.raise_for_status()
                if not httpx.codes.is_success(status):
                    return None
                async for part in response.aiter_bytes():
                    size += len(part)
                    if size > LARGEST:
                        return None
                    parts.append(part)
        finally:
            self._emit(events.RequestAnswered(self._http.project, Route.MEDIA_CONTENT.value, status, self._http.elapsed() - began, size))
        return b"".join(parts)


def is_safe(url: str, *, home: str | None) -> bool:
    """Say whether a file may be fetched from an address that somebody else names."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc or parts.scheme not in {"http", "https"}:
        return False
    if host == home:
        return True
    if parts.scheme != "https" or host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        return ip_address(host).is_global
    except ValueError:
        return True

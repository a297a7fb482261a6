"""One conversation with one Langfuse project: keys, patience, pace, and what each answer means for the caller.

Retries happen here and nowhere else, bounded by attempts and by time; a server that names its own wait is believed. What leaves
is an answer that is JSON, or one of ``errors``. No key, header or body ever becomes part of a message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TYPE_CHECKING

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from hunkwatch import events
from hunkwatch.errors import AskForLess, Exit, Halt, HunkwatchError, RetryLater
from hunkwatch.langfuse import faults, wire
from hunkwatch.langfuse.faults import Right
from hunkwatch.langfuse.pace import Pace
from hunkwatch.langfuse.turns import LONGEST, Turns

if TYPE_CHECKING:
    from hunkwatch.events import Emit
    from hunkwatch.ports import Clock

Query = Mapping[str, str | Sequence[str]]
"""The parameters of a request; a list stands for the same parameter several times."""

ATTEMPTS = 6
LARGEST = 16 * 2**20
"""An answer beyond this many bytes is asked for in smaller pieces: decoded and taken apart, it costs several times its size."""

SLOWEST = 180.0
"""Seconds in which an answer must be complete, however steadily it trickles."""

_LONGEST_WISH = timedelta(days=1)
_BACKOFF = wait_exponential_jitter(multiplier=0.5, max=20)


class Route(StrEnum):
    """Every kind of request that is made; bounded, for logs and metrics."""

    HEALTH = "health"
    PROJECTS = "projects"
    OBSERVATIONS_V2 = "observations_v2"
    OBSERVATIONS_V1 = "observations_v1"
    TRACES_V1 = "traces_v1"
    SCORES_READ = "scores_read"
    SCORES_WRITE = "scores_write"
    INGESTION = "ingestion"
    SCORE_DELETE = "score_delete"
    CONFIGS = "configs"
    MEDIA = "media"
    MEDIA_CONTENT = "media_content"
    DASHBOARDS = "dashboards"


_BUCKETS = {
    Route.INGESTION: "ingestion",
    Route.OBSERVATIONS_V1: "legacy",
    Route.TRACES_V1: "legacy",
    Route.SCORE_DELETE: "delete",
    Route.HEALTH: "",
}
"""Which of the server's limits a route draws on; the others share one."""

_RIGHTS = {
    Route.OBSERVATIONS_V2: Right.READ,
    Route.OBSERVATIONS_V1: Right.READ,
    Route.TRACES_V1: Right.READ,
    Route.SCORES_WRITE: Right.WRITE,
    Route.INGESTION: Right.WRITE,
    Route.SCORE_DELETE: Right.DELETE,
    Route.CONFIGS: Right.SET_UP,
    Route.DASHBOARDS: Right.SET_UP,
}
"""What a key must be allowed to do for a route; the others ask only to be known."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is JSON, or one of the statuses that the caller asked to see."""

    status: int
    content: bytes
    date: datetime | None


class Http:
    """The conversation. ``project`` names it in events once the probe knows it."""

    def __init__(self, client: httpx.AsyncClient, *, clock: Clock, emit: Emit, per_minute: int = 0, attempts: int = ATTEMPTS) -> None:
        """Take a client that carries the address, the keys and the time-outs."""
        self._client = client
        self._clock = clock
        self._emit = emit
        buckets = ("shared", "ingestion", "legacy", "delete")
        self._turns = {bucket: Turns(Pace(per_minute if bucket == "shared" else 0), clock) for bucket in buckets}
        self._never = asyncio.Event()
        self._attempts = attempts
        self._proven = False
        self.project = ""

    def elapsed(self) -> float:
        """Return seconds on the clock that never jumps."""
        return self._clock.monotonic()

    async def get(self, path: str, *, route: Route, query: Query | None = None, allow: frozenset[int] = frozenset()) -> Answer:
        """Read. Statuses in ``allow`` are answers, not errors."""
        return await self._patiently("GET", path, route, query=query, allow=allow)

    async def post(self, path: str, body: bytes, *, route: Route, allow: frozenset[int] = frozenset()) -> Answer:
        """Write a JSON body."""
        return await self._patiently("POST", path, route, body=body, allow=allow)

    async def delete(self, path: str, *, route: Route, allow: frozenset[int] = frozenset()) -> Answer:
        """Delete."""
        return await self._patiently("DELETE", path, route, allow=allow)

    async def patch(self, path: str, body: bytes, *, route: Route, allow: frozenset[int] = frozenset()) -> Answer:
        """Change with a JSON body."""
        return await self._patiently("PATCH", path, route, body=body, allow=allow)

    async def _patiently(  # noqa: PLR0913 - the parts of a request
        self,
        method: str,
        path: str,
        route: Route,
        *,
        query: Query | None = None,
        body: bytes | None = None,
        allow: frozenset[int],
    ) -> Answer:
        began = self._clock.monotonic()

        def overdue(state: RetryCallState) -> bool:
            return self._clock.monotonic() - began + _pause(state) > LONGEST.total_seconds()

        patience = AsyncRetrying(
            retry=retry_if_exception_type(RetryLater),
            stop=lambda state: stop_after_attempt(self._attempts)(state) or overdue(state),
            wait=_pause,
            sleep=self._sleep,
            before_sleep=lambda state: self._tell(route, state),
            reraise=True,
        )
        try:
            return await patience(self._once, method, path, route, query, body, allow)
        except faults.Unanswered as error:
            if self._proven:
                raise
            raise Halt(str(error), mend="Check LANGFUSE_BASE_URL, the network and HTTPS_PROXY.", exit_code=Exit.UNAVAILABLE) from error

    async def _once(  # noqa: PLR0913, PLR0917 - called by the retry policy, by position
        self,
        method: str,
        path: str,
        route: Route,
        query: Query | None,
        body: bytes | None,
        allow: frozenset[int],
    ) -> Answer:
        turns = self._turns.get(_BUCKETS.get(route, "shared"))
        if turns is not None:
            await turns.next()
        began = self._clock.monotonic()
        status, content, headers = 0, b"", httpx.Headers()
        try:
            headers_out = {"Content-Type": "application/json"} if body is not None else None
            async with (
                asyncio.timeout(SLOWEST),
                self._client.stream(method, path, params=query, content=body, headers=headers_out) as response,
            ):
                status, headers = response.status_code, response.headers
                content = await _read(response)
        except httpx.HTTPError as error:
            raise faults.unanswered(error) from error
        except TimeoutError as error:
            raise faults.Unanswered("Langfuse cannot be reached: the answer did not end in time") from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Halt("the address of Langfuse cannot be used", mend="Check LANGFUSE_BASE_URL.") from error
        finally:
            seconds = self._clock.monotonic() - began
            self._emit(events.RequestAnswered(self.project, route.value, status, seconds, len(content)))
        if status in allow or (httpx.codes.is_success(status) and (not content or _is_json(headers))):
            self._proven = self._proven or _is_json(headers)
            return Answer(status, content, _date(headers))
        if httpx.codes.is_success(status):
            raise faults.not_langfuse("no JSON", proven=self._proven)
        raise self._refusal(status, content, headers, route, turns)

    def _refusal(self, status: int, content: bytes, headers: httpx.Headers, route: Route, turns: Turns | None) -> HunkwatchError:
        after = _wish(headers, self._clock.now())
        if status == httpx.codes.TOO_MANY_REQUESTS:
            limit = wire.limit_of(content)
            if after is None and limit.wait is not None:
                after = timedelta(seconds=min(limit.wait, _LONGEST_WISH.total_seconds()))
            wait = after.total_seconds() if after else 0.0
            if turns is not None:
                turns.pace.refused(self._clock.monotonic(), wait=wait, limit=limit.limit)
            self._emit(events.RateLimited(self.project, route.value, wait))
        return faults.refusal(
            status,
            wire.message_of(content),
            is_json=_is_json(headers),
            right=_RIGHTS.get(route, Right.LOOK),
            after=after,
            proven=self._proven,
            single=status == httpx.codes.BAD_REQUEST and wire.wants_single(content),
        )

    def _tell(self, route: Route, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        wait = state.next_action.sleep if state.next_action else 0.0
        self._emit(events.RequestRetried(self.project, route.value, state.attempt_number, float(wait), str(error)[:200]))

    async def _sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds, unless=self._never)


async def _read(response: httpx.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > LARGEST:
            raise AskForLess(f"the answer is larger than {LARGEST // 2**20} MB")
        parts.append(part)
    return b"".join(parts)


def _pause(state: RetryCallState) -> float:
    """Return the server's wish if it has one, else a growing pause with jitter."""
    error = state.outcome.exception() if state.outcome else None
    after = getattr(error, "after", None)
    return after.total_seconds() if isinstance(after, timedelta) else float(_BACKOFF(state))


def _wish(headers: httpx.Headers, now: datetime) -> timedelta | None:
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdecimal():
        return min(timedelta(seconds=int(value[:9])), _LONGEST_WISH)
    at = _parsed(value)
    return None if at is None else min(max(at - now, timedelta(0)), _LONGEST_WISH)


def _date(headers: httpx.Headers) -> datetime | None:
    return _parsed(headers.get("date", ""))


def _parsed(value: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError):
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _is_json(headers: httpx.Headers) -> bool:
    return "json" in headers.get("content-type", "").lower()

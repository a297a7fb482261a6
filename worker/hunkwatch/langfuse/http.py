"""One conversation with one Langfuse project: keys, patience, pace, and what each answer means for the caller.

Retries happen here and nowhere else, bounded by attempts and by time; a server that names its own wait is believed. What leaves
is an answer that is JSON, or one of ``errors``. No key, header or body ever becomes part of a message.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TYPE_CHECKING

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from hunkwatch import events
from hunkwatch.errors import AskForLess, Exit, Halt, HunkwatchError, Refused, RetryLater
from hunkwatch.langfuse import wire

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hunkwatch.events import Emit
    from hunkwatch.ports import Clock

ATTEMPTS = 6
LONGEST = timedelta(seconds=90)
"""No request is tried longer than this; a wait that would end later is the caller's."""

LARGEST = 64 * 2**20
"""An answer beyond this many bytes is asked for in smaller pieces."""

SUSPENDED = timedelta(minutes=10)
_MINUTE = 60.0
_BACKOFF = wait_exponential_jitter(multiplier=0.5, max=20)


class Route(StrEnum):
    """Every kind of request that is made; bounded, for logs and metrics."""

    HEALTH = "health"
    PROJECTS = "projects"
    OBSERVATIONS_V2 = "observations_v2"
    OBSERVATIONS_V1 = "observations_v1"
    SCORES_READ = "scores_read"
    SCORES_WRITE = "scores_write"
    INGESTION = "ingestion"
    SCORE_DELETE = "score_delete"
    CONFIGS = "configs"
    DASHBOARDS = "dashboards"


_BUCKETS = {Route.INGESTION: "ingestion", Route.OBSERVATIONS_V1: "legacy", Route.SCORE_DELETE: "delete", Route.HEALTH: ""}
"""Which of the server's limits a route draws on; the others share one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is JSON, or one of the statuses that the caller asked to see."""

    status: int
    content: bytes
    date: datetime | None


class Pace:
    """Keeps the requests of one limit inside their budget: a number a minute, 0 meaning no bound."""

    def __init__(self, per_minute: int) -> None:
        """Start with a setting, or with 0 to learn from the server."""
        self.per_minute = per_minute
        self._learns = per_minute == 0
        self._starts: deque[float] = deque()

    def wait(self, now: float) -> float:
        """Return how long to wait before the next request may start."""
        while self._starts and self._starts[0] <= now - _MINUTE:
            self._starts.popleft()
        if not self.per_minute or len(self._starts) < self.per_minute:
            return 0.0
        return self._starts[-self.per_minute] + _MINUTE - now

    def started(self, now: float) -> None:
        """Count a request."""
        self._starts.append(now)

    def learn(self, limit: int) -> None:
        """Take half of what the server allows: the other half is the rest of the organisation's."""
        if self._learns and limit > 0:
            self.per_minute = max(1, (limit - 1) // 2)


class Http:
    """The conversation. ``project`` names it in events once the probe knows it."""

    def __init__(self, client: httpx.AsyncClient, *, clock: Clock, emit: Emit, per_minute: int) -> None:
        """Take a client that carries the address, the keys and the time-outs."""
        self._client = client
        self._clock = clock
        self._emit = emit
        self._paces = {bucket: Pace(per_minute if bucket == "shared" else 0) for bucket in ("shared", "ingestion", "legacy", "delete")}
        self._never = asyncio.Event()
        self.project = ""

    async def get(self, path: str, *, route: Route, query: Mapping[str, str] | None = None, allow: frozenset[int] = frozenset()) -> Answer:
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
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        allow: frozenset[int],
    ) -> Answer:
        began = self._clock.monotonic()

        def overdue(state: RetryCallState) -> bool:
            return self._clock.monotonic() - began + _pause(state) > LONGEST.total_seconds()

        patience = AsyncRetrying(
            retry=retry_if_exception_type(RetryLater),
            stop=lambda state: stop_after_attempt(ATTEMPTS)(state) or overdue(state),
            wait=_pause,
            sleep=self._sleep,
            before_sleep=lambda state: self._tell(route, state),
            reraise=True,
        )
        return await patience(self._once, method, path, route, query, body, allow)

    async def _once(  # noqa: PLR0913, PLR0917 - called by the retry policy, by position
        self, method: str, path: str, route: Route, query: Mapping[str, str] | None, body: bytes | None, allow: frozenset[int]
    ) -> Answer:
        pace = self._paces.get(_BUCKETS.get(route, "shared"))
        if pace is not None:
            while (wait := pace.wait(self._clock.monotonic())) > 0:
                await self._sleep(wait)
            pace.started(self._clock.monotonic())
        began = self._clock.monotonic()
        status, content, headers = 0, b"", httpx.Headers()
        try:
            headers_out = {"Content-Type": "application/json"} if body is not None else None
            async with self._client.stream(method, path, params=query, content=body, headers=headers_out) as response:
                status, headers = response.status_code, response.headers
                content = await _read(response)
        except httpx.HTTPError as error:
            raise _unanswered(error) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Halt("the address of Langfuse cannot be used", mend="Check LANGFUSE_BASE_URL.") from error
        finally:
            seconds = self._clock.monotonic() - began
            self._emit(events.RequestAnswered(self.project, route.value, status, seconds, len(content)))
        if status in allow or httpx.codes.is_success(status):
            return _answer(status, content, headers, allow)
        raise self._refusal(status, content, headers, route, pace)

    def _refusal(self, status: int, content: bytes, headers: httpx.Headers, route: Route, pace: Pace | None) -> HunkwatchError:
        after = _wish(headers, self._clock.now())
        if status == httpx.codes.TOO_MANY_REQUESTS:
            limit = wire.limit_of(content)
            if after is None and limit.wait is not None:
                after = timedelta(seconds=limit.wait)
            if pace is not None and route is not Route.SCORE_DELETE:
                pace.learn(limit.limit)
            self._emit(events.RateLimited(self.project, route.value, after.total_seconds() if after else 0.0))
        return refusal(status, wire.message_of(content), is_json=_is_json(headers), after=after)

    def _tell(self, route: Route, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        wait = state.next_action.sleep if state.next_action else 0.0
        self._emit(events.RequestRetried(self.project, route.value, state.attempt_number, float(wait), str(error)[:200]))

    async def _sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds, unless=self._never)


def refusal(status: int, message: str, *, is_json: bool, after: timedelta | None = None) -> HunkwatchError:
    """Return what a status that is no success means for the caller."""
    told = f"Langfuse answered {status}" + (f": {message}" if message else "")
    match status:
        case 401:
            return Halt(
                told,
                mend="Check LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_BASE_URL: they belong together.",
                exit_code=Exit.PERMISSION,
            )
        case 403 if "ingestion suspended" in message.lower():
            return RetryLater(told, after=after or SUSPENDED)
        case 403:
            return Halt(told, mend="Use a project API key that may read observations and write scores.", exit_code=Exit.PERMISSION)
        case 413 | 414 | 422 | 431:
            return AskForLess(told)
        case 408 | 409 | 425 | 429:
            return RetryLater(told, after=after)
        case status if status >= 500:  # noqa: PLR2004 - the class of server errors
            return RetryLater(told, after=after)
        case status if not is_json or 300 <= status < 400:  # noqa: PLR2004 - the class of redirections
            return Halt(
                f"this address does not answer as Langfuse does ({status})",
                mend="Check LANGFUSE_BASE_URL: scheme, host and base path, without /api or /project.",
                exit_code=Exit.UNAVAILABLE,
            )
        case _:
            return Refused(told)


def _answer(status: int, content: bytes, headers: httpx.Headers, allow: frozenset[int]) -> Answer:
    if status not in allow and content and not _is_json(headers):
        raise Halt(
            "this address does not answer as Langfuse does (no JSON)",
            mend="Check LANGFUSE_BASE_URL: scheme, host and base path, without /api or /project.",
            exit_code=Exit.UNAVAILABLE,
        )
    return Answer(status, content, _date(headers))


async def _read(response: httpx.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > LARGEST:
            raise AskForLess(f"the answer is larger than {LARGEST // 2**20} MB")
        parts.append(part)
    return b"".join(parts)


def _unanswered(error: httpx.HTTPError) -> HunkwatchError:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Halt(
                "the certificate of Langfuse is not trusted",
                mend="Name your CA in SSL_CERT_FILE, or check that the address is the right one.",
                exit_code=Exit.UNAVAILABLE,
            )
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx.UnsupportedProtocol):
        return Halt("the address of Langfuse has no usable scheme", mend="Start LANGFUSE_BASE_URL with https:// or http://.")
    if isinstance(error, httpx.TimeoutException):
        return RetryLater(f"Langfuse did not answer in time ({type(error).__name__})")
    return RetryLater(f"Langfuse cannot be reached ({type(error).__name__})")


def _pause(state: RetryCallState) -> float:
    """Return the server's wish if it has one, else a growing pause with jitter."""
    error = state.outcome.exception() if state.outcome else None
    after = getattr(error, "after", None)
    return after.total_seconds() if isinstance(after, timedelta) else float(_BACKOFF(state))


def _wish(headers: httpx.Headers, now: datetime) -> timedelta | None:
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdecimal():
        return timedelta(seconds=min(int(value[:9]), 86_400))
    at = _parsed(value)
    return None if at is None else min(max(at - now, timedelta(0)), timedelta(days=1))


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

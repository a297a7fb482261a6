"""The sandbox as tests and the demo hold it: an ASGI application, a real socket around it, and a way in beside HTTP."""

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from hunkwatch.sandbox import legacyscores, rows
from hunkwatch.sandbox.app import ABORT, Application
from hunkwatch.sandbox.habits import Habits
from hunkwatch.sandbox.rows import Row
from hunkwatch.sandbox.state import Project, Room, State, room_for

HOST = "127.0.0.1"
TICK = 0.01
MODES = ("events_only", "dual")


def _now() -> datetime:
    return datetime.now(UTC)


class Sandbox:
    """A Langfuse in memory that answers as ``version`` in write mode ``mode``, with the ``habits`` it is given."""

    def __init__(
        self,
        version: str = "4.16.0",
        mode: str = "events_only",
        habits: Habits | None = None,
        projects: Sequence[Project] = (Project(),),
        now: Callable[[], datetime] = _now,
    ) -> None:
        """Start empty. ``now`` is the sandbox's clock, which decides what is seen and when a limit resets."""
        if mode not in MODES:
            raise ValueError(f"mode is one of {', '.join(MODES)}")
        habits = habits or Habits()
        self._state = State({project.id: room_for(project, habits) for project in projects}, now, version, mode, habits)
        self.app = Application(self._state)

    @property
    def version(self) -> str:
        """What it answers as; may be set while it runs."""
        return self._state.version

    @version.setter
    def version(self, version: str) -> None:
        self._state.version = version

    @property
    def mode(self) -> str:
        """Its write mode; may be set while it runs, as an operator does who deploys anew."""
        return self._state.mode

    @mode.setter
    def mode(self, mode: str) -> None:
        self._state.mode = mode

    @property
    def habits(self) -> Habits:
        """What it does besides answering well; may be set while it runs."""
        return self._state.habits

    @habits.setter
    def habits(self, habits: Habits) -> None:
        self._state.habits = habits

    @property
    def requests(self) -> list[tuple[str, str, int]]:
        """Method, path and status of every request so far; 0 is no answer."""
        return self.app.requests

    def add_observations(self, observations: Iterable[Mapping[str, Any] | Row], *, project: str = "project-1") -> None:
        """Put observations in without HTTP, seen at once: dicts in the form of the v1 reading, or rows.

        Beside the v1 keys a dict may carry its trace's ``traceName``, ``userId``, ``sessionId``, ``tags``, ``release``, ``public`` and
        ``traceMetadata``. An observation with the start time, trace and id of an earlier one replaces it.
        """
        room, now = self._room(project), self._state.now()
        made = (one if isinstance(one, Row) else rows.from_wire(one, now=now, share=room.shelf.share) for one in observations)
        self._state.shelve(room, made)

    def scores(self, *, project: str = "project-1") -> list[dict[str, Any]]:
        """The scores that a reader would find now, one per id, the newest timestamp first, in the form of the v2 reading."""
        room = self._room(project)
        return [legacyscores.render(score, room) for score in room.scores.seen(self._state.now())]

    def all_scores(self, *, project: str = "project-1") -> list[dict[str, Any]]:
        """Every score row there is or will be once everything under way has taken effect, also several of one id."""
        room = self._room(project)
        return [legacyscores.render(score, room) for score in room.scores.rows_at_last()]

    @contextlib.asynccontextmanager
    async def serving(self, port: int = 0, host: str = HOST) -> AsyncIterator[str]:
        """Serve inside the running loop; gives the base URL."""
        listening = _listen(host, port)
        server = _Server(_config(self.app))
        task = asyncio.ensure_future(server.serve([listening]))
        try:
            while not server.started:
                if task.done():
                    task.result()
                await asyncio.sleep(0.001)
            yield _url(listening)
        finally:
            server.should_exit = True
            await task
            listening.close()

    @contextlib.contextmanager
    def serving_in_thread(self, port: int = 0, host: str = HOST) -> Iterator[str]:
        """Serve from a thread with a loop of its own; gives the base URL."""
        listening = _listen(host, port)
        server = _Server(_config(self.app))
        thread = threading.Thread(target=server.run, args=([listening],), name="hunkwatch-sandbox", daemon=True)
        thread.start()
        try:
            server.ready.wait()
            yield _url(listening)
        finally:
            server.should_exit = True
            thread.join()
            listening.close()

    def _room(self, project: str) -> Room:
        return self._state.rooms[project]


class _Protocol(H11Protocol):
    """HTTP/1.1 that lets the application cut its own connection, which ASGI cannot."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # narrowed by uvicorn already
        super().connection_made(transport)
        application = self.app

        async def cuttable(scope: Scope, receive: Receive, send: Send) -> None:
            await application({**scope, "extensions": {ABORT: transport.abort}}, receive, send)

        self.app = cuttable


class _Server(uvicorn.Server):
    """A uvicorn that leaves the process's signals alone and says when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        tick = 0
        while not self.should_exit:
            await self.on_tick(tick := tick + 1)
            await asyncio.sleep(TICK)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def _config(app: Application) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        log_level=logging.CRITICAL,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
        http=_Protocol,
        ws="none",
    )


def _listen(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or asyncio leaves Nagle's delay on
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((host, port))
    listening.listen(128)
    return listening


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()
    return f"http://{host}:{port}"


def serve(sandbox: Sandbox, *, host: str = HOST, port: int = 3000, ready: Callable[[str], None] = lambda _url: None) -> None:
    """Serve until SIGINT or SIGTERM; ``ready`` is told the base URL."""
    asyncio.run(_until_stopped(sandbox, host, port, ready))


async def _until_stopped(sandbox: Sandbox, host: str, port: int, ready: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with sandbox.serving(port, host) as url:
        ready(url)
        await stop.wait()

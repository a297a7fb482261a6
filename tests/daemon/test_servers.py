"""The whole worker against every kind of Langfuse that there is: the same scores, by the reader and the writer that each has."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch import app, events
from hunkwatch.errors import Exit
from hunkwatch.sandbox import Habits, Plan

if TYPE_CHECKING:
    from hunkwatch.ports import Clock
    from hunkwatch.settings import LangfuseSection

Call = Callable[..., dict[str, Any]]

CLOUD = "http://cloud.langfuse.com"
V2, V1 = "/api/public/v2/observations", "/api/public/observations"
LIST, INGESTION = "/api/public/scores", "/api/public/ingestion"
V3_SCORES, V2_SCORES = "/api/public/v3/scores", "/api/public/v2/scores"


@dataclass(frozen=True)
class Kind:
    """A kind of server, and how a worker has to talk to it."""

    version: str
    mode: str = "events_only"
    cloud: bool = False
    reader: str = "v2"
    writer: str = "ingestion"

    @property
    def routes(self) -> set[str]:
        """What is read, written and looked up through."""
        return {
            V2 if self.reader == "v2" else V1,
            LIST if self.writer == "list" else INGESTION,
            V2_SCORES if self.version.startswith("3.") else V3_SCORES,
        }

    def __str__(self) -> str:
        """Name it."""
        return f"cloud-{self.version}" if self.cloud else f"{self.version}-{self.mode}"


KINDS = [
    Kind("4.60.0", cloud=True, writer="list"),
    Kind("4.60.0", writer="list"),
    Kind("4.59.0", writer="list"),
    Kind("4.59.0", mode="dual", writer="list"),
    Kind("4.58.0"),
    Kind("4.58.0", mode="dual"),
    Kind("4.16.0"),
    Kind("4.16.0", mode="dual"),
    Kind("4.0.0"),
    Kind("4.0.0", mode="dual"),
    Kind("3.200.0", mode="dual", reader="v1"),
]


@dataclass
class Gate:
    """A forward proxy that leads to the sandbox, whatever host is asked for: how a test comes to have Langfuse's own cloud."""

    target: str
    address: str = ""
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serve on a socket of its own; gives the address."""
        server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        async with server:
            yield "http://{}:{}".format(*server.sockets[0].getsockname())
        for writer in self.writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            line, rest = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n", 1)
            length = re.search(r"(?im)^content-length: (\d+)", rest)
            body = await reader.readexactly(int(length[1])) if length else b""
            kept = "\r\n".join(one for one in rest.split("\r\n") if one and not one.lower().startswith(("connection", "proxy")))
            host, port = self.target.removeprefix("http://").split(":")
            there, back = await asyncio.open_connection(host, int(port))
            self.writers.append(back)
            back.write(f"{line.replace(CLOUD, '', 1)}\r\n{kept}\r\nconnection: close\r\n\r\n".encode("latin-1") + body)
            writer.write(await there.read())
            await writer.drain()
        writer.close()


@pytest.fixture
async def gate(world: Any) -> AsyncIterator[str]:
    """A proxy behind which Langfuse Cloud is the world's sandbox."""
    async with Gate(world.settings.langfuse.base_url).serving() as address:
        yield address


@pytest.fixture
def become(world: Any, gate: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[Kind], None]:
    """Return what makes the world's server one of a kind."""

    def _become(kind: Kind) -> None:
        world.sandbox.version, world.sandbox.mode = kind.version, kind.mode
        if kind.cloud:
            world.sandbox.habits = Habits(plan=Plan.CORE)
            monkeypatch.setenv("HTTP_PROXY", gate)
            monkeypatch.setenv("NO_PROXY", "")
            changed: LangfuseSection = world.settings.langfuse.model_copy(update={"base_url": CLOUD})
            world.settings = world.settings.model_copy(update={"langfuse": changed})

    return _become


def patch_scores(trace: str, span: str, *, blind: bool) -> dict[tuple[str, str | None, str], float | str]:
    """Return the scores of a call and of its trace, which has no other."""
    kept = 0 if blind else 1
    return {
        (trace, span, "blind_rewrite_patch"): kept,
        (trace, span, "retyped_lines_patch"): 0,
        (trace, span, "patch_shape"): "blind_rewrite" if blind else "no_blind_rewrite",
        (trace, None, "blind_rewrite"): kept,
        (trace, None, "blind_hunks"): 1 - kept,
        (trace, None, "retyped_lines"): 0,
    }


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_the_whole_worker_does_the_same_on_every_kind_of_server(
    kind: Kind, world: Any, become: Callable[[Kind], None], clock: Clock, call: Call
) -> None:
    """The same scores, each once, changed in place when the data changes; log and ``check`` name the reader and the writer."""
    become(kind)
    start = clock.now() - timedelta(hours=2)
    world.add(call("t1", "o1", start), call("t2", "o2", start, blind=True))

    first = await world.once()
    asked = {path for _, path, _ in world.sandbox.requests}
    written = world.writes()
    second = await world.once()
    checked = {found.subject: found for found in await app.check(world.settings, clock=clock)}
    written_by_checking = world.writes()

    assert (first.exit, first.sent, first.seen, first.waiting) == (Exit.OK, 12, 12, 0)
    assert (second.exit, second.sent) == (Exit.OK, 0)
    assert world.shown() == {**patch_scores("t1", "o1", blind=False), **patch_scores("t2", "o2", blind=True)}
    started = world.heard(events.WorkerStarted)[0]
    assert (started.server, started.reader, started.writer) == (kind.version, kind.reader, kind.writer)
    assert started.why
    assert kind.routes <= asked
    assert not ({V1, V2, LIST, INGESTION, V3_SCORES, V2_SCORES} - kind.routes - {V1, V2}) & asked
    assert written_by_checking - written <= 1
    assert (checked["reader"].message.split(",")[0], checked["writer"].message.split(",")[0]) == (kind.reader, kind.writer)
    assert checked["may write scores"].ok

    clock.forward(minutes=5)  # type: ignore[attr-defined] # the fake one
    world.add(call("t1", "o1", start, blind=True))
    await world.run(minutes=70)

    assert world.shown() == {**patch_scores("t1", "o1", blind=True), **patch_scores("t2", "o2", blind=True)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Kind("3.200.0", mode="dual", reader="v1"), Kind("4.60.0", writer="list")),
        (Kind("3.200.0", mode="dual", reader="v1"), Kind("4.16.0", mode="dual")),
        (Kind("4.58.0"), Kind("4.59.0", writer="list")),
        (Kind("4.60.0", writer="list"), Kind("4.58.0")),
    ],
    ids=str,
)
async def test_a_server_that_changes_under_a_running_worker_is_talked_to_anew(  # noqa: PLR0913, PLR0917 - two servers and the world
    before: Kind, after: Kind, world: Any, become: Callable[[Kind], None], clock: Clock, call: Call
) -> None:
    """No restart, nothing lost and nothing doubled: the choice is made again, and the log says so."""
    become(before)
    world.add(call("t1", "o1", clock.now() - timedelta(hours=1)))
    async with world.worker() as project:
        await world.live(project, minutes=5)
        become(after)
        world.add(call("t2", "o2", clock.now(), blind=True))
        await world.live(project, minutes=40)

    changed = world.heard(events.ServerChanged)
    assert [(one.server, one.reader, one.writer) for one in changed] == [(after.version, after.reader, after.writer)]
    assert world.shown() == {**patch_scores("t1", "o1", blind=False), **patch_scores("t2", "o2", blind=True)}


async def test_a_server_that_should_take_lists_and_does_not_gets_events(
    world: Any, become: Callable[[Kind], None], clock: Clock, call: Call
) -> None:
    """The choice rests on answers: where the version promises what the server refuses, the refusal counts."""
    become(Kind("4.40.0", cloud=True))
    world.add(call("t1", "o1", clock.now() - timedelta(hours=2)))

    done = await world.once()

    (changed,) = world.heard(events.ServerChanged)
    assert (done.exit, changed.writer, "refused" in changed.why) == (Exit.OK, "ingestion", True)
    assert world.shown() == patch_scores("t1", "o1", blind=False)


async def test_ties_over_the_ends_of_pages_lose_nothing_on_a_server_of_3(
    world: Any, become: Callable[[Kind], None], clock: Clock, call: Call
) -> None:
    """Three hundred calls, most of them in two milliseconds: every one is scored, each once."""
    become(Kind("3.200.0", mode="dual", reader="v1"))
    start = clock.now() - timedelta(hours=2)
    at = [start] * 130 + [start + timedelta(milliseconds=1)] * 130 + [start + timedelta(seconds=number) for number in range(1, 41)]
    world.add(*(call(f"t{number}", f"o{number}", moment) for number, moment in enumerate(at)))

    done = await world.once()

    assert (done.exit, done.calls) == (Exit.OK, 300)
    assert {span for _, span, name in world.shown() if name == "patch_shape"} == {f"o{number}" for number in range(300)}

"""One project opened: the right reader and writer, and chosen anew when the server changes under a running worker."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from hunkwatch import events
from hunkwatch.core.window import Window
from hunkwatch.errors import Exit, Halt, RetryLater
from hunkwatch.langfuse import Reader, Writer, open_langfuse
from hunkwatch.ports import Parcel, Verdict
from hunkwatch.sandbox import Sandbox
from hunkwatch.sandbox import habits as sandbox_habits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from hunkwatch.core.model import Score
    from hunkwatch.settings import LangfuseSection

    Section = Callable[..., LangfuseSection]

NINE = datetime(2026, 11, 30, 9, tzinfo=UTC)
WINDOW = Window(NINE, NINE + timedelta(hours=2))
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
ROW = {"id": "o1", "traceId": "t1", "type": "TOOL", "name": "edit", "startTime": NINE.isoformat(), "input": {"input": PATCH}}


async def ids(langfuse: Any) -> list[str]:
    """Return the ids of a window's candidates."""
    return [one.id async for page in langfuse.source.candidates(WINDOW, complete=False) for one in page.observations]


SERVERS = [("3.200.0", "dual"), ("4.0.0", "events_only"), ("4.16.0", "dual"), ("4.58.0", "events_only"), ("4.60.0", "events_only")]


@pytest.mark.parametrize(("version", "mode"), SERVERS)
async def test_any_server_is_read_and_written(
    version: str, mode: str, edge: Any, make_section: Section, make_score: Callable[..., Score]
) -> None:
    """The same calls through the same ports, whatever answers."""
    sandbox = Sandbox(version=version, mode=mode)
    sandbox.add_observations([ROW])
    async with sandbox.serving() as url, open_langfuse(make_section(url), clock=edge.clock, emit=edge.told.append) as langfuse:
        found = await ids(langfuse)
        receipts = await langfuse.sink.send([Parcel(make_score("s1"))])
        seen = await langfuse.sink.look_up(["s1"])
        await langfuse.sink.withdraw("s1")
        gone = await langfuse.sink.look_up(["s1"])

    assert (["o1"], [Verdict.ACCEPTED]) == (found, [receipt.verdict for receipt in receipts])
    assert ({"s1": 0.75}, {}) == ({one: score.value for one, score in seen.items()}, dict(gone))


async def test_who_we_are_stands_in_every_request(edge: Any, make_section: Section) -> None:
    """The user agent carries our name and version, and a base path is kept."""
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server:
        with pytest.raises(Halt):
            async with open_langfuse(make_section(f"http://{host}:{port}/path/to"), clock=edge.clock, emit=edge.told.append):
                pass

    assert heads[0].startswith(b"GET /path/to/api/public/health HTTP/1.1\r\n")
    assert b"hunkwatch/" in heads[0].lower()


async def test_a_proxy_in_the_environment_is_used(edge: Any, make_section: Section, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that only the proxy can reach is reached through it."""
    sandbox = Sandbox()
    sandbox.add_observations([ROW])
    async with sandbox.serving() as url, Proxy(url).serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.address)
        monkeypatch.setenv("NO_PROXY", "")
        async with open_langfuse(make_section("http://langfuse.invalid"), clock=edge.clock, emit=edge.told.append) as langfuse:
            found = await ids(langfuse)

    assert (["o1"], True) == (found, all(line.startswith("GET http://langfuse.invalid/api/") for line in proxy.lines))


@pytest.mark.parametrize("content", [None, "no certificates"])
async def test_certificates_that_cannot_be_read_stop(
    edge: Any, make_section: Section, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    """A CA bundle of one's own is named in the environment; where it is missing or none, that is said in one line."""
    bundle = tmp_path / "ca.pem"
    if content is not None:
        bundle.write_text(content, encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))

    with pytest.raises(Halt) as caught:
        async with open_langfuse(make_section("https://langfuse.invalid"), clock=edge.clock, emit=edge.told.append):
            pass
    assert (Exit.CONFIG, True) == (caught.value.exit_code, "SSL_CERT_FILE" in caught.value.mend)


@pytest.mark.parametrize("address", ["nonsense", "gopher://proxy.example", "http://[bad"])
async def test_a_proxy_that_cannot_be_used_stops(edge: Any, make_section: Section, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """A mistake in the environment is named as what it is."""
    monkeypatch.setenv("HTTPS_PROXY", address)

    with pytest.raises(Halt):
        async with open_langfuse(make_section("https://langfuse.invalid"), clock=edge.clock, emit=edge.told.append):
            pass


async def test_an_upgrade_from_3_to_4_is_noticed_while_reading(edge: Any, make_section: Section) -> None:
    """The v1 reading ends, the worker says so once, and reads on through v2."""
    sandbox = Sandbox(version="3.200.0", mode="dual")
    sandbox.add_observations([ROW])
    async with sandbox.serving() as url, open_langfuse(make_section(url), clock=edge.clock, emit=edge.told.append) as langfuse:
        before = (langfuse.abilities.reader, await ids(langfuse))
        sandbox.version, sandbox.mode = "4.60.0", "events_only"
        with pytest.raises(RetryLater, match="changed"):
            await ids(langfuse)
        after = (langfuse.abilities.reader, await ids(langfuse))

    assert ((Reader.V1, ["o1"]), (Reader.V2, ["o1"])) == (before, after)
    assert [("4.60.0", "v2", "list")] == [(told.server, told.reader, told.writer) for told in edge.told_of(events.ServerChanged)]


async def test_a_downgrade_is_noticed_while_writing(edge: Any, make_section: Section, make_score: Callable[..., Score]) -> None:
    """A server that takes no lists any more refuses no score: it is written to by events from the next try on."""
    sandbox = Sandbox(version="4.60.0")
    async with sandbox.serving() as url, open_langfuse(make_section(url), clock=edge.clock, emit=edge.told.append) as langfuse:
        sandbox.version = "4.16.0"
        with pytest.raises(RetryLater, match="changed"):
            await langfuse.sink.send([Parcel(make_score("s1"))])
        (receipt,) = await langfuse.sink.send([Parcel(make_score("s1"))])

    assert (Writer.INGESTION, Verdict.ACCEPTED) == (langfuse.abilities.writer, receipt.verdict)
    assert ["s1"] == [score["id"] for score in sandbox.scores()]


async def test_an_upgrade_that_breaks_nothing_is_noticed_in_time(edge: Any, make_section: Section) -> None:
    """Every quarter of an hour the server's version is looked at, without a point of any limit."""
    sandbox = Sandbox(version="4.16.0")
    async with sandbox.serving() as url, open_langfuse(make_section(url), clock=edge.clock, emit=edge.told.append) as langfuse:
        sandbox.version = "4.60.0"
        await ids(langfuse)
        early = langfuse.abilities.writer
        edge.clock.forward(901)
        await ids(langfuse)

    assert (Writer.INGESTION, Writer.LIST) == (early, langfuse.abilities.writer)


async def test_a_choice_by_where_the_rows_are_is_looked_at_again(edge: Any, make_section: Section) -> None:
    """Rows of the older ingestion show in v1 first; once v2 has them, v2 is read."""
    staged = sandbox_habits.Habits(delays=sandbox_habits.Delays(staged=3600.0))
    wall = [edge.clock.now()]
    sandbox = Sandbox(mode="dual", habits=staged, now=lambda: wall[0])
    async with sandbox.serving() as url:
        await _ingest(url)
        async with open_langfuse(make_section(url), clock=edge.clock, emit=edge.told.append) as langfuse:
            before = langfuse.abilities.reader
            wall[0] += timedelta(hours=2)
            edge.clock.forward(7200)
            await ids(langfuse)

    assert (Reader.V1, Reader.V2) == (before, langfuse.abilities.reader)


async def test_a_server_that_is_away_keeps_its_choice(edge: Any, make_section: Section) -> None:
    """A look at the version that fails is no reason to stop, nor to choose anew."""
    sandbox = Sandbox(version="4.16.0")
    sandbox.add_observations([ROW])
    async with sandbox.serving() as url, open_langfuse(make_section(url), clock=edge.clock, emit=edge.told.append) as langfuse:
        edge.clock.forward(901)
        down = sandbox_habits.Fault(sandbox_habits.Wrong.GATEWAY_PAGE, path="/api/public/health")
        sandbox.habits = sandbox_habits.Habits(faults=(down,))
        found = await ids(langfuse)

    assert (["o1"], Reader.V2) == (found, langfuse.abilities.reader)


async def test_an_unknown_host_stops_with_a_reason(edge: Any, make_section: Section) -> None:
    """Nobody waits for ever for a typing mistake."""
    with pytest.raises(Halt) as caught:
        async with open_langfuse(make_section("http://langfuse.invalid"), clock=edge.clock, emit=edge.told.append):
            pass

    assert (Exit.UNAVAILABLE, True) == (caught.value.exit_code, "resolved" in str(caught.value) or "no connection" in str(caught.value))


async def _ingest(url: str) -> None:
    body = {"id": "o1", "traceId": "t1", "name": "edit", "startTime": NINE.isoformat(), "input": {"input": PATCH}}
    event = {"id": "e1", "timestamp": NINE.isoformat(), "type": "span-create", "body": body}
    async with httpx.AsyncClient(base_url=url, auth=("pk-lf-demo", "sk-lf-demo")) as client:
        answer = await client.post("/api/public/ingestion", json={"batch": [event]})
    assert answer.json()["errors"] == []


@dataclass
class Proxy:
    """A forward proxy that reaches one place only, whatever host is asked for."""

    target: str
    address: str = ""
    lines: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Proxy]:
        """Serve on a socket of its own."""
        server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        self.address = "http://{}:{}".format(*server.sockets[0].getsockname())
        async with server:
            yield self

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, rest = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n", 1)
        self.lines.append(line)
        kept = "\r\n".join(one for one in rest.split("\r\n") if one and not one.lower().startswith(("connection", "proxy")))
        host, port = self.target.removeprefix("http://").split(":")
        there, back = await asyncio.open_connection(host, int(port))
        back.write(f"{line.replace('http://langfuse.invalid', '')}\r\n{kept}\r\nconnection: close\r\n\r\n".encode("latin-1"))
        await back.drain()
        writer.write(await there.read())
        await writer.drain()
        writer.close()
        back.close()

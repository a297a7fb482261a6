"""Networks as people have them: certificates of one's own, proxies in between, a base path, answers that take half a minute."""

from __future__ import annotations

import asyncio
import re
import ssl
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import trustme

from hunkwatch import events
from hunkwatch.core.window import Window
from hunkwatch.errors import Exit, Halt
from hunkwatch.langfuse import check_langfuse, open_langfuse
from hunkwatch.langfuse.opening import _client
from hunkwatch.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from hunkwatch.settings import LangfuseSection

    Section = Callable[..., LangfuseSection]

NINE = datetime(2026, 11, 30, 9, tzinfo=UTC)
WINDOW = Window(NINE, NINE + timedelta(hours=2))
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
ROW = {"id": "o1", "traceId": "t1", "type": "TOOL", "name": "edit", "startTime": NINE.isoformat(), "input": {"input": PATCH}}
BASE = "/tools/langfuse"
LONGEST_QUERY = 35
"""Seconds that Langfuse gives its database."""


class Lines:
    """Connections that are open, and closed again whatever happened to them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._writers: list[asyncio.StreamWriter] = []

    def keep(self, writer: asyncio.StreamWriter) -> asyncio.StreamWriter:
        """Note one to be closed."""
        self._writers.append(writer)
        return writer

    async def close(self) -> None:
        """Close all of them."""
        for writer in self._writers:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()


@dataclass
class House:
    """A sandbox behind TLS and a base path, as a reverse proxy puts it up, with a certificate of an authority of its own."""

    target: str
    authority: trustme.CA
    name: str = "127.0.0.1"
    port: int = 0
    paths: list[str] = field(default_factory=list)
    lines: Lines = field(default_factory=Lines)

    @property
    def url(self) -> str:
        """Return the address that people configure."""
        return f"https://127.0.0.1:{self.port}{BASE}"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[House]:
        """Serve on a socket of its own."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.authority.issue_cert(self.name).configure_cert(context)
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self
        await self.lines.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lines.keep(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            line, rest = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n", 1)
            self.paths.append(line.split(" ")[1])
            length = re.search(r"(?im)^content-length: (\d+)", rest)
            body = await reader.readexactly(int(length[1])) if length else b""
            host, port = self.target.removeprefix("http://").split(":")
            there, back = await asyncio.open_connection(host, int(port))
            self.lines.keep(back)
            kept = "\r\n".join(one for one in rest.split("\r\n") if one and not one.lower().startswith("connection"))
            back.write(f"{line.replace(BASE, '', 1)}\r\n{kept}\r\nconnection: close\r\n\r\n".encode("latin-1") + body)
            writer.write(await there.read())
            await writer.drain()
        writer.close()


@dataclass
class Tunnel:
    """A proxy that lets encrypted connections through to one place, whatever host is asked for."""

    house: House
    address: str = ""
    asked: list[str] = field(default_factory=list)
    lines: Lines = field(default_factory=Lines)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Tunnel]:
        """Serve on a socket of its own."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.address = "http://{}:{}".format(*server.sockets[0].getsockname())
        async with server:
            yield self
        await self.lines.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n", 1)[0])
        there, back = await asyncio.open_connection("127.0.0.1", self.house.port)
        self.lines.keep(writer)
        self.lines.keep(back)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_copy(reader, back), _copy(there, writer))


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while part := await source.read(65536):
            sink.write(part)
            await sink.drain()
    sink.close()


@pytest.fixture
async def house() -> AsyncIterator[House]:
    """A house whose certificate is of an authority that nobody knows."""
    sandbox = Sandbox()
    sandbox.add_observations([ROW])
    async with sandbox.serving() as url, House(url, trustme.CA()).serving() as served:
        yield served


@pytest.fixture
def bundle(house: House, tmp_path: Path) -> str:
    """The file with the certificate of that authority."""
    path = tmp_path / "ca.pem"
    house.authority.cert_pem.write_to_path(str(path))
    return str(path)


@pytest.fixture
def opened(edge: Any) -> Callable[[LangfuseSection], Any]:
    """Return what opens a section and gives the ids of its candidates."""

    async def _ids(section: LangfuseSection) -> list[str]:
        async with open_langfuse(section, clock=edge.clock, emit=edge.told.append) as langfuse:
            return [one.id async for page in langfuse.source.candidates(WINDOW, complete=True) for one in page.observations]

    return _ids


async def test_a_certificate_of_ones_own_authority_is_trusted_by_its_bundle(
    house: House, bundle: str, opened: Any, edge: Any, make_section: Section
) -> None:
    """The setting is enough, under a base path too; nothing needs to be said about it."""
    found = await opened(make_section(house.url, ca_bundle=bundle))

    assert found == ["o1"]
    assert all(path.startswith(f"{BASE}/api/public/") for path in house.paths)
    assert edge.told_of(events.CertificateUnchecked) == []


async def test_the_variable_names_a_bundle_too(
    house: House, bundle: str, opened: Any, make_section: Section, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SSL_CERT_FILE is what other programs on the machine obey."""
    monkeypatch.setenv("SSL_CERT_FILE", bundle)

    assert await opened(make_section(house.url)) == ["o1"]


async def test_a_certificate_that_nobody_vouches_for_stops(house: House, opened: Any, make_section: Section) -> None:
    """Keys are not sent to whoever answers; the message says both ways out."""
    with pytest.raises(Halt) as caught:
        await opened(make_section(house.url))

    assert ("not trusted" in str(caught.value), "ca_bundle" in caught.value.mend, caught.value.exit_code) == (True, True, Exit.UNAVAILABLE)
    assert house.paths == []


async def test_a_certificate_of_another_name_stops(house: House, bundle: str, opened: Any, make_section: Section) -> None:
    """A trusted authority is not enough: the name has to be the server's."""
    async with House(house.target, house.authority, name="other.example").serving() as other:
        with pytest.raises(Halt, match="not trusted"):
            await opened(make_section(other.url, ca_bundle=bundle))

    assert other.paths == []


async def test_any_certificate_is_accepted_by_an_explicit_setting_and_each_start_says_so(
    house: House, opened: Any, edge: Any, make_section: Section
) -> None:
    """It works, and nobody can forget it: the log has it at each start, and ``check`` too."""
    section = make_section(house.url, accept_any_certificate=True)

    found = [await opened(section), await opened(section)]
    checked = await check_langfuse(section, clock=edge.clock, emit=edge.told.append)

    assert found == [["o1"], ["o1"]]
    assert [event.server for event in edge.told_of(events.CertificateUnchecked)] == [f"127.0.0.1:{house.port}"] * 2
    assert "accept_any_certificate" in next(one.message for one in checked if one.subject == "certificate")


@pytest.mark.parametrize("content", [None, "no certificates"])
async def test_a_bundle_that_cannot_be_read_stops(content: str | None, tmp_path: Path, opened: Any, make_section: Section) -> None:
    """The setting is named, not the network blamed."""
    path = tmp_path / "bundle.pem"
    if content is not None:
        path.write_text(content, "utf-8")

    with pytest.raises(Halt) as caught:
        await opened(make_section("https://langfuse.invalid", ca_bundle=str(path)))

    assert (caught.value.exit_code, "langfuse.ca_bundle" in caught.value.mend) == (Exit.CONFIG, True)


async def test_an_encrypted_server_is_reached_through_the_environments_proxy(
    house: House, bundle: str, opened: Any, make_section: Section, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy only tunnels: the certificate is still the server's, and its name is still checked."""
    async with House(house.target, house.authority, name="langfuse.invalid").serving() as inside, Tunnel(inside).serving() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.address)
        monkeypatch.setenv("NO_PROXY", "")
        found = await opened(make_section(f"https://langfuse.invalid{BASE}", ca_bundle=bundle))

    assert found == ["o1"]
    assert set(proxy.asked) == {"CONNECT langfuse.invalid:443 HTTP/1.1"}


async def test_no_proxy_is_obeyed(house: House, bundle: str, opened: Any, make_section: Section, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server beside the worker is not looked for behind the proxy."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    assert await opened(make_section(house.url, ca_bundle=bundle)) == ["o1"]


async def test_an_answer_may_take_as_long_as_langfuses_database(make_section: Section) -> None:
    """The default waits longer for an answer than a query may run, and not that long for a connection."""
    async with _client(make_section("http://langfuse.invalid"), auth=None) as client:
        assert client.timeout.read is not None
        assert client.timeout.connect is not None
        assert client.timeout.read > LONGEST_QUERY > client.timeout.connect

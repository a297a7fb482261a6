"""Which server answers, and how it is talked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from hunkwatch.errors import Exit, Halt, RetryLater
from hunkwatch.langfuse.probe import Abilities, Reader, Writer, is_cloud, numbers, probe
from hunkwatch.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = ("pk-lf-demo", "sk-lf-demo")
CLOUD = "https://cloud.langfuse.com"
ROW = {"id": "o1", "traceId": "t1", "startTime": "2026-11-30T11:00:00.000Z"}


class Server:
    """Answers the probe's questions; ``None`` is a route that is not there."""

    def __init__(self, version: str = "4.16.0", *, v2: list[Any] | None = None, v1: list[Any] | None = None, html: bool = False) -> None:
        """Take what each route shows."""
        self.version, self.html = version, html
        self.rows = {"/base/api/public/v2/observations": v2, "/base/api/public/observations": v1}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer."""
        match request.url.path.removeprefix("/base/api/public/"):
            case "health":
                return httpx.Response(200, json={"status": "OK", "version": self.version})
            case "projects":
                return httpx.Response(200, json={"data": [{"id": "p1", "name": "Demo"}]})
            case _:
                rows = self.rows[request.url.path]
                missing = httpx.Response(404, html="<html>") if self.html else httpx.Response(404, json={"message": "not available"})
                return missing if rows is None else httpx.Response(200, json={"data": rows, "meta": {}})


async def found(edge: Any, server: Callable[[httpx.Request], httpx.Response], base_url: str = "https://langfuse.example") -> Abilities:
    """Probe a scripted server."""
    return await probe(edge.http(server), base_url=base_url, now=edge.clock.now())


@pytest.mark.parametrize(
    ("version", "mode", "chosen"),
    [
        ("4.0.0", "events_only", (Reader.V2, Writer.INGESTION, True)),
        ("4.16.0", "events_only", (Reader.V2, Writer.INGESTION, True)),
        ("4.16.0", "dual", (Reader.V2, Writer.INGESTION, True)),
        ("4.58.9", "events_only", (Reader.V2, Writer.INGESTION, True)),
        ("4.59.0", "events_only", (Reader.V2, Writer.LIST, True)),
        ("5.0.0", "events_only", (Reader.V2, Writer.LIST, True)),
        ("3.200.0", "dual", (Reader.V1, Writer.INGESTION, False)),
    ],
)
async def test_each_server_is_read_and_written_as_it_can(
    version: str, mode: str, chosen: tuple[Reader, Writer, bool], on_socket: Any
) -> None:
    """By what it answers over a real socket, with a sentence that says why."""
    sandbox = Sandbox(version=version, mode=mode)
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        abilities = await probe(http, base_url=url, now=http._clock.now())

    assert (version, chosen) == (abilities.server, (abilities.reader, abilities.writer, abilities.shows_v3_scores))
    assert ("project-1", "project-1") == (abilities.project_id, http.project)
    assert version in abilities.why


async def test_a_reading_is_chosen_by_where_the_rows_are(edge: Any) -> None:
    """A server of 4 that still writes the old way answers v2 with nothing; its rows are in v1, for now."""
    abilities = await found(edge, Server(v2=[], v1=[ROW]))

    assert (Reader.V1, False) == (abilities.reader, abilities.settled)


@pytest.mark.parametrize("server", [Server(v2=[], v1=[]), Server(v2=[]), Server(v2=[ROW])])
async def test_an_empty_project_is_read_through_v2(edge: Any, server: Server) -> None:
    """Where v2 answers and v1 shows no more, v2 it is."""
    abilities = await found(edge, server)

    assert (Reader.V2, True) == (abilities.reader, abilities.settled)


@pytest.mark.parametrize("html", [False, True])
async def test_a_server_without_v2_is_read_through_v1(edge: Any, html: bool) -> None:  # noqa: FBT001 - a case
    """An older server answers an unknown route with a page for people."""
    abilities = await found(edge, Server("3.90.0", v1=[], html=html))

    assert (Reader.V1, True) == (abilities.reader, abilities.settled)


async def test_a_server_that_shows_no_observations_is_no_use(edge: Any) -> None:
    """The message names what to change."""
    with pytest.raises(Halt) as caught:
        await found(edge, Server())

    assert (Exit.UNAVAILABLE, True) == (caught.value.exit_code, "LANGFUSE_MIGRATION_V4_ALLOW_PREVIEW_OPT_IN" in caught.value.mend)


async def test_the_cloud_takes_lists_whatever_it_calls_its_version(edge: Any) -> None:
    """Its version says nothing about what it takes."""
    abilities = await found(edge, Server("3.111.0", v2=[]), CLOUD)

    assert (Reader.V2, Writer.LIST, True) == (abilities.reader, abilities.writer, abilities.shows_v3_scores)


@pytest.mark.parametrize(
    ("address", "cloud"),
    [
        (CLOUD, True),
        ("https://us.cloud.langfuse.com", True),
        ("https://hipaa.cloud.langfuse.com/", True),
        ("https://langfuse.example", False),
        ("https://cloud.langfuse.com.evil.example", False),
        ("https://mycloud.langfuse.com", False),
        ("https://proxy.example/cloud.langfuse.com", False),
    ],
)
def test_the_cloud_is_known_by_its_host(address: str, cloud: bool) -> None:  # noqa: FBT001 - a case
    """By nothing else in the address."""
    assert cloud == is_cloud(address)


@pytest.mark.parametrize(
    ("version", "expected"),
    [("4.59.0", (4, 59)), ("v4.59.0-rc.1", (4, 59)), ("4.16", (4, 16)), ("dev", (0, 0)), ("", (0, 0)), ("9" * 5000, (0, 0))],
)
def test_a_version_is_read_as_far_as_it_goes(version: str, expected: tuple[int, int]) -> None:
    """Release candidates count as their release; what is no version is the oldest."""
    assert expected == numbers(version)


async def test_a_wrong_key_stops(on_socket: Any) -> None:
    """The message says what belongs together."""
    async with Sandbox().serving() as url, on_socket(url, ("pk-lf-demo", "sk-lf-wrong")) as http:
        with pytest.raises(Halt) as caught:
            await probe(http, base_url=url, now=http._clock.now())

    assert (Exit.PERMISSION, False) == (caught.value.exit_code, "wrong" in f"{caught.value} {caught.value.mend}")


@pytest.mark.parametrize(
    "health", [httpx.Response(200, json={"ok": True}), httpx.Response(404, html="<html>"), httpx.Response(200, html="<html>")]
)
async def test_another_service_at_the_address_stops(edge: Any, health: httpx.Response) -> None:
    """Whatever it answers, it is not Langfuse."""
    with pytest.raises(Halt) as caught:
        await probe(edge.script(health), base_url="https://x.example", now=edge.clock.now())

    assert caught.value.exit_code is Exit.UNAVAILABLE


async def test_a_key_of_no_project_stops(edge: Any) -> None:
    """An organisation's key sees no project of its own."""
    answers = [httpx.Response(200, json={"status": "OK", "version": "4.16.0"}), httpx.Response(200, json={"data": []})]

    with pytest.raises(Halt, match="no project"):
        await probe(edge.script(*answers), base_url="https://x.example", now=edge.clock.now())


async def test_a_server_that_is_starting_is_waited_for(edge: Any) -> None:
    """A 503 at the first question is a matter of the moment."""
    with pytest.raises(RetryLater):
        await probe(edge.http(lambda _: httpx.Response(503, json={})), base_url="https://x.example", now=edge.clock.now())

"""Everything that a worker needs of a server, looked at in one pass and without writing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from hunkwatch.errors import Exit
from hunkwatch.langfuse import check, check_langfuse
from hunkwatch.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hunkwatch.settings import LangfuseSection

    Section = Callable[..., LangfuseSection]

SUBJECTS = ["server", "credentials", "reader", "writer", "may read observations", "may write scores"]
DATE = "Mon, 30 Nov 2026 12:00:00 GMT"


def wrong(found: Sequence[check.Found]) -> dict[str, check.Found]:
    """Return what is not well, by subject."""
    return {one.subject: one for one in found if not one.ok}


class Server:
    """A server of which every route can be made to refuse."""

    def __init__(self, **refusing: int) -> None:
        """``refusing`` are statuses by the last word of a path."""
        self.refusing = refusing
        self.version = "4.16.0"
        self.date = DATE

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer."""
        route = request.url.path.rpartition("/")[2]
        if route in self.refusing:
            return httpx.Response(self.refusing[route], json={"message": "Access denied"})
        match route:
            case "health":
                return httpx.Response(200, json={"status": "OK", "version": self.version}, headers={"date": self.date})
            case "projects":
                return httpx.Response(200, json={"data": [{"id": "p1", "name": "Demo"}]})
            case "ingestion":
                return httpx.Response(207, json={"successes": [], "errors": [{"id": "", "status": 400, "message": "invalid"}]})
            case "scores":
                return httpx.Response(400, json={"message": "Invalid request data"})
            case _:
                return httpx.Response(200, json={"data": [], "meta": {}})


async def looked(edge: Any, server: Server) -> list[check.Found]:
    """Look at a scripted server."""
    return await check.look(edge.http(server), edge.clock, base_url="https://langfuse.example")


@pytest.mark.parametrize("version", ["3.200.0", "4.16.0", "4.60.0"])
async def test_a_good_server_has_nothing_wrong_and_nothing_written(version: str, edge: Any, make_section: Section) -> None:
    """Every subject is looked at, over a real socket, and no score is left behind."""
    sandbox = Sandbox(version=version, mode="dual")
    async with sandbox.serving() as url:
        found = await check_langfuse(make_section(url), clock=edge.clock, emit=edge.told.append)

    assert [(subject, True) for subject in SUBJECTS] == [(one.subject, one.ok) for one in found if one.subject != "clocks"]
    assert [] == sandbox.all_scores()


async def test_reader_and_writer_are_named_with_their_reason(edge: Any) -> None:
    """What a run will do is said before."""
    found = {one.subject: one.message for one in await looked(edge, Server())}

    assert found["server"] == "Langfuse 4.16.0"
    assert found["reader"].startswith("v2, since a self-hosted 4.16.0 has the v2 observations")
    assert found["writer"].startswith("ingestion, since ")


async def test_all_that_is_wrong_is_known_at_once(edge: Any) -> None:
    """A key that may not write and a clock that is off are two findings of one pass."""
    server = Server(ingestion=403)
    server.date = "Mon, 30 Nov 2026 12:05:00 GMT"
    bad = wrong(await looked(edge, server))

    assert ["may write scores", "clocks"] == list(bad)
    assert [Exit.PERMISSION, Exit.FINDING] == [one.exit for one in bad.values()]
    assert ("may not write scores" in bad["may write scores"].message, "300 s behind" in bad["clocks"].message) == (True, True)
    assert all(one.mend for one in bad.values())


async def test_a_wrong_key_is_said_and_the_rest_left_out(edge: Any) -> None:
    """Without a key nothing else can be asked; the clocks are compared all the same."""
    found = await looked(edge, Server(projects=401))

    assert ["server", "credentials", "clocks"] == [one.subject for one in found]
    assert [Exit.PERMISSION] == [one.exit for one in wrong(found).values()]


async def test_a_key_that_may_not_see_its_project_is_asked_what_else_it_may(edge: Any) -> None:
    """It is known, so it may do something; every right is tried by itself."""
    found = await looked(edge, Server(projects=403, observations=403))

    assert ["server", "credentials", "may read observations", "may write scores", "clocks"] == [one.subject for one in found]
    forbidden = {name: one.exit for name, one in wrong(found).items()}
    assert {"credentials": Exit.PERMISSION, "may read observations": Exit.PERMISSION} == forbidden


async def test_a_key_that_may_only_read(edge: Any) -> None:
    """The refusal of each single event counts as that of the request."""

    class ReadOnly(Server):
        def __call__(self, request: httpx.Request) -> httpx.Response:
            if request.url.path.endswith("ingestion"):
                return httpx.Response(207, json={"successes": [], "errors": [{"id": "", "status": 401, "message": "Access Scope Denied"}]})
            return super().__call__(request)

    bad = wrong(await looked(edge, ReadOnly()))

    assert {"may write scores": Exit.PERMISSION} == {subject: one.exit for subject, one in bad.items()}


async def test_a_key_that_may_only_write_scores(edge: Any) -> None:
    """It is known already at the first reading."""
    bad = wrong(await looked(edge, Server(observations=403)))

    assert {True} == {"may not read observations" in one.message for one in bad.values()}


async def test_an_address_that_is_not_langfuse(edge: Any) -> None:
    """One finding, with the mend, and no more questions."""
    found = await check.look(edge.http(lambda _: httpx.Response(200, html="<html>")), edge.clock, base_url="https://x.example")

    assert [("server", False, Exit.UNAVAILABLE)] == [(one.subject, one.ok, one.exit) for one in found]
    assert "LANGFUSE_BASE_URL" in found[0].mend


async def test_nobody_there(edge: Any, make_section: Section) -> None:
    """An unreachable host is one finding, after two attempts and not six."""
    found = await check_langfuse(make_section("http://127.0.0.1:9"), clock=edge.clock, emit=edge.told.append)

    assert [("server", False, Exit.UNAVAILABLE)] == [(one.subject, one.ok, one.exit) for one in found]
    assert len(edge.clock.slept) == 1


async def test_an_hour_of_clock_skew_is_said_both_ways(edge: Any) -> None:
    """Ahead or behind, and by how much."""
    said = []
    for date in ("Mon, 30 Nov 2026 11:00:00 GMT", "Mon, 30 Nov 2026 13:00:00 GMT", "Mon, 30 Nov 2026 12:01:00 GMT"):
        server = Server()
        server.date = date
        said.append((await looked(edge, server))[-1].message)

    assert ["this machine is 3600 s ahead of the server", "this machine is 3600 s behind the server", "60 s apart"] == said

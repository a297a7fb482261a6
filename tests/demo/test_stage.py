"""The whole demo: a real socket, the real SDK, the real worker, and nothing left behind."""

from __future__ import annotations

import asyncio
import io
import os
import tempfile
import threading
from typing import TYPE_CHECKING

import httpx
import pytest
from rich.console import Console

from hunkwatch.demo import serve, sessions, show
from hunkwatch.demo.stage import Played, run
from hunkwatch.errors import Exit

if TYPE_CHECKING:
    from pathlib import Path

SESSIONS = {session.title: session for session in sessions.load()}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Played, str, Path, Path]:
    """Play the demo once, with variables around it that would lead it astray; give also its words and its temporary folder."""
    folder = tmp_path_factory.mktemp("demo")
    page = tmp_path_factory.mktemp("page") / "page.html"
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANGFUSE_TRACING_ENABLED", "false")
        patch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        patch.setattr(tempfile, "tempdir", str(folder))
        result = run(Console(file=stream, width=show.WIDTH, highlight=False), page)
        assert (os.environ["LANGFUSE_TRACING_ENABLED"], os.environ["HTTP_PROXY"]) == ("false", "http://127.0.0.1:9")
    return result, stream.getvalue(), folder, page


def test_every_planted_call_is_found_and_no_other(played: tuple[Played, str, Path, Path]) -> None:
    """What the scores on the server say agrees with what was planted, trace by trace."""
    rows = played[0].rows

    assert {row.sent.session.title: (row.planted, 0) for row in rows} == {row.sent.session.title: (row.found, row.strays) for row in rows}


def test_it_ends_well(played: tuple[Played, str, Path, Path]) -> None:
    """The exit code says that all was found and that a second pass had nothing to send."""
    assert (played[0].exit, played[0].again.sent) == (Exit.OK, 0)


def test_each_observation_has_the_shape_that_was_planted(played: tuple[Played, str, Path, Path]) -> None:
    """The worker's shapes, over HTTP and with whole traces, are those in the files."""
    for row in played[0].rows:
        session = row.sent.session
        expected = sorted(
            {call.shape.value for call in session.calls} if session.together else [call.shape.value for call in session.calls]
        )

        assert (session.title, expected) == (session.title, sorted(entry.shape for entry in row.observed))


def test_each_outcome_is_the_one_that_was_planted(played: tuple[Played, str, Path, Path]) -> None:
    """Applied, failed and rejected are told apart where the tool itself was recorded."""
    for row in played[0].rows:
        session = row.sent.session
        if session.agent != "cline":
            expected = sorted(f"{call.outcome} {call.calls}" for call in session.calls)
            assert (session.title, expected) == (session.title, sorted(entry.outcomes for entry in row.observed))


def test_it_says_what_was_found_and_how_to_go_on(played: tuple[Played, str, Path, Path]) -> None:
    """The last three lines are the way to a real Langfuse."""
    planted = sum(row.planted for row in played[0].rows)
    text = played[1]

    assert (True, list(show.GO_ON)) == (f"\n{planted} of {planted} calls found\n" in text, text.rstrip("\n").split("\n")[-3:])


def test_it_leaves_nothing_behind(played: tuple[Played, str, Path, Path]) -> None:
    """No file and no server outlives it."""
    _, _, folder, _ = played

    assert (
        list(folder.iterdir()),
        [thread.name for thread in threading.enumerate() if thread.name == "hunkwatch-sandbox"],
    ) == ([], [])


def test_it_writes_the_report_with_the_patches(played: tuple[Played, str, Path, Path]) -> None:
    """It counts every call that was planted but that on a lockfile, explains the worst, and leads nowhere: the server is gone."""
    text = played[3].read_text("utf-8")
    planted = sum(row.planted for row in played[0].rows)

    assert f"{planted - 1} calls in" in text
    assert ("Begin Patch" in text, "gpt-5.1-codex" in text, 'href="http' in text.split("<script")[0]) == (True, True, False)
    assert f"to be opened in a browser: {played[3]}" in played[1]


def test_the_page_is_served_on_this_machine(played: tuple[Played, str, Path, Path]) -> None:
    """Whoever asked for it gets the page and nothing else."""

    async def ask(path: str) -> httpx.Response:
        transport = httpx.ASGITransport(serve.app(played[3]))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get(path)

    assert (played[3].read_bytes(), 404) == (asyncio.run(ask("/")).content, asyncio.run(ask("/state.db")).status_code)

"""The whole demo: a real socket, the real SDK, the real worker, and nothing left behind."""

from __future__ import annotations

import io
import os
import tempfile
import threading
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from hunkwatch.demo import sessions, show
from hunkwatch.demo.stage import Played, run
from hunkwatch.errors import Exit

if TYPE_CHECKING:
    from pathlib import Path

SESSIONS = {session.title: session for session in sessions.load()}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Played, str, Path]:
    """Play the demo once, with variables around it that would lead it astray; give also its words and its temporary folder."""
    folder = tmp_path_factory.mktemp("demo")
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANGFUSE_TRACING_ENABLED", "false")
        patch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        patch.setattr(tempfile, "tempdir", str(folder))
        result = run(Console(file=stream, width=show.WIDTH, highlight=False))
        assert (os.environ["LANGFUSE_TRACING_ENABLED"], os.environ["HTTP_PROXY"]) == ("false", "http://127.0.0.1:9")
    return result, stream.getvalue(), folder


def test_every_planted_call_is_found_and_no_other(played: tuple[Played, str, Path]) -> None:
    """What the scores on the server say agrees with what was planted, trace by trace."""
    rows = played[0].rows

    assert {row.sent.session.title: (row.planted, 0) for row in rows} == {row.sent.session.title: (row.found, row.strays) for row in rows}


def test_it_ends_well(played: tuple[Played, str, Path]) -> None:
    """The exit code says that all was found and that a second pass had nothing to send."""
    assert (played[0].exit, played[0].again.sent) == (Exit.OK, 0)


def test_each_observation_has_the_shape_that_was_planted(played: tuple[Played, str, Path]) -> None:
    """The worker's shapes, over HTTP and with whole traces, are those in the files."""
    for row in played[0].rows:
        session = row.sent.session
        expected = sorted(
            {call.shape.value for call in session.calls} if session.together else [call.shape.value for call in session.calls]
        )

        assert (session.title, expected) == (session.title, sorted(entry.shape for entry in row.observed))


def test_each_outcome_is_the_one_that_was_planted(played: tuple[Played, str, Path]) -> None:
    """Applied, failed and rejected are told apart where the tool itself was recorded."""
    for row in played[0].rows:
        session = row.sent.session
        if session.agent != "cline":
            expected = sorted(f"{call.outcome} {call.calls}" for call in session.calls)
            assert (session.title, expected) == (session.title, sorted(entry.outcomes for entry in row.observed))


def test_it_says_what_was_found_and_how_to_go_on(played: tuple[Played, str, Path]) -> None:
    """The last three lines are the way to a real Langfuse."""
    planted = sum(row.planted for row in played[0].rows)
    text = played[1]

    assert (True, list(show.GO_ON)) == (f"\n{planted} of {planted} calls found\n" in text, text.rstrip("\n").split("\n")[-3:])


def test_it_leaves_nothing_behind(played: tuple[Played, str, Path]) -> None:
    """No file and no server outlives it."""
    _, _, folder = played

    assert (
        list(folder.iterdir()),
        [thread.name for thread in threading.enumerate() if thread.name == "hunkwatch-sandbox"],
    ) == ([], [])

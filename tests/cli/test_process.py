"""The real command in a process of its own: pipes that close, colour, interruption, the module form."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-m", "hunkwatch"]


def start(*words: str, **given: Any) -> subprocess.Popen[bytes]:
    """Start the command with pipes for everything."""
    environ = {**os.environ, "PYTHONUNBUFFERED": "", **given.pop("environ", {})}
    return subprocess.Popen([*COMMAND, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, **given)


def test_a_reader_that_leaves_ends_it_quietly(patches: Any, tmp_path: Path) -> None:
    """``| head -1`` is no error of ours: no traceback, and the code that a shell knows for it."""
    file = tmp_path / "many.txt"
    file.write_text(f"{patches.blind}\n" * 4000, "utf-8")

    with start("score", "--json", str(file)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()

    assert (errors, process.returncode) == (b"", 141)


def test_an_interruption_ends_it_quietly() -> None:
    """Ctrl-C while it waits for input: code 130 and not a word."""
    process = start("score", "-", start_new_session=True)
    assert process.stdin is not None
    process.stdin.write(b"+line of a patch\n" * 100_000)
    process.stdin.flush()  # more than a pipe holds, so the verb is reading by now

    process.send_signal(signal.SIGINT)

    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, b"")


@pytest.mark.parametrize(
    ("environ", "coloured"), [({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False), ({}, False)]
)
def test_colour_is_for_those_who_want_it(patches: Any, environ: dict[str, str], *, coloured: bool) -> None:
    """None in a pipe, none with NO_COLOR."""
    out, _ = start("explain", "-", environ={"TERM": "xterm-256color", **environ}).communicate(patches.blind.encode(), timeout=60)

    assert coloured == (b"\x1b[3" in out)


@pytest.mark.parametrize("verb", ["score", "explain"])
def test_a_terminal_that_lacks_a_letter_shows_another(verb: str) -> None:
    """A name that cannot be written there is no fault of ours."""
    patch = "*** Begin Patch\n*** Update File: \N{SNOWMAN}.py\n@@\n-a\n+\N{SNOWMAN}\n*** End Patch"

    process = start(verb, "-", environ={"PYTHONIOENCODING": "latin-1"})
    out, errors = process.communicate(patch.encode(), timeout=60)

    assert (0, b"", verb == "explain") == (process.returncode, errors, b"+?" in out)


def test_stdout_in_any_encoding_takes_any_text() -> None:
    """A poor locale does not break the JSON of a rich text."""
    patch = "*** Begin Patch\n*** Add File: ü\n+\N{SNOWMAN}\n*** End Patch"
    environ = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}

    out, errors = start("score", "--json", "--text", "-", environ=environ).communicate(patch.encode(), timeout=60)

    assert b"\\u2603" in out
    assert errors == b""

"""Data to stdout, remarks to stderr: the only file of the command line that writes.

Colour follows the terminal and NO_COLOR. Whoever reads our output may leave at any time: then nothing more is written and the
process ends quietly.
"""

from __future__ import annotations

import json
import os
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console
from rich.text import Text

from hunkwatch.cli.failures import READER_LEFT
from hunkwatch.report import words

if TYPE_CHECKING:
    from rich.console import RenderableType

_WIDE = 200


class _Quiet(Console):
    def on_broken_pipe(self) -> NoReturn:
        leave()


def begin() -> None:
    """Let a terminal that lacks a letter show a question mark in its place."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def show(*renderables: RenderableType) -> None:
    """Print tables and texts for people; a plain string is never read as markup."""
    console = _console(stderr=False)
    for renderable in renderables:
        console.print(Text(renderable) if isinstance(renderable, str) else renderable, soft_wrap=isinstance(renderable, str))


def show_json(value: object) -> None:
    """Print one JSON value on one line, in plain ASCII, so that no text can harm a terminal or fail to encode."""
    try:
        sys.stdout.write(f"{json.dumps(value, separators=(', ', ': '))}\n")
    except BrokenPipeError:
        leave()


def write(text: str) -> None:
    """Print a text as it stands, for a file that somebody redirects it to."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        leave()


def remark(*lines: str) -> None:
    """Write remarks to stderr, the first with our name before it."""
    for number, line in enumerate(lines):
        told = "\n".join(map(printable, line.split("\n")))
        sys.stderr.write(f"{told}\n" if number else f"hunkwatch: {told}\n")


def printable(text: str) -> str:
    """Return the text without anything that could steer a terminal."""
    return words.visible(text)


def is_terminal() -> bool:
    """Say whether somebody looks at stdout."""
    return sys.stdout.isatty()


def leave() -> NoReturn:
    """End quietly: nobody reads any more."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    raise SystemExit(READER_LEFT)


def finish() -> None:
    """Hand over what is still buffered."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        leave()


def _console(*, stderr: bool) -> Console:
    console = _Quiet(stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDE
    return console

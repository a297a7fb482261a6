"""What ``score`` and ``explain`` are given, told apart by its looks: patch text, arguments as JSON, observations.

Observations come one alone, as a list, as an API page (``data``), as a trace (``observations``), or one a line. A line that
cannot be read is an ``Unreadable`` among the others, never the end.
"""

from __future__ import annotations

import codecs
import json
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hunkwatch.core import discover
from hunkwatch.core.model import Call, Evidence, Observation, Outcome
from hunkwatch.errors import Exit, Halt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import BinaryIO

TEXT = "text"
"""The producer of a patch that came without an observation."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OBSERVATION_KEYS = frozenset({"traceId", "trace_id", "startTime", "start_time"})
_WRAPPERS = ("data", "observations")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something between the observations that is none."""

    where: str
    why: str


Item = tuple[Call, ...] | Unreadable
"""The calls of one observation or text (maybe none), or why there are none to look for."""


def open_file(name: str) -> AbstractContextManager[BinaryIO]:
    """Open a file by name, or stdin for ``-``. Raises Halt when it cannot be read."""
    if name == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise Halt(f"cannot read {name}: {error.strerror}", mend="Give a file, or - for stdin.", exit_code=Exit.USAGE) from None


def read(stream: BinaryIO, observation: Callable[[Mapping[str, Any]], Observation]) -> Iterator[Item]:
    """Yield what is in the stream; a stream of lines is not held in memory. ``observation`` reads one row, v1 or v2 form."""
    head = _first_line(stream)
    if isinstance(_json(head), dict):
        yield from _lines(head, stream, observation)
        return
    content = head + stream.read()
    text = _decode(content)
    value = _json(text) if text.lstrip()[:1] in {"{", "["} else None
    if value is not None:
        yield from _rows(value, "", observation)
    elif head.lstrip().startswith(b'{"'):
        yield from _lines(b"", BytesIO(content), observation)
    else:
        yield calls_of_text(text)


def calls_of_text(text: object) -> tuple[Call, ...]:
    """Return the patches of a text, or of the arguments of a call; a text without any is one call, for the scorer to judge."""
    row = Observation(id="", trace_id="", start_time=_EPOCH, type="TOOL", name="apply_patch", input=text)
    found = [replace(call, producer=TEXT, outcome=Outcome.UNKNOWN, has_output=False) for call in discover.calls(row)]
    if not isinstance(text, str) or any(call.text is not None for call in found):
        return tuple(found)
    return (
        Call(
            trace_id="",
            observation_id="",
            start_time=_EPOCH,
            end_time=None,
            call_id=None,
            index=0,
            producer=TEXT,
            evidence=Evidence.EXECUTION,
            text=text,
        ),
    )


def _first_line(stream: BinaryIO) -> bytes:
    """Return everything up to and including the first line that is not blank."""
    blank = b""
    for line in stream:
        if line.strip():
            return blank + line
        blank += line
    return blank


def _lines(head: bytes, stream: BinaryIO, observation: Callable[[Mapping[str, Any]], Observation]) -> Iterator[Item]:
    before = head.count(b"\n")
    if head:
        yield from _rows(_json(head), f"line {before or 1}", observation)
    for number, line in enumerate(stream, start=before + 1):
        if line.strip():
            value = _json(line)
            yield from _rows(value, f"line {number}", observation) if value is not None else (Unreadable(f"line {number}", "not JSON"),)


def _rows(value: object, where: str, observation: Callable[[Mapping[str, Any]], Observation]) -> Iterator[Item]:
    match value:
        case list():
            for number, row in enumerate(value, start=1):
                yield from _rows(row, f"{where} item {number}".strip(), observation)
        case dict() if wrapped := next((value[key] for key in _WRAPPERS if isinstance(value.get(key), list)), None):
            yield from _rows(wrapped, where, observation)
        case dict() if _is_observation(value):
            try:
                yield discover.calls(observation(value))
            except (ValueError, TypeError, KeyError) as error:
                yield Unreadable(where or "the observation", f"not an observation ({type(error).__name__})")
        case dict():
            yield calls_of_text(value)
        case _:
            yield Unreadable(where or "the input", "not an observation")


def _is_observation(row: Mapping[str, Any]) -> bool:
    return not _OBSERVATION_KEYS.isdisjoint(row) or ("id" in row and ("input" in row or "output" in row))


def _json(text: str | bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _decode(content: bytes) -> str:
    if content.startswith(_UTF16):
        return content.decode("utf-16", "replace")
    return content.decode("utf-8-sig", "surrogateescape")

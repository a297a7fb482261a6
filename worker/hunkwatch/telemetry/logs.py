"""Log lines: readable on a terminal, JSON elsewhere, always on the stream that is passed in.

``open_log`` returns a logger object of its own; nothing global is configured. Every value passes ``clean``: one line, short,
no control characters, none of the secrets that were named, nothing that looks like a piece of a patch. A stream that cannot
be written (closed pipe, full disk) loses lines, never the worker.
"""

from __future__ import annotations

import logging
import os
import re
from collections import OrderedDict
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, TextIO, cast

import structlog

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, MutableMapping

    from structlog.typing import FilteringBoundLogger, Processor, WrappedLogger

    from hunkwatch.settings import LogSection

LONGEST = 200
"""Characters of one value."""

LONGEST_ADDRESS = 1000
"""Characters of a web address: cut, it leads nowhere."""

WITHHELD = "[withheld]"
_PATCHLIKE = re.compile(r"\s*(\*\*\*|@@|[+-](?!\d|\s*$))")
_ADDRESS = re.compile(r"https?://[!-~]+")
_HEAD = ("timestamp", "level", "event")
"""What every line begins with; the event is a name of ours, never a value."""

_SHORTEST_SECRET = 6
_REMEMBERED = 256


def clean(value: object, secrets: Collection[str] = ()) -> object:
    """Return the value fit for a log line: numbers and booleans as they are, times as ISO text, anything else as short text."""
    match value:
        case bool() | int() | None:
            return value
        case float():
            return round(value, 3)
        case datetime():
            return value.isoformat(timespec="milliseconds")
        case list() | tuple() | set() | frozenset():
            return [clean(item, secrets) for item in list(value)[:20]]
        case _:
            return _clean_text(str(value), secrets)


def _clean_text(text: str, secrets: Collection[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, WITHHELD)
    first = text.lstrip().split("\n", 1)[0].rstrip()
    if _PATCHLIKE.match(text) or _PATCHLIKE.match(first) or "*** " in first:
        return WITHHELD
    longest = LONGEST_ADDRESS if _ADDRESS.fullmatch(first) else LONGEST
    first = "".join(character if character.isprintable() else "?" for character in first[: longest + 1])
    return first if len(first) <= longest else f"{first[:longest]}..."


class Repetition:
    """Lets the same message through once in ``every`` seconds and counts what it held back."""

    def __init__(self, every: float) -> None:
        """Remember at most a few hundred messages, the longest unseen forgotten first."""
        self._every = every
        self._last: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def admit(self, key: str, now: float) -> int | None:
        """Return how many were held back since the last one, or None to hold this one back too."""
        at, held = self._last.pop(key, (None, 0))
        if at is not None and now - at < self._every:
            self._last[key] = (at, held + 1)
            return None
        self._last[key] = (now, 0)
        if len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)
        return held

    def drain(self) -> Mapping[str, int]:
        """Return, and forget, how many of each message were held back and not reported yet."""
        held = {key: count for key, (_, count) in self._last.items() if count}
        self._last.clear()
        return held


class _Lines:
    """Where rendered lines end: a stream whose failures cost a line and never the worker."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def msg(self, line: str) -> None:
        try:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        except UnicodeEncodeError:
            self.msg(line.encode("ascii", "backslashreplace").decode("ascii"))
        except (OSError, ValueError):
            return

    debug = info = warning = error = msg


def open_log(
    section: LogSection, stream: TextIO, *, secrets: Collection[str] = (), environ: Mapping[str, str] = os.environ
) -> FilteringBoundLogger:
    """Return a logger that writes to the stream at the section's level and in its format."""
    terminal = _is_terminal(stream)
    hidden = tuple(sorted({secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}, key=len, reverse=True))

    def withhold(_logger: WrappedLogger, _method: str, line: MutableMapping[str, object]) -> MutableMapping[str, object]:
        for unfit in ("exc_info", "stack_info", "exception"):
            line.pop(unfit, None)
        head = {key: line.pop(key) for key in _HEAD if key in line}
        return {**head, **{key: clean(value, hidden) for key, value in line.items()}}

    renderer: Processor = (
        structlog.dev.ConsoleRenderer(colors=terminal and not environ.get("NO_COLOR"), sort_keys=False, pad_event_to=18)
        if section.format == "console" or (section.format == "auto" and terminal)
        else structlog.processors.JSONRenderer()
    )
    stamp = structlog.processors.TimeStamper(fmt="%H:%M:%S" if terminal else "iso", utc=not terminal)
    processors: list[Processor] = [structlog.processors.add_log_level, stamp, withhold, renderer]
    logger = structlog.wrap_logger(
        _Lines(stream),
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(section.level),
        cache_logger_on_first_use=False,
    )
    return cast("FilteringBoundLogger", logger.bind())


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


class Adopted(logging.Handler):
    """Sends warnings of foreign libraries through our logger: who and what kind, and the cleaned first line of the message."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        """Take warnings and worse; a foreign debug line is nobody's business."""
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; the traceback stays out, since its messages may carry anything."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        self._log.warning("library_warned", library=record.name, message=str(record.msg), error=kind)


@contextmanager
def adopting(log: FilteringBoundLogger) -> Iterator[None]:
    """Pass the warnings of foreign libraries, and Python's own, through our logger while the context is open."""
    root, handler = logging.getLogger(), Adopted(log)
    root.addHandler(handler)
    logging.captureWarnings(capture=True)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)

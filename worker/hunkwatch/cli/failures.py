"""Every error as one line that says what to do, and its exit code.

What is raised on purpose carries its own words. Anything else is a fault of ours: its type and the line it came from are said,
its message is not, because it may hold what was being read; nor is it in the traceback that ``--debug`` adds.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from hunkwatch.errors import AskForLess, Exit, Halt, HunkwatchError, Refused, RetryLater
from hunkwatch.settings import BadSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

READER_LEFT = 141
"""Whoever read our output is gone; what a shell shows for a process that SIGPIPE ended."""

INTERRUPTED = 130


def explain(error: BaseException) -> tuple[list[str], int]:
    """Return the lines for stderr and the exit code."""
    match _meant(error):
        case BadSettings() as bad:
            return [f"{bad}:", *(f"  {problem}" for problem in bad.problems), bad.mend], bad.exit_code
        case Halt() as halt:
            return [_sentence(str(halt), halt.mend)], halt.exit_code
        case RetryLater() as later:
            pause = f" in {later.after.total_seconds():.0f} s" if later.after else " later"
            return [_sentence(str(later), f"Run it again{pause}.")], Exit.UNAVAILABLE
        case AskForLess() as much:
            return [_sentence(str(much), "Ask for less: a shorter sweep.span, or a smaller delivery.batch.")], Exit.UNAVAILABLE
        case Refused() as refused:
            return [_sentence(str(refused), "Run `hunkwatch check`; it names what is wrong.")], Exit.UNAVAILABLE
        case HunkwatchError() as other:
            return [_sentence(str(other), "Run it again with --debug and report it.")], Exit.INTERNAL
        case KeyboardInterrupt():
            return [], INTERRUPTED
        case unexpected:
            hint = "This is a fault of hunkwatch: run it again with --debug and report what it prints."
            return [f"unexpected {type(unexpected).__name__} at {_origin(unexpected)}. {hint}"], Exit.INTERNAL


def trace_of(error: BaseException) -> str:
    """Return the calls that led to an error and to its causes, by file and line, without any message or value."""
    parts = []
    seen: BaseException | None = error
    while seen is not None:
        parts.append(f"{type(seen).__module__}.{type(seen).__qualname__}\n{''.join(traceback.format_tb(seen.__traceback__))}")
        seen = seen.__cause__ or seen.__context__
    return "caused\n".join(reversed(parts))


def _meant(error: BaseException) -> BaseException:
    """Return the error that counts in a group: the first that was raised on purpose, else the first of all."""
    leaves = list(_leaves(error))
    for kind in (Halt, HunkwatchError):
        for leaf in leaves:
            if isinstance(leaf, kind):
                return leaf
    return leaves[0]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _origin(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "hunkwatch" in frame.filename] or list(frames)
    if not ours:
        return "an unknown place"
    last = ours[-1]
    return f"{last.filename.rpartition('hunkwatch/')[2]}:{last.lineno}"


def _sentence(message: str, mend: str) -> str:
    first = message.strip().split("\n", 1)[0].rstrip()
    return f"{first if first.endswith(('.', '!', '?')) else first + '.'} {mend}"

"""How the process leaves: in order after a first signal, at once after a second or when nothing else helps."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from hunkwatch import events
from hunkwatch.errors import Exit, Halt

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from hunkwatch.events import Emit

T = TypeVar("T")


class Stopped(Halt):
    """Somebody asked for a stop before there was anything to finish."""


@contextmanager
def signals(stop: asyncio.Event, emit: Emit, stopping: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Let the first SIGTERM or SIGINT finish what is under way, and the second leave at once."""
    loop = asyncio.get_running_loop()

    def heard(number: signal.Signals) -> None:
        if stop.is_set():
            at_once(f"second {number.name}", code=128 + number)
        emit(events.WorkerStopping(number.name))
        stop.set()
        stopping()

    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, heard, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def unless(stop: asyncio.Event, opening: Coroutine[None, None, T]) -> T:
    """Finish an opening, or raise Stopped on a stop: nothing is under way yet that would be worth waiting for."""
    task, stopped = asyncio.ensure_future(opening), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Stopped("stopped before anything was begun", mend="Run it again.", exit_code=Exit.TEMPORARY)
        return task.result()
    finally:
        stopped.cancel()
        task.cancel()
        await asyncio.gather(task, stopped, return_exceptions=True)


def at_once(why: str, *, code: int = Exit.INTERNAL) -> None:
    """End the process without waiting for anything: what counts is on record already."""
    sys.stderr.write(f"hunkwatch: leaving at once: {why}\n")
    sys.stderr.flush()
    os._exit(code)

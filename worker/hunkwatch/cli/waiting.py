"""What somebody who waits for long work sees on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from hunkwatch.cli import printing
from hunkwatch.settings import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hunkwatch.daemon.progress import Progress as Step
    from hunkwatch.daemon.progress import Tell

EVERY = 10.0
"""Seconds between two plain lines; the last one comes whatever the time."""


@contextmanager
def shown(what: str, *, rate: Callable[[Step, float], str]) -> Iterator[Tell]:
    """Show the progress of long work until the context ends; ``rate`` words it from a step and the seconds that it took to get there."""
    if sys.stderr.isatty():
        with _bar(what, rate) as tell:
            yield tell
    else:
        yield Lines(what, rate)


class Lines:
    """Says in a plain line how far the work got, not more often than every few seconds."""

    def __init__(self, what: str, rate: Callable[[Step, float], str], *, now: Callable[[], float] = time.monotonic) -> None:
        """Begin to count at the first step."""
        self._what = what
        self._rate = rate
        self._now = now
        self._first: tuple[float, float] | None = None
        self._told = float("-inf")

    def __call__(self, step: Step) -> None:
        """Hear of a step."""
        now = self._now()
        began, at_first = self._first = self._first or (now, step.done)
        finished = step.done >= step.total
        if not finished and now - self._told < EVERY:
            return
        self._told = now
        share = step.done / step.total if step.total else 1.0
        line = f"{self._what} {share:.0%}, {self._rate(step, now - began)}"
        gained = step.done - at_first
        if gained > 0 and not finished:
            line += f", {duration.render(left(gained, step.total - step.done, now - began))} left"
        printing.remark(line)


def left(gained: float, missing: float, seconds: float) -> timedelta:
    """Return how long the rest takes when it goes on as it went so far."""
    return timedelta(seconds=round(missing / gained * seconds))


def per_minute(count: int, seconds: float) -> str:
    """Word a rate."""
    return f"{count / seconds * 60:.0f}/min" if seconds >= 1 else "-/min"


@contextmanager
def _bar(what: str, rate: Callable[[Step, float], str]) -> Iterator[Tell]:
    # Loaded here, since no other verb has use for it.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    began = time.monotonic()
    # Log lines are written above the bar: rich stands in for stderr while it is shown.
    with Progress(*columns, console=Console(stderr=True), redirect_stdout=False) as progress:
        task = progress.add_task(what, total=None, rate="")

        def tell(step: Step) -> None:
            progress.update(task, completed=step.done, total=step.total, rate=rate(step, time.monotonic() - began))

        yield tell

"""How things are timed here: two ways of the same work take turns in one process, and only their ratio is a result.

A/B/A/B, a collection before each turn, medians of the turns. Seconds depend on the machine; the ratio hardly does.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import threading
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Duel:
    """Ours against theirs on the same input. ``target`` is the least ratio that is promised, 0 where none is."""

    name: str
    ours: float
    theirs: float
    ratio: float
    """How many times as fast ours is: the median over the turns, each against its neighbour, so that a busy machine spoils few."""
    target: float = 0.0
    unit: str = "s"

    @property
    def missed(self) -> bool:
        """Whether a promise is broken."""
        return self.ratio < self.target


@dataclass(frozen=True, slots=True)
class Step:
    """One point of a growth curve. ``peak`` is in bytes, 0 where unmeasured; ``limit`` is the most that is promised, 0 if none is."""

    curve: str
    size: int
    seconds: float
    peak: int = 0
    limit: int = 0
    note: str = ""
    within: float = 0.0
    """The seconds that are promised on an idle machine, 0 where none are."""

    @property
    def missed(self) -> bool:
        """Whether a promise is broken."""
        return (bool(self.limit) and self.peak > self.limit) or (bool(self.within) and self.seconds > self.within)


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that ended: exit code, seconds on the wall, seconds of processor time, the most bytes that it held."""

    code: int
    seconds: float
    cpu: float
    memory: int


def duel(name: str, ours: Work, theirs: Work, *, turns: int, target: float = 0.0) -> Duel:
    """Let both take turns; the first turn of each warms up and does not count."""
    mine: list[float] = []
    other: list[float] = []
    for _ in range(turns + 1):
        mine.append(seconds(ours))
        other.append(seconds(theirs))
    ratio = statistics.median(b / a for a, b in zip(mine[1:], other[1:], strict=True))
    return Duel(name, statistics.median(mine[1:]), statistics.median(other[1:]), ratio, target)


def seconds(work: Work) -> float:
    """Time one turn."""
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak(work: Work) -> int:
    """Return the most bytes that Python held at once for this work, beyond what it held before. Slows the work down: never timed."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def watched(words: list[str], environ: dict[str, str] | None = None) -> Ended:
    """Run a process to its end and measure it from outside.

    Memory is read while it runs: what the resource usage says begins with what this process held when it started the other.
    """
    began, peaks = time.perf_counter(), [0]
    process = subprocess.Popen(words, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            with suppress(OSError):
                told = [line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
                peaks.extend(int(line.split()[1]) * 1024 for line in told)

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    ended.set()
    watcher.join()
    return Ended(process.returncode, time.perf_counter() - began, usage.ru_utime + usage.ru_stime, max(peaks))

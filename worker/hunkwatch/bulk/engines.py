"""Runs pieces of work: in this process, in several on this machine, or on a Ray cluster. The pieces come back as they are done."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, TypeVar

from hunkwatch.errors import Exit, Halt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

Task = TypeVar("Task")
Done = TypeVar("Done")

_AGAIN = "Run it again; what is done is kept. Or leave Ray out: --workers alone reads as many files at once."
_PATIENCE = "120"
"""Seconds that Ray's own processes get to come up; a busy machine needs more than the usual thirty."""

LOCAL = "local"
"""The address that stands for a Ray of our own on this machine."""


@dataclass(frozen=True, slots=True)
class Engine:
    """How many pieces run at once, and where. ``ray``: the address of a cluster, ``local``, or ``None`` for no Ray at all."""

    workers: int = 1
    ray: str | None = None

    def each(self, work: Callable[[Task], Done], tasks: Sequence[Task]) -> Iterator[Done]:
        """Yield what ``work`` makes of each task, in the order in which they are done."""
        if not tasks:
            return iter(())
        if self.ray is not None:
            return _on_ray(self, work, tasks)
        return map(work, tasks) if self.workers == 1 else _in_processes(self.workers, work, tasks)


def _in_processes(workers: int, work: Callable[[Task], Done], tasks: Sequence[Task]) -> Iterator[Done]:
    # Spawned, since a forked process would share whatever threads and files this one has open.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(work, task) for task in tasks]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            for future in waiting:
                future.cancel()


def _on_ray(engine: Engine, work: Callable[[Task], Done], tasks: Sequence[Task]) -> Iterator[Done]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_raylet_start_wait_time_s", _PATIENCE)
    try:
        import ray  # noqa: PLC0415 - large, and of an extra of its own
        import ray.data  # noqa: PLC0415
    except ImportError as missing:
        raise Halt("Ray is not installed", mend='Install it with pip install "hunkwatch[ray]".', exit_code=Exit.USAGE) from missing
    if not ray.is_initialized():
        _start(ray, engine)
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)

    def made(row: dict[str, Any]) -> dict[str, Any]:
        return {"done": work(tasks[row["item"]])}

    numbers = ray.data.from_items(list(range(len(tasks))), override_num_blocks=len(tasks))
    for row in numbers.map(made).iter_rows():
        yield row["done"]


def _start(ray: ModuleType, engine: Engine) -> None:
    here = engine.ray == LOCAL
    own = {"num_cpus": engine.workers, "include_dashboard": False, "_node_ip_address": "127.0.0.1"} if here else {"address": engine.ray}
    try:
        ray.init(**own, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray raises whatever it likes when its processes do not come up
        place = "on this machine" if here else "at that address"
        raise Halt(f"Ray did not start {place}: {type(error).__name__}", mend=_AGAIN, exit_code=Exit.TEMPORARY) from error

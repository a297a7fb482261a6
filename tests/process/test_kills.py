"""The real process is killed again and again while Langfuse misbehaves; in the end every score is there exactly once."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.sandbox import Fault, Habits, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable

KILLS = 20
SEED = 20_261_130
MOST_REQUESTS = 16

BAD_DAY = Habits(
    seed=SEED,
    faults=(
        Fault(Wrong.BROKEN, share=0.03),
        Fault(Wrong.RATE_LIMITED, share=0.02, method="GET", seconds=1.0),
        Fault(Wrong.TOO_HEAVY, share=0.02, method="GET"),
        Fault(Wrong.CUT, share=0.02),
        Fault(Wrong.SLOW, share=0.05, seconds=0.1),
        Fault(Wrong.REFUSED, share=0.01),
    ),
    dropped_scores=0.1,
    partial_errors=0.1,
    duplicated_rows=0.3,
    resent_rows=0.3,
    late_rows=0.3,
    late_by=4.0,
)


@pytest.mark.timeout(300)
def test_kills_at_any_moment_lose_and_double_nothing(station: Any, wait_until: Callable[[Callable[[], bool]], None]) -> None:
    """Twenty kills, each after a seeded number of requests, with traces arriving all the time; then a quiet pass finishes the work."""
    moments = random.Random(SEED)  # noqa: S311 (moments, not secrets)
    for kill in range(KILLS):
        station.sandbox.habits = BAD_DAY
        station.add_traces(f"t{kill}a", f"t{kill}b")
        before = len(station.sandbox.requests)
        process = station.start("run")
        until = before + moments.randint(4, MOST_REQUESTS)
        wait_until(lambda until=until, process=process: len(station.sandbox.requests) >= until or process.poll() is not None)
        time.sleep(moments.uniform(0.0, 0.02))
        process.kill()
        process.communicate()
    met = {status for _, _, status in station.sandbox.requests}
    written = sum(method == "POST" and status == 207 for method, _, status in station.sandbox.requests)
    station.sandbox.habits = Habits()
    time.sleep(BAD_DAY.late_by)

    code, _, log = station.finish("run", "--once")
    station.finish("dead-letters", "retry")
    again, _, _ = station.finish("run", "--once")

    assert written > KILLS // 2, "the kills came before any work"
    assert len(met & {422, 429, 500}) > 1, "the bad day was a good one"
    assert (code, again) == (0, 0), log
    assert station.shown() == station.expected

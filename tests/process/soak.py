"""The long proof, outside the suite: hundreds of kills on both databases, and a steady stream of arrivals. ``make soak`` runs it.

``SOAK_KILLS`` (200), ``SOAK_SECONDS`` (600) and ``SOAK_SEED`` say how much and which; the table goes to ``SOAK_REPORT`` (.soak/report.md).
"""

from __future__ import annotations

import os
import signal
import statistics
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

KILLS = int(os.environ.get("SOAK_KILLS", "200"))
SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
REPORT = Path(os.environ.get("SOAK_REPORT", ".soak/report.md"))

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n keep\n-old = 1\n+old = 2\n more\n*** End Patch"

POLL = 10.0
FEW_SECONDS = 5.0
EVERY = 1.0
"""Seconds between two arrivals: a trace of two calls each."""

MEGABYTE = 2**20
MOST_GROWTH = 1.1
"""Memory of the last quarter against that of the second; the first one warms up."""

MOST_A_SCORE = 1536
"""Bytes that the state may grow for a score that is seen: what proves that it is ours stays for a purge."""

STEADY = {
    "HUNKWATCH_SWEEP__EVERY": f"{POLL}s",
    "HUNKWATCH_SWEEP__QUIET": "5s",
    "HUNKWATCH_SWEEP__OVERLAP": "20s",
    "HUNKWATCH_SWEEP__RECONCILE_EVERY": "20s",
    "HUNKWATCH_SWEEP__RECONCILE_REACH": "40s",
    "HUNKWATCH_SWEEP__DEEP_RECONCILE_EVERY": "60s",
    "HUNKWATCH_SWEEP__DEEP_RECONCILE_REACH": "50s",
    "HUNKWATCH_SWEEP__KEEP": "60s",
    "HUNKWATCH_DELIVERY__EVERY": "1s",
    "HUNKWATCH_DELIVERY__LOOK_AFTER": "2s,4s,8s",
    "HUNKWATCH_LOG__LEVEL": "warning",
}
"""Everything that happens in months, in minutes: the ledger forgets after one, the rounds come each."""


@pytest.mark.timeout(0)
def test_hundreds_of_kills_lose_and_double_nothing(
    anywhere: Any, wait_until: Callable[[Callable[[], bool]], None], request: pytest.FixtureRequest
) -> None:
    """As in the suite, for longer: after a restart every expected score is there exactly once and no other."""
    began = time.monotonic()

    def told(kill: int) -> None:
        if kill % 20 == 0:
            say(f"{kill} kills in {time.monotonic() - began:.0f} s")

    survived = anywhere.survive(KILLS, seed=SEED, wait_until=wait_until, told=told)
    right = anywhere.shown() == anywhere.expected
    database = request.node.callspec.params["anywhere"]
    statuses = ", ".join(f"{count} x {status or 'no answer'}" for status, count in sorted(survived.statuses.items()))
    report(
        f"{KILLS} kills on {database}",
        f"{len(anywhere.expected)} scores expected, {len(anywhere.shown())} there, each once; "
        f"{survived.batches} batches written meanwhile; answers: {statuses}; {time.monotonic() - began:.0f} s",
        right=right and survived.codes == (0, 0, 0),
    )

    assert survived.codes == (0, 0, 0), survived.log
    assert anywhere.shown() == anywhere.expected


@dataclass
class Samples:
    """What was seen of the process and its state, moment by moment."""

    memory: list[int] = field(default_factory=list)
    state: list[int] = field(default_factory=list)

    def take(self, pid: int, folder: Path) -> None:
        """Look once."""
        status = Path(f"/proc/{pid}/status").read_text("ascii")
        self.memory.append(int(status.split("VmRSS:")[1].split()[0]) * 1024)
        self.state.append(sum(path.stat().st_size for path in folder.glob("hunkwatch.db*")))


def quarter(values: list[int], number: int) -> float:
    """Return the median of a quarter of the values, counted from one."""
    size = len(values) // 4
    return statistics.median(values[(number - 1) * size : number * size])


@pytest.mark.timeout(0)
def test_steady_arrivals_leave_memory_and_lag_where_they_are(station: Any) -> None:
    """Memory stays, the state grows by what proves each score and no more, and scores come within a poll and a little."""
    station.settings.update(STEADY)
    arrived: dict[str, datetime] = {}
    samples = Samples()
    process = station.start("run")
    began = time.monotonic()
    number = 0
    while time.monotonic() - began < SECONDS:
        assert process.poll() is None, process.communicate()
        trace, now = f"s{number}", datetime.now(UTC)
        ids = [f"{trace}-{letter}" for letter in "ab"]
        stamps = {"startTime": now.isoformat(), "endTime": (now + timedelta(milliseconds=1)).isoformat()}
        station.sandbox.add_observations({**station.call(trace, one, {"input": PATCH}), **stamps} for one in ids)
        arrived.update(dict.fromkeys(ids, now))
        number += 1
        if number % 2 == 0:
            samples.take(process.pid, station.folder)
        if number % 60 == 0:
            say(f"{number} traces, {samples.memory[-1] / MEGABYTE:.0f} MB memory, {samples.state[-1] / MEGABYTE:.1f} MB state")
        time.sleep(max(0.0, began + number * EVERY - time.monotonic()))
    time.sleep(3 * POLL)
    code, _ = station.end(process, signal.SIGTERM)
    scores = station.sandbox.all_scores()
    seen = {(row["observationId"], row["name"]): datetime.fromisoformat(row["updatedAt"]) for row in scores if row["observationId"]}
    lags = sorted((at - arrived[one]).total_seconds() for (one, _), at in seen.items())
    p95 = lags[int(len(lags) * 0.95)]
    before, after = quarter(samples.memory, 2), quarter(samples.memory, 4)
    grown = (quarter(samples.state, 4) - quarter(samples.state, 2)) / (len(scores) / 2)
    whole = len(scores) == number * 9 and len({row["id"] for row in scores}) == len(scores)
    report(
        f"{SECONDS:.0f} s of steady arrivals",
        f"{number} traces, {2 * number} calls, {len(scores)} scores; lag p50 {statistics.median(lags):.1f} s, p95 {p95:.1f} s at a poll of "
        f"{POLL:.0f} s; memory {before / MEGABYTE:.1f} MB in the second quarter, {after / MEGABYTE:.1f} MB in the last; "
        f"state {samples.state[-1] / MEGABYTE:.1f} MB, {grown:.0f} bytes for each score",
        right=whole and code == 0 and p95 < POLL + FEW_SECONDS and after < before * MOST_GROWTH and grown < MOST_A_SCORE,
    )

    assert (code, whole) == (0, True)
    assert after < before * MOST_GROWTH
    assert grown < MOST_A_SCORE
    assert p95 < POLL + FEW_SECONDS


def say(line: str) -> None:
    """Tell who waits."""
    print(line, flush=True)  # noqa: T201 (somebody waits for it)


def report(what: str, found: str, *, right: bool) -> None:
    """Add a row to the table, and show it."""
    row = f"| {what} | {found} | {'yes' if right else 'NO'} |"
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    if not REPORT.exists():
        REPORT.write_text("| what | found | as promised |\n|---|---|---|\n", "utf-8")
    with REPORT.open("a", encoding="utf-8") as table:
        table.write(f"{row}\n")
    say(row)

"""The real process, started as a user starts it, against a sandbox on a real socket and the real time."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.sandbox import Fault, Habits, Project, Sandbox, Wrong

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    WaitUntil = Callable[[Callable[[], bool]], None]

KEYS = Project(id="project-1", public_key="pk-lf-process", secret_key="sk-lf-process")
PATIENCE = 60.0

SURGICAL = "*** Begin Patch\n*** Update File: a.py\n@@\n keep\n-old = 1\n+old = 2\n more\n*** End Patch"
BLIND = "*** Begin Patch\n*** Update File: b.py\n@@\n-a1\n-a2\n-a3\n-a4\n+b1\n+b2\n+b3\n+b4\n*** End Patch"

Subject = tuple[str, str | None, str]

QUICK = {
    "HUNKWATCH_LANGFUSE__REQUESTS_PER_MINUTE": "60000",
    "HUNKWATCH_SWEEP__EVERY": "100ms",
    "HUNKWATCH_SWEEP__SINCE": "3h",
    "HUNKWATCH_SWEEP__QUIET": "200ms",
    "HUNKWATCH_SWEEP__ROLLUP_EVERY": "1s",
    "HUNKWATCH_DELIVERY__EVERY": "50ms",
    "HUNKWATCH_DELIVERY__LOOK_AFTER": "100ms,300ms,1s",
    "HUNKWATCH_DELIVERY__SENDS": "10",
    "HUNKWATCH_STORE__LEASE": "1s",
    "HUNKWATCH_HTTP__PORT": "0",
    "HUNKWATCH_LOG__FORMAT": "json",
}


FEWEST_REQUESTS, MOST_REQUESTS = 6, 40

BAD_DAY = Habits(
    faults=(
        Fault(Wrong.BROKEN, share=0.03),
        Fault(Wrong.RATE_LIMITED, share=0.02, seconds=0.5),
        Fault(Wrong.TOO_HEAVY, share=0.02),
        Fault(Wrong.CUT, share=0.02),
        Fault(Wrong.REFUSED, share=0.01),
        Fault(Wrong.BAD_GATEWAY, share=0.01),
        Fault(Wrong.SLOW, share=0.05, seconds=0.1),
        Fault(Wrong.HANGING, share=0.005, seconds=3.0),
    ),
    dropped_scores=0.1,
    partial_errors=0.1,
    duplicated_rows=0.3,
    resent_rows=0.3,
    late_rows=0.3,
    late_by=4.0,
)
"""Everything that goes wrong with a Langfuse, all of it on one day."""


@dataclass(frozen=True)
class Survived:
    """What a series of kills came to."""

    kills: int
    batches: int
    """Batches of scores that were answered meanwhile."""
    statuses: dict[int, int]
    """How often each status was answered; 0 is no answer."""
    codes: tuple[int, ...]
    """How the passes ended that finished the work."""
    log: str


@dataclass
class Station:
    """A sandbox that is served, a folder for the state, and everything that has to be scored."""

    sandbox: Sandbox
    url: str
    folder: Path
    expected: dict[Subject, float | str] = field(default_factory=dict)
    running: list[subprocess.Popen[str]] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    """Variables for each process that is started."""

    def add_traces(self, *names: str) -> None:
        """Let Langfuse show traces of a surgical and a blind call each, a few minutes old."""
        for trace in names:
            self.sandbox.add_observations(
                [
                    self.call(trace, f"{trace}-good", {"input": SURGICAL}),
                    self.call(trace, f"{trace}-blind", {"input": BLIND}),
                ]
            )
            for observation, kept, shape in ((f"{trace}-good", 1, "no_blind_rewrite"), (f"{trace}-blind", 0, "blind_rewrite")):
                self.expected[trace, observation, "blind_rewrite_patch"] = kept
                self.expected[trace, observation, "retyped_lines_patch"] = 0
                self.expected[trace, observation, "patch_shape"] = shape
            self.expected.update({(trace, None, "blind_rewrite"): 0.5, (trace, None, "blind_hunks"): 1, (trace, None, "retyped_lines"): 0})

    def call(self, trace: str, observation: str, given: Any) -> dict[str, Any]:
        """Return an observation of a tool that ran a few minutes ago, in the form of the v1 reading."""
        start = datetime.now(UTC) - timedelta(minutes=5)
        return {
            "id": observation,
            "traceId": trace,
            "type": "TOOL",
            "name": "apply_patch",
            "startTime": start.isoformat(),
            "endTime": (start + timedelta(seconds=1)).isoformat(),
            "input": given,
            "output": "Success. Updated the following files:\nM a.py",
        }

    def start(self, *words: str, as_ordinary: Sequence[str] = (), **environment: str) -> subprocess.Popen[str]:
        """Start ``hunkwatch`` with these words; ``as_ordinary`` is a command that takes rights away and starts another."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HUNKWATCH_", "LANGFUSE_"))}
        keys = {"LANGFUSE_BASE_URL": self.url, "LANGFUSE_PUBLIC_KEY": KEYS.public_key, "LANGFUSE_SECRET_KEY": KEYS.secret_key}
        process = subprocess.Popen(
            [*as_ordinary, sys.executable, "-m", "hunkwatch", *words],
            env={**inherited, **QUICK, **keys, "STATE_DIRECTORY": str(self.folder), **self.settings, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return process

    def finish(self, *words: str, as_ordinary: Sequence[str] = (), **environment: str) -> tuple[int, str, str]:
        """Run ``hunkwatch`` to its end; return code, stdout and stderr."""
        process = self.start(*words, as_ordinary=as_ordinary, **environment)
        out, log = process.communicate(timeout=PATIENCE)
        return process.returncode, out, log

    def end(self, process: subprocess.Popen[str], *signals: signal.Signals) -> tuple[int, list[dict[str, Any]]]:
        """Send signals, wait for the end; return the code and the log's lines."""
        for number in signals:
            process.send_signal(number)
        _, log = process.communicate(timeout=PATIENCE)
        return process.returncode, [json.loads(line) for line in log.splitlines() if line.startswith("{")]

    def survive(self, kills: int, *, seed: int, wait_until: WaitUntil, told: Callable[[int], None] = lambda _kill: None) -> Survived:
        """Let traces arrive on a bad day and kill the worker after a seeded number of requests, again and again; then finish the work."""
        moments = random.Random(seed)  # noqa: S311 (moments, not secrets)
        for kill in range(kills):
            self.sandbox.habits = replace(BAD_DAY, seed=seed + kill // 10)
            self.add_traces(f"t{kill}a", f"t{kill}b")
            before = len(self.sandbox.requests)
            process = self.start("run", HUNKWATCH_LANGFUSE__TIMEOUT="1s")
            until = before + moments.randint(FEWEST_REQUESTS, MOST_REQUESTS)
            wait_until(lambda until=until, process=process: len(self.sandbox.requests) >= until or process.poll() is not None)
            time.sleep(moments.uniform(0.0, 0.02))
            process.kill()
            process.communicate()
            self.running.remove(process)
            told(kill + 1)
        answered = list(self.sandbox.requests)
        self.sandbox.habits = Habits()
        time.sleep(BAD_DAY.late_by)
        codes, logs = [], []
        for words in (("run", "--once"), ("dead-letters", "retry", "--all"), ("run", "--once")):
            code, _, log = self.finish(*words)
            codes.append(code)
            logs.append(log)
        return Survived(
            kills,
            sum(method == "POST" and status in {202, 207} for method, _, status in answered),
            dict(Counter(status for _, _, status in answered)),
            tuple(codes),
            "".join(logs),
        )

    def shown(self) -> dict[Subject, float | str]:
        """Return what Langfuse holds once all that is under way is done; a score that is there twice fails the test."""
        rows = self.sandbox.all_scores()
        scores = {(row["traceId"], row["observationId"] or None, row["name"]): row["stringValue"] or row["value"] for row in rows}
        assert len(rows) == len(scores), "a score is there twice"
        return scores


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def anywhere(request: pytest.FixtureRequest, station: Station) -> Station:
    """A station whose state is on either database."""
    if request.param == "postgres":
        station.settings["HUNKWATCH_STORE__URL"] = request.getfixturevalue("postgres_url")
    return station


@pytest.fixture
def station(tmp_path: Path) -> Iterator[Station]:
    """Serve an empty sandbox; whatever was started is gone afterwards."""
    sandbox = Sandbox(projects=(KEYS,))
    with sandbox.serving_in_thread() as url:
        made = Station(sandbox, url, tmp_path)
        yield made
        for process in made.running:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def wait_until() -> Callable[[Callable[[], bool]], None]:
    """Return what waits for something that another process does."""

    def wait(happened: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < until, "it never happened"
            time.sleep(0.02)

    return wait

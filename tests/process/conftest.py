"""The real process, started as a user starts it, against a sandbox on a real socket and the real time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.sandbox import Project, Sandbox

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator
    from pathlib import Path

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
    "HUNKWATCH_HTTP__PORT": "0",
    "HUNKWATCH_LOG__FORMAT": "json",
}


@dataclass
class Station:
    """A sandbox that is served, a folder for the state, and everything that has to be scored."""

    sandbox: Sandbox
    url: str
    folder: Path
    expected: dict[Subject, float | str] = field(default_factory=dict)
    running: list[subprocess.Popen[str]] = field(default_factory=list)

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

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """Start ``hunkwatch`` with these words."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HUNKWATCH_", "LANGFUSE_"))}
        keys = {"LANGFUSE_BASE_URL": self.url, "LANGFUSE_PUBLIC_KEY": KEYS.public_key, "LANGFUSE_SECRET_KEY": KEYS.secret_key}
        process = subprocess.Popen(
            [sys.executable, "-m", "hunkwatch", *words],
            env={**inherited, **QUICK, **keys, "STATE_DIRECTORY": str(self.folder), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return process

    def finish(self, *words: str, **environment: str) -> tuple[int, str, str]:
        """Run ``hunkwatch`` to its end; return code, stdout and stderr."""
        process = self.start(*words, **environment)
        out, log = process.communicate(timeout=PATIENCE)
        return process.returncode, out, log

    def end(self, process: subprocess.Popen[str], *signals: signal.Signals) -> tuple[int, list[dict[str, Any]]]:
        """Send signals, wait for the end; return the code and the log's lines."""
        for number in signals:
            process.send_signal(number)
        _, log = process.communicate(timeout=PATIENCE)
        return process.returncode, [json.loads(line) for line in log.splitlines() if line.startswith("{")]

    def shown(self) -> dict[Subject, float | str]:
        """Return what Langfuse holds once all that is under way is done; a score that is there twice fails the test."""
        rows = self.sandbox.all_scores()
        scores = {(row["traceId"], row["observationId"] or None, row["name"]): row["stringValue"] or row["value"] for row in rows}
        assert len(rows) == len(scores), "a score is there twice"
        return scores


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

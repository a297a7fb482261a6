"""The worker beside what a user would run instead, on the same project over a real socket, each in a process of its own.

The server is the sandbox, in this process; it counts requests and bytes, and keeps what it was given. CPU, memory and time are those of
the client's process, from its start.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench_compare import Duel, Step, watched

from hunkwatch.sandbox import Fault, Habits, Project, Sandbox, Wrong, patchwork

HERE = Path(__file__).parent
RIVALS = ("batched", "tuned", "loop")
WRITES = ("/ingestion", "/scores")
_EVERY = 10
SIZES = (1_000, 10_000, 100_000)
LIMIT = 150_000_000
_TRACE = 20
_SHELLS = 5
"""One patch in so many is applied from a shell, as Codex does."""


@dataclass
class Client:
    """What one run of one client came to. ``accepted`` is the time until the last score was taken, ``back`` what came after."""

    who: str
    requests: int = 0
    read_back: int = 0
    sent: int = 0
    received: int = 0
    accepted: float = 0.0
    seconds: float = 0.0
    cpu: float = 0.0
    memory: int = 0
    found: int = 0
    doubled: int = 0
    lost: int = 0
    state: int = 0
    code: int = 0


@dataclass
class Counting:
    """An ASGI application that counts what passes through."""

    inner: Any
    answers: list[tuple[float, str, str, int]] = field(default_factory=list)
    sent: int = 0
    received: int = 0

    @property
    def requests(self) -> list[tuple[str, str, int]]:
        """Return what the sandbox counted itself."""
        counted: list[tuple[str, str, int]] = self.inner.requests
        return counted

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""

        async def taken() -> Any:
            message = await receive()
            self.sent += len(message.get("body", b""))
            return message

        async def given(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.answers.append((time.perf_counter(), scope["method"], scope["path"], message["status"]))
            self.received += len(message.get("body", b""))
            await send(message)

        await self.inner(scope, taken, given)


def rows(count: int, *, now: datetime, every: int = _EVERY) -> Iterator[dict[str, Any]]:
    """Yield observations, one in ``every`` with a patch, one of five of those inside a shell command; the newest started a minute ago."""
    for number in range(count):
        start = now - timedelta(minutes=1, seconds=number * 0.05)
        row: dict[str, Any] = {
            "id": f"{number:016x}",
            "traceId": f"{number // _TRACE:032x}",
            "startTime": start.isoformat(),
            "endTime": start.isoformat(),
            "type": "SPAN",
            "name": "step",
            "input": {"text": "the quick brown fox " * (number % 40)},
            "output": "done",
        }
        if number % every == 0:
            text = patchwork.write(number).text
            shell = number // every % _SHELLS == 0
            argument = {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{text}\nEOF"]} if shell else {"input": text}
            row |= {"type": "TOOL", "name": "shell" if shell else "apply_patch", "input": argument, "output": "Success."}
            row["metadata"] = {"codex.call_id": f"call_{number}"}
        yield row


@contextmanager
def project(count: int, faults: float = 0.0, every: int = _EVERY) -> Iterator[tuple[Sandbox, Counting, dict[str, str]]]:
    """Serve a project of that many observations, with the environment of a client."""
    habits = Habits(seed=7, faults=(Fault(Wrong.BROKEN, share=faults),) if faults else ())
    sandbox = Sandbox(version="4.60.0", mode="dual", habits=habits)
    sandbox.add_observations(rows(count, now=datetime.now(UTC), every=every))
    counting = Counting(sandbox.app)
    sandbox.app = counting  # type: ignore[assignment] # it passes everything on
    with sandbox.serving_in_thread() as url:
        keys = {"LANGFUSE_PUBLIC_KEY": Project().public_key, "LANGFUSE_SECRET_KEY": Project().secret_key, "LANGFUSE_BASE_URL": url}
        yield sandbox, counting, {**os.environ, **keys}


def go(who: str, counting: Counting, environ: dict[str, str], state: Path) -> Client:
    """Run one client to its end and measure it."""
    words = [sys.executable, str(HERE / "rivals.py"), who]
    if who == "hunkwatch":
        words = [sys.executable, "-m", "hunkwatch", "run", "--once", "--state", str(state), "--log-level", "error"]
    counting.answers.clear()
    counting.sent = counting.received = 0
    began = time.perf_counter()
    ended = watched(words, environ)
    taken = [
        at
        for at, method, path, status in counting.answers
        if method == "POST" and status < 400 and path.endswith(("/ingestion", "/scores"))
    ]
    back = [1 for _, method, path, _ in counting.answers if method == "GET" and "/scores" in path]
    return Client(
        who,
        requests=len(counting.answers),
        read_back=len(back),
        sent=counting.sent,
        received=counting.received,
        accepted=max(taken, default=began + ended.seconds) - began,
        seconds=ended.seconds,
        cpu=ended.cpu,
        memory=ended.memory,
        state=sum(path.stat().st_size for path in state.parent.glob(f"{state.name}*")),
        code=ended.code,
    )


def compared(count: int) -> list[Client]:
    """Run every client on a project of its own, then once more, then on a server that fails one request in a hundred."""
    return [_thrice(who, count) for who in ("hunkwatch", *RIVALS)]


def _thrice(who: str, count: int) -> Client:
    patches = {f"{number:016x}" for number in range(0, count, _EVERY)}
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state.db"
        with project(count) as (sandbox, counting, environ):
            client = go(who, counting, environ, state)
            first = _scores(sandbox)
            client.found = len({observation for observation, _ in first} & patches)
            go(who, counting, environ, state)
            client.doubled = sum(times - 1 for times in _scores(sandbox).values())
        shutil.rmtree(folder)
        Path(folder).mkdir()
        with project(count, faults=0.01) as (sandbox, counting, environ):
            go(who, counting, environ, state)
            # One pass may end before all is delivered, and says so; whoever scheduled it runs it again.
            if who == "hunkwatch":
                go(who, counting, environ, state)
            client.lost = len(set(first) - set(_scores(sandbox)))
    return client


def _scores(sandbox: Sandbox) -> Counter[tuple[str, str]]:
    """Count the scores that are there by what they are about."""
    return Counter((row.get("observationId") or row["traceId"], row["name"]) for row in sandbox.all_scores())


def measure() -> Iterator[Duel | Step]:
    """Yield the ratios that are promised, then how the worker grows with the project; the table of the runs goes to stderr."""
    ours, *others = compared(20_000)
    for each in (ours, *others):
        sys.stderr.write(f"{json.dumps(asdict(each))}\n")
    batched = others[0]
    until_accepted = ours.requests - ours.read_back
    for name, value, target in (("until accepted", until_accepted, 10), ("with the read-back", ours.requests, 5)):
        ratio = batched.requests / value
        yield Duel(f"requests {name}, against run_batched_evaluation", value, batched.requests, ratio, target, "requests")
    yield Duel("time until accepted", ours.accepted, batched.accepted, batched.accepted / ours.accepted, 5)
    for count in SIZES:
        client = grown(count)
        note = f"state {client.state / 1e6:,.0f} MB"
        yield Step("run --once, observations, one in fifty a patch", count, client.seconds, client.memory, LIMIT, note)


def grown(count: int) -> Client:
    """Run the worker alone on a project of that size in which one observation in fifty is a patch."""
    with tempfile.TemporaryDirectory() as folder, project(count, every=50) as (_, counting, environ):
        return go("hunkwatch", counting, environ, Path(folder) / "state.db")

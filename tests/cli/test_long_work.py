"""``backfill``, ``rescore``, ``purge``, ``dead-letters`` and ``--sample`` as somebody types them, against a Langfuse over a real socket."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hunkwatch.core import identity
from hunkwatch.errors import Exit
from hunkwatch.ports import Commit, Delivery
from hunkwatch.sandbox import Habits, Plan, Project, Sandbox
from hunkwatch.store import open_store, opening

Say = Callable[..., Any]
Row = Callable[..., dict[str, Any]]

PATIENCE = 60.0
EACH = 6
"""Scores of a trace of one surgical call."""


@dataclass
class Server:
    """A sandbox that is being served, and how to put calls into it."""

    sandbox: Sandbox
    state: str
    row: Row
    patch: str

    def add(self, trace: str, *, days: float) -> None:
        """Let Langfuse hold a trace of one call that is so many days old."""
        ago = datetime.now(UTC) - timedelta(days=days)
        times = {"startTime": ago.isoformat(), "endTime": (ago + timedelta(seconds=1)).isoformat()}
        self.sandbox.add_observations([self.row(self.patch, form="v1", trace=trace, observation=f"{trace}-o", **times)])

    def scored(self) -> set[str]:
        """Return the traces that hold all their scores, each once; one that holds some fails the test."""
        rows = self.sandbox.all_scores()
        traces = [row["traceId"] for row in rows]
        assert all(traces.count(trace) == EACH for trace in traces), "a trace holds some scores, or some twice"
        return set(traces)

    def reads(self) -> int:
        """Count the pages of observations that were asked for."""
        return sum(path.endswith("/observations") for _, path, _ in self.sandbox.requests)

    def deletions(self) -> int:
        """Count the deletions that were asked for."""
        return sum(method == "DELETE" for method, _, _ in self.sandbox.requests)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, row: Row, patches: Any, tmp_path: Path) -> Iterator[Server]:
    """Serve an empty sandbox, and point the environment at it."""
    sandbox = Sandbox(projects=(Project(),))
    with sandbox.serving_in_thread() as url:
        for name, value in {
            "LANGFUSE_BASE_URL": url,
            "LANGFUSE_PUBLIC_KEY": Project().public_key,
            "LANGFUSE_SECRET_KEY": Project().secret_key,
            "HUNKWATCH_LANGFUSE__REQUESTS_PER_MINUTE": "60000",
            "HUNKWATCH_DELIVERY__LOOK_AFTER": "20ms,20ms",
            "HUNKWATCH_DELIVERY__EVERY": "10ms",
            "HUNKWATCH_LOG__LEVEL": "error",
        }.items():
            monkeypatch.setenv(name, value)
        yield Server(sandbox, f"sqlite:///{tmp_path}/state/hunkwatch/hunkwatch.db", row, patches.surgical)


@pytest.fixture
def no_deletion_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sandbox's deletions, which happen at once, be looked for at once."""
    from hunkwatch.daemon import moves  # noqa: PLC0415 (only to hurry it)

    monkeypatch.setattr(moves, "DELETION", timedelta(milliseconds=20))


# ---------------------------------------------------------------- backfill


def test_a_backfill_scores_the_stretch_and_nothing_else(server: Server, say: Say) -> None:
    """From --since to --until, as durations or dates; a plain line says that it is through; a second one sweeps and sends nothing."""
    for trace, days in {"old": 40.0, "first": 25.0, "second": 15.0, "new": 2.0}.items():
        server.add(trace, days=days)
    until = (datetime.now(UTC) - timedelta(days=10)).date().isoformat()
    first = say("backfill", "--since", "30d", "--until", until, "--json")
    reads = server.reads()
    second = say("backfill", "--since", "29d", "--until", until, "--json")

    assert (0, 2 * EACH, 2 * EACH) == (first.code, first.objects[0]["sent"], first.objects[0]["seen"])
    assert {"first", "second"} == server.scored()
    assert "hunkwatch: backfill 100%, 2 read, 2 records of calls" in first.err.splitlines()[-1]
    # One look tells which server this is.
    assert (0, 0, 1) == (second.code, second.objects[0]["sent"], server.reads() - reads)


def test_a_rehearsed_backfill_says_what_the_real_one_sends(server: Server, say: Say) -> None:
    """And writes nothing."""
    server.add("old", days=25)
    would = say("backfill", "--since", "30d", "--dry-run", "--json").objects[0]["would_send"]
    before = server.scored()
    sent = say("backfill", "--since", "30d", "--json").objects[0]["sent"]

    assert (EACH, set()) == (sum(would.values()), before)
    assert sum(would.values()) == sent


@pytest.mark.parametrize("words", [("--since", "soon"), ("--since", "1d", "--until", "2d"), ("--since", "2199-01-01")])
def test_a_stretch_that_holds_nothing_is_a_usage_error(say: Say, words: tuple[str, ...]) -> None:
    """Before anything is opened."""
    said = say("backfill", *words)

    assert (Exit.USAGE, True) == (said.code, "--since" in said.err)


def test_a_terminal_shows_a_bar(server: Server) -> None:
    """Where somebody watches, one line that moves takes the place of lines."""
    server.add("old", days=2)
    shown, code = on_a_terminal("backfill", "--since", "3d")

    assert 0 == code
    assert all(word in shown for word in ("backfill", "━", "100%", "calls"))
    assert "hunkwatch: backfill" not in shown


def test_a_killed_backfill_goes_on_where_it_was(server: Server, say: Say) -> None:
    """SIGKILL in the middle of thirty days: the second one reads only what is left, and everything is scored once."""
    for day in range(30):
        server.add(f"t{day:02}", days=day + 0.5)
    by_the_day = ("--set", "sweep.span=1d")
    process = start("backfill", "--since", "30d", *by_the_day)
    until = time.monotonic() + PATIENCE
    while server.reads() < 80:
        assert time.monotonic() < until, "it never came that far"
        time.sleep(0.001)
    process.kill()
    process.communicate()
    before = server.reads()
    second = say("backfill", "--since", "30d", "--json", *by_the_day)
    between = server.reads()
    say("backfill", "--since", "30d", "--again", *by_the_day)
    whole = server.reads() - between

    assert 0 == second.code
    assert {f"t{day:02}" for day in range(30)} == server.scored()
    # The day under way may be read again, the days before it are not.
    assert between - before < whole - 60


def test_a_backfill_beside_a_worker_on_one_file_is_refused(server: Server, say: Say) -> None:
    """One process a file, and one line that says what to do."""
    with opening._locked(Path(server.state.removeprefix("sqlite:///"))):
        said = say("backfill", "--since", "3d")

    assert (Exit.STATE, 1) == (said.code, len(said.err.splitlines()))
    assert "another hunkwatch process" in said.err


# ---------------------------------------------------------------- rescore


def test_a_rehearsed_rescore_says_what_the_real_one_changes(server: Server, say: Say) -> None:
    """By name and kind of change, with the number of scores; the real one sends exactly these, and a second one none."""
    for trace in ("a", "b"):
        server.add(trace, days=1)
    say("run", "--once")
    changed = ("--set", "scores.paths=false")
    words = say("rescore", "--dry-run", *changed)
    would = say("rescore", "--dry-run", "--json", *changed).objects[0]
    before = [score["metadata"] for score in server.sandbox.all_scores()]
    real = say("rescore", "--json", *changed).objects[0]
    again = say("rescore", "--json", *changed).objects[0]

    assert (0, True) == (words.code, "A real rescore would send" in words.out)
    assert "other words" in words.out
    assert would["to_send"] == sum(count["words"] for count in would["scores"].values()) > 0
    assert (would["scores"], would["to_send"], would["to_send"]) == (real["scores"], real["sent"], real["seen"])
    assert (0, 0) == (again["to_send"], again["sent"])
    assert before != [score["metadata"] for score in server.sandbox.all_scores()]
    assert {"a", "b"} == server.scored()


# ---------------------------------------------------------------- purge


@pytest.mark.usefixtures("no_deletion_pause")
def test_a_purge_asks_first(server: Server, say: Say) -> None:
    """No deletes nothing and yes everything; --yes does not ask; what is left of it in the record is found by nobody."""
    server.add("a", days=1)
    say("run", "--once")
    no = say("purge", stdin="n\n")
    kept = server.scored()
    yes = say("purge", stdin="y\n")
    again = say("purge", "--yes", "--json")

    assert (Exit.USAGE, {"a"}) == (no.code, kept)
    assert f"Delete up to {EACH} scores of project" in no.err
    assert (0, f"{EACH} of {EACH} scores are gone.\n", set()) == (yes.code, yes.out.lstrip(), server.scored())
    assert (0, 0, EACH) == (again.code, again.objects[0]["found"], server.deletions())


@pytest.mark.usefixtures("no_deletion_pause")
def test_a_purge_stays_within_the_quota(server: Server, say: Say) -> None:
    """It says how many are left and when to go on, and asks Langfuse no more than it takes."""
    for number in range(10):
        server.add(f"t{number}", days=1)
    say("run", "--once")
    server.sandbox.habits = Habits(plan=Plan.HOBBY)
    said = say("purge", "--yes", "--set", "langfuse.requests_per_minute=0")

    assert Exit.TEMPORARY == said.code
    assert "the quota of deletions is used up. Run it again in " in said.out
    assert 60 - 49 == len(server.sandbox.all_scores())


# ---------------------------------------------------------------- dead letters


async def give_up(server: Server) -> None:
    """Make a dead letter of every score on record, of which Langfuse knows none."""
    async with open_store(server.state) as store:
        (project,) = await store.projects()
        rows = (await store.outbox_of(project, ["a"]))["a"]
        await store.commit(Commit(project, outbox=[replace(row, state=Delivery.DEAD, reason="never seen") for row in rows]))


def test_dead_letters_that_are_discarded_stay_away(server: Server, say: Say) -> None:
    """Neither the next pass nor a rescore brings them back; those that are tried again are sent."""
    server.add("a", days=1)
    say("run", "--once")
    asyncio.run(give_up(server))
    listed = {one["score_id"]: one["name"] for one in say("dead-letters", "list", "--json").objects}
    discarded = next(iter(listed))
    told = (say("dead-letters", "discard", discarded).out, say("dead-letters", "retry", "--all").out)
    passed = say("run", "--once", "--json").objects[0]
    rescored = say("rescore", "--json").objects[0]

    assert EACH == len(listed)
    assert ("1 discarded.\n", f"{EACH - 1} will be sent again by the next run.\n") == told
    assert (EACH - 1, 0) == (passed["sent"], rescored["sent"])
    assert [] == say("dead-letters", "list", "--json").objects


@pytest.mark.parametrize("words", [("retry",), ("discard",), ("retry", "--all", "x")])
def test_dead_letters_are_never_all_meant_by_accident(say: Say, words: tuple[str, ...]) -> None:
    """All of them have to be asked for."""
    assert Exit.USAGE == say("dead-letters", *words).code


# ---------------------------------------------------------------- sample


def test_a_larger_sample_contains_the_smaller(server: Server, say: Say) -> None:
    """The trace id decides; a backfill with a larger share fetches what the smaller one left out."""
    traces = {f"t{number:02}" for number in range(24)}
    for trace in traces:
        server.add(trace, days=1)
    say("run", "--once", "--sample", "0.3")
    small = server.scored()
    say("run", "--once", "--sample", "0.3")
    again = server.scored()
    say("backfill", "--since", "3d", "--sample", "0.7")
    large = server.scored()
    say("backfill", "--since", "3d")

    assert small == again == {trace for trace in traces if identity.sampled(trace, 0.3)}
    assert large == {trace for trace in traces if identity.sampled(trace, 0.7)}
    assert set() < small < large < traces == server.scored()


# ---------------------------------------------------------------- processes


def start(*words: str, **given: Any) -> subprocess.Popen[bytes]:
    """Start the real command with the environment of the test."""
    streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **given}
    return subprocess.Popen([sys.executable, "-m", "hunkwatch", *words], env=dict(os.environ), **streams)


def on_a_terminal(*words: str) -> tuple[str, int]:
    """Run the real command with a terminal for its errors; return what that showed, and the code."""
    ours, theirs = pty.openpty()
    process = start(*words, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:
        pass  # how a terminal says that the other side is gone
    finally:
        os.close(ours)
    return shown.decode("utf-8", "replace"), process.wait(timeout=PATIENCE)

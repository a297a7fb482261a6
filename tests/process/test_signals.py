"""How the process starts, stops and says what is wrong."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

from hunkwatch.sandbox import Fault, Habits, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    WaitUntil = Callable[[Callable[[], bool]], None]


def test_the_daemon_scores_what_arrives_and_drains_on_sigterm(station: Any, wait_until: WaitUntil) -> None:
    """Traces that arrive while it runs are scored; SIGTERM ends it in order, with nothing in hand."""
    process = station.start("run")
    wait_until(lambda: bool(station.sandbox.requests))
    station.add_traces("t1", "t2")
    wait_until(lambda: station.shown() == station.expected)

    code, log = station.end(process, signal.SIGTERM)

    told = [line["event"] for line in log]
    assert (code, told[0], told[-1], told.count("worker_stopping")) == (0, "worker_started", "worker_stopped", 1)


def test_a_second_signal_leaves_at_once(station: Any, wait_until: WaitUntil) -> None:
    """A server that hangs holds up the first signal's drain, never the second signal."""
    process = station.start("run")
    station.sandbox.habits = Habits(faults=(Fault(Wrong.HANGING, path="/api/public/v2/observations", after=1, seconds=600),))
    wait_until(lambda: any(path.endswith("/observations") and status == 0 for _, path, status in station.sandbox.requests))

    process.send_signal(signal.SIGTERM)
    while "worker_stopping" not in process.stderr.readline():
        pass
    code, _ = station.end(process, signal.SIGTERM)

    assert code == 128 + signal.SIGTERM


def test_one_pass_waits_for_the_read_back(station: Any) -> None:
    """``run --once`` ends when Langfuse shows every score; a second one sends nothing."""
    station.add_traces("t1")

    first, second = station.finish("run", "--once", "--json"), station.finish("run", "--once", "--json")

    assert (first[0], second[0], json.loads(first[1])["sent"], json.loads(second[1])["sent"]) == (0, 0, 9, 0)
    assert station.shown() == station.expected


def test_a_second_process_on_the_same_state_is_refused(station: Any, wait_until: WaitUntil) -> None:
    """One line, the documented exit code, and the first process goes on."""
    process = station.start("run")
    wait_until(lambda: bool(station.sandbox.requests))

    code, _, log = station.finish("run", "--once")

    assert (code, len(log.strip().splitlines())) == (74, 1)
    assert "another hunkwatch process" in log
    assert station.end(process, signal.SIGINT)[0] == 0


def test_a_wrong_key_ends_the_daemon_with_one_line(station: Any) -> None:
    """The supervisor is told not to try again, a person is told what to mend."""
    code, _, log = station.finish("run", LANGFUSE_SECRET_KEY="sk-lf-wrong")

    assert (code, len(log.strip().splitlines()), "LANGFUSE_SECRET_KEY" in log, "sk-lf-wrong" in log) == (77, 1, True, False)


def test_status_works_beside_a_running_daemon(station: Any, wait_until: WaitUntil) -> None:
    """The state can be looked at while it is being written."""
    station.add_traces("t1")
    process = station.start("run")
    wait_until(lambda: station.shown() == station.expected)

    code, out, _ = station.finish("status", "--json")

    assert (code, json.loads(out)["projects"]["project-1"]["calls_by_producer"] != {}) == (0, True)
    assert station.end(process, signal.SIGTERM)[0] == 0


def test_a_stop_before_the_server_answers_ends_at_once(station: Any, wait_until: WaitUntil) -> None:
    """Nothing is under way yet that a drain could finish."""
    station.sandbox.habits = Habits(faults=(Fault(Wrong.HANGING, seconds=600),))
    process = station.start("run")
    wait_until(lambda: bool(station.sandbox.requests))

    code, log = station.end(process, signal.SIGTERM)

    assert (code, [line["event"] for line in log]) == (0, ["worker_stopping"])

"""What a service manager hears from the real process, on a real datagram socket."""

from __future__ import annotations

import signal
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.sandbox import Fault, Habits, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    WaitUntil = Callable[[Callable[[], bool]], None]

PATIENCE = 60.0


@dataclass
class Manager:
    """A service manager that listens and remembers."""

    listener: socket.socket
    address: str
    heard: list[str] = field(default_factory=list)

    def wait_for(self, wanted: Callable[[str], bool], *, after: int = 0) -> int:
        """Listen until a notification after the first ``after`` ones is wanted; return its place."""
        until = time.monotonic() + PATIENCE
        at = after
        while True:
            while at >= len(self.heard):
                self.listener.settimeout(max(until - time.monotonic(), 0.01))
                self.heard.append(self.listener.recv(4096).decode())
            if wanted(self.heard[at]):
                return at
            at += 1


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    """A service manager's socket."""
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(address)
        yield Manager(listener, address)


def test_the_service_manager_is_told_each_step(station: Any, manager: Manager) -> None:
    """Ready once the server is known, alive while the loops turn, what it does in one line, stopping at SIGTERM."""
    process = station.start("run", NOTIFY_SOCKET=manager.address, WATCHDOG_USEC="200000")
    ready = manager.wait_for(lambda told: told == "READY=1")
    status = manager.wait_for(lambda told: told.startswith("STATUS="))
    alive = manager.wait_for(lambda told: told == "WATCHDOG=1", after=ready)
    again = manager.wait_for(lambda told: told == "WATCHDOG=1", after=alive + 1)

    process.send_signal(signal.SIGTERM)
    stopping = manager.wait_for(lambda told: told == "STOPPING=1", after=again)

    assert (ready, manager.heard[status], stopping > again) == (0, "STATUS=watching project project-1", True)
    assert station.end(process)[0] == 0


def test_a_reload_takes_new_settings_without_leaving(station: Any, manager: Manager, wait_until: WaitUntil, tmp_path: Path) -> None:
    """SIGHUP: reloading, then ready; the same process goes on with the new settings and the state it holds, and scores what comes."""
    config = tmp_path / "config.toml"
    config.write_text('[log]\nlevel = "error"\n', "utf-8")
    process = station.start("run", "--config", str(config), NOTIFY_SOCKET=manager.address)
    ready = manager.wait_for(lambda told: told == "READY=1")
    config.write_text('[log]\nlevel = "info"\n[sweep]\nrequest_grace = "11m"\n', "utf-8")

    process.send_signal(signal.SIGHUP)
    reloading = manager.wait_for(lambda told: told.startswith("RELOADING=1\nMONOTONIC_USEC="), after=ready)
    manager.wait_for(lambda told: told == "READY=1", after=reloading)
    station.add_traces("t1")
    wait_until(lambda: station.shown() == station.expected)

    code, log = station.end(process, signal.SIGTERM)
    told = [(line["event"], line.get("changed")) for line in log]
    assert (code, station.shown()) == (0, station.expected)
    assert told[0] == ("settings_reloaded", "sweep.request_grace, log.level")
    assert told[-1] == ("worker_stopped", None)


def test_a_reload_takes_another_selection(station: Any, manager: Manager, wait_until: WaitUntil, tmp_path: Path) -> None:
    """SIGHUP: what was left out before is read from then on, as far back as every sweep reads again."""
    config = tmp_path / "config.toml"
    config.write_text('[select]\nenvironments = ["nowhere"]\n[log]\nlevel = "info"\n', "utf-8")
    station.add_traces("t1")
    process = station.start("run", "--config", str(config), NOTIFY_SOCKET=manager.address)
    ready = manager.wait_for(lambda told: told == "READY=1")
    config.write_text('[log]\nlevel = "info"\n', "utf-8")

    process.send_signal(signal.SIGHUP)
    reloading = manager.wait_for(lambda told: told.startswith("RELOADING=1"), after=ready)
    manager.wait_for(lambda told: told == "READY=1", after=reloading)
    wait_until(lambda: station.shown() == station.expected)

    code, log = station.end(process, signal.SIGTERM)
    assert (code, [line["changed"] for line in log if line["event"] == "settings_reloaded"]) == (0, ["select.environments"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[sweep]\nrequest_grace = "soon"\n', "[sweep] request_grace: "),
        ('[http]\nhost = "127.0.0.2"\n', "http.host cannot change while the worker runs"),
        ("[sweep\n", "config.toml"),
    ],
)
def test_a_reload_that_is_wrong_changes_nothing(  # noqa: PLR0913 - fixtures and the case
    station: Any, manager: Manager, wait_until: WaitUntil, tmp_path: Path, *, text: str, reason: str
) -> None:
    """One line says what is wrong, the manager hears ready again, and the worker goes on as before."""
    config = tmp_path / "config.toml"
    config.write_text("", "utf-8")
    process = station.start("run", "--config", str(config), NOTIFY_SOCKET=manager.address)
    ready = manager.wait_for(lambda told: told == "READY=1")
    config.write_text(text, "utf-8")

    process.send_signal(signal.SIGHUP)
    reloading = manager.wait_for(lambda told: told.startswith("RELOADING=1"), after=ready)
    manager.wait_for(lambda told: told == "READY=1", after=reloading)
    station.add_traces("t1")
    wait_until(lambda: station.shown() == station.expected)

    code, log = station.end(process, signal.SIGTERM)
    refused = [line["reason"] for line in log if line["event"] == "reload_refused"]
    assert (code, station.shown(), len(refused)) == (0, station.expected, 1)
    assert reason in refused[0]


def test_a_key_that_is_refused_is_not_taken(station: Any, manager: Manager, tmp_path: Path) -> None:
    """New keys are tried at Langfuse before the old ones are given up, and stand in no line."""
    secret = tmp_path / "secret"
    secret.write_text("sk-lf-process", "utf-8")
    process = station.start("run", NOTIFY_SOCKET=manager.address, LANGFUSE_SECRET_KEY="", LANGFUSE_SECRET_KEY_FILE=str(secret))
    ready = manager.wait_for(lambda told: told == "READY=1")
    secret.write_text("sk-lf-another", "utf-8")

    process.send_signal(signal.SIGHUP)
    reloading = manager.wait_for(lambda told: told.startswith("RELOADING=1"), after=ready)
    manager.wait_for(lambda told: told == "READY=1", after=reloading)

    code, log = station.end(process, signal.SIGTERM)
    assert (code, [line["event"] for line in log].count("reload_refused"), "sk-lf-another" in str(log)) == (0, 1, False)


def test_a_stop_does_not_wait_for_a_reload(station: Any, manager: Manager, wait_until: WaitUntil) -> None:
    """A server that hangs while new settings are tried holds up neither the loops nor SIGTERM."""
    process = station.start("run", NOTIFY_SOCKET=manager.address)
    ready = manager.wait_for(lambda told: told == "READY=1")
    station.sandbox.habits = Habits(faults=(Fault(Wrong.HANGING, path="/api/public/projects", seconds=600),))
    process.send_signal(signal.SIGHUP)
    manager.wait_for(lambda told: told.startswith("RELOADING=1"), after=ready)
    wait_until(lambda: any(path.endswith("/projects") and status == 0 for _, path, status in station.sandbox.requests))
    station.add_traces("t1")
    wait_until(lambda: station.shown() == station.expected)

    code, log = station.end(process, signal.SIGTERM)

    assert (code, log[-1]["event"], [line for line in log if line["event"].startswith(("reload", "settings"))]) == (0, "worker_stopped", [])

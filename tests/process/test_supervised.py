"""What a service manager hears from the real process, on a real datagram socket."""

from __future__ import annotations

import signal
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

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

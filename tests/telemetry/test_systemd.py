"""What the service manager hears, on a real datagram socket."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from hunkwatch.telemetry.systemd import Supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """A service manager's socket and its address."""
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(address)
        listener.settimeout(5)
        yield listener, address


def test_each_word_is_one_datagram(manager: tuple[socket.socket, str]) -> None:
    """Ready, alive, reloading and stopping arrive in order, spelled as documented."""
    listener, address = manager
    supervisor = Supervisor({"NOTIFY_SOCKET": address}, pid=1)
    supervisor.ready()
    supervisor.alive()
    supervisor.reloading(12.5)
    supervisor.stopping()

    heard = [listener.recv(4096).decode() for _ in range(4)]

    assert heard == ["READY=1", "WATCHDOG=1", "RELOADING=1\nMONOTONIC_USEC=12500000", "STOPPING=1"]


def test_a_status_is_one_line_whatever_it_holds(manager: tuple[socket.socket, str]) -> None:
    """A line feed in a status cannot smuggle in another notification, and a long one is cut."""
    listener, address = manager

    Supervisor({"NOTIFY_SOCKET": address}, pid=1).status("swept\nREADY=1 " + "x" * 500)

    heard = listener.recv(4096).decode()
    assert heard == "STATUS=swept READY=1 " + "x" * (200 - len("swept READY=1 "))


def test_an_abstract_socket_is_reached() -> None:
    """An address that starts with @ lives outside the file system."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("")  # the kernel picks a free abstract name
        listener.settimeout(5)
        name = listener.getsockname()

        Supervisor({"NOTIFY_SOCKET": "@" + name[1:].decode()}, pid=1).ready()

        assert listener.recv(64) == b"READY=1"


def test_nobody_listening_is_no_error(tmp_path: Path) -> None:
    """Without a manager, or with one that is gone, the worker goes on."""
    Supervisor({}, pid=1).ready()
    gone = Supervisor({"NOTIFY_SOCKET": str(tmp_path / "gone")}, pid=1)

    gone.ready()

    assert (gone.present, Supervisor({}, pid=1).present) == (True, False)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"WATCHDOG_USEC": "30000000"}, timedelta(seconds=15)),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"}, timedelta(seconds=15)),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_fed_at_half_its_time(environ: dict[str, str], expected: timedelta | None) -> None:
    """Only the process that is meant feeds the watchdog, twice as often as it must."""
    supervisor = Supervisor({"NOTIFY_SOCKET": "@hunkwatch-test"} | environ, pid=7)

    assert supervisor.watchdog_every == expected

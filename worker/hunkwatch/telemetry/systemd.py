"""What the service manager is told, over the socket it names: ready, alive, reloading, stopping, and one line of status.

Speaks the documented ``sd_notify`` datagrams. Without a socket (no service manager) every call does nothing. A notification that
cannot be sent is dropped: the worker never waits for, or fails because of, whoever watches it.
"""

from __future__ import annotations

import contextlib
import socket
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_STATUS = 200


class Supervisor:
    """The service manager that started this process, if one did."""

    def __init__(self, environ: Mapping[str, str], *, pid: int) -> None:
        """Take ``NOTIFY_SOCKET``, ``WATCHDOG_USEC`` and ``WATCHDOG_PID`` from the environment that is passed in."""
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._watchdog = _watchdog(environ, pid) if self._address else None

    @property
    def present(self) -> bool:
        """Say whether anybody listens."""
        return bool(self._address)

    @property
    def watchdog_every(self) -> timedelta | None:
        """Return how often ``alive`` should be called (half the time that is allowed), None when no watchdog is set."""
        return self._watchdog / 2 if self._watchdog else None

    def ready(self) -> None:
        """Start-up or a reload is finished."""
        self._say("READY=1")

    def alive(self) -> None:
        """The loops make progress."""
        self._say("WATCHDOG=1")

    def status(self, text: str) -> None:
        """Say in one line what the worker does; ``systemctl status`` shows it."""
        line = " ".join(text.split())[:_LONGEST_STATUS]
        self._say(f"STATUS={line}")

    def reloading(self, monotonic: float) -> None:
        """A reload begins; ``monotonic`` is the machine's monotonic clock in seconds."""
        self._say(f"RELOADING=1\nMONOTONIC_USEC={int(monotonic * 1_000_000)}")

    def stopping(self) -> None:
        """The shutdown begins."""
        self._say("STOPPING=1")

    def _say(self, message: str) -> None:
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.settimeout(0)
            channel.sendto(message.encode("utf-8", "replace"), self._address)


def _watchdog(environ: Mapping[str, str], pid: int) -> timedelta | None:
    allowed, meant = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not allowed.isdecimal() or not int(allowed) or (meant and meant != str(pid)):
        return None
    return timedelta(microseconds=int(allowed))

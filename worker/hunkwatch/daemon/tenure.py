"""Who may sweep a project, when several processes share one state.

The right is a lease that is renewed long before it ends. Losing it stops new units of work; one under way may finish, since
committing the same thing twice changes nothing.
"""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from secrets import token_hex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hunkwatch.ports import Clock, Store

LEASE = timedelta(minutes=1)
RENEW = timedelta(seconds=15)


class Tenure:
    """This process's right to sweep one project."""

    def __init__(self, store: Store, project: str, clock: Clock) -> None:
        """Hold nothing yet."""
        self._store = store
        self._project = project
        self._clock = clock
        self._until = clock.monotonic()

    @property
    def held(self) -> bool:
        """Say whether the right is ours, as far as we know without asking."""
        return self._clock.monotonic() < self._until

    async def renew(self) -> bool:
        """Take the right or keep it; False while another process has it."""
        began, now = self._clock.monotonic(), self._clock.now()
        taken = await self._store.lease(self._project, until=now + LEASE, now=now)
        # Counted from before the question, and a little less: ours ends before anybody else may begin.
        self._until = began + (LEASE - RENEW).total_seconds() if taken else began
        return taken

    async def release(self) -> None:
        """Let another process go on at once."""
        self._until = self._clock.monotonic()
        await self._store.release(self._project)


def own_name() -> str:
    """Name this process among all that may share a state, on whatever machine."""
    return f"{socket.gethostname()}-{os.getpid()}-{token_hex(4)}"

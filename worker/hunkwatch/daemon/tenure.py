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
    from hunkwatch.daemon.project import Project
    from hunkwatch.ports import Clock, Store

LEASE = timedelta(seconds=30)
"""How long the right lasts, unless the settings say otherwise."""

_RENEWALS = 4
"""How often it is renewed before it would end."""


class Tenure:
    """This process's right to sweep one project."""

    def __init__(self, store: Store, project: str, clock: Clock, lease: timedelta = LEASE) -> None:
        """Hold nothing yet."""
        self.renew_every = lease / _RENEWALS
        self._lease = lease
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
        taken = await self._store.lease(self._project, until=now + self._lease, now=now)
        # Counted from before the question, and a little less: ours ends before anybody else may begin.
        self._until = began + (self._lease - self.renew_every).total_seconds() if taken else began
        return taken

    async def release(self) -> None:
        """Let another process go on at once."""
        self._until = self._clock.monotonic()
        await self._store.release(self._project)


def of(project: Project) -> Tenure:
    """Return this process's right to sweep a project, which it does not hold yet."""
    return Tenure(project.store, project.id, project.clock, project.lease)


def own_name() -> str:
    """Name this process among all that may share a state, on whatever machine."""
    return f"{socket.gethostname()}-{os.getpid()}-{token_hex(4)}"

"""The composition root: settings in, an opened worker out. The only file that names adapters.

Whoever opens registers its close on the one exit stack, so that everything closes in reverse order whatever happens.
Every function here is what one verb of the command line does; it raises only ``errors.HunkwatchError``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hunkwatch.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hunkwatch import ports
    from hunkwatch.core.model import Observation
    from hunkwatch.events import Emit
    from hunkwatch.ports import Clock
    from hunkwatch.settings import Settings

PATIENCE = timedelta(seconds=60)
"""How long ``run --once`` waits for Langfuse to show what was sent."""


@dataclass(frozen=True, slots=True)
class OnceReport:
    """What one pass did. ``exit`` is OK, or TEMPORARY when scores were still on their way when patience ended."""

    exit: Exit
    project: str
    observations: int
    """Observations read whole."""
    calls: int
    """Calls found in them, new or changed."""
    sent: int
    """Scores that were sent, by any try."""
    seen: int
    """Scores that this pass saw in Langfuse as they should be."""
    waiting: int
    """Scores still on their way."""
    dead: int
    """Dead letters on record."""
    poison: int
    """Observations on record as unreadable."""
    shapes: Mapping[str, int] = field(default_factory=dict)
    """Calls on record by shape, which says why some abstained."""


@dataclass(frozen=True, slots=True)
class DryRunReport:
    """What a real run would do; nothing was written to Langfuse or to the state."""

    project: str
    observations: int
    calls: int
    shapes: Mapping[str, int]
    would_send: Mapping[str, int]
    """By score name, how many scores a real run would send."""
    would_withdraw: Mapping[str, int]
    """By score name, how many scores a real run would delete."""
    already_there: int
    """Scores that Langfuse already shows as they should be."""


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The state as it is on disk, by project."""

    store: str
    """Where the state lives, without any password."""
    scorer: str
    projects: Mapping[str, ports.Status] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that ``check`` looked at. ``mend`` is one sentence that says what to do, "" where all is well."""

    subject: str
    ok: bool
    message: str
    mend: str = ""
    exit: Exit = Exit.OK


async def run(settings: Settings, *, emit: Emit | None = None, clock: Clock | None = None) -> Exit:
    """Run until a signal comes or going on makes no sense. Without ``emit`` the settings' own log is used."""
    raise NotImplementedError


async def run_once(
    settings: Settings, *, emit: Emit | None = None, clock: Clock | None = None, patience: timedelta = PATIENCE
) -> OnceReport:
    """Sweep until caught up, roll everything up, deliver, and wait for Langfuse to show it."""
    raise NotImplementedError


async def dry_run(settings: Settings, *, emit: Emit | None = None, clock: Clock | None = None) -> DryRunReport:
    """Do everything on a throw-away copy of the state, except writing to Langfuse, and report what a real run would send."""
    raise NotImplementedError


async def status(settings: Settings, *, clock: Clock | None = None) -> StatusReport:
    """Count everything on record; asks Langfuse nothing."""
    raise NotImplementedError


async def check(settings: Settings, *, clock: Clock | None = None) -> Sequence[Finding]:
    """Look at everything a run needs in one pass; writes nothing anywhere."""
    raise NotImplementedError


async def dead_letters(settings: Settings) -> Mapping[str, Sequence[ports.OutboxRow]]:
    """Return the dead letters by project, oldest first."""
    raise NotImplementedError


async def retry_dead_letters(settings: Settings, ids: Sequence[str] = (), *, clock: Clock | None = None) -> int:
    """Send dead letters again, all of them without ``ids``; return how many."""
    raise NotImplementedError


async def discard_dead_letters(settings: Settings, ids: Sequence[str] = (), *, clock: Clock | None = None) -> int:
    """Give dead letters up, all of them without ``ids``; return how many."""
    raise NotImplementedError


async def fetch(settings: Settings, subject: str) -> Sequence[Observation]:
    """Return whole observations by trace id or by observation id, empty when there is none."""
    raise NotImplementedError


def observation(row: Mapping[str, Any]) -> Observation:
    """Read one observation as Langfuse's API or export writes it, v1 or v2 form; raises ValueError when it is none."""
    raise NotImplementedError

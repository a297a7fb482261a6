"""What every loop of one Langfuse project works with, joined by ``app``."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hunkwatch.daemon.tenure import LEASE

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from hunkwatch.events import Emit
    from hunkwatch.ports import Clock, ObservationSource, ScoreSink, Store
    from hunkwatch.settings import DeliverySection, ScoresSection, SweepSection


def _nobody_watches() -> None: ...


@dataclass(frozen=True, slots=True)
class Project:
    """One Langfuse project: where it is read, written and remembered, and how.

    ``beat`` is called after every step that got somewhere; a watchdog listens. ``turn`` is held from reading what is on record
    of a trace until the commit that follows from it, so that two loops never write from stale knowledge.
    """

    id: str
    source: ObservationSource
    sink: ScoreSink
    store: Store
    clock: Clock
    emit: Emit
    sweep: SweepSection
    delivery: DeliverySection
    scores: ScoresSection
    scope: str = ""
    """Names what of the project is read; "" for everything."""
    beat: Callable[[], None] = _nobody_watches
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    lease: timedelta = LEASE
    """How long the right to sweep lasts without being renewed."""

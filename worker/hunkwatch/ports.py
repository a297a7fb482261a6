"""The four seams of the daemon: where observations come from, where scores go, what survives, and what time it is.

The daemon knows only these. Adapters implement them; ``app`` joins them. Every method raises only ``errors``.
All times are aware UTC. ``project`` is the Langfuse project id.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import datetime

    from hunkwatch.core.model import GradedCall, Observation, Score
    from hunkwatch.core.window import Window


# ---------------------------------------------------------------- time


class Clock(Protocol):
    """Time, passed in."""

    def now(self) -> datetime:
        """Return the wall clock, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never jump."""
        ...

    async def sleep(self, seconds: float, *, unless: asyncio.Event) -> None:
        """Sleep, or return early once the event is set."""
        ...


# ---------------------------------------------------------------- whose request goes first


class Urgency(IntEnum):
    """What a request is for, where a limit makes requests wait: the smaller goes first."""

    DELIVERY = 0
    LIVE = 1
    BACKGROUND = 2
    """Reading again what was read before."""
    BACKFILL = 3
    """The past, perhaps beside another process that must not be slowed down."""


urgency: ContextVar[Urgency] = ContextVar("urgency", default=Urgency.LIVE)
"""How urgent the requests of the present task are: every loop sets it for itself."""


# ---------------------------------------------------------------- Langfuse, reading


@dataclass(frozen=True, slots=True)
class Page:
    """Some observations, newest first. ``complete`` says that input, output and metadata are already in them.

    ``unreadable`` names the rows that the server has but that cannot be had (one row over every limit) or cannot be decoded,
    each with a short reason: put them on record and go on. A row is never in both.
    """

    observations: Sequence[Observation]
    complete: bool
    unreadable: Mapping[ObservationKey, str] = field(default_factory=dict)


class ObservationSource(Protocol):
    """Where observations are read."""

    def candidates(self, window: Window, *, complete: bool) -> AsyncIterator[Page]:
        """Page through every observation of the window that may carry a call; a row may come more than once, in several pages.

        Within one page a row comes once: the newest update, with the smallest start time seen.

        ``complete`` asks for input and output with the page (cheaper when most rows are unseen); else ``read`` follows.
        Raises AskForLess when the window is too much for the server.
        """
        ...

    async def read(self, observations: Sequence[Observation]) -> Page:
        """Return the same observations in one complete page; one that is gone is left out.

        A row that came twice is answered once: the newest update, with the smallest start time seen. Batches inside the
        server's limits by itself; a row that is too much even alone is in ``unreadable``, it spoils nothing else.
        """
        ...

    async def following(self, observations: Sequence[Observation]) -> Mapping[ObservationKey, Observation]:
        """Return, by observation, the first generation that began after its end in the same session, or trace where it has no session.

        Input and output may be missing: ``read`` follows. One that has none is left out, and one that comes a day later is none. A
        bounded number of requests; only id, trace, start and end of the observations are looked at.
        """
        ...

    async def fetch(self, *, trace_id: str | None = None, observation_id: str | None = None) -> Sequence[Observation]:
        """Return whole observations by trace or by id, for ``explain``; empty when there is none."""
        ...


# ---------------------------------------------------------------- Langfuse, writing


class Verdict(StrEnum):
    """What the server said of one score."""

    ACCEPTED = "accepted"
    """Taken, which is not yet seen."""
    UNCERTAIN = "uncertain"
    """Part of a batch whose answer names no ids: only a read-back tells."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Receipt:
    """The server's word on one score, in the order they were offered. ``reason`` is cut to one short line."""

    score_id: str
    verdict: Verdict
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Parcel:
    """A score as it is offered: with or without the config id that makes Langfuse validate it."""

    score: Score
    with_config: bool = True


@dataclass(frozen=True, slots=True)
class SeenScore:
    """A score as Langfuse shows it. ``fingerprint`` is the one in its metadata, ``""`` when it has none."""

    id: str
    name: str
    value: float | str
    timestamp: datetime
    fingerprint: str


class ScoreSink(Protocol):
    """Where scores are written and read back."""

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Offer each score once; return one receipt a score, in order. Sending the same score again changes nothing.

        Batches inside the server's limits. A bad score spoils only its own receipt; raises RetryLater or Halt only when
        nothing is known about any of them.
        """
        ...

    async def look_up(self, ids: Sequence[str]) -> Mapping[str, SeenScore]:
        """Return those of the scores that Langfuse shows now."""
        ...

    async def withdraw(self, score_id: str) -> None:
        """Ask for the deletion of one score. RetryLater with a long ``after`` when the day's quota is used up."""
        ...


# ---------------------------------------------------------------- what survives


class Delivery(StrEnum):
    """The states of an outbox row. The moves between them are in ``docs/delivery.md`` and nowhere else."""

    NEW = "new"
    """No ledger row before: looked up in Langfuse by its id first, whose timestamp is then adopted."""
    DUE = "due"
    """To be sent at ``next_at``."""
    SENT = "sent"
    """A 2xx came back; to be looked for at ``next_at``."""
    SEEN = "seen"
    """Langfuse shows our value and fingerprint. Rest."""
    DEAD = "dead"
    """Sent three times and never seen, or refused: a dead letter with its reason."""
    DOOMED = "doomed"
    """No longer follows from the data: to be seen, then deleted."""
    DELETED = "deleted"
    """Deletion asked for; ends when a look-up misses it."""
    GONE = "gone"
    """A look-up missed it after the deletion, or it was never sent. Rest; keeps the timestamp should the score come back."""


@dataclass(frozen=True, slots=True)
class ObservationKey:
    """A span id is unique only within its trace."""

    trace_id: str
    observation_id: str


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What is on record about one observation.

    ``first_start`` is the earliest start time ever seen of it: every call in it carries that as its start time, and its
    scores that as their timestamp. ``version`` is the newest update that was read (ISO text, ``""`` unknown), ``fingerprint``
    the content hash of input, output, level and status. ``reason`` says why nothing could be read of a poison row.
    """

    project: str
    key: ObservationKey
    first_start: datetime
    version: str
    fingerprint: str
    calls: tuple[GradedCall, ...]
    seen_at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One score on its way, or at rest. ``fingerprint`` is of the wanted payload; ``sent`` counts sends, ``looks`` read-backs since.

    ``claim`` names the claim that handed the row out; settling it after the claim went to somebody else changes nothing.
    """

    project: str
    score: Score
    fingerprint: str
    scorer: str
    state: Delivery
    next_at: datetime
    sent: int = 0
    looks: int = 0
    reason: str = ""
    claim: str = ""


@dataclass(frozen=True, slots=True)
class TraceState:
    """When a trace has to be looked at again. ``due_at`` None: nothing waits. ``rolled_at``: the last rollup."""

    project: str
    trace_id: str
    touched_at: datetime
    due_at: datetime | None
    rolled_at: datetime | None


@dataclass(frozen=True, slots=True)
class Commit:
    """Everything that one sweep (or one rollup) changes, written together or not at all.

    ``outbox`` rows replace their predecessors by score id, except that a row that exists keeps its own ``score.timestamp``.
    ``watermark`` only ever rises, and only within its ``lane``.
    """

    project: str
    ledger: Sequence[LedgerEntry] = ()
    outbox: Sequence[OutboxRow] = ()
    traces: Sequence[TraceState] = ()
    lane: str = "live"
    watermark: datetime | None = None
    lags: Mapping[str, float] = field(default_factory=dict)
    """Largest seconds between start and visibility by producer, among the observations of ``ledger`` that are new."""


@dataclass(frozen=True, slots=True)
class Status:
    """A count of everything, for ``status`` and the metrics."""

    watermarks: Mapping[str, datetime]
    outbox: Mapping[Delivery, int]
    oldest_undelivered: datetime | None
    observations: int
    calls_by_producer: Mapping[str, int]
    shapes: Mapping[str, int]
    outcomes: Mapping[str, int]
    sent_per_day: Sequence[tuple[str, str, int]]
    """(day as ISO text, score name, sends), newest day first, 31 days at most."""
    older_scorer: int
    """Scores seen in Langfuse that an older scorer version made."""
    traces_waiting: int
    poison: int
    lag_seconds: Mapping[str, float] = field(default_factory=dict)
    """Largest lag between start and visibility seen lately, by producer."""
    unresolved_by_producer: Mapping[str, int] = field(default_factory=dict)
    """Calls that were made but whose patch cannot be read."""


class Store(Protocol):
    """What survives a crash. Every method is one transaction."""

    async def watermark(self, project: str, lane: str = "live") -> datetime | None:
        """Return how far the lane has read, or None before its first sweep."""
        ...

    async def known(self, project: str, keys: Sequence[ObservationKey]) -> Mapping[ObservationKey, LedgerEntry]:
        """Return the ledger entries that exist among the keys; any number of keys."""
        ...

    async def entries_of(self, project: str, trace_ids: Sequence[str]) -> Mapping[str, Sequence[LedgerEntry]]:
        """Return every ledger entry of the traces that holds at least one call, by trace."""
        ...

    async def recorded(self, project: str, window: Window) -> Sequence[LedgerEntry]:
        """Return every ledger entry of the window, by its first start, that holds at least one call."""
        ...

    async def trace_ids(self, project: str, *, after: str = "", limit: int) -> Sequence[str]:
        """Return ids of traces that have calls or scores on record, in the database's order, beginning behind ``after``."""
        ...

    async def outbox_of(self, project: str, trace_ids: Sequence[str]) -> Mapping[str, Sequence[OutboxRow]]:
        """Return every outbox row of the traces, whatever its state, by trace."""
        ...

    async def traces(self, project: str, trace_ids: Sequence[str]) -> Mapping[str, TraceState]:
        """Return what is known of when these traces are due."""
        ...

    async def due_traces(self, project: str, now: datetime, limit: int) -> Sequence[str]:
        """Return traces whose ``due_at`` has come, the longest due first."""
        ...

    async def next_due(self, project: str) -> datetime | None:
        """Return the earliest time at which a trace or an outbox row wants attention, None when nothing does."""
        ...

    async def traces_with_calls(self, project: str, call_ids: Sequence[str]) -> Mapping[str, frozenset[str]]:
        """Return, by call id, the traces that hold a call of that id."""
        ...

    async def commit(self, commit: Commit) -> None:
        """Write it all, or nothing."""
        ...

    async def claim(self, project: str, states: Sequence[Delivery], *, now: datetime, until: datetime, limit: int) -> Sequence[OutboxRow]:
        """Take due rows (``next_at`` <= now) for this process until ``until``; no other process gets them before that."""
        ...

    async def settle(self, rows: Sequence[OutboxRow], *, now: datetime, sends: Mapping[str, int] | None = None) -> None:
        """Write back claimed rows as they are now and end their claims.

        ``score.timestamp`` is taken from the row (this is how a found timestamp is adopted). A row whose wanted fingerprint
        was changed meanwhile by a ``commit`` keeps the new payload and becomes due again. ``sends`` adds to the day's count
        of ingested scores by name.
        """
        ...

    async def lags(self, project: str, *, since: datetime) -> Sequence[float]:
        """Return the largest lag of each producer and hour since then, in seconds."""
        ...

    async def dead_letters(self, project: str) -> Sequence[OutboxRow]:
        """Return the dead letters, oldest first."""
        ...

    async def note_poison(self, project: str, key: ObservationKey, reason: str, *, now: datetime) -> None:
        """Put an observation that could not be read on record, with the reason."""
        ...

    async def status(self, project: str, *, scorer: str) -> Status:
        """Count everything."""
        ...

    async def prune(self, project: str, *, before: datetime) -> int:
        """Drop ledger entries last seen before; those whose trace still has undelivered scores stay. Return how many went."""
        ...

    async def lease(self, project: str, *, until: datetime, now: datetime) -> bool:
        """Take or renew the right to sweep a project; False while another process holds it.

        It says that this process lives, too: what a process claimed that did not ask again in time is free for the others.
        """
        ...

    async def release(self, project: str) -> None:
        """Give the right to sweep a project back, if this process holds it."""
        ...

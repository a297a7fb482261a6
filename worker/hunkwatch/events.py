"""What happened, frozen: one class a fact. ``telemetry.emit`` turns each into one log line and its metrics.

Fields carry counts, ids, durations and short reasons; never patch text, keys, headers or bodies. The event's name in the logs
is its class name in snake case (``WindowSwept`` -> ``window_swept``). What happens within ``one_sweep`` belongs to that sweep:
``SWEEP`` names it, and telemetry puts the name on each of its lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

SWEEP: ContextVar[str] = ContextVar("sweep", default="")
"""The sweep that is under way in this task, empty outside of one."""


@contextmanager
def one_sweep() -> Iterator[None]:
    """Let everything that happens inside, its failures and its requests among them, belong to one new sweep."""
    before = SWEEP.set(uuid4().hex[:8])
    try:
        yield
    finally:
        SWEEP.reset(before)


@dataclass(frozen=True, slots=True)
class WorkerStarted:
    """The worker knows its server and begins."""

    project: str
    server: str
    reader: str
    writer: str
    why: str
    version: str
    scorer: str
    dry_run: bool
    name: str = ""
    """What the configuration calls the project, where it serves several."""


@dataclass(frozen=True, slots=True)
class ProjectParked:
    """One of several projects cannot be worked on; the others go on, and it is opened anew after ``wait`` seconds."""

    project: str
    """Its id, "" while that is not known."""
    name: str
    reason: str
    wait: float


@dataclass(frozen=True, slots=True)
class CertificateUnchecked:
    """By a setting, the server's certificate is not looked at: anybody in between can read the keys."""

    server: str


@dataclass(frozen=True, slots=True)
class LinksMade:
    """Where in Langfuse to look at what scores low."""

    project: str
    traces: str
    observations: str


@dataclass(frozen=True, slots=True)
class WorkerStopping:
    """A signal or the end of ``--once``: finish what is under way."""

    why: str


@dataclass(frozen=True, slots=True)
class WorkerStopped:
    """Everything is closed."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WindowSwept:
    """One window of start times is on record."""

    project: str
    lane: str
    start: datetime
    end: datetime
    observations: int
    read: int
    calls: int
    scores: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CallFound:
    """A call was found and graded for the first time (or anew, after it changed)."""

    project: str
    trace: str
    observation: str
    producer: str
    outcome: str
    shape: str


@dataclass(frozen=True, slots=True)
class LagSeen:
    """How long after its start an observation became visible."""

    project: str
    producer: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TracesRolledUp:
    """The scores of some traces were worked out again."""

    project: str
    traces: int
    scores: int
    withdrawn: int


@dataclass(frozen=True, slots=True)
class AnswersSought:
    """The next generations of some sessions were read for what became of calls; ``answered`` observations learned of it."""

    project: str
    asked: int
    answered: int


@dataclass(frozen=True, slots=True)
class ScoresSent:
    """One batch was offered to Langfuse."""

    project: str
    accepted: int
    uncertain: int
    refused: int


@dataclass(frozen=True, slots=True)
class ScoreValueSent:
    """One numeric score was accepted; for the histogram, never logged above debug."""

    project: str
    name: str
    trace: str
    value: float | str


@dataclass(frozen=True, slots=True)
class ScoresSeen:
    """A read-back: how many are there as we wrote them, how many are not yet."""

    project: str
    seen: int
    missing: int


@dataclass(frozen=True, slots=True)
class ScoreDied:
    """A score became a dead letter."""

    project: str
    score: str
    name: str
    trace: str
    reason: str


@dataclass(frozen=True, slots=True)
class ScoreWithdrawn:
    """A score that no longer follows from the data is gone from Langfuse."""

    project: str
    score: str
    name: str
    trace: str


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """One HTTP request; ``status`` 0 means no answer. ``route`` is one of a fixed set."""

    project: str
    route: str
    status: int
    seconds: float
    received: int


@dataclass(frozen=True, slots=True)
class RequestRetried:
    """A request will be tried again."""

    project: str
    route: str
    attempt: int
    wait: float
    reason: str


@dataclass(frozen=True, slots=True)
class RateLimited:
    """The server asked us to wait."""

    project: str
    route: str
    wait: float


@dataclass(frozen=True, slots=True)
class WindowHalved:
    """A window was too much for the server."""

    project: str
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class PoisonSkipped:
    """One observation could not be read or scored; it is on record and the rest goes on."""

    project: str
    trace: str
    observation: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoopFailed:
    """A loop met an error it can live with; it tries again after ``wait`` seconds."""

    project: str
    loop: str
    reason: str
    wait: float


@dataclass(frozen=True, slots=True)
class LoopTicked:
    """A loop finished one unit of work without an error and looks again after ``wait`` seconds."""

    project: str
    loop: str
    seconds: float
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class ServerChanged:
    """The server answers as another version than before; reader and writer were chosen anew."""

    project: str
    server: str
    reader: str
    writer: str
    why: str


@dataclass(frozen=True, slots=True)
class SettingDeprecated:
    """An old name of a setting was used."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class SettingsReloaded:
    """The loops go on with new settings; ``changed`` names those that differ."""

    project: str
    changed: str


@dataclass(frozen=True, slots=True)
class ReloadRefused:
    """New settings were asked for and are wrong; nothing has changed."""

    project: str
    reason: str


Event = (
    WorkerStarted
    | ProjectParked
    | CertificateUnchecked
    | LinksMade
    | WorkerStopping
    | WorkerStopped
    | WindowSwept
    | CallFound
    | LagSeen
    | TracesRolledUp
    | AnswersSought
    | ScoresSent
    | ScoreValueSent
    | ScoresSeen
    | ScoreDied
    | ScoreWithdrawn
    | RequestAnswered
    | RequestRetried
    | RateLimited
    | WindowHalved
    | PoisonSkipped
    | LoopFailed
    | LoopTicked
    | ServerChanged
    | SettingDeprecated
    | SettingsReloaded
    | ReloadRefused
)

Emit = Callable[[Event], None]
"""How a room says what happened; ``app`` injects it."""

"""One event -> one log line and its metrics.

The line's name is the event's class name in snake case, its fields are the event's fields, its level stands in ``level_of``.
A new event fails the type check here and in ``metrics`` until both know it. ``emit`` never raises on an event.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, assert_never

from hunkwatch import events
from hunkwatch.telemetry.logs import Repetition, clean

if TYPE_CHECKING:
    from collections.abc import Collection

    from structlog.typing import FilteringBoundLogger

    from hunkwatch.ports import Clock
    from hunkwatch.telemetry.health import Health
    from hunkwatch.telemetry.metrics import Metrics

Level = Literal["debug", "info", "warning", "error"]

Happened = TypeVar("Happened", bound=events.Event)

_REPEATABLE = frozenset({"warning", "error"})
_SUBJECT = ("loop", "route", "status", "reason", "old", "name")
"""The fields that tell two warnings apart; ids are left out, so that a thousand bad rows of one kind are one line with a count."""


class Telemetry:
    """What a worker's events reach: its log, its metrics and its health."""

    def __init__(  # noqa: PLR0913 - what an event reaches, and two facts about it
        self,
        log: FilteringBoundLogger,
        metrics: Metrics,
        health: Health,
        *,
        clock: Clock,
        repeat_every: float,
        secrets: Collection[str] = (),
    ) -> None:
        """Hold back a repeated warning or error for ``repeat_every`` seconds; let no secret through."""
        self._log = log
        self._metrics = metrics
        self._health = health
        self._clock = clock
        self._repetition = Repetition(repeat_every)
        self._secrets = secrets

    def hide(self, secrets: Collection[str]) -> None:
        """Let no other secret through either."""
        self._secrets = frozenset((*self._secrets, *secrets))

    def adopt(self, log: FilteringBoundLogger, repeat_every: float) -> None:
        """Go on with another log; what was held back is said first."""
        self._tell_held_back()
        self._log, self._repetition = log, Repetition(repeat_every)

    def emit(self, event: events.Event) -> None:
        """Say it in the log, count it, and let health know."""
        event = _cleaned(event, self._secrets)
        self._metrics.record(event, now=self._clock.now())
        self._health.record(event, at=self._clock.monotonic())
        if isinstance(event, events.WorkerStopping | events.WorkerStopped):
            self._tell_held_back()
        level = level_of(event)
        line = fields_of(event)
        if sweep := events.SWEEP.get():
            line["sweep"] = sweep
        if level in _REPEATABLE:
            held = self._repetition.admit(_key(event), self._clock.monotonic())
            if held is None:
                return
            if held:
                line["held_back"] = held
        self._say(level, name_of(type(event)), line)

    def _tell_held_back(self) -> None:
        for key, count in self._repetition.drain().items():
            self._say("warning", "lines_held_back", {"line": key.partition("|")[0], "held_back": count})

    def _say(self, level: Level, name: str, line: dict[str, object]) -> None:
        match level:
            case "debug":
                self._log.debug(name, **line)
            case "info":
                self._log.info(name, **line)
            case "warning":
                self._log.warning(name, **line)
            case "error":
                self._log.error(name, **line)
            case _:
                assert_never(level)


def name_of(kind: type) -> str:
    """Return an event class's name in the logs: ``WindowSwept`` -> ``window_swept``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def fields_of(event: events.Event) -> dict[str, object]:
    """Return what the line says beside its name. A field called like the line's own keys gets the event's word before it."""
    return {
        ("event_" if field.name in {"event", "level", "timestamp"} else "") + field.name: getattr(event, field.name)
        for field in fields(event)
    }


def level_of(event: events.Event) -> Level:
    """Return how loud the event is: error wants a person, warning wants a look, debug is for one row or one request."""
    match event:
        case events.ScoreDied() | events.LoopFailed() | events.ProjectParked() | events.ReloadRefused():
            return "error"
        case events.CertificateUnchecked() | events.RequestRetried() | events.PoisonSkipped() | events.SettingDeprecated():
            return "warning"
        case events.ScoresSent():
            return "warning" if event.refused else "info"
        case events.WindowSwept():
            return "info" if event.read or event.calls or event.scores else "debug"
        case events.ScoresSeen():
            return "info" if event.seen else "debug"
        case events.TracesRolledUp():
            return "info" if event.scores or event.withdrawn else "debug"
        case events.AnswersSought():
            return "info" if event.answered else "debug"
        case (
            events.WorkerStarted()
            | events.LinksMade()
            | events.WorkerStopping()
            | events.WorkerStopped()
            | events.ScoreWithdrawn()
            | events.RateLimited()
            | events.WindowHalved()
            | events.ServerChanged()
            | events.SettingsReloaded()
        ):
            return "info"
        case events.CallFound() | events.LagSeen() | events.ScoreValueSent() | events.RequestAnswered() | events.LoopTicked():
            return "debug"
        case _:
            assert_never(event)


def _cleaned(event: Happened, secrets: Collection[str]) -> Happened:
    texts = {field.name: value for field in fields(event) if isinstance(value := getattr(event, field.name), str)}
    fit: dict[str, Any] = {name: clean(text, secrets) for name, text in texts.items()}
    return replace(event, **fit)


def _key(event: events.Event) -> str:
    return "|".join((name_of(type(event)), *(str(getattr(event, name, "")) for name in _SUBJECT)))

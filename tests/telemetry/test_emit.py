"""Events: one line each, at the right level, counted, and never a secret or a piece of a patch among it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hunkwatch import events
from hunkwatch.telemetry.emit import fields_of, level_of, name_of

SECRET = "sk-lf-marked0secret"
PATCH_MARK = "marked0patch"
PIECES = (
    f"*** Begin Patch\n*** Update File: {PATCH_MARK}\n@@\n-{PATCH_MARK}\n*** End Patch",
    f"+{PATCH_MARK} = 1",
    f"-    {PATCH_MARK}",
    f"@@ def {PATCH_MARK}",
    f"database is locked\n[parameters: ('{PATCH_MARK}',)]",
    f"failed on *** Add File: {PATCH_MARK}",
)


def test_every_event_is_one_line_with_its_name_and_fields(kind: type, bench: Callable[..., Any], an_event: Callable[..., Any]) -> None:
    """A reader of the log finds the event's class and every field of it."""
    event, here = an_event(kind), bench()

    here.telemetry.emit(event)

    (line,) = map(json.loads, here.stream.getvalue().splitlines())
    expected = {"event", "level", "timestamp", *fields_of(event)}
    assert expected == set(line)
    assert (name_of(kind), level_of(event)) == (line["event"], line["level"])


def test_names_are_snake_case() -> None:
    """The name in the log is the class's name."""
    assert name_of(events.WindowSwept) == "window_swept"


def test_a_quiet_sweep_is_debug_and_a_busy_one_is_info(an_event: Callable[..., Any]) -> None:
    """A worker with nothing to do does not fill the log."""
    quiet = an_event(events.WindowSwept, observations=9, read=0, calls=0, scores=0)
    busy = an_event(events.WindowSwept, read=1)

    assert (level_of(quiet), level_of(busy)) == ("debug", "info")


def test_the_level_is_a_floor(bench: Callable[..., Any], an_event: Callable[..., Any]) -> None:
    """What is below the level is not written, but still counted."""
    here = bench(level="error")

    here.telemetry.emit(an_event(events.PoisonSkipped, project="p"))

    assert here.stream.getvalue() == ""
    assert 'hunkwatch_poison_observations_total{project="p"} 1.0' in here.output


# ---------------------------------------------------------------- repetition


def test_the_same_error_is_written_once_and_then_counted(bench: Callable[..., Any], an_event: Callable[..., Any]) -> None:
    """A server that is down for an hour is a dozen lines, each saying how many it stands for."""
    here = bench(repeat_every="1m")
    failure = an_event(events.LoopFailed, loop="sweep", reason="connection refused")

    for seconds in (0, 10, 10, 10, 40, 10):
        here.clock.seconds += seconds
        here.telemetry.emit(failure)

    held = [json.loads(line).get("held_back", 0) for line in here.stream.getvalue().splitlines()]
    assert held == [0, 3]
    assert 'hunkwatch_loop_failures_total{loop="sweep",project="word"} 6.0' in here.output


def test_another_error_is_not_held_back(bench: Callable[..., Any], an_event: Callable[..., Any]) -> None:
    """Only what is the same in kind, place and reason counts as a repetition."""
    here = bench()

    for loop, reason in (("sweep", "a"), ("sweep", "b"), ("deliver", "a"), ("sweep", "a")):
        here.telemetry.emit(an_event(events.LoopFailed, loop=loop, reason=reason))

    assert len(here.stream.getvalue().splitlines()) == 3


def test_what_was_held_back_is_told_at_the_end(bench: Callable[..., Any], an_event: Callable[..., Any]) -> None:
    """No count is lost when the worker stops."""
    here = bench()
    for _ in range(3):
        here.telemetry.emit(an_event(events.PoisonSkipped, observation="x"))

    here.telemetry.emit(an_event(events.WorkerStopping))

    lines = [json.loads(line) for line in here.stream.getvalue().splitlines()]
    told = [(line["event"], line.get("line"), line.get("held_back")) for line in lines]
    assert told == [("poison_skipped", None, None), ("lines_held_back", "poison_skipped", 2), ("worker_stopping", None, None)]


def test_without_a_pause_nothing_is_held_back(bench: Callable[..., Any], an_event: Callable[..., Any]) -> None:
    """0s writes each."""
    here = bench(repeat_every="0s")

    for _ in range(3):
        here.telemetry.emit(an_event(events.PoisonSkipped))

    assert len(here.stream.getvalue().splitlines()) == 3


# ---------------------------------------------------------------- secrets


@pytest.mark.parametrize("style", ["json", "console"])
@pytest.mark.parametrize("piece", [f"key {SECRET} refused", *PIECES])
def test_no_text_field_of_any_event_lets_a_secret_or_a_patch_through(
    kind: type, piece: str, style: str, bench: Callable[..., Any], an_event: Callable[..., Any]
) -> None:
    """Even a room that puts the wrong thing into an event does not get it into the log."""
    here = bench(secrets=(SECRET,), format=style)

    here.telemetry.emit(an_event(kind, text=piece))
    here.telemetry.emit(an_event(events.WorkerStopped))

    assert SECRET not in here.stream.getvalue()
    assert PATCH_MARK not in here.stream.getvalue()


@pytest.mark.parametrize("piece", [f"key {SECRET} refused", *PIECES])
def test_no_label_of_any_metric_lets_a_secret_or_a_patch_through(
    kind: type, piece: str, bench: Callable[..., Any], an_event: Callable[..., Any]
) -> None:
    """Labels are checked like log lines."""
    here = bench(secrets=(SECRET,))

    here.telemetry.emit(an_event(kind, text=piece))

    assert SECRET not in here.output
    assert PATCH_MARK not in here.output

"""Telemetry goes on through a reload of the settings: same numbers, another voice, and more to keep quiet about."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

from hunkwatch import events
from hunkwatch.settings import load
from hunkwatch.telemetry import open_telemetry


def loaded(level: str, secret: str) -> Any:
    """Return settings with a log level and a secret key."""
    keys = {"LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": secret}
    return load(environ={"HOME": "/home/somebody", "HUNKWATCH_LOG__LEVEL": level, "HUNKWATCH_LOG__FORMAT": "json", **keys}).settings


def test_new_settings_change_the_log_and_keep_the_numbers(bench: Callable[..., Any], an_event: Callable[..., Any]) -> None:
    """The level counts from then on; counters do not begin anew."""
    stream, happened = io.StringIO(), an_event(events.RateLimited)
    opened = open_telemetry(loaded("error", "sk-lf-first"), stream, clock=bench().clock, environ={})
    opened.emit(happened)
    opened.adopt(loaded("info", "sk-lf-first"))
    opened.emit(happened)

    lines = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert lines == ["rate_limited"]
    assert 'hunkwatch_rate_limit_waits_total{project="word",route="word"} 2.0' in opened.metrics.render().decode()


def test_the_keys_of_other_settings_are_withheld_before_they_count(bench: Callable[..., Any], an_event: Callable[..., Any]) -> None:
    """What goes wrong while new keys are tried cannot tell them, nor the old ones afterwards."""
    stream = io.StringIO()
    opened = open_telemetry(loaded("info", "sk-lf-first"), stream, clock=bench().clock, environ={})
    opened.hide(loaded("info", "sk-lf-second"))
    opened.emit(an_event(events.ReloadRefused, reason="not sk-lf-second"))
    opened.adopt(loaded("info", "sk-lf-second"))
    opened.emit(an_event(events.ReloadRefused, reason="never sk-lf-first"))

    assert [json.loads(line)["reason"] for line in stream.getvalue().splitlines()] == ["not [withheld]", "never [withheld]"]

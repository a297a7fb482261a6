"""The whole telemetry of a worker, opened from its settings."""

from __future__ import annotations

import base64
import io
import logging
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from hunkwatch import events
from hunkwatch.settings import Settings, secrets_of
from hunkwatch.telemetry import open_telemetry, serving

KEY, PASSWORD = "sk-lf-marked0secret", "marked0%40password"


@pytest.fixture
def given() -> Settings:
    """Settings with every kind of secret, and no port."""
    return Settings.model_validate(
        {
            "langfuse": {"public_key": "pk-lf-1", "secret_key": KEY},
            "store": {"url": f"postgresql://u:{PASSWORD}@db/x"},
            "log": {"level": "debug"},
            "http": {"port": 0},
        }
    )


def test_secrets_are_the_key_its_header_and_the_password(given: Settings) -> None:
    """In every form in which they may turn up in a message."""
    basic = base64.b64encode(f"pk-lf-1:{KEY}".encode()).decode()

    assert secrets_of(given) == (KEY, basic, PASSWORD, "marked0@password")
    assert secrets_of(Settings()) == ()


def test_no_secret_of_the_settings_gets_into_a_line(given: Settings, bench: Callable[..., Any], an_event: Callable[..., Any]) -> None:
    """Whoever puts it into an event."""
    stream = io.StringIO()
    opened = open_telemetry(given, stream, clock=bench().clock, environ={})

    for secret in secrets_of(given):
        opened.emit(an_event(events.LoopFailed, reason=f"got {secret} here"))

    assert stream.getvalue().count("got [withheld] here") == 1  # the others are the same line then, and held back
    assert [secret for secret in secrets_of(given) if secret in stream.getvalue()] == []


async def test_foreign_warnings_are_lines_while_it_serves(given: Settings, bench: Callable[..., Any]) -> None:
    """Libraries and Python itself speak through our log, and only as long as it is open."""
    stream, clock = io.StringIO(), bench().clock
    opened = open_telemetry(given, stream, clock=clock, environ={})

    async def refresh() -> None:
        """Refresh nothing."""

    async with serving(given, opened, clock=clock, refresh=refresh):
        logging.getLogger("library").warning("it says %s", KEY)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("old", DeprecationWarning, stacklevel=1)
    logging.getLogger("library").info("nobody listens")

    lines = stream.getvalue().splitlines()
    assert [("library" in line, "py.warnings" in line) for line in lines] == [(True, False), (True, True)]
    assert KEY not in stream.getvalue()

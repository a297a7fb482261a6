"""What every test shares: no skipped test goes unnoticed where nothing may be skipped, and no test measures time."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.terminal import TerminalReporter


settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Let a child process be interrupted even where this one was started in the background, with interruptions ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """A fresh Postgres database, dropped afterwards."""
    server = os.environ.get("HUNKWATCH_TEST_POSTGRES")
    if not server:
        pytest.skip("no Postgres: HUNKWATCH_TEST_POSTGRES names none")
    import psycopg  # noqa: PLC0415 - most tests need no database

    name = f"hunkwatch_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    yield f"{server.rsplit('/', maxsplit=1)[0]}/{name}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run that may skip nothing (``HUNKWATCH_TEST_NO_SKIPS``) when a test was skipped."""
    if not os.environ.get("HUNKWATCH_TEST_NO_SKIPS") or exitstatus != pytest.ExitCode.OK:
        return
    reporter: TerminalReporter | None = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

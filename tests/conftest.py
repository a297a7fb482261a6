"""What every test shares: no skipped test goes unnoticed where nothing may be skipped, and no test measures time."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter


settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Let a child process be interrupted even where this one was started in the background, with interruptions ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run that may skip nothing (``HUNKWATCH_TEST_NO_SKIPS``) when a test was skipped."""
    if not os.environ.get("HUNKWATCH_TEST_NO_SKIPS") or exitstatus != pytest.ExitCode.OK:
        return
    reporter: TerminalReporter | None = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

"""A real store for every test, on SQLite and on Postgres, and builders that ask only for what a test is about."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.core.model import Evidence, GradedCall, Outcome, Score, Shape
from hunkwatch.ports import Delivery, LedgerEntry, ObservationKey, OutboxRow
from hunkwatch.store import open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from hunkwatch.store import SqlStore

NOW = datetime(2026, 5, 4, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty state on either database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'state' / 'hunkwatch.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[SqlStore]:
    """An open, empty store."""
    async with open_store(store_url) as opened:
        yield opened


class Builder:
    """Makes nouns out of what matters to a test."""

    now = NOW

    def later(self, **ago: float) -> datetime:
        """A time after now."""
        return NOW + timedelta(**ago)

    def call(self, **given: Any) -> GradedCall:
        """A graded call."""
        blank = GradedCall(
            trace_id="trace-1",
            observation_id="observation-1",
            start_time=NOW,
            end_time=None,
            call_id=None,
            index=0,
            producer="codex-plugin",
            evidence=Evidence.EXECUTION,
            outcome=Outcome.APPLIED,
            has_output=True,
            environment="default",
            shape=Shape.NO_BLIND_REWRITE,
        )
        return replace(blank, **given)

    def entry(self, trace: str = "trace-1", observation: str = "observation-1", **given: Any) -> LedgerEntry:
        """A ledger entry without calls."""
        return replace(LedgerEntry("project", ObservationKey(trace, observation), NOW, "v1", "print", (), NOW), **given)

    def score(self, identity: str = "score-1", **given: Any) -> Score:
        """A score."""
        return replace(Score(identity, "blind_rewrite", 0.75, "trace-1", None, NOW, "default", "a comment", {"hunks": 4}), **given)

    def row(self, identity: str = "score-1", state: Delivery = Delivery.DUE, **given: Any) -> OutboxRow:
        """An outbox row of a score."""
        return replace(OutboxRow("project", self.score(identity), "print-1", "1", state, NOW), **given)


@pytest.fixture
def make() -> Builder:
    """Builders of ledger entries, outbox rows and the like."""
    return Builder()

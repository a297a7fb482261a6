"""How far back a sweep reaches because observations come late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.daemon.lags import MEMORY, WIDEST_OVERLAP, Lags

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
MINUTES = timedelta(minutes=1)


def test_small_lags_change_nothing() -> None:
    """The configured overlap is the least."""
    lags = Lags()
    lags.note([3 * MINUTES, 20 * MINUTES], now=NOW)

    assert lags.overlap(45 * MINUTES, now=NOW) == 45 * MINUTES


def test_a_large_lag_widens_the_overlap_with_a_margin_for_a_day() -> None:
    """What came two hours late once will come so again; after a quiet day the overlap is as configured."""
    lags = Lags()
    lags.note([120 * MINUTES], now=NOW)

    assert lags.overlap(45 * MINUTES, now=NOW + MEMORY) == 150 * MINUTES
    assert lags.overlap(45 * MINUTES, now=NOW + MEMORY + MINUTES) == 45 * MINUTES


def test_an_import_of_old_traces_does_not_count() -> None:
    """A lag that no overlap can cover leaves the overlap alone."""
    lags = Lags()
    lags.note([timedelta(days=30)], now=NOW)

    assert lags.overlap(45 * MINUTES, now=NOW) == 45 * MINUTES


@given(st.lists(st.tuples(st.integers(0, 600), st.integers(0, 500)), max_size=40))
def test_the_overlap_covers_every_lag_of_the_last_day(steps: list[tuple[int, int]]) -> None:
    """At any time the overlap is what a full list of the last day's lags asks for."""
    lags, full, now = Lags(), [], NOW
    for wait, minutes in steps:
        now += wait * MINUTES
        lags.note([minutes * MINUTES], now=now)
        full.append((now, minutes * MINUTES))
        recent = [lag for at, lag in full if at >= now - MEMORY and lag <= WIDEST_OVERLAP]
        wanted = max([45 * MINUTES, *(min(lag * 1.25, WIDEST_OVERLAP) for lag in recent)])
        assert wanted == lags.overlap(45 * MINUTES, now=now)

"""How far back a sweep reaches because observations come late."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.daemon.lags import WIDEST_OVERLAP, overlap

MINUTES = timedelta(minutes=1)
CONFIGURED = 45 * MINUTES


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        ([], 45),
        ([3, 20], 45),
        ([3, 120, 20], 150),
        ([350], 360),
        ([30 * 24 * 60], 45),
        ([120, 30 * 24 * 60], 150),
    ],
    ids=[
        "none",
        "small ones change nothing",
        "a large one, with a margin",
        "never wider than the widest",
        "an import",
        "one beside an import",
    ],
)
def test_the_overlap_follows_the_largest_lag_that_it_can_cover(minutes: list[int], expected: int) -> None:
    """What came two hours late once will come so again; an import of old traces says nothing."""
    assert expected * MINUTES == overlap(CONFIGURED, [60.0 * lag for lag in minutes])


@given(st.lists(st.floats(-1e6, 1e6), max_size=20))
def test_every_lag_that_can_be_covered_is(lags: list[float]) -> None:
    """And the overlap is never less than what is configured."""
    wide = overlap(CONFIGURED, lags)

    assert CONFIGURED <= wide <= WIDEST_OVERLAP
    assert all(lag <= wide.total_seconds() for lag in lags if lag <= WIDEST_OVERLAP.total_seconds())

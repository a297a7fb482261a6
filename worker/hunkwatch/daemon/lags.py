"""How late observations come, and how far the overlap has to reach because of it; pure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDEST_OVERLAP = timedelta(hours=6)
"""No lag widens the overlap further; what comes later than this is found by reconciling."""

MEMORY = timedelta(days=1)
"""How long a lag counts, whichever lane, run or replica met it: what comes after the overlap is only met by reconciling."""

_MARGIN = 1.25


def overlap(configured: timedelta, lags: Iterable[float]) -> timedelta:
    """Return the overlap that covers these lags (in seconds), never less than the configured one.

    One that no overlap can cover does not count: it is an import, or is found by reconciling.
    """
    coverable = [lag for lag in lags if lag <= WIDEST_OVERLAP.total_seconds()]
    return max(configured, min(timedelta(seconds=max(coverable, default=0.0)) * _MARGIN, WIDEST_OVERLAP))

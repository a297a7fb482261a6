"""How late observations come, and how far the overlap has to reach because of it."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

WIDEST_OVERLAP = timedelta(hours=6)
"""No lag widens the overlap further; what comes later than this is found by reconciling."""

MEMORY = timedelta(days=1)
"""How long a lag counts."""

_MARGIN = 1.25


class Lags:
    """The lags of the last day, whichever lane met them: what comes after the overlap is only met by reconciling."""

    def __init__(self) -> None:
        """Start without any."""
        self._seen: deque[tuple[datetime, timedelta]] = deque()

    def note(self, lags: Iterable[timedelta], *, now: datetime) -> None:
        """Take in lags between start and visibility; one that no overlap can cover does not count."""
        for lag in lags:
            if lag > WIDEST_OVERLAP:
                continue
            # A smaller lag that is older says nothing any more.
            while self._seen and self._seen[-1][1] <= lag:
                self._seen.pop()
            self._seen.append((now, lag))

    def overlap(self, configured: timedelta, *, now: datetime) -> timedelta:
        """Return the overlap that covers the largest lag of the last day, never less than the configured one."""
        while self._seen and self._seen[0][0] < now - MEMORY:
            self._seen.popleft()
        if not self._seen:
            return configured
        return max(configured, min(self._seen[0][1] * _MARGIN, WIDEST_OVERLAP))

"""How often we may ask: bookkeeping for one of the server's limits. Whoever asks does the waiting.

A limit that a 429 names is shared with everybody in the organisation, so only half of it is ours. It is forgotten after an hour,
since plans change; the next 429 teaches it again.
"""

from __future__ import annotations

from collections import deque

_MINUTE = 60.0
_REMEMBERED = 3600.0
_LONGEST_WINDOW = 120.0
"""A 429 that asks for a longer wait counts by the hour or the day: obeyed, but it says nothing of a minute."""


class Pace:
    """Keeps the requests of one limit inside their budget: a number a minute, 0 meaning no bound.

    ``wait`` and ``started`` belong together, with no ``await`` between a wait of 0 and the start.
    """

    def __init__(self, per_minute: int = 0) -> None:
        """Start with a setting, or with 0 to learn from the server."""
        self._own = per_minute
        self._learned: tuple[int, float] | None = None
        self._held_until = 0.0
        self._starts: deque[float] = deque()

    def per_minute(self, now: float) -> int:
        """Return the budget that holds now."""
        if self._own or self._learned is None:
            return self._own
        limit, since = self._learned
        return limit if now - since < _REMEMBERED else 0

    def wait(self, now: float, *, share: int = 1) -> float:
        """Return how long to wait before the next request may start, of whoever keeps to one part in ``share`` of the budget."""
        while self._starts and self._starts[0] <= now - _MINUTE:
            self._starts.popleft()
        budget = self.per_minute(now)
        budget = max(1, budget // share) if budget else 0
        full = budget > 0 and len(self._starts) >= budget
        return max(0.0, self._held_until - now, self._starts[-budget] + _MINUTE - now if full else 0.0)

    def started(self, now: float) -> None:
        """Count a request."""
        self._starts.append(now)

    def refused(self, now: float, *, wait: float, limit: int) -> None:
        """Take what a 429 says: nobody asks before the wait is over, and half of the limit, less the one that was too much, is ours."""
        self._held_until = max(self._held_until, now + wait)
        if limit > 0 and wait <= _LONGEST_WINDOW:
            self._learned = max(1, (limit - 1) // 2), now

"""The real process is killed again and again while Langfuse misbehaves; in the end every score is there exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

KILLS = 20
SEED = 20_261_130


@pytest.mark.timeout(600)
def test_kills_at_any_moment_lose_and_double_nothing(anywhere: Any, wait_until: Callable[[Callable[[], bool]], None]) -> None:
    """Twenty kills, each after a seeded number of requests, with traces arriving all the time; then a quiet pass finishes the work."""
    survived = anywhere.survive(KILLS, seed=SEED, wait_until=wait_until)

    assert survived.batches > KILLS // 2, "the kills came before any work"
    assert len(survived.statuses.keys() & {422, 429, 500, 502}) > 1, "the bad day was a good one"
    assert survived.codes == (0, 0, 0), survived.log
    assert anywhere.shown() == anywhere.expected

"""The estimate of a month: counted from what is there, bounded whatever is there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies
from hypothesis import settings as trying

from hunkwatch.core.model import Observation
from hunkwatch.daemon import estimating
from hunkwatch.daemon.estimating import DAY, MOST_PAGES, STRETCHES, Estimate
from hunkwatch.ports import Page
from hunkwatch.settings import ScoresSection, Settings, SweepSection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from hunkwatch.core.window import Window

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"


class Source:
    """A project that has a call every so many seconds, one a page, each in a trace with nine others."""

    def __init__(self, every: float) -> None:
        """Remember the pace, and count the pages that are read."""
        self.every = timedelta(seconds=every)
        self.windows: list[timedelta] = []
        self.pages = 0

    async def candidates(self, window: Window, *, complete: bool) -> AsyncIterator[Page]:
        """Page through the window, newest first; a call is met twice, as rows are."""
        assert complete
        self.windows.append(window.end - window.start)
        for number in range(1, int((window.end - window.start) / self.every) + 1):
            at = window.end - self.every * number
            row = Observation(
                f"o{number}", f"t{number // 10}", at, type="TOOL", name="apply_patch", end_time=at, input=PATCH, output="Done!"
            )
            self.pages += 1
            yield Page([row, row], complete=True)

    async def read(self, observations: Sequence[Observation]) -> Page:
        """Nobody asks."""
        raise AssertionError(observations)

    async def fetch(self, *, trace_id: str | None = None, observation_id: str | None = None) -> Sequence[Observation]:
        """Nobody asks."""
        raise AssertionError(trace_id, observation_id)


@pytest.mark.parametrize(
    ("every", "stretch"), [(3600, STRETCHES[0]), (120, STRETCHES[1]), (10, STRETCHES[2])], ids=["a day", "an hour", "five minutes"]
)
async def test_where_a_day_is_too_much_less_stands_for_it(every: float, stretch: timedelta) -> None:
    """The answer scales to a month from whatever was read."""
    source = Source(every)

    found = await estimating.estimate(source, Settings(), now=NOON)

    assert (stretch, int(stretch.total_seconds() / every)) == (found.stretch, found.calls)
    assert source.windows == list(STRETCHES[: STRETCHES.index(stretch) + 1])
    assert found.scores["patch_shape"] == found.calls
    assert found.scores["blind_rewrite"] == found.traces
    assert found.a_day == round(sum(found.scores.values()) * (DAY / stretch))
    assert f"{found.a_month} a month" in str(found)


async def test_nothing_is_read_without_end() -> None:
    """A call each tenth of a second is cut in the last stretch too."""
    source = Source(0.1)

    found = await estimating.estimate(source, Settings(), now=NOON)

    assert source.pages <= len(STRETCHES) * (MOST_PAGES + 1)
    assert found.calls == MOST_PAGES


async def test_only_what_the_settings_write_and_read_is_counted() -> None:
    """Rollups only, and a share of the traces."""
    rollups = Settings(scores=ScoresSection(write=("blind_rewrite",)))
    sampled = Settings(sweep=SweepSection(sample=0.0))

    whole, less, none = [await estimating.estimate(Source(3600), one, now=NOON) for one in (Settings(), rollups, sampled)]

    assert {"blind_rewrite": whole.traces} == less.scores
    assert (whole.calls, 0, 0) == (less.calls, none.calls, none.a_month)


@trying(max_examples=40)
@given(count=strategies.integers(0, 10**6), stretch=strategies.sampled_from(STRETCHES))
def test_a_month_is_thirty_days_of_the_stretch(count: int, stretch: timedelta) -> None:
    """Whatever was counted, in whatever stretch."""
    assert Estimate(stretch, 1, 1, {"patch_shape": count}).a_month == 30 * count * (DAY // stretch)

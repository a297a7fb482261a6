"""Watermark arithmetic: no start time is left out between windows, and the watermark never promises too much."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.core import window
from hunkwatch.core.window import Window

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

hours = st.timedeltas(timedelta(0), HOUR)
spans = st.timedeltas(timedelta(0), timedelta(days=10))


def test_the_first_window_starts_since_ago() -> None:
    """Without a watermark reading starts where the settings say, at most one span long."""
    assert window.upcoming(None, now=NOW, since=7 * DAY, overlap=HOUR, span=DAY) == Window(NOW - 7 * DAY, NOW - 6 * DAY)


def test_a_window_starts_an_overlap_before_the_watermark_and_reaches_past_now() -> None:
    """Late spans are behind the watermark, and agents' clocks run ahead."""
    expected = Window(NOW - MINUTE - HOUR, NOW + window.AHEAD)

    assert expected == window.upcoming(NOW - MINUTE, now=NOW, since=7 * DAY, overlap=HOUR, span=DAY)


def test_the_watermark_stays_behind_the_present() -> None:
    """However far a window reaches, the newest part is read again."""
    assert window.watermark_after(Window(NOW - HOUR, NOW + HOUR), now=NOW, settle=MINUTE) == NOW - MINUTE
    assert window.watermark_after(Window(NOW - 2 * DAY, NOW - DAY), now=NOW, settle=MINUTE) == NOW - DAY


def test_only_the_window_that_reaches_now_is_the_newest() -> None:
    """After any other one there is more to read at once."""
    assert window.is_newest(Window(NOW - HOUR, NOW + MINUTE), now=NOW)
    assert not window.is_newest(Window(NOW - HOUR, NOW), now=NOW)


@given(
    since=spans,
    overlap=spans,
    settle=st.timedeltas(timedelta(0), HOUR),
    more=st.timedeltas(MINUTE, 3 * DAY),
    tick=st.timedeltas(timedelta(0), MINUTE),
)
def test_windows_leave_no_gap_and_reach_the_present(
    since: timedelta, overlap: timedelta, settle: timedelta, more: timedelta, tick: timedelta
) -> None:
    """Sweep after sweep, each window starts at or before the watermark, which never falls, until the newest is read.

    A span that is no longer than ``settle`` would never get there.
    """
    now, mark, span = NOW, None, settle + more + tick
    for _ in range(int((since + HOUR) / more) + 2):
        seen = window.upcoming(mark, now=now, since=since, overlap=overlap, span=span)
        reached = now - since if mark is None else mark
        assert seen.start <= reached <= max(seen.end, reached)
        mark = max(reached, window.watermark_after(seen, now=now, settle=settle))
        if window.is_newest(seen, now=now):
            return
        now += tick
    pytest.fail("the newest window was never read")


@given(st.timedeltas(timedelta(0), timedelta(days=3)))
def test_halves_meet_and_the_older_comes_first(length: timedelta) -> None:
    """A window in two parts is the same window; at the floor it is cut no more."""
    whole = Window(NOW, NOW + length)
    parts = window.halves(whole)

    assert (parts is None) is (length <= window.FLOOR)
    if parts is not None:
        older, newer = parts
        assert (older.start, older.end, newer.end) == (whole.start, newer.start, whole.end)
        assert older.start < older.end < newer.end

"""Watermark arithmetic: which stretch of start times to read next.

A watermark is a promise: every observation that started before it and was visible is on record. A window starts ``overlap``
before it, because spans arrive late, and reaches past ``now``, because clocks differ; but the watermark itself never comes
nearer to ``now`` than ``settle``. Pure: the caller passes the time in.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

AHEAD = timedelta(hours=1)
"""How far past ``now`` the newest window reaches: agents' clocks run ahead of ours."""

FLOOR = timedelta(seconds=1)
"""No window is halved below this; what is too much then is read in smaller pages, then row by row."""


@dataclass(frozen=True, slots=True)
class Window:
    """Start times from ``start`` (inclusive) to ``end`` (exclusive)."""

    start: datetime
    end: datetime


def upcoming(watermark: datetime | None, *, now: datetime, since: timedelta, overlap: timedelta, span: timedelta) -> Window:
    """Return the window to read next; without a watermark it starts ``since`` ago. At most ``span`` of new time at once."""
    reached = now - since if watermark is None else watermark
    start = reached if watermark is None else reached - overlap
    return Window(start, max(min(reached + span, now + AHEAD), start))


def watermark_after(window: Window, *, now: datetime, settle: timedelta) -> datetime:
    """Return what the watermark may rise to once the window is on record."""
    return min(window.end, now - settle)


def is_newest(window: Window, *, now: datetime) -> bool:
    """Say whether the window reaches the present, so that the next sweep can wait for its time."""
    return window.end > now


def halves(window: Window) -> tuple[Window, Window] | None:
    """Cut a window that was too much for the server in two, older half first; None once it is at the floor."""
    length = window.end - window.start
    if length <= FLOOR:
        return None
    middle = window.start + length / 2
    middle = middle.replace(microsecond=middle.microsecond // 1000 * 1000)
    return Window(window.start, middle), Window(middle, window.end)

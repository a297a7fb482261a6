"""How often we may ask."""

from __future__ import annotations

from hunkwatch.langfuse.pace import Pace


def test_without_a_budget_nobody_waits() -> None:
    """A self-hosted server has no limits, so any number of requests may start at once."""
    pace = Pace()
    for _ in range(1000):
        pace.started(0.0)

    assert pace.wait(0.0) == 0.0


def test_a_full_minute_waits_for_its_oldest_request() -> None:
    """With three a minute, the fourth request starts a minute after the first."""
    pace = Pace(3)
    for now in (0.0, 10.0, 20.0):
        pace.started(now)

    assert [pace.wait(25.0), pace.wait(59.0), pace.wait(60.0)] == [35.0, 1.0, 0.0]


def test_what_a_429_names_is_shared_with_the_organisation() -> None:
    """Of a limit of 30, of which the last is always refused, half is ours."""
    pace = Pace()
    pace.refused(0.0, wait=40.0, limit=30)

    assert pace.per_minute(1.0) == 14


def test_a_refusal_holds_everybody_as_long_as_it_says() -> None:
    """Whoever asks next in the same bucket waits too; a shorter wait does not end a longer one."""
    pace = Pace()
    pace.refused(0.0, wait=40.0, limit=0)
    pace.refused(1.0, wait=5.0, limit=0)

    assert [pace.wait(10.0), pace.wait(40.0)] == [30.0, 0.0]


def test_a_days_quota_says_nothing_of_a_minute() -> None:
    """A refusal until tomorrow is obeyed, and teaches no budget a minute."""
    pace = Pace()
    pace.refused(0.0, wait=86_400.0, limit=50)

    assert (pace.wait(0.0), pace.per_minute(0.0)) == (86_400.0, 0)


def test_a_learned_limit_is_forgotten_after_an_hour() -> None:
    """Plans change; the next 429 teaches the limit again."""
    pace = Pace()
    pace.refused(0.0, wait=40.0, limit=30)

    assert [pace.per_minute(3599.0), pace.per_minute(3600.0)] == [14, 0]


def test_the_own_setting_stands_whatever_a_429_says() -> None:
    """An operator who names a budget keeps it."""
    pace = Pace(100)
    pace.refused(0.0, wait=1.0, limit=30)

    assert pace.per_minute(2.0) == 100


def test_the_smallest_limit_still_lets_somebody_ask() -> None:
    """Half of next to nothing is one."""
    pace = Pace()
    pace.refused(0.0, wait=1.0, limit=1)

    assert pace.per_minute(0.0) == 1

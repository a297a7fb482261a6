"""How an outbox row moves: every state, every thing that can happen to it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.core.model import Score
from hunkwatch.daemon import moves
from hunkwatch.ports import Delivery, OutboxRow, SeenScore

if TYPE_CHECKING:
    from collections.abc import Callable

    MakeRow = Callable[..., OutboxRow]
    MakeSeen = Callable[[OutboxRow], SeenScore]

NOW = datetime(2026, 11, 30, 15, 0, tzinfo=UTC)
LOOKS = (timedelta(seconds=20), timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=4))


def test_a_new_row_that_langfuse_shows_rests(make_row: MakeRow, make_seen: MakeSeen) -> None:
    """A lost state writes nothing again: the score is found as it should be."""
    row = make_row(Delivery.NEW)

    moved = moves.looked(row, make_seen(row), look_after=LOOKS, sends=3, now=NOW)

    assert moved.state is Delivery.SEEN


def test_a_new_row_adopts_the_timestamp_that_langfuse_shows(make_row: MakeRow, make_seen: MakeSeen) -> None:
    """Another payload under the same id is overwritten in place, on the calendar day that it has."""
    row = make_row(Delivery.NEW, day=30)
    seen = replace(make_seen(row), timestamp=datetime(2026, 11, 2, 8, 0, tzinfo=UTC), fingerprint="old")

    moved = moves.looked(row, seen, look_after=LOOKS, sends=3, now=NOW)

    assert (moved.state, moved.score.timestamp) == (Delivery.DUE, seen.timestamp)


def test_a_new_row_that_is_nowhere_is_due_at_once(make_row: MakeRow) -> None:
    """What Langfuse does not have is sent with its own timestamp."""
    row = make_row(Delivery.NEW)

    moved = moves.looked(row, None, look_after=LOOKS, sends=3, now=NOW)

    assert replace(row, state=Delivery.DUE, next_at=NOW) == moved


def test_a_sent_row_is_looked_for_with_growing_pauses_and_sent_again(make_row: MakeRow) -> None:
    """The pauses are those of the settings, each counted from the last look; then it is due again."""
    row = moves.sent(make_row(Delivery.DUE), look_after=LOOKS, now=NOW)
    pauses, now = [], NOW
    while row.state is Delivery.SENT:
        pauses.append(row.next_at - now)
        now = row.next_at
        row = moves.looked(row, None, look_after=LOOKS, sends=3, now=now)

    assert (list(LOOKS), Delivery.DUE, 1) == (pauses, row.state, row.sent)


def test_after_the_last_send_an_unseen_row_is_a_dead_letter(make_row: MakeRow) -> None:
    """A score that was sent as often as allowed and never seen says so."""
    row = make_row(Delivery.SENT, sent=3, looks=3)

    moved = moves.looked(row, None, look_after=LOOKS, sends=3, now=NOW)

    assert (moved.state, moved.reason) == (Delivery.DEAD, "sent 3 times, never seen")


def test_an_old_payload_is_not_ours(make_row: MakeRow, make_seen: MakeSeen) -> None:
    """A score that Langfuse still shows with the former payload is not seen."""
    row = make_row(Delivery.SENT, sent=1)
    seen = replace(make_seen(row), fingerprint="former")

    moved = moves.looked(row, seen, look_after=LOOKS, sends=3, now=NOW)

    assert (moved.state, moved.looks) == (Delivery.SENT, 1)


@pytest.mark.parametrize(("sent", "sends", "last"), [(0, 3, False), (1, 3, False), (2, 3, True), (5, 3, True), (0, 1, False)])
def test_only_the_last_of_several_sends_goes_without_a_config(make_row: MakeRow, sent: int, sends: int, *, last: bool) -> None:
    """Sends before the last are validated by Langfuse; a single one is too."""
    assert last == moves.is_last_send(make_row(Delivery.DUE, sent=sent), sends=sends)


@pytest.mark.parametrize("state", list(Delivery))
def test_a_score_that_is_wanted_ends_up_on_its_way_or_seen(state: Delivery, make_row: MakeRow) -> None:
    """From every state a changed payload leads back to a state that ends in Langfuse, with the old timestamp."""
    row = make_row(state, sent=2, looks=2)
    score = replace(row.score, value=0.5, timestamp=NOW)

    moved = moves.wanted(row, score, "f2", scorer="2", now=NOW)

    assert moved is not None
    assert moved.state in {Delivery.NEW, Delivery.DUE}
    assert (0.5, row.score.timestamp, "f2", "2", 0, 0) == (
        moved.score.value,
        moved.score.timestamp,
        moved.fingerprint,
        moved.scorer,
        moved.sent,
        moved.looks,
    )


@pytest.mark.parametrize("state", [Delivery.NEW, Delivery.DUE, Delivery.SENT, Delivery.SEEN, Delivery.DEAD])
def test_an_unchanged_payload_is_no_work(state: Delivery, make_row: MakeRow) -> None:
    """A score that is on its way, at rest or given up is left alone when it says what it said."""
    row = make_row(state)

    assert moves.wanted(row, row.score, row.fingerprint, scorer="1", now=NOW) is None


def test_a_dead_letter_that_was_discarded_stays_so_until_its_payload_changes(make_row: MakeRow) -> None:
    """Who gives a score up gives up what it says now, however often its trace is worked out again."""
    given_up = moves.discarded(make_row(Delivery.DEAD), now=NOW)
    changed = moves.wanted(given_up, given_up.score, "f2", scorer="1", now=NOW)

    assert moves.wanted(given_up, given_up.score, given_up.fingerprint, scorer="1", now=NOW) is None
    assert changed is not None
    assert (Delivery.NEW, "f2", "") == (changed.state, changed.fingerprint, changed.reason)


def test_a_deletion_that_is_refused_is_a_dead_letter_of_a_deletion(make_row: MakeRow) -> None:
    """It is not asked for again by itself; tried again it is deleted, never sent; wanted again it is looked up."""
    dead = moves.deletion_refused(make_row(Delivery.DOOMED), "not this one", now=NOW)
    retried, purged = moves.requeued(dead, now=NOW), moves.purged(dead, now=NOW)
    wanted = moves.wanted(dead, dead.score, dead.fingerprint, scorer="1", now=NOW)

    assert (Delivery.DEAD, "deletion refused: not this one") == (dead.state, dead.reason)
    assert moves.unwanted(dead, now=NOW) is None
    assert purged is not None
    assert wanted is not None
    assert (Delivery.DOOMED, Delivery.DOOMED, Delivery.NEW) == (retried.state, purged.state, wanted.state)


def test_what_the_server_said_last_stands_in_the_dead_letter(make_row: MakeRow) -> None:
    """A batch that was answered half-heartedly leaves its words, for whoever reads the reason."""
    row = make_row(Delivery.DUE, sent=2)
    row = moves.sent(row, look_after=LOOKS, now=NOW, doubt="422: too much")
    while row.state is Delivery.SENT:
        row = moves.looked(row, None, look_after=LOOKS, sends=3, now=row.next_at)

    assert (Delivery.DEAD, "sent 3 times, never seen; last answer: 422: too much") == (row.state, row.reason)


def test_a_score_wanted_back_during_its_deletion_waits_for_it(make_row: MakeRow) -> None:
    """Sent at once it would meet the deletion; looked up at once it would seem to be there."""
    moved = moves.wanted(make_row(Delivery.DELETED), make_row().score, "f1", scorer="1", now=NOW)

    assert moved is not None
    assert (moved.state, moved.next_at) == (Delivery.DUE, NOW + moves.DELETION)


@pytest.mark.parametrize("state", list(Delivery))
def test_an_unwanted_score_is_doomed_once(state: Delivery, make_row: MakeRow) -> None:
    """Whatever its state, a score that no longer follows is on its way out."""
    moved = moves.unwanted(make_row(state, looks=3), now=NOW)

    if state in {Delivery.DOOMED, Delivery.DELETED, Delivery.GONE}:
        assert moved is None
    else:
        assert moved is not None
        assert (moved.state, moved.looks) == (Delivery.DOOMED, 0)


def test_a_doomed_score_that_never_shows_is_gone_after_every_look(make_row: MakeRow) -> None:
    """A send may be under way unrecorded, so one miss proves nothing."""
    row, looks = make_row(Delivery.DOOMED), 0
    while row.state is Delivery.DOOMED:
        row = moves.looked(row, None, look_after=LOOKS, sends=3, now=row.next_at)
        looks += 1

    assert (Delivery.GONE, len(LOOKS)) == (row.state, looks)


def test_a_deleted_score_is_gone_after_two_misses(make_row: MakeRow) -> None:
    """An update under way can bring a deleted score back, so it has to be missed twice."""
    once = moves.looked(moves.deletion_asked(make_row(Delivery.DOOMED), now=NOW), None, look_after=LOOKS, sends=3, now=NOW)
    twice = moves.looked(once, None, look_after=LOOKS, sends=3, now=once.next_at)

    assert (once.state, twice.state) == (Delivery.DELETED, Delivery.GONE)


def test_a_deletion_that_lost_is_asked_for_again(make_row: MakeRow, make_seen: MakeSeen) -> None:
    """A score that is still shown after several looks is doomed anew."""
    row, looks = moves.deletion_asked(make_row(Delivery.DOOMED), now=NOW), 0
    while row.state is Delivery.DELETED:
        row = moves.looked(row, make_seen(row), look_after=LOOKS, sends=3, now=row.next_at)
        looks += 1

    assert (row.state, looks) == (Delivery.DOOMED, 3)


_SHOWN = st.sampled_from(["ours", "other", "nothing"])


@given(
    state=st.sampled_from(moves.LOOKED_AT),
    sent=st.integers(0, 3),
    answers=st.lists(_SHOWN, min_size=1, max_size=60),
)
def test_whatever_langfuse_shows_a_row_ends_or_has_a_date(state: Delivery, sent: int, answers: list[str]) -> None:
    """No sequence of answers leaves a row that nobody looks at again, unless it is at rest."""
    score = Score("s1", "patch_shape", "no_change", "t1", "o1", NOW, "default", "", {})
    row = OutboxRow("p1", score, "f1", "1", state, NOW, sent)
    shown = {
        "ours": SeenScore("s1", "patch_shape", "no_change", NOW, "f1"),
        "other": SeenScore("s1", "patch_shape", "no_change", NOW, "f0"),
        "nothing": None,
    }
    for answer in answers:
        if row.state not in moves.LOOKED_AT:
            break
        before, row = row, moves.looked(row, shown[answer], look_after=LOOKS, sends=3, now=row.next_at)
        assert row.next_at >= before.next_at
        assert row != before or row.state is Delivery.DOOMED

"""What the demo plants: its files say which shape each patch has, and the scorer agrees without any trace or server."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from hunkwatch.core import evaluate
from hunkwatch.core.model import Call, Evidence, Shape
from hunkwatch.demo import producers, sessions

SESSIONS = sessions.load()
PATCHES = [(session.title, call.shape, patch) for session in SESSIONS for call in session.calls for patch in call.patches]
ACROSS_CALLS = "Build the parcel label twice"
START = datetime(2026, 3, 1, tzinfo=UTC)


def graded_shape(patch: str) -> Shape:
    """Return the shape of a patch that stands alone."""
    return evaluate.grade(Call("t", "o", START, START, None, 0, "raw", Evidence.EXECUTION, patch)).shape


@pytest.mark.parametrize(("title", "shape", "patch"), [entry for entry in PATCHES if entry[0] != ACROSS_CALLS])
def test_each_patch_has_the_shape_that_its_file_says(title: str, shape: Shape, patch: str) -> None:
    """A planted patch shows what the session is there to show."""
    assert (title, shape) == (title, graded_shape(patch))


def test_a_rewrite_across_calls_is_two_new_files_to_a_scorer_without_the_trace() -> None:
    """The one session whose shape only the whole trace tells."""
    assert [graded_shape(patch) for title, _, patch in PATCHES if title == ACROSS_CALLS] == [Shape.NEW_FILE, Shape.NEW_FILE]


def test_every_shape_is_planted() -> None:
    """Whoever looks at the demo sees each kind of patch once."""
    assert set(Shape) == {call.shape for session in SESSIONS for call in session.calls}


def test_seven_agents_leave_about_forty_traces() -> None:
    """The demo is as large as its first lines say."""
    made = Counter(session.agent for session in SESSIONS if session.calls)

    assert (41, set(sessions.AGENTS) - {"talk"}) == (made.total(), set(made))


def test_titles_are_unique() -> None:
    """A row of the table names one trace."""
    assert len(SESSIONS) == len({session.title for session in SESSIONS})


def test_every_call_is_planted_on_exactly_one_observation() -> None:
    """However often a tracer repeats a call, it belongs in one place."""
    for session in SESSIONS:
        assert sum(call.calls for call in session.calls) == sum(entry.planted for entry in producers.record(session))


def test_call_ids_are_unique_and_the_same_on_every_run() -> None:
    """No call of one trace looks like a copy of another's."""
    ids = [producers.call_id(session, position) for session in SESSIONS for position in range(len(session.calls))]

    assert (len(ids), "call_35b61bd28fbf51cea39b752d") == (len(set(ids)), ids[0])


def test_windows_line_ends_are_planted_as_such() -> None:
    """The patch with CR LF has one on each line."""
    (patch,) = [patch for title, _, patch in PATCHES if title == "Windows line ends"]

    assert patch.count("\n") == patch.count("\r\n") > 0

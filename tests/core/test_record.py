"""The ledger's text of graded calls: what goes in comes out, and what a newer version wrote is read as far as it is known."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.core import record
from hunkwatch.core.grading import grade
from hunkwatch.core.model import Action, Call, Evidence, FileFacts, GradedCall, Outcome, Place, Shape

START = datetime(2026, 1, 1, tzinfo=UTC)
times = st.datetimes(timezones=st.just(UTC))
words = st.text(max_size=6)
counts = st.integers(0, 99)
actions = st.sampled_from(["add", "update", "delete"])
files = st.builds(FileFacts, words, actions, words, counts, counts, counts, counts, counts, counts, words)
places = st.builds(Place, words, counts, counts, counts, counts, counts, counts)
some_places = st.lists(places, max_size=2).map(tuple)
graded = st.builds(
    GradedCall,
    trace_id=words,
    observation_id=words,
    start_time=times,
    end_time=st.none() | times,
    call_id=st.none() | words,
    index=counts,
    producer=words,
    evidence=st.sampled_from(Evidence),
    outcome=st.sampled_from(Outcome),
    has_output=st.booleans(),
    environment=words,
    shape=st.sampled_from(Shape),
    text_hash=words,
    hunks=counts,
    blind_hunks=counts,
    retyped_lines=st.none() | counts,
    files=st.lists(files, max_size=2).map(tuple),
    blind_at=some_places,
    retyped_at=some_places,
    flags=st.lists(words, max_size=2).map(tuple),
    why=words,
    dialect=words,
    file_count=counts,
    added_lines=counts,
    deleted_lines=counts,
    context_lines=counts,
    returned_lines=st.none() | counts,
    graded_by=words,
    trace_name=words,
    session_id=words,
    model=words,
)


@given(st.lists(graded, max_size=3))
@settings(max_examples=100)
def test_loading_undoes_dumping(calls: list[GradedCall]) -> None:
    """Whatever is on record comes back equal, lone surrogates too, from a text that any database can hold."""
    text = record.dump(calls)

    assert text.isascii()
    assert tuple(calls) == record.load(text)


def test_a_graded_patch_comes_back() -> None:
    """A call as the grader makes it survives, files and places included."""
    text = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n@@\n-a\n-b\n-c\n+a\n+y\n+z\n*** End Patch"
    call = grade(Call("t", "o", START, START + timedelta(seconds=1), "c", 2, "codex", Evidence.REQUEST, text, outcome=Outcome.APPLIED))

    assert record.load(record.dump([call])) == (call,)
    assert [file.action for file in record.load(record.dump([call]))[0].files] == [Action.ADD, Action.UPDATE]


def test_rows_of_a_newer_version_load() -> None:
    """Unknown keys are passed over, unknown words become the careful ones, absent keys take their defaults."""
    call = grade(Call("t", "o", START, None, None, 0, "p", Evidence.EXECUTION, "*** Begin Patch\n*** Delete File: a\n*** End Patch"))
    row = json.loads(record.dump([call]))[0]
    row |= {"outcome": "reverted", "shape": "spiral", "mood": "good", "files": [{"path": "a", "action": "update", "smell": 3}]}
    expected = replace(call, outcome=Outcome.UNKNOWN, shape=Shape.UNRESOLVED, files=(FileFacts("a", "update"),))

    assert record.load(json.dumps([row])) == (expected,)


@pytest.mark.parametrize("text", ["", "{", "3", "[3]", "[{}]", '["x"]', "null"])
def test_anything_else_is_refused(text: str) -> None:
    """A text that is no record is a ValueError, so that the store can say which row is broken."""
    with pytest.raises(ValueError):  # noqa: PT011 - json's own error is one too
        record.load(text)


def test_a_huge_patch_makes_a_small_record() -> None:
    """A hundred thousand blind hunks in two thousand files: totals are exact, lists are cut and flagged."""
    hunk = "@@\n-a\n-b\n-c\n+a\n+y\n+z\n"
    body = "".join(f"*** Update File: {'d/' * 400}{number}\n{hunk * 50}" for number in range(2000))
    call = grade(Call("t", "o", START, None, None, 0, "p", Evidence.EXECUTION, f"*** Begin Patch\n{body}*** End Patch"))

    assert (call.hunks, call.blind_hunks, call.retyped_lines, call.file_count) == (100_000, 100_000, 100_000, 2000)
    assert {"files_capped", "places_capped"} <= set(call.flags)
    assert len(record.dump([call])) < 150_000

"""What is counted, of whom, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.core.model import Evidence, GradedCall, Outcome
from hunkwatch.report import Asked, Survey, rows
from hunkwatch.report.counts import RETYPED_STEPS, Counts, retyped_step, step_name
from hunkwatch.report.leaving_out import GENERATED, LeavingOut

Build = Callable[..., GradedCall]
Count = Callable[..., Survey]


def test_a_call_that_was_recorded_twice_is_counted_once_with_the_model_that_asked(call: Build, counted: Count) -> None:
    """The tool that ran knows of no model; the request for it does."""
    asked = call(observation_id="g", call_id="c", evidence=Evidence.REQUEST, outcome=Outcome.UNKNOWN, model="gpt-5.1", producer="codex")
    survey = counted(asked, call(call_id="c"))

    assert (1, ["gpt-5.1"]) == (survey.total.calls, [name for name, _ in survey.group("model")])


def test_the_only_model_of_a_trace_is_that_of_its_calls(call: Build, counted: Count) -> None:
    """A tool whose request was not recorded belongs to the one model that its trace names; of two it belongs to none."""
    one = counted(call(model="m1"), call(observation_id="o2"))
    two = counted(call(model="m1"), call(observation_id="o2", model="m2"), call(observation_id="o3"))

    assert [("m1", 2)] == [(name, its.calls) for name, its in one.group("model")]
    assert {"m1": 1, "m2": 1, rows.UNKNOWN: 1} == {name: its.calls for name, its in two.group("model")}


def test_a_name_of_nothing_but_space_is_unknown(call: Build, counted: Count) -> None:
    """A group and a link need something to be read by."""
    blank = " \t"
    survey = counted(call(trace_name=blank, session_id=blank, model=blank, environment=blank))

    assert [["(unknown)"]] * 4 == [[name for name, _ in survey.group(by)] for by in ("trace_name", "session", "model", "environment")]


def test_shares_are_of_the_calls_that_have_a_number(call: Build, counted: Count, blind: str) -> None:
    """A new file and a truncated patch stand in no share, but among the reasons."""
    new = "*** Begin Patch\n*** Add File: n.py\n+x\n*** End Patch"
    survey = counted(
        call(), call(blind, observation_id="o2"), call(new, observation_id="o3"), call(blind[:-14], observation_id="o4", trace_id="u")
    )

    assert (0.5, 2, {"new_file": 1, "truncated": 1}) == (survey.total.blind_share, survey.total.without_number, survey.total.abstained)


def test_failures_are_of_the_calls_that_were_tried(call: Build, counted: Count) -> None:
    """Whoever was rejected, or of whom nothing is known, neither applied nor failed."""
    outcomes = (Outcome.APPLIED, Outcome.APPLIED, Outcome.FAILED, Outcome.REJECTED, Outcome.UNKNOWN)
    total = counted(*(call(observation_id=f"o{number}", outcome=outcome) for number, outcome in enumerate(outcomes))).total

    assert (5, 3, 1, 1 / 3) == (total.calls, total.tried, total.failed, total.failed_share)


def test_a_file_that_is_left_out_takes_its_numbers_along(call: Build, counted: Count, patch: Callable[..., str]) -> None:
    """What remains of the call is counted as if the file had not been touched."""
    text = patch(**{"web/package-lock.json": "-a\n-b\n-c\n+a\n+y\n+z", "a.py": " x\n-a\n+b"})
    kept, left = counted(call(text)), counted(call(text), patterns=GENERATED)

    assert (2, 1, 1) == (kept.total.hunks, kept.total.blind_hunks, kept.total.retyped_lines)
    assert (1, 0, 0) == (left.total.hunks, left.total.blind_hunks, left.total.retyped_lines)
    assert ({"package-lock.json": 1}, ["no_blind_rewrite"]) == (left.leaves_out.counted, list(left.traces[0].shapes))


def test_a_call_of_which_nothing_is_left_is_not_counted(call: Build, counted: Count, patch: Callable[..., str]) -> None:
    """A patch of a lockfile alone is no call of the report, and its trace no trace."""
    survey = counted(call(patch(**{"go.sum": "-a\n+b"})), patterns=GENERATED)

    assert (0, 0, []) == (survey.total.calls, survey.total.traces, survey.traces)


def test_what_remains_without_a_hunk_says_what_it_is(call: Build, counted: Count) -> None:
    """Next to a lockfile a new file is a new file."""
    text = "*** Begin Patch\n*** Update File: uv.lock\n@@\n-a\n+b\n*** Add File: n.py\n+x\n*** End Patch"

    assert {"new_file": 1} == counted(call(text), patterns=GENERATED).total.abstained


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.lock", "web/yarn.lock", True),
        ("go.sum", "go.sum", True),
        ("go.sum", "cargo.sum", False),
        ("docs/*", "docs/a.md", True),
        ("docs/*", "site/docs/deep/a.md", True),
        ("docs/*", "mydocs/a.md", False),
        ("/docs/*", "docs/a.md", True),
        ("[!a].py", "b.py", True),
        ("*.lock", "lock.py", False),
    ],
)
def test_patterns_are_held_against_names_and_ends_of_paths(pattern: str, path: str, *, expected: bool) -> None:
    """A pattern with a slash means folders, one without a name anywhere."""
    assert expected == LeavingOut([pattern])(path)


def test_a_call_counts_once_under_each_type_of_file(call: Build, counted: Count, patch: Callable[..., str]) -> None:
    """Two Python files are one call of Python; a Makefile stands for itself."""
    survey = counted(call(patch(**{"a.py": "-a\n+b", "b.PY": "-a\n-b\n-c\n+x\n+y\n+z", "Makefile": "-a\n+b"})))

    assert {".py": (1, 2, 1), "Makefile": (1, 1, 0)} == {
        name: (its.calls, its.hunks, its.blind_hunks) for name, its in survey.group("file_type")
    }


def test_traces_worth_opening_come_in_the_order_that_the_report_states(call: Build, counted: Count, blind: str) -> None:
    """Retyped lines before blind hunks before failures before age; a trace with none of them is not among them."""
    wordy = blind.replace("+y", "+b")
    survey = counted(
        call(trace_id="plain"),
        call(trace_id="failed", outcome=Outcome.FAILED),
        call(blind.replace("+a", "+w"), trace_id="blind"),
        call(blind, trace_id="retyped"),
        call(blind, trace_id="newer", start_time=call().start_time + timedelta(hours=1)),
        call(wordy, trace_id="retyped twice"),
    )

    assert ["retyped twice", "newer", "retyped", "blind", "failed"] == [line.trace_id for line in survey.worth_opening()]


def test_days_of_any_year_are_in_order(call: Build, counted: Count) -> None:
    """A clock that was never set, or one that ran ahead, moves no other day."""
    years = (9999, 1, 2026, 1970)
    survey = counted(*(call(trace_id=str(year), start_time=datetime(year, 1, 2, 3, 4, tzinfo=UTC)) for year in years))

    assert ["0001-01-02", "1970-01-02", "2026-01-02", "9999-01-02"] == [day for day, _ in survey.group("day")]


def test_only_the_time_that_was_asked_about_is_counted(call: Build) -> None:
    """The first moment belongs to it, the last does not."""
    at = call().start_time
    survey = Asked(since=at, until=at + timedelta(hours=1)).survey()
    asked = Asked(since=at, until=at + timedelta(hours=1))
    its = [call(observation_id=str(hours), start_time=at + timedelta(hours=hours)) for hours in (-1, 0, 1)]

    assert [at] == [row.at for row in survey.add("p", its, asked.keeps)]


def test_groups_of_retyped_lines_hold_every_number_once() -> None:
    """Each number of lines belongs to the one group whose name holds it."""
    names = [step_name(step) for step in RETYPED_STEPS]

    assert ["0", "1", "2", "3 to 4", "5 to 9", "10 to 19", "20 or more"] == names
    assert [0, 1, 2, 3, 3, 5, 10, 20] == [retyped_step(lines) for lines in (0, 1, 2, 3, 4, 9, 19, 4000)]


one_call = st.tuples(st.integers(0, 5), st.integers(0, 5), st.none() | st.integers(0, 30), st.sampled_from(Outcome))


@given(st.lists(one_call, max_size=20))
@settings(max_examples=100, deadline=None)
def test_no_share_leaves_its_range(calls: list[tuple[int, int, int | None, Outcome]]) -> None:
    """Whatever was counted, parts are no larger than their wholes."""
    its = Counts()
    for hunks, blind_hunks, retyped, outcome in calls:
        its.add(hunks, min(blind_hunks, hunks), retyped, outcome.value, abstained="" if hunks else "new_file")

    assert its.calls == its.counted + its.without_number == its.counted + its.abstained.total()
    assert all(share is None or 0 <= share <= 1 for share in (its.blind_share, its.failed_share, its.blind_rewrite))

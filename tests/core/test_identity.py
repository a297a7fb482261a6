"""Ids and fingerprints: the same for the same data, different for different data, whatever the data."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.core import identity
from hunkwatch.core.model import Observation, Score

START = datetime(2026, 1, 1, tzinfo=UTC)
SCORE = Score("id", "blind_rewrite", 0.5, "trace", None, START, "default", "why", {"hunks": 2, "fingerprint": "x"})
OBSERVATION = Observation("o", "t", START, "TOOL", "apply_patch", START, input={"input": "x"}, output="Done!")


def test_the_id_of_a_score_never_changes() -> None:
    """This very id stands in people's Langfuse projects: another one would double their scores."""
    assert identity.score_id("p", "t", "o", "patch_shape") == "9571c105-688a-504f-b851-7110cbd2d686"


def test_ids_differ_in_each_part() -> None:
    """Project, trace, observation and name each make another score."""
    ids = {
        identity.score_id(*parts)
        for parts in [("p", "t", "o", "n"), ("q", "t", "o", "n"), ("p", "u", "o", "n"), ("p", "t", None, "n"), ("p", "t", "o", "m")]
    }

    assert len(ids) == 5


def test_an_id_is_made_of_any_text() -> None:
    """Lone surrogates in a trace id are no reason to fail, and two such ids are two scores."""
    assert identity.score_id("p", "\ud800", None, "n") != identity.score_id("p", "\ud801", None, "n")


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"timestamp": START + timedelta(1)}, True),
        ({"environment": "production"}, True),
        ({"id": "other"}, True),
        ({"metadata": {"hunks": 2}}, True),
        ({"metadata": {"hunks": 3}}, False),
        ({"name": "blind_hunks"}, False),
        ({"value": 0.25}, False),
        ({"trace_id": "u"}, False),
        ({"observation_id": "o"}, False),
        ({"comment": "because"}, False),
    ],
)
def test_the_fingerprint_is_of_what_a_score_says(change: dict[str, object], *, same: bool) -> None:
    """Only what people see moves it."""
    assert same is (identity.fingerprint(SCORE) == identity.fingerprint(replace(SCORE, **change)))  # type: ignore[arg-type] - a table of changes


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"start_time": START + timedelta(1)}, True),
        ({"updated_at": START}, True),
        ({"id": "other"}, True),
        ({"input": "x"}, False),
        ({"output": ""}, False),
        ({"level": "ERROR"}, False),
        ({"status_message": "no"}, False),
        ({"end_time": None}, False),
        ({"name": "patch"}, False),
        ({"type": "SPAN"}, False),
    ],
)
def test_the_content_of_an_observation_is_what_scores_depend_on(change: dict[str, object], *, same: bool) -> None:
    """A re-sent span with another start time is the same content."""
    assert same is (identity.content(OBSERVATION) == identity.content(OBSERVATION._replace(**change)))  # type: ignore[arg-type] - a table of changes


def test_content_is_total() -> None:
    """Ten thousand nested lists, lone surrogates and mixed keys are hashed like anything else."""
    deep: object = "x"
    other: object = "y"
    for _ in range(10_000):
        deep, other = [deep], [other]
    values = [deep, other, "\ud800", {"a": 1, 2: "b"}, {1: {"a": float("nan")}}]
    hashes = [identity.content(OBSERVATION._replace(input=value)) for value in values]

    assert hashes == [identity.content(OBSERVATION._replace(input=value)) for value in values]
    assert len(set(hashes)) == len(values)


def test_a_patch_is_hashed_with_line_feeds() -> None:
    """The same patch with CR LF has the same hash, which anyone can compute; lone surrogates have one too."""
    expected = hashlib.sha256(b"a\nb\r").hexdigest()

    assert [identity.text_hash("a\nb\r"), identity.text_hash("a\r\nb\r")] == [expected, expected]
    assert len(identity.text_hash("\ud800")) == 64


# ---------------------------------------------------------------- sampling

TRACES = [f"trace-{number}" for number in range(2000)]


@settings(max_examples=50)
@given(st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_contains_the_smaller(one: float, other: float) -> None:
    """Raising the share never lets go of a trace that was read."""
    less, more = ({trace for trace in TRACES[:200] if identity.sampled(trace, share)} for share in sorted((one, other)))

    assert less <= more


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (0.1, 193), (0.5, 1013), (1.0, 2000)])
def test_a_share_is_about_that_many_traces_and_always_the_same(share: float, expected: int) -> None:
    """These very numbers follow from the ids alone, on any machine."""
    assert expected == sum(identity.sampled(trace, share) for trace in TRACES)


def test_any_text_is_in_a_share_or_not() -> None:
    """A lone surrogate in a trace id is no reason to fail."""
    assert [False, True] == [identity.sampled("\ud800", share) for share in (0.0, 0.999)]

"""What people read beside a number: one or two plain sentences about where and how much, the caveat, and never a line of code."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.core import caveats, discover, evaluate
from hunkwatch.core.model import Observation, Score, Shape

START = datetime(2026, 1, 1, tzinfo=UTC)
MARK = "c0de"
"""Stands in every line of every patch here, and in no path."""

PLAIN = re.compile(r"[\w .,:;()/'\-]+")
BLOCK = [*(f"-{MARK}{at}" for at in range(4)), *(f"+{MARK}{at}b" for at in range(3)), f" {MARK}"]


def scores(text: str, *, paths: bool = True, environment: str = "staging") -> tuple[Score, ...]:
    """Return every score of a trace whose one observation was given the text as its patch."""
    facts = {"type": "TOOL", "name": "apply_patch", "end_time": START, "output": f"Error: {MARK} not found", "environment": environment}
    seen = Observation("o", "t", START, input=text, **facts)
    calls = [evaluate.grade(call) for call in discover.calls(seen)]
    return evaluate.trace("p", calls, now=START + timedelta(days=1), request_grace=timedelta(0), paths=paths).scores


def envelope(*lines: str) -> str:
    """Return a patch."""
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


LINES = st.lists(st.sampled_from([*BLOCK, f"@@ def {MARK}():", "@@", f"{MARK} without a prefix", "", "*** End of File"]), max_size=12)
SECTIONS = st.tuples(st.sampled_from(["*** Update File: src/a.py", "*** Add File: src/b.py", "*** Delete File: src/c.py"]), LINES)
CUT = st.sampled_from([lambda text: text, lambda text: text.removesuffix("*** End Patch"), lambda text: text[: len(text) * 2 // 3]])


@settings(max_examples=150)
@given(sections=st.lists(SECTIONS, max_size=3), cut=CUT, paths=st.booleans())
def test_no_line_of_code_is_ever_told(sections: list[tuple[str, list[str]]], cut: object, *, paths: bool) -> None:
    """Neither in a comment nor in metadata, whatever the patch is like, cut off or malformed, and whatever the tool answered."""
    text = envelope(*(line for head, lines in sections for line in (head, *lines)))

    for score in scores(cut(text), paths=paths):  # type: ignore[operator] # one of the three above
        assert MARK not in score.comment + json.dumps(dict(score.metadata))
        assert paths or "src/" not in score.comment + json.dumps(dict(score.metadata))


@settings(max_examples=80)
@given(sections=st.lists(SECTIONS, max_size=3), cut=CUT)
def test_every_comment_is_one_or_two_plain_sentences_that_end_with_the_caveat(sections: list[tuple[str, list[str]]], cut: object) -> None:
    """One about what was counted, one that says what it does not mean; no markup, no line breaks."""
    text = envelope(*(line for head, lines in sections for line in (head, *lines)))

    for score in scores(cut(text)):  # type: ignore[operator] # one of the three above
        told = score.comment.removesuffix(f" {caveats.of(score.name).caveat}")
        assert told != score.comment
        assert (told[-1], told.count(". ")) == (".", 0)
        assert PLAIN.fullmatch(score.comment)


def test_a_low_score_names_the_file_the_hunk_and_the_lines() -> None:
    """Which file, which hunk, how many lines."""
    text = envelope("*** Update File: src/a.py", "@@", f" {MARK}", f"-{MARK}", "@@", *BLOCK)
    told = {score.name: score.comment for score in scores(text)}

    names = ("blind_rewrite", "blind_hunks", "blind_rewrite_patch", "patch_shape")
    blind = "1 of 2 hunks is a blind rewrite: src/a.py hunk 2 (lines 7 to 13 of the patch), 4 deleted lines against 3 added"
    assert {blind} == {told[name].partition(". ")[0] for name in names}
    assert told["retyped_lines"].startswith("No line was deleted and added again unchanged. ")


def test_retyped_lines_name_the_file_and_the_hunk() -> None:
    """The same for the other number."""
    text = envelope("*** Update File: src/a.py", "@@", f"-{MARK}1", f"-{MARK}2", f"+{MARK}1", f"+{MARK}2")
    (told,) = [score.comment for score in scores(text) if score.name == "retyped_lines_patch"]

    assert told.startswith("2 lines were deleted and added again unchanged, in src/a.py hunk 1 (lines 4 to 7 of the patch). ")


@pytest.mark.parametrize("environment", ["default", "production", "staging-2"])
def test_a_score_is_of_the_environment_of_its_observation(environment: str) -> None:
    """Charts and filters by environment show it where the call is."""
    assert {environment} == {score.environment for score in scores(envelope("*** Update File: a", "@@", *BLOCK), environment=environment)}


def test_the_metadata_says_by_whom_how_and_what_became_of_it() -> None:
    """The scorer's version, the counts, the producer, the outcome and the paths stand beside every score."""
    for score in scores(envelope("*** Update File: src/a.py", "@@", *BLOCK)):
        facts = score.metadata
        assert (evaluate.SCORER, 1, 1, 1) == (facts["scorer"], facts["calls"], facts["hunks"], facts["blind_hunks"])
        assert (4, 3, 1) == (facts["deleted_lines"], facts["added_lines"], facts["context_lines"])
        assert ("src/a.py", Shape.BLIND_REWRITE.value, "failed 1") == (facts["files"], facts["shape"], facts["outcomes"])
        assert str(facts["producers"]).endswith(" 1")

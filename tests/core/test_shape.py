"""The shape of a patch: one word, the first that is true."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import hunkwatch
from hunkwatch.core import evaluate, grading
from hunkwatch.core.model import Call, Evidence, Shape


def envelope(*lines: str) -> str:
    """Return the lines between markers."""
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


UPDATE = ("*** Update File: u", "@@", "-a", "+b")
BLIND = ("*** Update File: u", "@@", "-a", "-b", "-c", "+x", "+y", "+z")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello", "malformed"),
        ("", "malformed"),
        ("*** Begin Patch\n" + "\n".join(BLIND), "truncated"),
        (envelope("*** Delete File: a", "*** Add File: a", "+x", *BLIND), "file_rewrite"),
        (envelope("*** Add File: a", "+x", "*** Delete File: ./a"), "file_rewrite"),
        (envelope(*UPDATE, *BLIND), "blind_rewrite"),
        (envelope(*UPDATE, "*** Add File: a", "+x"), "no_blind_rewrite"),
        (envelope("*** Add File: a", "+x", "*** Delete File: b"), "new_file"),
        (envelope("*** Add File: a"), "new_file"),
        (envelope("*** Delete File: b", "*** Update File: c", "*** Move to: d"), "delete_only"),
        (envelope("*** Update File: c", "*** Move to: d"), "move_only"),
        (envelope("*** Update File: c", "*** Move to: d", "@@", " same"), "move_only"),
        (envelope("*** Update File: c", "@@", " same"), "no_change"),
        (envelope("*** Update File: c"), "no_change"),
        (envelope(), "no_change"),
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1,3 @@\n+a\n+b\n+c", "new_file"),
        ("--- a/x\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c", "delete_only"),
        ("@@\n-a\n+b", "no_blind_rewrite"),
    ],
)
def test_the_first_word_that_is_true(text: str, expected: str) -> None:
    """Each shape wins over those after it."""
    assert hunkwatch.score_patch(text).shape == expected


@pytest.mark.parametrize(("text", "flags", "expected"), [(None, (), Shape.UNRESOLVED), (envelope(*BLIND), ("truncated",), Shape.TRUNCATED)])
def test_what_the_finder_knows_comes_first(text: str | None, flags: tuple[str, ...], expected: Shape) -> None:
    """A call without a readable text is unresolved; one whose text was cut is truncated, and neither is counted."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    call = Call("t", "o", start, None, None, 0, "test", Evidence.EXECUTION, text, why="a variable" if text is None else "", flags=flags)
    graded = evaluate.grade(call)

    assert (graded.shape, graded.hunks, graded.blind_hunks, graded.flags) == (expected, 0, 0, flags)
    assert graded.why == call.why


def test_abstaining_is_not_zero() -> None:
    """Where nothing is counted there is no number."""
    for text in ("", "hello", "*** Begin Patch\n" + "\n".join(BLIND), envelope(), envelope("*** Add File: a", "+x")):
        score = hunkwatch.score_patch(text)

        assert (score.blind_rewrite, score.retyped_lines, score.hunks) == (None, None, 0)


@pytest.mark.parametrize("text", ["-" * (grading.MOST_TEXT + 1), "-\n" * (grading.MOST_LINES + 1)])
def test_a_text_of_endless_length_is_unresolved(text: str) -> None:
    """Past sixteen million characters or a million lines a text is not read, and the reason says so."""
    score = hunkwatch.score_patch(text)

    assert (score.shape, score.hunks, score.facts.why) == (Shape.UNRESOLVED, 0, "longer than 1000000 lines or 16777216 characters")

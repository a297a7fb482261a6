"""The explained patches of a trace in a page: bounded whatever agents wrote, and honest about what is left out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hunkwatch.core.model import Observation
from hunkwatch.report import explained, page

LONG = "x" * 100_000
SMALL = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"


def observation(patch: str, number: int = 0) -> Observation:
    """Return an observation of a tool that was given a patch."""
    return Observation(f"o{number:04}", "t", datetime(2026, 3, 1, tzinfo=UTC), type="TOOL", name="apply_patch", input=patch, output="Done!")


@pytest.mark.parametrize(
    "patches",
    [
        [f"*** Begin Patch\n*** Update File: a.py\n@@\n-{LONG}\n+b\n*** End Patch"],
        [f"*** Begin Patch\n*** Update File: {LONG}\n@@\n-a\n+b\n*** End Patch"],
        ["*** Begin Patch\n*** Update File: a.py\n" + "@@\n-a\n+b\n" * 30_000 + "*** End Patch"],
        [SMALL] * 1000,
    ],
    ids=["a long line", "a long path", "many hunks", "many calls"],
)
def test_a_page_holds_as_much_of_a_trace_as_somebody_reads(patches: list[str]) -> None:
    """What is left out is said, with the command that prints it."""
    its = explained.of_trace("t", [observation(patch, number) for number, patch in enumerate(patches)])

    assert "hunkwatch explain t" in its.note
    assert len(page.of_patches("t", its.calls)) < 300_000


def test_what_is_shown_whole_says_nothing_else() -> None:
    """A small patch has no note."""
    its = explained.of_trace("t", [observation(SMALL)])

    assert ("", 6) == (its.note, len(its.calls[0].lines))


def test_code_is_shown_in_its_own_order() -> None:
    """A sign that turns a line around is shown as a sign that nobody knows: what is read is what a parser reads."""
    its = explained.of_trace("t", [observation(SMALL.replace("+b", "+b \u202e# \u2066 \u00a0\u3000"))])

    text = page.of_patches("t", its.calls)

    assert "+b \ufffd# \ufffd \u00a0\u3000" in text

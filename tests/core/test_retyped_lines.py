"""Retyped lines: an exact count, against a slow and plain reference, within its bound."""

from __future__ import annotations

import itertools
import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hunkwatch
from hunkwatch.core.model import Hunk
from hunkwatch.core.scoring import retyped_lines, subsequence


def hunk(*lines: str) -> Hunk:
    """Return a hunk of lines that carry their prefixes."""
    return Hunk((), "".join(line[0] for line in lines), lines, range(11, 11 + len(lines)))


def plainly(left: list[str], right: list[str]) -> int:
    """Return the length of the longest common subsequence by the textbook's table."""
    above = [0] * (len(right) + 1)
    for text in left:
        row = [0]
        for at, other in enumerate(right):
            row.append(above[at] + 1 if text == other else max(above[at + 1], row[at]))
        above = row
    return above[-1]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("-a", "+a", "+b"), 1),
        (("-a", "-b", "-c", "+a", "+x", "+c"), 2),
        (("+a", "-a"), 1),
        (("-a", " k", "+a"), 0),
        (("-a", "+a", " k", "-b", "+b"), 2),
        (("-a", "+a", "-b", "+b"), 2),
        (("-a", "-b", "+b", "+a"), 1),
        (("-", "-}", "-  ---", "-__", "+", "+}", "+  ---", "+__"), 0),
        (("-}", "-é", "+}", "+é"), 1),
        (("-²", "+²"), 1),
        (("-x = 1", "+x = 2"), 0),
        (("-a ", "+a"), 0),
        (("+a", "+b"), 0),
        (("- a",), 0),
    ],
)
def test_lines_deleted_and_added_again_unchanged(lines: tuple[str, ...], expected: int) -> None:
    """Within one change group, in order, letter by letter, lines without a letter or digit left out."""
    assert expected == retyped_lines.count(hunk(*lines))[0]


def test_retyped_lines_are_named_by_number() -> None:
    """Each retyped line is given where it goes and where it comes back."""
    found = retyped_lines.numbers(hunk(" k", "-a", "-b", "-c", "+c", "+a", "+new", "+b", " k", "-z", "+z"))

    assert found == (retyped_lines.Retyped(12, 16), retyped_lines.Retyped(13, 18), retyped_lines.Retyped(20, 21))


TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", "}"]), max_size=12)


@given(st.lists(st.tuples(st.sampled_from(" -+"), st.sampled_from(["a", "b", "c", "}"])).map("".join), max_size=24))
@settings(max_examples=300)
def test_counts_and_numbers_agree_with_the_reference(lines: list[str]) -> None:
    """For any hunk, the count is the textbook's over its change groups, and the numbers name as many matching lines, rising."""
    tried = hunk(*lines)
    expected = 0
    for group in "".join(line[0] for line in lines).split(" "):
        its, lines = lines[: len(group)], lines[len(group) + 1 :]
        left, right = ([line[1:] for line in its if line[0] == sign and line[1:] != "}"] for sign in "-+")
        expected += plainly(left, right)
    named = retyped_lines.numbers(tried)

    assert (expected, expected) == (retyped_lines.count(tried)[0], len(named))
    for at, (deleted, added) in enumerate(named):
        assert tried.lines[deleted - 11] == "-" + tried.lines[added - 11][1:]
        assert all(deleted > before.deleted and added > before.added for before in named[:at])


@pytest.mark.parametrize("small", [0, 4096])
@pytest.mark.parametrize("columns", [1, 2, 3, 2048])
@pytest.mark.parametrize("chaining", [True, False, None])
def test_every_way_gives_the_same_answer(small: int, columns: int, monkeypatch: pytest.MonkeyPatch, *, chaining: bool | None) -> None:
    """Chains of links, rows of bits, halving: whichever is taken, the length is right and the matches are one such subsequence."""
    monkeypatch.setattr(subsequence, "_SMALL", small)
    monkeypatch.setattr(subsequence, "_MOST_COLUMNS", columns)
    monkeypatch.setattr(subsequence, "MASK_BYTES", columns)
    if chaining is not None:
        monkeypatch.setattr(subsequence, "_chaining_is_cheaper", lambda *_: chaining)
    rng = random.Random(columns)  # noqa: S311 - test data
    for _ in range(150):
        kinds = rng.choice([1, 2, 4, 12])
        left, right = ([str(rng.randint(0, kinds)) for _ in range(rng.randint(0, 14))] for _ in range(2))
        expected = plainly(left, right)
        matched = subsequence.align(left, right)

        assert (expected, expected) == (subsequence.length(subsequence.reduce(left, right)), len(matched))
        assert all(left[one] == right[other] for one, other in matched)
        assert all(one < later[0] and other < later[1] for (one, other), later in itertools.pairwise(matched))


def big(deleted: list[str], added: list[str]) -> Hunk:
    """Return a hunk that swaps the one list for the other."""
    return hunk(*(f"-{text}" for text in deleted), *(f"+{text}" for text in added))


def test_a_hundred_thousand_unique_lines_reversed() -> None:
    """Unique lines are chained: one is in order, and the memory stays small where bit masks of each would take gigabytes."""
    texts = [f"line {at}" for at in range(100_000)]
    tried = big(texts, texts[::-1])
    tracemalloc.start()
    try:
        found = retyped_lines.count(tried)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert found == (1, 10**10)
    assert peak < 100 * 2**20


def test_a_hundred_thousand_equal_lines() -> None:
    """What both sides share at their ends is never compared pair by pair."""
    assert retyped_lines.count(big(["x"] * 100_000, ["x"] * 99_999)) == (99_999, 0)


def test_past_the_bound_the_scorer_abstains() -> None:
    """The bound counts pairs of lines, so the same patch abstains on every machine, before any work is done."""
    rng = random.Random(7)  # noqa: S311 - test data
    texts = [f"line {rng.randint(0, 999)}" for _ in range(300_000)]
    tried = big(texts[:150_000], texts[150_000:])

    assert retyped_lines.count(tried)[0] is None
    assert retyped_lines.numbers(tried) == ()


def test_the_bound_is_shared_by_the_groups() -> None:
    """What one group used is gone for the next; a bound that is just met is not passed."""
    group = ("-a", "-b", "+b", "+a")
    tried = hunk(*group, " k", *group)

    assert [retyped_lines.count(tried, left) for left in (8, 7)] == [(2, 8), (None, 8)]


@pytest.mark.parametrize(
    "placeholder", ["[REDACTED]", "[Redacted]", "<redacted>", "redacted-by-proxy", "<fully masked due to failed mask function>"]
)
def test_a_placeholder_that_may_fake_a_retyped_line_is_flagged(placeholder: str) -> None:
    """Two different secrets behind one placeholder look like one line typed again, however the placeholder is spelled."""
    text = f"*** Begin Patch\n*** Update File: a\n@@\n-key = {placeholder}\n+key = {placeholder}\n*** End Patch"
    plain = text.replace(placeholder, "1")

    flags = [("redacted" in hunkwatch.score_patch(patch).facts.flags) for patch in (text, plain)]

    assert flags == [True, False]

"""The metrics that we refuse, written out here and nowhere else, and the patches on which each turns a verdict upside down."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from hunkwatch.core import grammar
from hunkwatch.core.model import Malformed
from hunkwatch.core.scoring import retyped_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunkwatch.core.model import Hunk


def hunks(text: str) -> list[Hunk]:
    """Return all hunks of a patch."""
    patch = grammar.parse(text)
    assert not isinstance(patch, Malformed)
    return [hunk for edit in patch.files for hunk in edit.hunks]


def side(text: str, kind: str) -> list[str]:
    """Return the lines of one kind of a patch."""
    return [line[1:] for hunk in hunks(text) for line in hunk.lines if line[0] == kind]


def context_count(text: str) -> float:
    """More context lines, worse patch."""
    return len(side(text, " "))


def context_density(text: str) -> float:
    """A larger share of context lines, worse patch."""
    return context_count(text) / max(1, sum(len(hunk.kinds) for hunk in hunks(text)))


def line_similarity(text: str) -> float:
    """Deleted and added text more alike, worse patch: so much of it was typed for nothing."""
    return difflib.SequenceMatcher(None, "\n".join(side(text, "-")), "\n".join(side(text, "+")), autojunk=False).ratio()


def retyped_ratio(text: str) -> float:
    """A larger share of changed lines retyped, worse patch."""
    retyped = sum(retyped_lines.count(hunk)[0] or 0 for hunk in hunks(text))
    return 2 * retyped / max(1, len(side(text, "-")) + len(side(text, "+")))


def inverted(metric: Callable[[str], float], surgical: str, wasteful: str) -> bool:
    """Say whether the metric calls the surgical patch the worse one."""
    return metric(surgical) > metric(wasteful)


def test_counting_context_punishes_the_anchor(pairs: dict[str, list[tuple[str, str, str, list[str]]]]) -> None:
    """The tighter patch of the plainest pair keeps context, which is what anchors it; the retyped block keeps none."""
    _, tighter, looser, _ = pairs["blind_rewrite"][0]

    assert inverted(context_count, tighter, looser)
    assert inverted(context_density, tighter, looser)


def test_counting_context_calls_eight_small_inserts_the_worst(surgical: dict[str, str], excused: dict[str, str]) -> None:
    """Eight one-line inserts in well anchored hunks lose against a wholesale rewrite."""
    assert inverted(context_density, surgical["eight inserts, much context"], excused["necessary rewrite"])


def test_similarity_calls_a_one_token_edit_waste(surgical: dict[str, str], pairs: dict[str, list[tuple[str, str, str, list[str]]]]) -> None:
    """One token on one line is as similar as text gets; a whole block retyped around real changes is less so."""
    retyped = next(looser for name, _, looser, _ in pairs["retyped_lines"] if name == "two lines around one new line")

    assert inverted(line_similarity, surgical["one token on one line"], retyped)


def test_similarity_calls_a_moved_block_worse_than_a_retyped_one(
    surgical: dict[str, str], pairs: dict[str, list[tuple[str, str, str, list[str]]]]
) -> None:
    """A block that was moved is a hundred percent similar; a block retyped for nothing beside a small edit is less so."""
    no_op = next(looser for name, _, looser, _ in pairs["retyped_lines"] if name == "a complete no-op beside a small edit")

    assert inverted(line_similarity, surgical["block moved across context"], no_op)


def test_a_ratio_of_retyped_lines_punishes_the_tightest_insert(
    surgical: dict[str, str], pairs: dict[str, list[tuple[str, str, str, list[str]]]]
) -> None:
    """One anchor line typed again beside one new line is worse, as a ratio, than ten lines typed again in a block of twenty."""
    wasteful = next(looser for name, _, looser, _ in pairs["retyped_lines"] if name == "ten lines retyped beside ten that changed")
    counted = [sum(retyped_lines.count(hunk)[0] or 0 for hunk in hunks(text)) for text in (surgical["anchor insert"], wasteful)]

    assert inverted(retyped_ratio, surgical["anchor insert"], wasteful)
    assert counted == [1, 10]

"""The pairs themselves: two patches are worth comparing only if they do the same to the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunkwatch.core import grammar
from hunkwatch.core.model import Action, Malformed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.core.model import Hunk

PATH = "src/app.py"


def applied(text: str, before: Sequence[str]) -> list[str] | None:
    """Return what a plain executor makes of the one file, ``None`` when it is gone; fails where a hunk's old lines are not there."""
    patch = grammar.parse(text)
    assert not isinstance(patch, Malformed)
    content: list[str] | None = list(before)
    for edit in patch.files:
        assert edit.path == PATH
        if edit.action is Action.DELETE:
            content = None
        elif edit.action is Action.ADD:
            content = [line[1:] for hunk in edit.hunks for line in hunk.lines]
        else:
            assert content is not None
            content = changed(edit.hunks, content)
    return content


def changed(hunks: Sequence[Hunk], content: list[str]) -> list[str]:
    """Return the content with every hunk's old lines, sought from where the last one ended, replaced by its new ones."""
    cursor = 0
    for hunk in hunks:
        old, new = ([line[1:] for line in hunk.lines if line[0] != other] for other in "+-")
        cursor = next(at for at in range(cursor, len(content) + 1) if content[at : at + len(old)] == old)
        content = [*content[:cursor], *new, *content[cursor + len(old) :]]
        cursor += len(new)
    return content


def test_the_patches_of_a_pair_reach_the_same_content(pairs: dict[str, list[tuple[str, str, str, list[str]]]]) -> None:
    """Otherwise the one that a metric likes less could be the only one that does the work."""
    ends = {
        f"{score}: {name}": (applied(tighter, before), applied(looser, before), before)
        for score, its in pairs.items()
        for name, tighter, looser, before in its
    }

    assert [name for name, (one, other, _) in ends.items() if one is None or one != other] == []
    assert [name for name, (one, _, before) in ends.items() if one == before] == []

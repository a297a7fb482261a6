"""``explain``: the marks, the arithmetic, and that both agree with the scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hunkwatch.cli import explain
from hunkwatch.core import grammar
from hunkwatch.core.model import Patch
from hunkwatch.report import explained

Say = Callable[..., Any]


def marks(text: str) -> dict[int, str]:
    """Return the mark of each marked line by its number."""
    read = grammar.parse(text)
    assert isinstance(read, Patch)
    found = {}
    for line in explained.marked(text, read):
        if line.marks:
            found[line.number] = line.marks
    return found


def test_every_line_stands_there_with_its_number_and_marks(say: Say, patches: Any) -> None:
    """Blind runs, retyped lines and kept anchors, in letters where there is no colour."""
    said = say("explain", "-", stdin=patches.blind)

    expected = [
        "   1    *** Begin Patch",
        "   2    *** Update File: app/a.py",
        "   3    @@ def f():",
        "   4 =   keep",
        "   5 BR -one()",
        "   6 B  -two()",
        "   7 BR -three()",
        "   8 BR +one()",
        "   9 B  +two_b()",
        "  10 BR +three()",
        "  11 =   keep",
        "  12    @@",
        "  13 =   other",
        "  14    -1",
        "  15    +2",
        "  16    *** End Patch",
    ]
    assert expected == said.out.splitlines()[1:17]


def test_the_arithmetic_leads_to_the_score(say: Say, patches: Any) -> None:
    """Each number with what it is made of, and the caveat after it."""
    out = say("explain", "-", stdin=patches.blind).out

    wanted = [
        "hunk 1, lines 4-11: 3 deleted, 3 added, 2 kept; blind (3 deleted next to 3 added, at least 3 each); 2 retyped",
        "hunk 2, lines 13-15: 1 deleted, 1 added, 1 kept; not blind; 0 retyped",
        "patch_shape = blind_rewrite: ",
        "blind_rewrite_patch = 1 - 1 blind / 2 hunks = 0.5, floored to quarters: 0.5",
        "retyped_lines_patch = 2",
        "blind_rewrite_patch: Low means",
    ]
    assert [text for text in wanted if text not in out] == []


@pytest.mark.parametrize("name", ["surgical", "blind", "new_file"])
def test_the_numbers_are_those_of_score(say: Say, patches: Any, name: str) -> None:
    """Two verbs, one truth."""
    text = getattr(patches, name)
    (scored,) = say("score", "--json", "-", stdin=text).objects

    out = say("explain", "-", stdin=text).out

    assert f"patch_shape = {scored['shape']}" in out
    explained = [
        line.rpartition(" ")[2] for line in out.splitlines() if line.startswith(("  blind_rewrite_patch = ", "  retyped_lines_patch = "))
    ]
    expected = [f"{scored[name]:g}" for name in ("blind_rewrite", "retyped_lines") if scored[name] is not None]
    assert expected == explained


def test_an_abstaining_patch_says_so(say: Say, patches: Any) -> None:
    """No number is invented for a new file."""
    assert "no hunk is counted, so there is no number" in say("explain", "-", stdin=patches.new_file).out


def test_marked_lines_of_a_reversed_block(patches: Any) -> None:
    """Added before deleted is marked the same."""
    text = "*** Begin Patch\n*** Update File: a\n@@\n keep\n+one()\n+two_b()\n+three()\n-one()\n-two()\n-three()\n*** End Patch"

    assert marks(text) == {4: "=", 5: "BR", 6: "B", 7: "BR", 8: "BR", 9: "B", 10: "BR"}
    del patches


def test_a_trace_is_summed_up(say: Say, row: Callable[..., dict[str, Any]], patches: Any) -> None:
    """The calls of one trace lead to its own scores, in hundredths."""
    lines = [json.dumps(row(patches.surgical)), json.dumps(row(patches.blind, observation="o2"))]

    out = say("explain", "-", stdin="\n".join(lines)).out

    wanted = [
        "the trace: 2 calls",
        "blind_rewrite = 1 - 1 blind / 3 hunks = 0.6667, floored to hundredths: 0.66",
        "blind_hunks = 0 + 1 = 1",
        "retyped_lines = 0 + 2 = 2",
    ]
    assert [text for text in wanted if text not in out] == []


def test_colour_says_what_the_letters_say(patches: Any) -> None:
    """Deleted red, added green, blind bold, retyped reversed, anchors cyan."""
    read = grammar.parse(patches.blind)
    assert isinstance(read, Patch)

    styles = {
        number: str(line.spans[-1].style)
        for number, line in enumerate(explain.coloured([*explained.marked(patches.blind, read)]), start=1)
        if line.spans[1:]
    }

    assert (styles[4], styles[5], styles[6], styles[8], styles[15]) == (
        "cyan",
        "red bold reverse",
        "red bold",
        "green bold reverse",
        "green",
    )


def test_nothing_of_the_patch_can_steer_the_terminal(say: Say) -> None:
    """Control characters and markup are shown as what they are."""
    out = say("explain", "-", stdin="*** Begin Patch\n*** Update File: [red]a\x1b[2J\n@@\n-\x1b]0;title\x07\n+\tx\n*** End Patch").out

    assert ("\x1b" in out, "\x07" in out, "[red]a?[2J" in out, "+   x" in out) == (False, False, True, True)


def test_what_holds_no_call_is_nothing_to_explain(say: Say, row: Callable[..., dict[str, Any]]) -> None:
    """Exit 2, as for the gate."""
    said = say("explain", "-", stdin=json.dumps(row("no patch", name="search")))

    assert (said.code, said.err) == (2, "hunkwatch: no apply_patch call in it\n")


def test_a_malformed_text_is_explained_too(say: Say) -> None:
    """The shape and the reason stand where the numbers would."""
    out = say("explain", "-", stdin="hello\n").out

    assert "patch_shape = malformed" in out


def test_other_parsers_are_asked_only_when_wanted(say: Say) -> None:
    """Each of five executors has its verdict on the text, with the oddity that leads to it."""
    text = "*** Begin Patch\n*** Update File: a\n-old\n+new\n*** End Patch"

    asked = say("explain", "--parsers", "-", stdin=text).out.splitlines()

    verdicts = [
        "    codex accepts",
        "    cline accepts",
        "    agents accepts",
        "    opencode drops (bare_first_hunk)",
        "    vscode accepts",
    ]
    assert verdicts == [line for line in asked if line in verdicts]
    assert not [line for line in say("explain", "-", stdin=text).out.splitlines() if line in verdicts]

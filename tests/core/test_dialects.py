"""Other parsers' verdicts, construct by construct, as measured on the real ones."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.core import dialects, discover, grammar
from hunkwatch.core.model import Observation

if TYPE_CHECKING:
    from collections.abc import Callable

LETTERS = {"rejects": "r", "hangs": "h", "unknown": "?", "misreads": "m", "drops": "d", "accepts": "."}


def envelope(*lines: str) -> str:
    """Return the lines between markers."""
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def update(*lines: str) -> str:
    """Return an envelope with one Update section around the lines."""
    return envelope("*** Update File: a", *lines)


ADD = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"

# the verdicts of codex, cline, agents, opencode, vscode, one letter each
CASES = [
    ("plain", update("@@", " k", "-a", "+b"), "....."),
    ("blank after End", ADD + " ", "..r.."),
    ("padded Begin", " " + ADD, ".rr.r"),
    ("padded End", ADD.replace("*** End", " *** End"), ".rrmm"),
    ("no End", ADD.removesuffix("\n*** End Patch"), "rrrr."),
    ("no markers", "*** Add File: a\n+x", "r.rrr"),
    ("text before", "hi\n" + ADD, "r.r.r"),
    ("text after", ADD + "\nbye", "r.r.."),
    ("fence", f"```\n{ADD}\n```", "r.r.r"),
    ("heredoc EOF", f"<<'EOF'\n{ADD}\nEOF", "..r.r"),
    ("heredoc of another word", f"<<'END'\n{ADD}\nEND", "r.r.r"),
    ("two envelopes", f"{ADD}\n{ADD.replace(': a', ': b')}", "rd.dd"),
    ("nested Begin", ADD.replace("*** Add", "*** Begin Patch\n*** Add"), "rrr.r"),
    ("environment", ADD.replace("*** Add", "*** Environment ID: x\n*** Add"), ".rr.r"),
    ("empty patch", envelope(), "..r.."),
    ("lower case", ADD.lower(), "rrrrr"),
    ("CR LF", ADD.replace("\n", "\r\n"), "...mr"),
    ("a line separator", ADD.replace("x", "x\u2028y"), "..m.."),
    ("a lone carriage return", ADD.replace("x", "x\ry"), "..m.."),
    ("indented header", ADD.replace("*** Add", "  *** Add"), ".rrdr"),
    ("tight header", ADD.replace(": a", ":a"), "rrr.r"),
    ("blank after the path", ADD.replace(": a", ": a "), "....m"),
    ("unknown header", ADD.replace("*** Add", "*** x\n*** Add"), "rrrdr"),
    ("Add without +", ADD.replace("+x", "x"), "rrrdr"),
    ("Add with an empty line", ADD.replace("+x", "+x\n"), "rrrdr"),
    ("Add without lines", ADD.replace("\n+x", ""), "..r.."),
    ("Add with @@", ADD.replace("+x", "@@\n+x"), "rrrdr"),
    ("Delete with a body", envelope("*** Delete File: a", "-x"), "rrrdr"),
    ("Delete and Add", envelope("*** Delete File: a", "*** Add File: a", "+x"), ".r..r"),
    ("two sections of one file", update("@@", "-a", "*** Update File: a", "@@", "-b"), ".r..r"),
    ("Move alone", update("*** Move to: b"), "r.r.."),
    ("Update with nothing", update(), "r.r.."),
    ("late Move", update("@@", "-a", "*** Move to: b"), "rrrdr"),
    ("first hunk without @@", update("-a", "+b"), "...d."),
    ("later hunk without @@", update("@@", "-a", "*** End of File", "-b"), "rrrdr"),
    ("@@ and a blank", update("@@ ", "-a"), "....."),
    ("closed anchor", update("@@ f @@", "-a"), "m..m."),
    ("numbered anchor", update("@@ -1,3 +1,3 @@", "-a"), "m..m."),
    ("tight anchor", update("@@", "-b", "@@f", "-a"), "rrr.."),
    ("tight first anchor", update("@@f", "-a"), "rhr.."),
    ("stacked anchors", update("@@ a", "@@ b", "-x"), "r...."),
    ("empty hunk", update("@@", "-a", "@@"), "r.r.."),
    ("context-only hunk", update("@@", " a", "@@", "-b"), "....."),
    ("empty line in a hunk", update("@@", "-a", "", "+b"), ".r.m."),
    ("empty line below the header", update("", "-a"), ".h.m."),
    ("empty line below the header, then @@", update("", "@@", "-a"), ".hr.."),
    ("empty line below the first @@", update("@@", "", "-a"), ".h.m."),
    ("empty line below a later @@", update("@@", "-a", "@@", "", "-b"), ".r.m."),
    ("empty line before @@", update("@@", "-a", "", "@@", "+b"), ".rr.."),
    ("unprefixed line", update("@@", "-a", "b", "+c"), "r.rd."),
    ("a note about the last newline", update("@@", "-a", "\\ No newline at end of file", "+b"), "rmrdm"),
    ("unprefixed stars", update("@@", "-a", "*** note", "+b"), "rrrdr"),
    ("prefixed stars", update("@@", "-a", " *** note", "+b"), "....."),
    ("End of File, then a hunk", update("@@", "-a", "*** End of File", "@@", "-b"), "...d."),
    ("End of File", update("@@", "-a", "*** End of File"), "....."),
    ("decorated", ADD.replace("Patch", "Patch ***"), "r?rrr"),
    ("unified diff", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b", "r?rrr"),
]


@pytest.mark.parametrize(("text", "expected"), [pytest.param(text, expected, id=name) for name, text, expected in CASES])
def test_each_parser_says_what_the_real_one_says(text: str, expected: str) -> None:
    """Rejected, hung, unknown, misread, partly dropped or accepted."""
    assert "".join(LETTERS[judgement.verdict] for judgement in dialects.judge(text)) == expected


GIVEN = ["text before", "text after", "fence", "heredoc EOF", "heredoc of another word", "no markers", "two envelopes"]


@pytest.mark.parametrize(("text", "expected"), [pytest.param(text, expected, id=name) for name, text, expected in CASES if name in GIVEN])
@pytest.mark.parametrize("argument", [lambda text: text, lambda text: {"input": text}], ids=["text", "object"])
def test_a_verdict_is_about_the_argument_that_the_call_was_given(text: str, expected: str, argument: Callable[[str], object]) -> None:
    """What the finder cuts away or puts there before the patch is read was before the executor's own parser."""
    row = Observation("o", "t", datetime(2026, 1, 1, tzinfo=UTC), type="TOOL", name="apply_patch", input=argument(text))
    for call in discover.calls(row):
        assert call.text is not None
        assert "".join(LETTERS[judgement.verdict] for judgement in dialects.judge(call.text, call.flags)) == expected


def test_a_verdict_names_its_reasons() -> None:
    """The gravest oddities are the reason, not the lesser ones; a parser that accepts has none."""
    codex, cline, _, opencode, vscode = dialects.judge(update("-a", "b", "", "+c"))

    assert (codex.verdict, codex.because) == (dialects.Verdict.REJECTS, ("unprefixed_context",))
    assert (cline.verdict, cline.because) == (dialects.Verdict.REJECTS, ("blank_context",))
    assert (opencode.verdict, opencode.because) == (dialects.Verdict.MISREADS, ("blank_context",))
    assert (vscode.verdict, vscode.because) == (dialects.Verdict.ACCEPTS, ())


def test_every_flag_has_an_effect_or_is_harmless() -> None:
    """A new flag of the reader must be given its letters here; each row has one a parser."""
    assert set(grammar.FLAGS) <= set(dialects.EFFECTS) | dialects._HARMLESS
    assert {len(row) for row in dialects.EFFECTS.values()} == {len(dialects.Parser)}
    assert {letter for row in dialects.EFFECTS.values() for letter in row} <= set(dialects._LETTERS)


@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from([line for _, text, _ in CASES for line in text.split("\n")]), max_size=15).map("\n".join)
)
@settings(max_examples=200)
def test_judging_is_total(text: str) -> None:
    """Any text gets a verdict of each parser, and one that does not accept has its reason."""
    for judgement in dialects.judge(text):
        assert bool(judgement.because) is (judgement.verdict is not dialects.Verdict.ACCEPTS)

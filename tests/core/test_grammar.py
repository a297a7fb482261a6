"""The grammar, construct by construct: what is read, and which flag says that a strict executor would not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.core import grammar
from hunkwatch.core.grammar import read as reading
from hunkwatch.core.model import Action, Dialect, FileEdit, Hunk, Malformed, Patch


def envelope(*lines: str) -> str:
    """Return the lines between markers."""
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def update(*lines: str) -> str:
    """Return an envelope with one Update section around the lines."""
    return envelope("*** Update File: a.py", *lines)


def read(text: str) -> Patch:
    """Parse a text that is a patch."""
    patch = grammar.parse(text)
    assert isinstance(patch, Patch)
    return patch


def kinds(text: str) -> list[str]:
    """Return the kinds of every hunk of a patch."""
    return [hunk.kinds for edit in read(text).files for hunk in edit.hunks]


def test_a_canonical_patch_is_read_in_full() -> None:
    """Every part of a plain patch lands where it belongs, with the numbers of its lines, and raises no flag."""
    text = envelope(
        "*** Update File: src/a.py", "*** Move to: src/b.py", "@@ class A", "@@ def f", " keep", "-old", "+new", "*** End of File",
        "*** Add File: c.py", "+one", "+", "*** Delete File: d.py",
    )  # fmt: skip

    assert grammar.parse(text) == Patch(
        (
            FileEdit(
                Action.UPDATE, "src/a.py", 2, "src/b.py",
                (Hunk(("class A", "def f"), " -+", (" keep", "-old", "+new"), range(6, 9), ends_file=True),),
            ),
            FileEdit(Action.ADD, "c.py", 10, "", (Hunk((), "++", ("+one", "+"), range(11, 13)),)),
            FileEdit(Action.DELETE, "d.py", 13),
        ),
        ("stacked_anchors",),
    )  # fmt: skip


ENVELOPES = [
    pytest.param("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch  ", (), id="blanks after End"),
    pytest.param("  *** Begin Patch\n*** Add File: a\n+x\n *** End Patch\n\n", ("padded",), id="padded markers"),
    pytest.param("*** Begin Patch ***\n*** Add File: a\n+x\n*** End Patch ***", ("decorated",), id="decorated markers"),
    pytest.param("***Begin Patch\n*** Add File: a\n+x\n***End Patch", ("decorated",), id="markers without a blank"),
    pytest.param("*** Add File: a\n+x", ("no_begin", "no_end"), id="neither marker"),
    pytest.param("*** Add File: a\n+x\n*** End Patch", ("no_begin",), id="End alone"),
    pytest.param("hello\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch", ("text_before",), id="text before"),
    pytest.param("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nbye", ("text_after",), id="text after"),
    pytest.param("```diff\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n```", ("fenced", "text_after", "text_before"), id="fence"),
    pytest.param("```\n*** Add File: a\n+x\n```", ("fenced", "no_begin", "no_end"), id="fence without markers"),
    pytest.param("*** Add File: a\n+x\n *** End Patch\n\n", ("no_begin", "padded"), id="padded End alone"),
    pytest.param("<<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF", ("heredoc",), id="heredoc"),
    pytest.param(
        "<<'END'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEND",
        ("heredoc", "text_after", "text_before"),
        id="heredoc of another word",
    ),
    pytest.param("\ufeff*** Begin Patch\n*** Add File: a\n+x\n*** End Patch", ("bom",), id="byte order mark"),
    pytest.param("*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch\r\n", ("crlf",), id="CR LF"),
    pytest.param("*** Begin Patch\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch", ("nested_begin",), id="nested Begin"),
    pytest.param("*** Begin Patch\n*** Environment ID: x\n*** Add File: a\n+x\n*** End Patch", ("environment_id",), id="environment"),
    pytest.param("*** Begin Patch\n\nso:\n*** Add File: a\n+x\n*** End Patch", ("stray_text",), id="text before the first header"),
]


@pytest.mark.parametrize(("text", "flags"), ENVELOPES)
def test_an_odd_envelope_is_read_and_flagged(text: str, flags: tuple[str, ...]) -> None:
    """However the envelope is bent, the file inside is the same."""
    patch = read(text)

    assert [(edit.action, edit.path, edit.hunks[0].lines) for edit in patch.files] == [(Action.ADD, "a", ("+x",))]
    assert (flags, True) == (patch.flags, patch.complete)


def test_begin_without_end_is_incomplete() -> None:
    """A text that begins and does not end is read to its end, and says so."""
    patch = read("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n")

    assert (patch.complete, patch.flags, len(patch.files[0].hunks)) == (False, ("no_end",), 1)


def test_a_nested_begin_without_an_end_is_incomplete() -> None:
    """A second Begin does not end the first."""
    assert not read("*** Begin Patch\n*** Add File: a\n+x\n*** Begin Patch\n*** Add File: b\n+y").complete


def test_end_is_the_first_later_line_in_column_0() -> None:
    """Neither a quoted End before Begin nor an indented one inside a hunk ends the patch."""
    text = "*** End Patch\n" + update("@@", " *** End Patch", "-a", "+b") + "\n*** End Patch"

    assert kinds(text) == [" -+"]


def test_two_envelopes_are_both_read() -> None:
    """A text with two patches is two patches, flagged; their hunks count together."""
    text = update("@@", "-a", "+b") + "\nand\n" + update("@@", "-c", "+d")

    assert (kinds(text), "several_envelopes" in read(text).flags) == (["-+", "-+"], True)


def test_an_empty_envelope_is_a_patch_that_changes_nothing() -> None:
    """Nothing between the markers is no fault."""
    assert Patch(()) == grammar.parse("*** Begin Patch\n*** End Patch")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "*** begin patch\n*** update file: a\n@@\n-a\n+b\n*** end patch",
        "*** Begin Patch\n*** update file: a\n@@\n-a\n+b\n*** End Patch",
        "*** Begin Patch\nhello\n*** End Patch",
        "\n\n",
        "*** Begin\n",
        "*** Begin Patch\n* x\n*** End Patch",
    ],
)
def test_a_text_without_header_anchor_or_changed_line_is_malformed(text: str) -> None:
    """What holds nothing of a patch is malformed, with a reason, and not a patch without changes."""
    read_as = grammar.parse(text)

    assert isinstance(read_as, Malformed)
    assert read_as.why


@pytest.mark.parametrize(("text", "expected"), [("@@\n-a\n+b", "-+"), ("-a\n+b", "-+"), ("@@ f\n x\n-a", " -")])
def test_bare_hunks_are_one_unnamed_file(text: str, expected: str) -> None:
    """A headerless body is read as the hunks of one file whose name is not known."""
    patch = read(text)

    assert ([("", expected)], Dialect.BODY) == ([(edit.path, hunk.kinds) for edit in patch.files for hunk in edit.hunks], patch.dialect)
    assert {"no_begin", "no_end", "no_header"} <= set(patch.flags)


SECTIONS = [
    pytest.param(envelope("  *** Add File: a", "+x"), [("add", "a")], "indented_header", id="indented first header"),
    pytest.param(
        envelope("*** Add File: b", "+x", "  *** Delete File: a"), [("add", "b"), ("delete", "a")], "indented_header", id="after Add"
    ),
    pytest.param(
        envelope("*** Delete File: b", "  *** Add File: a"), [("delete", "b"), ("add", "a")], "indented_header", id="after Delete"
    ),
    pytest.param(envelope("*** Update File:a", "@@", "-x"), [("update", "a")], "tight_header", id="no blank after the colon"),
    pytest.param(envelope("***Update File: a", "@@", "-x"), [("update", "a")], "tight_header", id="no blank after the stars"),
    pytest.param(envelope("*** Update File: a  ", "@@", "-x"), [("update", "a")], None, id="blanks after the path"),
    pytest.param(envelope("*** Update File:", "@@", "-x"), [("update", "")], "no_path", id="no path"),
    pytest.param(envelope("*** Rename File: q", "*** Add File: a", "+x"), [("add", "a")], "unknown_marker", id="unknown header"),
    pytest.param(envelope("*** Add File: a"), [("add", "a")], None, id="empty new file"),
    pytest.param(envelope("*** Delete File: a", "-x"), [("delete", "a")], "delete_body", id="Delete with a body"),
    pytest.param(envelope("*** Delete File: a", ""), [("delete", "a")], "delete_body", id="blank line after Delete"),
    pytest.param(
        envelope("*** Delete File: a", "*** Add File: a", "+x"), [("delete", "a"), ("add", "a")], "delete_and_add", id="Delete and Add"
    ),
    pytest.param(
        envelope("*** Update File: a", "@@", "-x", "*** Update File: a", "@@", "-y"),
        [("update", "a"), ("update", "a")],
        "same_path_twice",
        id="two sections of one file",
    ),
    pytest.param(envelope("*** Update File: a"), [("update", "a")], "empty_update", id="Update with nothing"),
    pytest.param(envelope("*** Add File: a", "*** Move to: b", "+x"), [("add", "a")], "stray_move", id="Move in Add"),
]


@pytest.mark.parametrize(("text", "files", "flag"), SECTIONS)
def test_an_odd_section_is_read_and_flagged(text: str, files: list[tuple[str, str]], flag: str | None) -> None:
    """Sections are found where a lenient reader finds them."""
    patch = read(text)

    assert files == [(edit.action.value, edit.path) for edit in patch.files]
    assert flag is None or flag in patch.flags


def test_an_indented_header_inside_an_update_is_a_context_line() -> None:
    """Inside an Update a line that starts with a blank is context, whatever it says."""
    assert (kinds(update("@@", "-a", "  *** Update File: b", "+c")), len(read(update("@@", "-a")).files)) == (["- +"], 1)


@pytest.mark.parametrize(
    ("lines", "expected", "flag"),
    [
        (("one", "+two"), ("+one", "+two"), "unprefixed_add"),
        (("+one", "", "+two", ""), ("+one", "+", "+two", "+"), "blank_add"),
        (("@@", "+one", "*** End of File"), ("+one",), "anchor_in_add"),
        (("+one", "*** End of File"), ("+one",), "end_of_file_in_add"),
        (("+***", "+-- x"), ("+***", "+-- x"), None),
        (("-one",), ("+-one",), "unprefixed_add"),
    ],
)
def test_lines_of_a_new_file(lines: tuple[str, ...], expected: tuple[str, ...], flag: str | None) -> None:
    """What stands in a new file is added, with or without its prefix; what cannot stand there is skipped."""
    patch = read(envelope("*** Add File: a", *lines))

    assert expected == patch.files[0].hunks[0].lines
    assert flag is None or flag in patch.flags


def test_a_move_alone_renames() -> None:
    """A Move without a hunk is a rename."""
    edit = read(envelope("*** Update File: a", "*** Move to: b")).files[0]

    assert (edit.path, edit.moved_to, edit.hunks) == ("a", "b", ())


def test_a_move_after_a_hunk_is_flagged() -> None:
    """A Move line that comes late still says where the file goes."""
    patch = read(envelope("*** Update File: a", "@@", "-x", "*** Move to: b"))

    assert (patch.files[0].moved_to, patch.flags) == ("b", ("late_move",))


HUNKS = [
    pytest.param(("-a", "+b"), ["-+"], "bare_first_hunk", id="first hunk without @@"),
    pytest.param(("@@", "-a", "*** End of File", "-b"), ["-", "-"], "bare_later_hunk", id="later hunk without @@"),
    pytest.param(("@@", "-a", "*** End of File", "@@", "+b"), ["-", "+"], None, id="End of File ends the hunk only"),
    pytest.param(("@@ ", "-a"), ["-"], "blank_anchor", id="@@ and a blank"),
    pytest.param(("@@ f @@", "-a"), ["-"], "closed_anchor", id="closed anchor"),
    pytest.param(("@@ -1,3 +1,3 @@", "-a"), ["-"], "numbered_anchor", id="numbered anchor"),
    pytest.param(("@@f", "-a"), ["-"], "tight_anchor", id="anchor without a blank"),
    pytest.param(("@@", "-a", " @@", "+b"), ["- +"], None, id="indented @@ is context"),
    pytest.param(("@@ a", "@@ b", "-x"), ["-"], "stacked_anchors", id="stacked anchors"),
    pytest.param(("@@", "-a", "@@"), ["-"], "empty_hunk", id="empty hunk"),
    pytest.param(("@@", " a", "@@", "-b"), [" ", "-"], "context_only_hunk", id="context-only hunk"),
    pytest.param(("@@", "-a", "", "+b"), ["- +"], "blank_context", id="empty line is context"),
    pytest.param(("@@", "-a", "", "", "@@", "+b", ""), ["-", "+"], None, id="empty lines at the end separate"),
    pytest.param(("", "@@", "-a"), ["-"], None, id="empty line before the first @@"),
    pytest.param(("@@", "-a", "b", "+c"), ["- +"], "unprefixed_context", id="unprefixed line"),
    pytest.param(("@@", "-a", "\tb", "+c"), ["- +"], "unprefixed_context", id="tab instead of a blank"),
    pytest.param(("@@", "-a", "@property", "* b", "+c"), ["-  +"], "unprefixed_context", id="one @ or * is no marker"),
    pytest.param(("@@", "-a", " *** note", "+b"), ["- +"], None, id="prefixed stars are content"),
    pytest.param(("@@", "-a", "*** note", "+b"), ["-+"], "unknown_marker", id="unprefixed stars are skipped"),
    pytest.param(("@@", "-a", "***", "+b", "@@", "-c"), ["-+", "-"], "unknown_marker", id="and the section goes on"),
    pytest.param(("@@", "+***", "----", "-+++"), ["+--"], None, id="content that looks like markers"),
    pytest.param(("@@", "-a", " *** End of File", "+b"), ["- +"], None, id="indented End of File is context"),
    pytest.param(("--- a/a.py", "+++ b/a.py", "@@ -1,2 +1,2 @@", "-a", "+b"), ["-+"], "unified_header", id="unified head in a section"),
    pytest.param(("@@", "--- x", "+++ y", "@@ f", "-a"), ["-+", "-"], None, id="a pair that no numbered @@ follows is content"),
    pytest.param(("@@", "-a", "\\ No newline at end of file", "+b"), ["-+"], "no_newline_note", id="no-newline note"),
    pytest.param(("@@", "-a\u2028b", "+c\x0cd\x85"), ["-+"], None, id="only \\n ends a line"),
]


@pytest.mark.parametrize(("lines", "expected", "flag"), HUNKS)
def test_a_hunk_is_cut_where_a_lenient_reader_cuts_it(lines: tuple[str, ...], expected: list[str], flag: str | None) -> None:
    """Each construct of an Update section gives these hunks, and a flag where a strict executor would refuse."""
    assert expected == kinds(update(*lines))
    assert flag is None or flag in read(update(*lines)).flags


def test_one_carriage_return_is_no_part_of_a_line() -> None:
    """Exactly one trailing CR comes off a line."""
    lines = [hunk.lines for hunk in read(update("@@", "-a\r", "+a\r\r")).files[0].hunks]

    assert lines == [("-a", "+a\r")]


def test_line_numbers_stand_where_lines_were_skipped() -> None:
    """Numbers are of the patch text, also past lines that are no part of the hunk."""
    hunk = read(update("@@", "-a", "*** note", "+b")).files[0].hunks[0]

    assert (hunk.lines, hunk.numbers) == (("-a", "+b"), (4, 6))


UNIFIED = [
    ("--- a/x.py\t2024\n+++ b/x.py\t2025\n@@ -1,2 +1,2 @@\n k\n-a\n+b\n", [("update", "x.py", "", [" -+"])]),
    ("--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+a\n", [("add", "x.py", "", ["+"])]),
    ("--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", [("delete", "x.py", "", ["-"])]),
    ("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", [("update", "x", "y", [])]),
    (
        (
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\ndiff --git a/y b/y\n"
            "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n@@ -9 +9 @@ f\n+d\n"
        ),
        [("update", "x", "", ["-+"]), ("update", "y", "", ["-", "+"])],
    ),
    ("--- x\n+++ y\n@@ -1 +1 @@\n-a\n--- z\n+++ z\n@@ -1 +1 @@\n-b\n", [("update", "x", "y", ["-"]), ("update", "z", "", ["-"])]),
]


@pytest.mark.parametrize(("text", "files"), UNIFIED)
def test_a_unified_diff_is_read_as_sections(text: str, files: list[tuple[str, str, str, list[str]]]) -> None:
    """A unified diff, with or without an envelope around it, is the same edits in another dress, and says so."""
    for dressed in (text, envelope(*text.rstrip("\n").split("\n"))):
        patch = read(dressed)

        assert files == [(edit.action.value, edit.path, edit.moved_to, [hunk.kinds for hunk in edit.hunks]) for edit in patch.files]
        assert (patch.dialect, "unified" in patch.flags) == (Dialect.UNIFIED, True)


def test_envelopes_come_without_their_surroundings() -> None:
    """Each patch of a text is cut out as it was written; what stands around is left and flagged."""
    first, second = update("@@", "-a"), envelope("*** Add File: b", "+x")
    text = f"Sure:\n```\n{first}\n```\nthen\n{second}\r\n"

    assert (first, second) == grammar.envelopes(text)
    assert grammar.surroundings(text) == ("fenced", "several_envelopes", "text_after", "text_before")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*** Begin Patch\n*** Add File: a\n+x\n\n", ("*** Begin Patch\n*** Add File: a\n+x",)),
        ("*** Begin Patch\n+x\n*** Begin Patch\n*** End Patch", ("*** Begin Patch\n+x\n*** Begin Patch\n*** End Patch",)),
        ("*** Begin Patch\n+x\n *** End Patch\n", ("*** Begin Patch\n+x\n *** End Patch",)),
        ("*** Update File: a\n-x\n*** End Patch", ()),
        ("say *** Begin Patch\n*** End Patch", ()),
    ],
)
def test_envelopes_end_by_the_rules(text: str, expected: tuple[str, ...]) -> None:
    """Truncated, nested, padded, and what is none."""
    assert expected == grammar.envelopes(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x\n *** Begin Patch", True),
        ("*** Begin Patch ***\r\n", True),
        ("*** Update File: a", True),
        ("@@ f\n-a", True),
        ("--- a\n+++ b\n", True),
        ("talk of *** Begin Patch", False),
        ("*** begin patch", False),
        ("- a list\n- of things", False),
        ("", False),
    ],
)
def test_the_cheap_test(text: str, expected: bool) -> None:  # noqa: FBT001 - a table of expectations
    """What may be a patch is recognised without reading it."""
    assert expected is grammar.looks_like_patch(text)


def test_a_headerless_body_is_enclosed() -> None:
    """Operations without an envelope are rebuilt into the patch that says the same."""
    text = grammar.enclose(
        grammar.section(Action.UPDATE, "a", "@@\n-x\n+y\n", "b"),
        grammar.section(Action.ADD, "c", "+1"),
        grammar.section(Action.DELETE, "d"),
    )

    assert envelope("*** Update File: a", "*** Move to: b", "@@", "-x", "+y", "*** Add File: c", "+1", "*** Delete File: d") == text


def test_every_flag_has_its_words() -> None:
    """Whatever flag the reader raises is explained in the table, and each of the table's flags can be raised."""
    texts = [param.values[0] for param in (*ENVELOPES, *SECTIONS)] + [update(*param.values[0]) for param in HUNKS]
    texts += [text for text, _ in UNIFIED] + ["@@\n-a", "*** Begin Patch\n+x", update("@@", "-a", "*** Move to: b")]
    texts += [envelope("*** Add File: a", *lines) for lines in (("one",), ("",), ("@@",), ("*** End of File",))]
    texts += [update("-a") + "\n" + update("-a"), "*** begin patch\n-a\n*** end patch"]

    assert set(grammar.FLAGS) == {flag for text in texts for flag in grammar.parse(str(text)).flags}


# ---------------------------------------------------------------- for all texts

WORDS = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=8)
NAMES = st.from_regex(r"[a-z]{1,6}(/[a-z]{1,6}){0,2}", fullmatch=True)
ANCHORS = st.lists(st.from_regex(r"[a-z ()]{0,8}[a-z]", fullmatch=True).map(str.strip) | st.just(""), max_size=2).map(tuple)
LINES = st.lists(st.tuples(st.sampled_from(" -+"), WORDS).map("".join), min_size=1, max_size=8).map(tuple)


@st.composite
def canonical(draw: st.DrawFn) -> str:
    """Draw a patch in canonical form."""
    lines = ["*** Begin Patch"]
    for _ in range(draw(st.integers(1, 3))):
        action = draw(st.sampled_from(Action))
        lines.append(f"*** {action.value.capitalize()} File: {draw(NAMES)}")
        if action is Action.ADD:
            lines += [f"+{text}" for text in draw(st.lists(WORDS, max_size=5))]
        if action is Action.UPDATE:
            lines += [f"*** Move to: {draw(NAMES)}"] if draw(st.booleans()) else []
            for number in range(draw(st.integers(1, 3))):
                anchors = draw(ANCHORS)
                lines += [f"@@ {anchor}".rstrip() for anchor in anchors or (() if number == 0 else ("",))]
                lines += draw(LINES)
                lines += ["*** End of File"] if draw(st.booleans()) else []
    return "\n".join((*lines, "*** End Patch"))


@given(canonical())
@settings(max_examples=150)
def test_rendering_undoes_parsing(text: str) -> None:
    """A canonical patch comes back letter by letter, and is read the same again."""
    patch = read(text)

    assert text == grammar.render(patch)
    assert patch == read(grammar.render(patch))


ONE = st.builds(
    lambda header, lines: envelope(header, *lines),
    st.sampled_from(
        ["*** Update File: a", "*** Add File: a", "*** Delete File: a", "*** Update File:", "*** Update File:a", "*** Move to: b"]
    ),
    st.lists(st.sampled_from(["@@", "@@ f", "@@ ", "@@f", "@@ -1 +1 @@", "@", "-a", "+b", " c", "--- a/f", "+++ b/f"]), max_size=8),
)


@given(canonical() | ONE)
@settings(max_examples=300)
def test_the_short_way_reads_what_the_long_way_reads(text: str) -> None:
    """A plain patch of one section is read by a shorter way, with the very same result."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "_plain", lambda *_: None)
        expected = grammar.parse(text)

    assert expected == grammar.parse(text)


@given(canonical())
@settings(max_examples=50)
def test_line_ends_change_nothing_but_the_flag(text: str) -> None:
    """A patch with CR LF is the same patch."""
    plain, dressed = read(text), read(text.replace("\n", "\r\n"))

    assert (plain.files, {*plain.flags, "crlf"}) == (dressed.files, {*dressed.flags})


MARKED = (
    "*** Begin Patch",
    "*** End Patch",
    " *** End Patch",
    "*** Update File: a",
    " *** Add File: b",
    "*** Add File: c",
    "*** Delete File: d",
)
ODD = (
    "*** Move to: e",
    "*** End of File",
    "*** x",
    "--- a/f",
    "+++ b/f",
    "diff --git a/f b/f",
    "\\ No newline at end of file",
    "```",
    "\ud800",
    "\x00",
)
FRAGMENTS = st.sampled_from((*MARKED, *ODD, "@@", "@@ -1,2 +3,4 @@", "-a", "+a", "+b", " c", "", "text"))
ANY_TEXT = (
    st.text(st.characters(), max_size=60)
    | st.lists(FRAGMENTS, max_size=25).map("\n".join)
    | st.lists(FRAGMENTS, max_size=25).map("\r\n".join)
)


@given(ANY_TEXT)
@settings(max_examples=400)
def test_parsing_is_total_and_its_lines_agree_with_the_text(text: str) -> None:
    """Any text, lone surrogates too, is read; each line of a hunk is where its number says, and its kind is its first character."""
    patch = grammar.parse(text)
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    for hunk in [hunk for edit in patch.files for hunk in edit.hunks] if isinstance(patch, Patch) else []:
        assert len(hunk.kinds) == len(hunk.lines) == len(hunk.numbers)
        for kind, line, number in zip(hunk.kinds, hunk.lines, hunk.numbers, strict=True):
            assert kind == line[0]
            assert lines[number - 1] in {line, line[1:]}


@given(ANY_TEXT)
@settings(max_examples=200)
def test_each_envelope_is_one_envelope(text: str) -> None:
    """What is cut out of a text is cut out of itself unchanged."""
    for cut in grammar.envelopes(text):
        assert (cut,) == grammar.envelopes(cut)


UNITS = ("*** Begin Patch\n*** End Patch\n", "*** Begin Patch\n", "@@\n", "--- a\n+++ b\n", "*** Update File: a\n", " *** Add File: a\n")


@pytest.mark.parametrize("unit", [*UNITS, "\n", "@@\n-a\n+b\n", "-a\nx\n"])
def test_parsing_is_linear(unit: str) -> None:
    """A hundred thousand of anything is read; were it quadratic, the suite's time limit would end this test."""
    text = "*** Begin Patch\n*** Update File: a\n" + unit * 100_000

    assert isinstance(grammar.parse(text), Patch)
    assert isinstance(grammar.parse(unit * 100_000), Patch | Malformed)
    assert grammar.looks_like_patch(text)


def test_a_unified_pair_below_an_indented_header_is_no_change() -> None:
    """The section that the lines above open decides what the pair is, however its header is written."""
    patch = grammar.parse("prose\n  *** Update File: a\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n")

    assert isinstance(patch, Patch)
    assert [("-old", "+new")] == [hunk.lines for edit in patch.files for hunk in edit.hunks]
    assert "unified_header" in patch.flags


def test_a_path_of_a_unified_diff_has_no_blanks_around_it() -> None:
    """A path is trimmed wherever it comes from, so that writing a patch and reading it again changes nothing."""
    patch = grammar.parse("--- a/  x.py\n+++ b/  x.py\n@@ -1 +1 @@\n-old\n+new\n")

    assert isinstance(patch, Patch)
    assert ["x.py"] == [edit.path for edit in patch.files]

"""The cases: patches that a wrong metric would misjudge, each with a name that ``docs/scores.md`` uses too."""

from __future__ import annotations

from typing import NamedTuple

import pytest


class Pair(NamedTuple):
    """Two patches that reach the same file content; a metric must not like the looser better, and the named score tells them apart."""

    name: str
    tighter: str
    looser: str
    before: list[str]
    """The file that both are applied to."""


def _patch(*lines: str, path: str = "src/app.py") -> str:
    return "\n".join(("*** Begin Patch", f"*** Update File: {path}", *lines, "*** End Patch"))


ADD = "*** Add File: src/app.py"
KEPT = [f"    step_{at}()" for at in range(6)]
RUN = ["def run():", *KEPT[:2], "    old()", *KEPT[2:]]
DONE = ["def run():", *KEPT[:2], "    new()", *KEPT[2:]]

ONE_LINE = _patch("@@ def run():", *(f" {line}" for line in KEPT[:2]), "-    old()", "+    new()", *(f" {line}" for line in KEPT[2:4]))
ONE_LINE_RETYPED = _patch(
    "@@ def run():", *(f"-{line}" for line in KEPT[:2]), "-    old()", *(f"-{line}" for line in KEPT[2:4]),
    *(f"+{line}" for line in KEPT[:2]), "+    new()", *(f"+{line}" for line in KEPT[2:4]),
)  # fmt: skip
"""The same edit: one line changed between anchors, or the whole block deleted and typed again."""

BLIND_PAIRS = [
    Pair("block retyped to change one line", ONE_LINE, ONE_LINE_RETYPED, RUN),
    Pair(
        "block retyped, additions first",
        ONE_LINE,
        _patch("@@ def run():", *(f"+{line}" for line in ("    new()", *KEPT[2:])), *(f"-{line}" for line in ("    old()", *KEPT[2:]))),
        RUN,
    ),
    Pair(
        "first hunk without its @@",
        _patch(" a = 1", "-b = 2", "+b = 3", " c = 4"),
        _patch("-a = 1", "-b = 2", "-c = 4", "+a = 1", "+b = 3", "+c = 4"),
        ["a = 1", "b = 2", "c = 4"],
    ),
    Pair(
        "context-only hunks are no merit",
        _patch("@@", "-a = 1", "-b = 2", "+a = 2", "+b = 2"),
        _patch("@@", " x", "@@", " y", "@@", " z", "@@", "-a = 1", "-b = 2", "-c = 3", "+a = 2", "+b = 2", "+c = 3"),
        [*"xyz", "a = 1", "b = 2", "c = 3"],
    ),
    Pair(
        "a rewrite after an end-of-file marker",
        _patch("@@", "-a", "+b", "*** End of File", "@@", "-e", "+f"),
        _patch("@@", "-a", "+b", "*** End of File", "@@", "-c", "-d", "-e", "+c", "+d", "+f"),
        [*"acde"],
    ),
]

TEN = [f"line {at}" for at in range(10)]

RETYPED_PAIRS = [
    Pair("block retyped to change one line", ONE_LINE, ONE_LINE_RETYPED, RUN),
    Pair(
        "every line retyped in place",
        _patch("@@", " a", " b", "-c", "+C", " d", " e"),
        _patch("@@", "-a", "+a", "-b", "+b", "-c", "+C", "-d", "+d", "-e", "+e"),
        [*"abcde"],
    ),
    Pair("two lines around one new line", _patch("@@", " a", "+n", " b"), _patch("@@", "-a", "-b", "+a", "+n", "+b"), [*"ab"]),
    Pair(
        "a complete no-op beside a small edit",
        _patch("@@", "-a", "+b"),
        _patch("@@", "-a", "+b", "@@", *(f"-{line}" for line in KEPT), *(f"+{line}" for line in KEPT)),
        ["a", *KEPT],
    ),
    Pair(
        "ten lines retyped beside ten that changed",
        _patch("@@", *(f" {line}" for line in TEN), *(f"-old {line}" for line in TEN), *(f"+new {line}" for line in TEN)),
        _patch(
            "@@",
            *(f"-{line}" for line in TEN),
            *(f"-old {line}" for line in TEN),
            *(f"+{line}" for line in TEN),
            *(f"+new {line}" for line in TEN),
        ),
        [*TEN, *(f"old {line}" for line in TEN)],
    ),
]

SHAPE_PAIRS = [
    Pair("block retyped to change one line", ONE_LINE, ONE_LINE_RETYPED, RUN),
    Pair(
        "a file deleted and added to change one line",
        ONE_LINE,
        "\n".join(("*** Begin Patch", "*** Delete File: src/app.py", ADD, *(f"+{line}" for line in DONE), "*** End Patch")),
        RUN,
    ),
]

PAIRS = {
    "blind_rewrite": BLIND_PAIRS,
    "blind_hunks": BLIND_PAIRS,
    "retyped_lines": RETYPED_PAIRS,
    "blind_rewrite_patch": BLIND_PAIRS,
    "retyped_lines_patch": RETYPED_PAIRS,
    "patch_shape": SHAPE_PAIRS,
}
"""By score: the pairs in which it must see the difference."""

SURGICAL = {
    "anchor insert": _patch("@@", " import a", "-import b", "+import b", "+import c"),
    "two anchors around an insert": _patch("@@", " import a", "+import b", " import c"),
    "block moved across context": _patch(
        "@@", "-COPY one", "-COPY two", "-COPY three", " RUN build", "+COPY one", "+COPY two", "+COPY three"
    ),
    "one token on one line": _patch("@@", " def f(x):", "-    return x + 1", "+    return x - 1"),
    "two statements swapped": _patch("@@", "-first()", " second()", "+first()"),
    "eight inserts, much context": _patch(
        *(line for at in range(8) for line in ("@@", *(f" keep {at}{row}" for row in range(9)), f"+new {at}"))
    ),
    "only braces and blank lines match": _patch("@@", "-if (a) {", "-}", "+while (b) {", "+}"),
    "a new file": "*** Begin Patch\n*** Add File: a\n+one\n+two\n+three\n+four\n*** End Patch",
}
"""Patches that no scorer may punish: at most one retyped line (the anchor of an insert), no blind hunk."""

EXCUSED = {
    "necessary rewrite": _patch("@@", "-def old(a):", "-    b = a", "-    return b", "+class New:", "+    x: int", "+    y: int"),
    "checklist ticks": _patch("@@", "-- [ ] one", "-- [ ] two", "-- [ ] three", "+- [x] one", "+- [x] two", "+- [x] three"),
}
"""Flagged as blind, since the text cannot tell; the documents say: read it as large-block, not as wasteful. Nothing is retyped."""

UNSEEN = {
    "dragged context": _patch("@@", *(f" keep {at}" for at in range(40)), "-a", "+b", *(f" keep {at}" for at in range(40, 80))),
    "whitespace rewrap": _patch("@@", " if a:", "-b()", "-c()", "+    b()", "+    c()"),
    "one hunk cut into many": _patch(*(line for at in range(4) for line in ("@@", f"-old {at}", f"+new {at}"))),
    "work that a later call undoes": _patch("@@", " k", "+debug()"),
}
"""Known blind spots: nothing is flagged, and the documents say so."""


@pytest.fixture(scope="session")
def pairs() -> dict[str, list[Pair]]:
    """Return the pairs by score."""
    return PAIRS


@pytest.fixture(scope="session")
def surgical() -> dict[str, str]:
    """Return the patches that may not be punished."""
    return SURGICAL


@pytest.fixture(scope="session")
def excused() -> dict[str, str]:
    """Return the patches that are flagged and excused."""
    return EXCUSED


@pytest.fixture(scope="session")
def unseen() -> dict[str, str]:
    """Return the patches whose fault is known not to be seen."""
    return UNSEEN

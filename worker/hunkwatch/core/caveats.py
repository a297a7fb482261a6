"""What each score says and what it refuses to say: the one place for the words that travel with the numbers.

Score configs, comments, docstrings, the command line and the documents all take them from here.
"""

from __future__ import annotations

from inspect import cleandoc
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core.model import Shape

if TYPE_CHECKING:
    from collections.abc import Iterable


class Meaning(NamedTuple):
    """The words and the range of one score. ``caveat`` is one sentence, the one that a comment ends with."""

    name: str
    data_type: str
    """``NUMERIC`` or ``CATEGORICAL``, as Langfuse spells it."""
    says: str
    caveat: str
    minimum: float | None = None
    maximum: float | None = None
    categories: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """Return the text for the score's config."""
        return f"{self.says} {self.caveat}"


_BLOCK = (
    "a run of at least 3 deleted lines directly followed by a run of at least 3 added lines (or the other way round), no line kept between"
)
_LARGE = "Low means that a large block was replaced, which may be necessary, not that the patch is wasteful; high does not mean minimal."
_UNCHANGED = "It counts lines deleted and added again unchanged and nothing else: no whitespace-only rewrap, no work undone later."

MEANINGS = (
    Meaning(
        "blind_rewrite",
        "NUMERIC",
        f"Share of the trace's hunks that are no blind rewrite, floored to hundredths; a blind rewrite is {_BLOCK}.",
        _LARGE,
        0.0,
        1.0,
    ),
    Meaning(
        "blind_hunks",
        "NUMERIC",
        f"How many hunks of the trace are blind rewrites: {_BLOCK}.",
        "A blind rewrite is a large block, which may be necessary, not proof of waste.",
        0.0,
    ),
    Meaning("retyped_lines", "NUMERIC", "How many lines the trace's patches deleted and added again unchanged.", _UNCHANGED, 0.0),
    Meaning(
        "blind_rewrite_patch",
        "NUMERIC",
        f"Share of the hunks in this observation that are no blind rewrite, floored to quarters; a blind rewrite is {_BLOCK}.",
        _LARGE,
        0.0,
        1.0,
    ),
    Meaning(
        "retyped_lines_patch",
        "NUMERIC",
        "How many lines the patches in this observation deleted and added again unchanged.",
        _UNCHANGED,
        0.0,
    ),
    Meaning(
        "patch_shape",
        "CATEGORICAL",
        "What kind of edit the patches in this observation are: the first of the categories that is true of any of them.",
        "It describes the patch text and does not judge it.",
        categories=tuple(shape.value for shape in Shape),
    ),
)
"""Every score's meaning, in the order of ``scoring.SCORERS``."""

SHAPES = {
    Shape.UNRESOLVED: "A call was made but its patch cannot be read",
    Shape.MALFORMED: "Nothing of a patch can be recognised in the text",
    Shape.TRUNCATED: "The patch begins and does not end, so it is not counted",
    Shape.FILE_REWRITE: "A whole file is written anew over one that was there",
    Shape.BLIND_REWRITE: "At least one hunk replaces a block of lines without keeping a line in between",
    Shape.NO_BLIND_REWRITE: "Lines are changed and no hunk is a blind rewrite",
    Shape.NEW_FILE: "Files are added and no line is changed",
    Shape.DELETE_ONLY: "Files are deleted and nothing else is done",
    Shape.MOVE_ONLY: "Files are moved and no line is changed",
    Shape.NO_CHANGE: "The patch changes nothing",
}
"""Each shape in words, without the full stop."""

FLAGS = {
    "answered": "what became of the call is told by a later message of its session",
    "also_in": "another trace holds a copy of the call",
    "files_capped": "the patch touches more files than are kept; the totals are exact",
    "places_capped": "more hunks are blind or retyped than are kept by line; the totals are exact",
    "redacted": "a redaction placeholder stands in the patch and may fake a retyped line",
    "text_from_copy": "the record where the call stands was cut; its counts come from a copy that was whole",
    "work_bound_passed": "counting the retyped lines would pass the bound, so that number is not given",
}
"""The flags that scoring raises, beside those of the grammar and of the finder."""

_BY_NAME = {meaning.name: meaning for meaning in MEANINGS}


def of(name: str) -> Meaning:
    """Return the meaning of a score."""
    return _BY_NAME[name]


def told(docstring: str | None, names: Iterable[str]) -> str:
    """Return a docstring with what these scores say and do not say behind it."""
    meanings = (fill(f"{name}: {of(name).description}", 110, subsequent_indent="    ", break_on_hyphens=False) for name in names)
    return "\n\n".join((cleandoc(docstring or ""), *meanings)).strip()

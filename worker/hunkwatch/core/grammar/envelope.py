"""Where patches begin and end in a text.

Begin is a line whose ``strip()`` is the marker. End is the first later line in column 0 whose ``rstrip()`` is the marker, or
else the last non-blank line if its ``strip()`` is. Begin without End reaches to the end of the text. A Begin before the End is
a separator inside the same envelope. Lines end at a line feed only, never where ``splitlines`` would see an end.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from hunkwatch.core.grammar import markers

_PATCH_LIKE = re.compile(
    r"^[ \t\ufeff]*\*{3}[ \t]*(?:Begin Patch[ \t*\r]*$|(?:Add|Update|Delete) File:)|^@@|^--- [^\n]*\n\+\+\+ ",
    re.MULTILINE,
)
_FENCE = ("```", "~~~")
_HEREDOC = ({"<<EOF", "<<'EOF'", '<<"EOF"'}, "EOF")
"""The one wrapper that executors take off themselves."""


class Span(NamedTuple):
    """An envelope in a list of lines: its Begin line and the index after its last line; ``complete`` when that is an End."""

    first: int
    stop: int
    complete: bool


def split(text: str) -> list[str]:
    """Return the lines without their ends: cut at line feeds only, one trailing carriage return off each."""
    lines = text.split("\n")
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    if not lines[-1]:
        lines.pop()
    return lines


def spans(lines: list[str], start: int = 0) -> list[Span]:
    """Return every envelope from line index ``start`` on, in order; they never overlap."""
    found: list[Span] = []
    at, count = start, len(lines)
    while at < count:
        if not markers.is_begin(lines[at]):
            at += 1
            continue
        span = _span_from(lines, at)
        found.append(span)
        at = span.stop
    return found


def envelopes(text: str) -> tuple[str, ...]:
    """Return each patch of the text from its Begin line to its End line, without what stands around and between them.

    A Begin without End gives the rest of the text. A text without a Begin line gives nothing, even if ``looks_like_patch`` says
    that it is a body without markers: the caller knows whether the whole text is an argument. ``surroundings`` says what was
    left out.
    """
    text = text.removeprefix("\ufeff")
    if "Begin Patch" not in text:
        return ()
    lines = text.split("\n")
    return tuple("\n".join(lines[span.first : span.stop]).removesuffix("\r") for span in spans(lines))


def surroundings(text: str) -> tuple[str, ...]:
    """Return the flags for what stands outside the envelopes of a text, sorted."""
    lines = split(text.removeprefix("\ufeff"))
    flags = flags_around(lines, spans(lines))
    if text.startswith("\ufeff"):
        flags.add("bom")
    return tuple(sorted(flags))


def looks_like_patch(text: str) -> bool:
    """Say cheaply whether the text holds a Begin marker, a file header, an ``@@`` line or the head of a unified diff."""
    return _PATCH_LIKE.search(text) is not None


def flags_around(lines: list[str], found: list[Span]) -> set[str]:
    """Return the flags for the lines outside the envelopes."""
    flags: set[str] = set()
    if not found:
        return flags
    if len(found) > 1:
        flags.add("several_envelopes")
    before, after = _told(lines[: found[0].first]), _told(lines[found[-1].stop :])
    if len(before) == len(after) == 1 and before[0].strip() in _HEREDOC[0] and after[0].strip() == _HEREDOC[1]:
        flags.add("heredoc")
        before = after = []
    if before:
        flags.add("text_before")
        flags.update(_wrappers(before[-1]))
    between = any(_told(lines[left.stop : right.first]) for left, right in itertools.pairwise(found))
    if between or after:
        flags.add("text_after")
    return flags


def _span_from(lines: list[str], first: int) -> Span:
    for at in range(first + 1, len(lines)):
        line = lines[at]
        if line[:3] == markers.STARS and markers.is_end(line):
            return Span(first, at + 1, complete=True)
    last = _last_told(lines)
    return Span(first, last + 1, complete=last > first and markers.is_end(lines[last]))


def padded_end(lines: list[str]) -> int | None:
    """Return the index of the End marker that only being the last line makes one, however padded; ``None`` where there is none."""
    last = _last_told(lines)
    return last if last >= 0 and markers.is_end(lines[last]) else None


def _last_told(lines: list[str]) -> int:
    last = len(lines) - 1
    while last >= 0 and not lines[last].strip():
        last -= 1
    return last


def _told(lines: list[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def _wrappers(opening: str) -> list[str]:
    line = opening.strip()
    if line.startswith(_FENCE):
        return ["fenced"]
    return ["heredoc"] if "<<" in line else []

"""The lines of a patch, read section by section and hunk by hunk.

One letter a line (its first) decides almost everything, so the letters are kept as one string, and lines without a marker are never
looked at one by one unless their letter is odd. Linear, and it never raises.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import partial
from typing import TYPE_CHECKING

from hunkwatch.core.grammar import markers
from hunkwatch.core.model import Action, FileEdit, Hunk

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARK = re.compile(r"[*@]")
_NOT_A_KIND = re.compile(r"[^-+ ]")
_STARTS = (markers.STARS, markers.ANCHOR)
_KINDS = {" ", "-", "+"}
_NUMBERED = re.compile(r"@@ -\d")
# what Hunk(...) and FileEdit(...) do, without their Python-level constructors: parsing makes one for every few lines
_hunk = partial(tuple.__new__, Hunk)
_edit = partial(tuple.__new__, FileEdit)
_UPDATE, _ADD = Action.UPDATE, Action.ADD


class Sections:
    """One pass over the lines of one text: ``files`` and ``flags`` grow, the rest is the section and hunk that are open."""

    __slots__ = (
        "action",
        "anchors",
        "files",
        "flags",
        "header",
        "hunks",
        "kinds",
        "lines",
        "marks",
        "moved_to",
        "odd",
        "parts",
        "path",
        "whole",
    )
    # of the open section; set when one is opened
    path: str
    moved_to: str
    header: int
    hunks: list[Hunk]
    anchors: list[str]

    def __init__(self, lines: list[str], kinds: str) -> None:
        """Find the lines that may be marks; ``kinds`` holds the first character of each line."""
        self.flags: set[str] = set()
        self.lines, self.whole, self.kinds = lines, tuple(lines), kinds
        found = [match.start() for match in _MARK.finditer(kinds)]
        self.marks = [at for at in found if lines[at].startswith(_STARTS)]
        self.odd = len(found) != len(self.marks) or kinds.lstrip("-+ @*") != ""
        self.files: list[FileEdit] = []
        self.action: Action | None = None
        self.parts: list[tuple[int, int]] | None = None

    def read(self, first: int, stop: int) -> None:
        """Read the lines from index ``first`` to ``stop``: from mark to mark, between which nothing but ordinary lines stands."""
        at, lines, kinds = first, self.lines, self.kinds
        for mark in self.marks_between(first, stop):
            line = lines[mark]
            if kinds[mark] == "*":
                if at < mark:
                    self._body(at, mark)
                self._star(mark, line)
            elif line == "@@" and at < mark and self.action is _UPDATE and self.parts is not None:  # the commonest, without the calls below
                self.parts.append((at, mark))
                self._close_hunk()
                self.parts, self.anchors = [], [""]
            else:
                if line[3:4] == "-" and self._pair_above(mark, at):
                    self._around_pair(at, mark - 2)
                elif at < mark:
                    self._body(at, mark)
                self._anchor(line)
            at = mark + 1
        if at < stop:
            self._body(at, stop)
        self._close_section()

    def read_unnamed(self, first: int, stop: int) -> None:
        """Read lines without any file header as the hunks of one unnamed file."""
        self.action, self.path, self.header, self.moved_to = _UPDATE, "", 0, ""
        self.hunks, self.parts = [], None
        self.read(first, stop)

    def has_anchor(self, first: int, stop: int) -> bool:
        """Say whether an ``@@`` line stands between two line indices."""
        return any(self.kinds[mark] == "@" for mark in self.marks_between(first, stop))

    def marks_between(self, first: int, stop: int) -> list[int]:
        """Return the indices of the lines between two indices that start with ``@@`` or ``***``."""
        return self.marks[bisect_left(self.marks, first) : bisect_left(self.marks, stop)]

    def _pair_above(self, mark: int, floor: int) -> bool:
        above = self.lines[mark - 2 : mark] if mark - 2 >= floor and _NUMBERED.match(self.lines[mark]) else []
        return bool(above) and above[0].startswith("--- ") and above[1].startswith("+++ ")

    def _around_pair(self, first: int, pair: int) -> None:
        """Read the lines above a ``---`` and ``+++`` pair, which may open a section, then skip the pair where it is one's header."""
        if first < pair:
            self._body(first, pair)
        if self.action is _UPDATE:
            self.flags.add("unified_header")
        else:
            self._body(pair, pair + 2)

    # ------------------------------------------------------------ lines with a marker

    def _anchor(self, line: str) -> None:
        if self.action is not _UPDATE:
            self.flags.add("anchor_in_add" if self.action is _ADD else "stray_text" if self.action is None else "delete_body")
            return
        anchor = anchor_text(line, self.flags)
        if self.parts == []:
            self.flags.add("stacked_anchors")
            self.anchors.append(anchor)
            return
        if self.parts is not None:
            self._close_hunk()
        self.parts, self.anchors = [], [anchor]

    def _star(self, at: int, line: str) -> None:
        name, colon, rest = line.partition(":")
        action = markers.HEADERS.get(name) if colon else None
        if action is None and line[3:4] != " ":
            spaced = f"*** {name[3:]}"
            action = markers.HEADERS.get(spaced) if colon else None
            if action is not None:
                self.flags.add("tight_header")
        if action is not None:
            self._open_section(action, rest, at + 1)
        elif name == markers.MOVE and colon:
            self._move(rest.strip())
        elif line.rstrip() == markers.END_OF_FILE:
            self._end_of_file()
        elif name == markers.ENVIRONMENT and colon and self.action is None and not self.files:
            self.flags.add("environment_id")
        elif markers.is_begin(line):
            self.flags.add("nested_begin")
            self._close_section()
        else:
            self.flags.add("unknown_marker")

    def _open_section(self, action: Action, rest: str, header: int) -> None:
        if self.action is not None:
            self._close_section()
        path = rest.strip()
        if rest[:1] not in {" ", "\t"}:
            self.flags.add("tight_header" if path else "no_path")
        elif not path:
            self.flags.add("no_path")
        self.action, self.path, self.header = action, path, header
        self.moved_to = ""
        self.hunks = []
        self.parts = [] if action is _ADD else None

    def _move(self, target: str) -> None:
        if self.action is not _UPDATE:
            self.flags.add("stray_move")
            return
        if self.hunks or self.parts is not None or self.moved_to:
            self.flags.add("late_move")
        self.moved_to = target

    def _end_of_file(self) -> None:
        if self.action is not _UPDATE:
            self.flags.add("end_of_file_in_add" if self.action is _ADD else "unknown_marker")
        elif self.parts:
            self._close_hunk(ends_file=True)
        else:
            self.flags.add("empty_hunk")
            self.parts = None

    # ------------------------------------------------------------ lines without a marker

    def _body(self, first: int, stop: int) -> None:
        if self.action is _UPDATE:
            if self.parts is None:
                self.parts = []
                self.anchors = []
            self.parts.append((first, stop))
        elif self.action is _ADD and self.parts is not None and self.kinds.count("+", first, stop) == stop - first:
            self.parts.append((first, stop))
        else:
            self._loose(first, stop)

    def _loose(self, first: int, stop: int) -> None:
        """Read lines that are not all content: outside an Update section a header may be indented."""
        for at in range(first, stop):
            line = self.lines[at]
            if line[:1].isspace() and self._indented_header(at, line):
                if self.action is _UPDATE:
                    if at + 1 < stop:
                        self._body(at + 1, stop)
                    return
            elif self.action is _ADD and self.parts is not None:
                self.parts.append((at, at + 1))
            elif self.action is Action.DELETE:
                self.flags.add("delete_body")
            elif line.strip():
                self.flags.add("stray_text")

    def _indented_header(self, at: int, line: str) -> bool:
        name, colon, rest = line.strip().partition(":")
        action = markers.HEADERS.get(name) if colon else None
        if action is None:
            return False
        self.flags.add("indented_header")
        self._open_section(action, rest, at + 1)
        return True

    # ------------------------------------------------------------ closing what is open

    def _close_section(self) -> None:
        if self.action is None:
            return
        if self.action is _UPDATE:
            if self.parts is not None:
                self._close_hunk()
            if not self.hunks:
                self.flags.add("empty_update")
        elif self.action is _ADD and self.parts:
            self._close_new_file()
        self.files.append(_edit((self.action, self.path, self.header, self.moved_to, tuple(self.hunks))))
        self.action = self.parts = None

    def _close_hunk(self, *, ends_file: bool = False) -> None:
        parts, self.parts = self.parts, None
        if not parts:
            self.flags.add("empty_hunk")
            return
        first, stop = parts[0]
        kinds, lines = self.kinds[first:stop], self.whole[first:stop]
        numbers: Sequence[int] = range(first + 1, stop + 1)
        if len(parts) > 1 or (self.odd and _NOT_A_KIND.search(kinds)):
            lines, numbers = self._mended([at for first, stop in parts for at in range(first, stop)])
            kinds = "".join([line[0] for line in lines])
        if not lines:
            if self.anchors:
                self.flags.add("empty_hunk")
            return
        if not self.anchors:
            self.flags.add("bare_later_hunk" if self.hunks else "bare_first_hunk")
        if "-" not in kinds and "+" not in kinds:
            self.flags.add("context_only_hunk")
        self.hunks.append(_hunk((tuple(self.anchors), kinds, lines, numbers, ends_file)))

    def _mended(self, indices: list[int]) -> tuple[tuple[str, ...], Sequence[int]]:
        """Give every line its prefix and leave out what is no line of the file; return the lines and their numbers."""
        while indices and not self.lines[indices[-1]]:
            indices.pop()
        kept, numbers = [], []
        for at in indices:
            line = self.lines[at]
            if line[:1] in _KINDS:
                kept.append(line)
            elif line.startswith(markers.NO_NEWLINE):
                self.flags.add("no_newline_note")
                continue
            else:
                self.flags.add("unprefixed_context" if line else "blank_context")
                kept.append(" " + line)
            numbers.append(at + 1)
        return tuple(kept), _tidy(numbers)

    def _close_new_file(self) -> None:
        parts = self.parts or []
        first, stop = parts[0]
        numbers: Sequence[int] = range(first + 1, stop + 1)
        lines = self.whole[first:stop]
        if len(parts) > 1 or self.kinds.count("+", first, stop) < stop - first:
            numbers = _tidy([at + 1 for first, stop in parts for at in range(first, stop)])
            lines = tuple([self._added(self.lines[number - 1]) for number in numbers])
        self.hunks.append(Hunk((), "+" * len(lines), lines, numbers))

    def _added(self, line: str) -> str:
        if line[:1] == "+":
            return line
        self.flags.add("unprefixed_add" if line else "blank_add")
        return "+" + line


def letters(lines: list[str]) -> str:
    """Return the first character of each line, a line feed for an empty one."""
    return "".join([line[0] if line else "\n" for line in lines])


def anchor_text(line: str, flags: set[str]) -> str:
    """Return what an ``@@`` line says, ``""`` for a bare one, and raise the flags for its oddities."""
    text = line[2:]
    if not text:
        return ""
    if not text.strip():
        flags.add("blank_anchor")
        return ""
    if text[0] == " ":
        text = text[1:]
    else:
        flags.add("tight_anchor")
    if _NUMBERED.match(line):
        flags.add("numbered_anchor")
    if line.rstrip().endswith(markers.ANCHOR):
        flags.add("closed_anchor")
    return text


def _tidy(numbers: Sequence[int]) -> Sequence[int]:
    if not numbers or numbers[-1] - numbers[0] + 1 != len(numbers):
        return tuple(numbers)
    return range(numbers[0], numbers[-1] + 1)

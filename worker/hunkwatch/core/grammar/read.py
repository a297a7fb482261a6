"""From text to a patch, leniently: what a strict executor would reject is read as well as can be and flagged.

Linear in the length of the text and total: every string gives a ``Patch`` or a ``Malformed``. One letter a line (its first) decides
almost everything, so the letters are kept as one string and lines without a marker are never looked at one by one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hunkwatch.core.grammar import markers, unified
from hunkwatch.core.grammar.envelope import Span, flags_around, spans, split
from hunkwatch.core.model import Action, Dialect, FileEdit, Hunk, Malformed, Patch

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARK = re.compile(r"[*@]")
_ODD = re.compile(r"[^-+ @*]")
_NOT_A_KIND = re.compile(r"[^-+ ]")
_NUMBERED = re.compile(r"@@ -\d")
_UPDATE, _ADD = Action.UPDATE, Action.ADD


def parse(text: str) -> Patch | Malformed:
    """Read a patch: an envelope, several, a body without markers, or a unified diff. Never raises."""
    reader = _Reader(text)
    lines = reader.lines
    if lines and lines[0] == markers.BEGIN and lines[-1] == markers.END and text.count("End Patch") == 1:
        return reader.read([Span(0, len(lines), complete=True)])
    found = spans(lines) if "Begin Patch" in text else []
    return reader.read(found) if found else reader.read_body()


class _Reader:
    """One pass over the lines of one text; ``files`` and ``flags`` grow, the rest is the section and hunk that are open."""

    __slots__ = ("action", "anchors", "files", "flags", "header", "hunks", "kinds", "lines", "marks", "moved_to", "odd", "parts", "path")

    def __init__(self, text: str) -> None:
        self.flags: set[str] = set()
        if text.startswith("\ufeff"):
            text = text[1:]
            self.flags.add("bom")
        self.lines = lines = split(text)
        self.kinds = kinds = "".join([line[0] if line else "\n" for line in lines])
        found = [match.start() for match in _MARK.finditer(kinds)]
        self.marks = [at for at in found if lines[at].startswith(("***", "@@"))]
        self.odd = len(found) != len(self.marks) or _ODD.search(kinds) is not None
        if "\r\n" in text:
            self.flags.add("crlf")
        self.files: list[FileEdit] = []
        self.action: Action | None = None
        self.path = self.moved_to = ""
        self.header = 0
        self.hunks: list[Hunk] = []
        self.anchors: list[str] = []
        self.parts: list[tuple[int, int]] | None = None

    def read(self, found: list[Span]) -> Patch | Malformed:
        """Read the envelopes."""
        if len(found) > 1 or found[0].first or found[0].stop < len(self.lines):
            self.flags |= flags_around(self.lines, found)
        dialect, blank = Dialect.ENVELOPE, True
        for span in found:
            first, stop = span.first + 1, span.stop - span.complete
            self._note_markers(span)
            if not self._sections(first, stop) and not self._headerless(first, stop):
                blank = blank and not any(line.strip() for line in self.lines[first:stop] if not line.startswith(markers.ENVIRONMENT))
            if "unified" in self.flags:
                dialect = Dialect.UNIFIED
        if not self.files and not blank:
            return Malformed("nothing in the envelope is a file header, a hunk or a changed line", self._raised())
        return self._patch(dialect, complete=all(span.complete for span in found))

    def read_body(self) -> Patch | Malformed:
        """Read a text without a Begin marker."""
        first, stop = 0, len(self.lines)
        self.flags.add("no_begin")
        end = next((at for at in self.marks if markers.is_end(self.lines[at])), None)
        if end is None:
            self.flags.add("no_end")
            first, stop = self._inside_fence()
        else:
            stop = end
            if any(line.strip() for line in self.lines[end + 1 :]):
                self.flags.add("text_after")
        if not self._sections(first, stop) and not self._headerless(first, stop):
            return Malformed("no marker, no file header, no hunk and no changed line", self._raised())
        return self._patch(Dialect.UNIFIED if "unified" in self.flags else Dialect.BODY, complete=True)

    # ------------------------------------------------------------ one envelope

    def _sections(self, first: int, stop: int) -> bool:
        """Read the lines from ``first`` to ``stop`` as sections with headers; say whether there was any."""
        before = len(self.files)
        self.action = None
        self._walk(first, stop)
        return len(self.files) > before

    def _walk(self, first: int, stop: int) -> None:
        at, lines, kinds = first, self.lines, self.kinds
        for mark in self.marks:
            if mark < first:
                continue
            if mark >= stop:
                break
            line = lines[mark]
            if kinds[mark] == "@":
                end = mark
                if line[3:4] == "-" and self._pair_above(mark, at):
                    end = mark - 2
                if at < end:
                    self._body(at, end)
                self._anchor(line)
            else:
                if at < mark:
                    self._body(at, mark)
                self._star(mark, line)
            at = mark + 1
        if at < stop:
            self._body(at, stop)
        self._close_section()

    def _headerless(self, first: int, stop: int) -> bool:
        """Read lines without any file header: a unified diff, or the hunks of one unnamed file. Say whether anything was found."""
        self.flags.discard("stray_text")
        diff = unified.read(self.lines, first, stop)
        if diff is not None:
            files, flags = diff
            self.files.extend(files)
            self.flags |= flags | {"unified"}
            return bool(files)
        if not any(self.kinds.find(kind, first, stop) >= 0 for kind in "-+") and not self._has_anchor(first, stop):
            return False
        self.flags.add("no_header")
        self._open_section(_UPDATE, "", 0)
        self.flags.discard("no_path")
        self._walk(first, stop)
        return True

    def _pair_above(self, mark: int, floor: int) -> bool:
        above = self.lines[mark - 2 : mark] if mark - 2 >= floor and self.action is _UPDATE and _NUMBERED.match(self.lines[mark]) else []
        if not (above and above[0].startswith("--- ") and above[1].startswith("+++ ")):
            return False
        self.flags.add("unified_header")
        return True

    # ------------------------------------------------------------ lines with a marker

    def _anchor(self, line: str) -> None:
        if self.action is not _UPDATE:
            self.flags.add("anchor_in_add" if self.action is _ADD else "stray_text" if self.action is None else "delete_body")
            return
        if self.parts is None:
            self.parts = []
            self.anchors = []
        elif self.parts:
            self._close_hunk()
            self.parts = []
            self.anchors = []
        else:
            self.flags.add("stacked_anchors")
        if line == "@@":
            self.anchors.append("")
        else:
            self.anchors.append(self._anchor_text(line))

    def _anchor_text(self, line: str) -> str:
        text = line[2:]
        if not text.strip():
            self.flags.add("blank_anchor")
            return ""
        if text[0] == " ":
            text = text[1:]
        else:
            self.flags.add("tight_anchor")
        if _NUMBERED.match(line):
            self.flags.add("numbered_anchor")
        if line.rstrip().endswith("@@"):
            self.flags.add("closed_anchor")
        return text

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
        self.files.append(FileEdit(self.action, self.path, self.header, self.moved_to, tuple(self.hunks)))
        self.action = self.parts = None

    def _close_hunk(self, *, ends_file: bool = False) -> None:
        parts, self.parts = self.parts, None
        if not parts:
            self.flags.add("empty_hunk")
            return
        first, stop = parts[0]
        numbers: Sequence[int]
        if len(parts) == 1:
            kinds, lines, numbers = self.kinds[first:stop], self.lines[first:stop], range(first + 1, stop + 1)
            if self.odd and _NOT_A_KIND.search(kinds):
                numbers = self._mend_hunk(lines, numbers)
                kinds = "".join([line[0] for line in lines])
        else:
            numbers = [at + 1 for first, stop in parts for at in range(first, stop)]
            lines = [self.lines[number - 1] for number in numbers]
            numbers = self._mend_hunk(lines, numbers)
            kinds = "".join([line[0] for line in lines])
        if not lines:
            if self.anchors:
                self.flags.add("empty_hunk")
            return
        if not self.anchors:
            self.flags.add("bare_later_hunk" if self.hunks else "bare_first_hunk")
        if "-" not in kinds and "+" not in kinds:
            self.flags.add("context_only_hunk")
        self.hunks.append(Hunk(tuple(self.anchors), kinds, tuple(lines), numbers, ends_file))

    def _mend_hunk(self, lines: list[str], numbers: Sequence[int]) -> Sequence[int]:
        """Give every line its prefix and drop what is no line of the file, in place; return the numbers that are left."""
        while lines and not lines[-1]:
            lines.pop()
        kept, left = [], []
        for number, line in zip(numbers, lines, strict=False):
            if line[:1] in {" ", "-", "+"}:
                kept.append(line)
            elif line.startswith(markers.NO_NEWLINE):
                self.flags.add("no_newline_note")
                continue
            else:
                self.flags.add("unprefixed_context" if line else "blank_context")
                kept.append(" " + line)
            left.append(number)
        lines[:] = kept
        return _tidy(left)

    def _close_new_file(self) -> None:
        parts = self.parts or []
        first, stop = parts[0]
        numbers: Sequence[int] = range(first + 1, stop + 1)
        lines = self.lines[first:stop]
        if len(parts) > 1:
            numbers = [at + 1 for first, stop in parts for at in range(first, stop)]
            lines = [self.lines[number - 1] for number in numbers]
        if self.odd or len(parts) > 1:
            for at, line in enumerate(lines):
                if line[:1] != "+":
                    self.flags.add("unprefixed_add" if line else "blank_add")
                    lines[at] = "+" + line
        self.hunks.append(Hunk((), "+" * len(lines), tuple(lines), _tidy(numbers)))

    # ------------------------------------------------------------ what is said of the whole

    def _patch(self, dialect: Dialect, *, complete: bool) -> Patch:
        if not complete:
            self.flags.add("no_end")
        if len(self.files) > 1:
            self._note_repeats()
        return Patch(tuple(self.files), self._raised(), dialect, complete)

    def _raised(self) -> tuple[str, ...]:
        return tuple(sorted(self.flags)) if self.flags else ()

    def _note_repeats(self) -> None:
        actions: dict[str, Action] = {}
        for edit in self.files:
            other = actions.setdefault(edit.path, edit.action)
            if other is not edit.action and {other, edit.action} == {Action.DELETE, Action.ADD}:
                self.flags.add("delete_and_add")
        if len(actions) < len(self.files):
            self.flags.add("same_path_twice")

    def _note_markers(self, span: Span) -> None:
        ends = [self.lines[span.first]]
        if span.complete:
            ends.append(self.lines[span.stop - 1])
        for line in ends:
            if line not in {markers.BEGIN, markers.END}:
                if line[:1].isspace():
                    self.flags.add("padded")
                if line.strip() not in {markers.BEGIN, markers.END}:
                    self.flags.add("decorated")

    def _has_anchor(self, first: int, stop: int) -> bool:
        return any(first <= mark < stop and self.kinds[mark] == "@" for mark in self.marks)

    def _inside_fence(self) -> tuple[int, int]:
        told = [at for at, line in enumerate(self.lines) if line.strip()]
        if len(told) > 1 and all(self.lines[at].lstrip().startswith("```") for at in (told[0], told[-1])):
            self.flags.add("fenced")
            return told[0] + 1, told[-1]
        return 0, len(self.lines)


def _tidy(numbers: Sequence[int]) -> Sequence[int]:
    if not numbers or numbers[-1] - numbers[0] + 1 != len(numbers):
        return tuple(numbers)
    return range(numbers[0], numbers[-1] + 1)

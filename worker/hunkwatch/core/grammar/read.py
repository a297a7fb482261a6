"""From text to a patch, leniently: what a strict executor would reject is read as well as can be and flagged.

Linear in the length of the text and total: every string gives a ``Patch`` or a ``Malformed``.
"""

from __future__ import annotations

import re
from functools import partial

from hunkwatch.core.grammar import markers, unified
from hunkwatch.core.grammar.envelope import Span, flags_around, padded_end, spans, split
from hunkwatch.core.grammar.sections import Sections, anchor_text, letters
from hunkwatch.core.model import Action, Dialect, FileEdit, Hunk, Malformed, Patch

_ONE_SECTION = re.compile(r"\*\*(?:(?:@[-+ ]++)++|\+*+)\*")
_NUMBERED = re.compile(r"@@ -\d")

# what Hunk(...), FileEdit(...) and Patch(...) do, without their Python-level constructors, which cost as much as all the rest
_hunk = partial(tuple.__new__, Hunk)
_edit = partial(tuple.__new__, FileEdit)
_patch_of = partial(tuple.__new__, Patch)

_PLAIN = {markers.BEGIN, markers.END}
_REWRITE = {Action.DELETE, Action.ADD}
_ENVELOPE = Dialect.ENVELOPE


def parse(text: str) -> Patch | Malformed:
    """Read a patch: an envelope, several, a body without markers, or a unified diff. Never raises."""
    has_bom = text.startswith("\ufeff")
    lines = split(text[1:] if has_bom else text)
    kinds = letters(lines)
    plain = _plain(lines, kinds)
    if plain is not None and not has_bom and "\r" not in text:
        return plain
    sections = Sections(lines, kinds)
    if has_bom:
        sections.flags.add("bom")
    if "\r\n" in text:
        sections.flags.add("crlf")
    found = spans(lines) if "Begin Patch" in text else []
    return _envelopes(sections, found) if found else _body(sections)


def _plain(lines: list[str], kinds: str) -> Patch | None:
    """Read a plain envelope with one well-formed section, which is nearly every patch there is, at a third of the cost."""
    if not _ONE_SECTION.fullmatch(kinds) or lines[0] != markers.BEGIN or lines[-1] != markers.END:
        return None
    name, _, rest = lines[1].partition(": ")
    action, path = markers.HEADERS.get(name), rest.strip()
    flags: set[str] = set()
    hunks: tuple[Hunk, ...] | None = ()
    if kinds[2] == "@":
        hunks = _plain_hunks(tuple(lines), kinds, flags) if action is Action.UPDATE else None
    elif kinds[2] == "+":
        hunks = (_hunk(((), kinds[2:-1], tuple(lines[2:-1]), range(3, len(lines)), False)),) if action is Action.ADD else None
    elif action is Action.UPDATE:
        flags.add("empty_update")
    if action is None or not path or hunks is None:
        return None
    edit = _edit((action, path, 2, "", hunks))
    return _patch_of(((edit,), tuple(sorted(flags)) if flags else (), _ENVELOPE, True))


def _plain_hunks(lines: tuple[str, ...], kinds: str, flags: set[str]) -> tuple[Hunk, ...] | None:
    hunks: list[Hunk] = []
    at = 2
    for its in kinds[3:-1].split("@"):
        line = lines[at]
        first = at + 1
        at = first + len(its)
        if line == markers.ANCHOR:
            anchor = ""
        elif line.startswith(markers.ANCHOR) and not _NUMBERED.match(line):
            anchor = anchor_text(line, flags)
        else:
            return None
        if "-" not in its and "+" not in its:
            flags.add("context_only_hunk")
        hunks.append(_hunk(((anchor,), its, lines[first:at], range(first + 1, at + 1), False)))
    return tuple(hunks)


def _envelopes(sections: Sections, found: list[Span]) -> Patch | Malformed:
    lines, flags = sections.lines, sections.flags
    flags |= flags_around(lines, found)
    dialect, blank = _ENVELOPE, True
    for span in found:
        first, stop = span.first + 1, span.stop - span.complete
        flags |= _flags_of_marker(lines[span.first])
        if span.complete:
            flags |= _flags_of_marker(lines[span.stop - 1])
        if not _read(sections, first, stop):
            blank = blank and not any(line.strip() for line in lines[first:stop] if not line.startswith(markers.ENVIRONMENT))
    if "unified" in flags:
        dialect = Dialect.UNIFIED
    if not sections.files and not blank:
        return Malformed("nothing in the envelope is a file header, a hunk or a changed line", tuple(sorted(flags)))
    return _patch(sections, dialect, complete=all(span.complete for span in found))


def _body(sections: Sections) -> Patch | Malformed:
    """Read a text without a Begin marker."""
    lines, flags = sections.lines, sections.flags
    first, stop = 0, len(lines)
    flags.add("no_begin")
    end = next((at for at in sections.marks if markers.is_end(lines[at])), padded_end(lines))
    if end is None:
        flags.add("no_end")
        first, stop = _inside_fence(lines)
        if first:
            flags.add("fenced")
    else:
        stop = end
        flags |= _flags_of_marker(lines[end])
        if any(line.strip() for line in lines[end + 1 :]):
            flags.add("text_after")
    if not _read(sections, first, stop):
        return Malformed("no marker, no file header, no hunk and no changed line", tuple(sorted(flags)))
    return _patch(sections, Dialect.UNIFIED if "unified" in flags else Dialect.BODY, complete=True)


def _read(sections: Sections, first: int, stop: int) -> bool:
    """Read the lines between two indices as sections, a unified diff, or bare hunks; say whether anything was found."""
    before = len(sections.files)
    sections.read(first, stop)
    if len(sections.files) > before:
        return True
    sections.flags.discard("stray_text")
    diff = unified.read(sections.lines, first, stop)
    if diff is not None:
        files, flags = diff
        sections.files.extend(files)
        sections.flags |= flags | {"unified"}
        return bool(files)
    if any(markers.is_in_wrong_case(sections.lines[mark]) for mark in sections.marks_between(first, stop)):
        sections.flags.add("wrong_case")
        return False
    if sections.has_anchor(first, stop) or any(sections.kinds.find(kind, first, stop) >= 0 for kind in "-+"):
        sections.flags.add("no_header")
        sections.read_unnamed(first, stop)
        return True
    return False


def _patch(sections: Sections, dialect: Dialect, *, complete: bool) -> Patch:
    files, flags = sections.files, sections.flags
    if not complete:
        flags.add("no_end")
    if len(files) > 1:
        paths: dict[str, set[str]] = {}
        for edit in files:
            paths.setdefault(edit.path.removeprefix("./"), set()).add(edit.action)
        if any(actions >= _REWRITE for actions in paths.values()):
            flags.add("delete_and_add")
        if len(paths) < len(files):
            flags.add("same_path_twice")
    return Patch(tuple(files), tuple(sorted(flags)) if flags else (), dialect, complete)


def _flags_of_marker(line: str) -> set[str]:
    if line in _PLAIN:
        return set()
    flags = {"padded"} if line[:1].isspace() else set()
    return flags if line.strip() in _PLAIN else flags | {"decorated"}


def _inside_fence(lines: list[str]) -> tuple[int, int]:
    told = [at for at, line in enumerate(lines) if line.strip()]
    if len(told) > 1 and all(lines[at].lstrip().startswith("```") for at in (told[0], told[-1])):
        return told[0] + 1, told[-1]
    return 0, len(lines)

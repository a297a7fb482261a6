"""From a patch back to text: the canonical form, and an envelope around the headerless bodies that some tools take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunkwatch.core.grammar import markers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hunkwatch.core.model import Action, FileEdit, Hunk, Patch


def render(patch: Patch) -> str:
    """Return the patch in canonical form, ending at its End marker; for a canonical ``text``, ``render(parse(text)) == text``."""
    lines = [markers.BEGIN]
    for edit in patch.files:
        lines.extend(_section(edit))
    if patch.complete:
        lines.append(markers.END)
    return "\n".join(lines)


def section(action: Action, path: str, body: str = "", moved_to: str = "") -> str:
    """Return one section around a headerless body."""
    lines = [markers.WORDS[action] + path]
    if moved_to:
        lines.append(f"{markers.MOVE}: {moved_to}")
    if body:
        lines.append(body.removesuffix("\n").removesuffix("\r"))
    return "\n".join(lines)


def enclose(*sections: str) -> str:
    """Return an envelope around sections."""
    return "\n".join((markers.BEGIN, *sections, markers.END))


def _section(edit: FileEdit) -> Iterator[str]:
    yield markers.WORDS[edit.action] + edit.path
    if edit.moved_to:
        yield f"{markers.MOVE}: {edit.moved_to}"
    for hunk in edit.hunks:
        yield from _hunk(hunk)


def _hunk(hunk: Hunk) -> Iterator[str]:
    for anchor in hunk.anchors:
        yield f"{markers.ANCHOR} {anchor}" if anchor else markers.ANCHOR
    yield from hunk.lines
    if hunk.ends_file:
        yield markers.END_OF_FILE

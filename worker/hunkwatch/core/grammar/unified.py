"""Unified diffs that were given to an apply_patch tool: read into the same sections and hunks.

The line counts in ``@@ -1,3 +1,4 @@`` are not believed, since models get them wrong: a hunk ends where the next head starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hunkwatch.core.grammar.markers import NO_NEWLINE
from hunkwatch.core.model import Action, FileEdit, Hunk

_NOWHERE = "/dev/null"


@dataclass(slots=True)
class _File:
    line: int
    old: str = ""
    new: str = ""
    hunks: list[Hunk] = field(default_factory=list)
    headed: bool = False

    def edit(self) -> FileEdit:
        hunks = tuple(self.hunks)
        if self.old == _NOWHERE:
            return FileEdit(Action.ADD, self.new, self.line, "", hunks)
        if self.new == _NOWHERE:
            return FileEdit(Action.DELETE, self.old, self.line, "", hunks)
        moved_to = self.new if self.new != self.old else ""
        return FileEdit(Action.UPDATE, self.old, self.line, moved_to, hunks)


def read(lines: list[str], first: int, stop: int) -> tuple[list[FileEdit], set[str]] | None:
    """Return the sections and flags of a unified diff between two line indices, or ``None`` when it is none."""
    start = _start(lines, first, stop)
    if start is None:
        return None
    files: list[_File] = []
    flags: set[str] = set()
    at = start
    while at < stop:
        line = lines[at]
        if line.startswith("diff --git "):
            files.append(_from_git(line, at + 1))
            at += 1
        elif _is_pair(lines, at, stop) and (_heads_hunk(lines, at + 2, stop) or _awaits_pair(files)):
            if not _awaits_pair(files):
                files.append(_File(at + 1))
            _name(files[-1], line, lines[at + 1])
            at += 2
        elif files and (line.startswith("@@") or (files[-1].headed and not files[-1].hunks and line[:1] in {"-", "+"})):
            at = _hunk(files[-1], lines, at, stop, flags)
        else:
            if files:
                _note(files[-1], line)
            at += 1
    return [file.edit() for file in files], flags


def _start(lines: list[str], first: int, stop: int) -> int | None:
    seen = False
    for at in range(first, stop):
        line = lines[at]
        if line.startswith("diff --git "):
            return at
        if _is_pair(lines, at, stop) and (not seen or _heads_hunk(lines, at + 2, stop)):
            return at
        seen = seen or bool(line.strip())
    return None


def _is_pair(lines: list[str], at: int, stop: int) -> bool:
    return at + 1 < stop and lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")


def _heads_hunk(lines: list[str], at: int, stop: int) -> bool:
    return at < stop and lines[at].startswith("@@")


def _awaits_pair(files: list[_File]) -> bool:
    return bool(files) and not files[-1].headed and not files[-1].hunks


def _name(file: _File, old: str, new: str) -> None:
    file.headed = True
    old, new = (line[4:].partition("\t")[0].strip() for line in (old, new))
    if (old == _NOWHERE or old.startswith("a/")) and (new == _NOWHERE or new.startswith("b/")):
        old, new = old.removeprefix("a/").strip(), new.removeprefix("b/").strip()
    file.old, file.new = old, new


def _from_git(line: str, number: int) -> _File:
    old, _, new = line.removeprefix("diff --git ").partition(" b/")
    path = old.strip().removeprefix("a/").strip()
    return _File(number, path, new.strip() or path)


def _note(file: _File, line: str) -> None:
    if file.headed or file.hunks:
        return
    if line.startswith("new file mode"):
        file.old = _NOWHERE
    elif line.startswith("deleted file mode"):
        file.new = _NOWHERE
    elif line.startswith("rename from "):
        file.old = line.removeprefix("rename from ").strip()
    elif line.startswith("rename to "):
        file.new = line.removeprefix("rename to ").strip()


def _hunk(file: _File, lines: list[str], at: int, stop: int, flags: set[str]) -> int:
    """Read one hunk from its ``@@`` line, or from its first line where that was left out; return the index after it."""
    anchors: tuple[str, ...] = ()
    if lines[at].startswith("@@"):
        anchors = (lines[at][2:].strip(),)
        at += 1
    else:
        flags.add("bare_first_hunk")
    end = at
    while end < stop and not lines[end].startswith(("@@", "diff --git ")):
        if _is_pair(lines, end, stop) and _heads_hunk(lines, end + 2, stop):
            break
        end += 1
    told = end
    while told > at and not lines[told - 1]:
        told -= 1
    kept: list[str] = []
    numbers: list[int] = []
    for index in range(at, told):
        line = lines[index]
        if line.startswith(NO_NEWLINE):
            continue
        if line[:1] not in {" ", "-", "+"}:
            flags.add("unprefixed_context" if line else "blank_context")
            line = " " + line
        kept.append(line)
        numbers.append(index + 1)
    if kept:
        kinds = "".join([line[0] for line in kept])
        whole = numbers[-1] - numbers[0] + 1 == len(numbers)
        file.hunks.append(Hunk(anchors, kinds, tuple(kept), range(numbers[0], numbers[-1] + 1) if whole else tuple(numbers)))
        if "-" not in kinds and "+" not in kinds:
            flags.add("context_only_hunk")
    else:
        flags.add("empty_hunk")
    return end

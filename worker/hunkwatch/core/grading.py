"""From a call to everything that its scores need: the patch is read once, counted, and its text let go.

Total, and bounded in what it keeps: a patch of a hundred thousand hunks makes no larger a record than one of fifty.
"""

from __future__ import annotations

import re
from hashlib import sha256
from struct import pack
from typing import TYPE_CHECKING
from zlib import crc32

from hunkwatch.core import grammar, identity
from hunkwatch.core.model import Action, FileFacts, GradedCall, Malformed, PatchFacts, Place, Shape
from hunkwatch.core.scoring import blind_rewrite, retyped_lines, shape

if TYPE_CHECKING:
    from hunkwatch.core.model import Call, FileEdit, Hunk, Patch

MOST_FILES = 200
MOST_PLACES = 50
MOST_FLAGS = 40
MOST_MARKS = 1000
"""The most lines of new files, over one call, whose marks are kept."""

LONGEST_PATH = 300
LONGEST_WORD = 200

_UPDATE, _ADD, _TRUNCATED = Action.UPDATE, Action.ADD, Shape.TRUNCATED

_UNSENDABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_PLACEHOLDERS = ("redacted", "REDACTED", "fully masked")
_telling = re.compile(r"[^\W_]").search


def count(text: str, flags: tuple[str, ...] = ()) -> PatchFacts:
    """Read a patch and count. ``flags`` are what its finder knows of it: ``truncated`` keeps it out of the numbers. Never raises."""
    read = grammar.parse(text)
    if isinstance(read, Malformed):
        return PatchFacts(Shape.MALFORMED, _sorted((*flags, *read.flags)), why=read.why)
    return _Counter(text, read, flags).facts()


def grade(call: Call) -> GradedCall:
    """Read the call's patch and count. Never raises."""
    if call.text is None:
        return _graded(call, PatchFacts(Shape.UNRESOLVED, _sorted(call.flags), why=call.why[:LONGEST_WORD]), "")
    read = grammar.parse(call.text)
    if isinstance(read, Malformed):
        facts = PatchFacts(Shape.MALFORMED, _sorted((*call.flags, *read.flags)), why=read.why)
    else:
        facts = _Counter(call.text, read, call.flags).facts()
        if any(edit.action is _ADD for edit in read.files):
            facts = _with_marks(facts, read)
    return _graded(call, facts, identity.text_hash(call.text))


def tidy_path(path: str) -> str:
    """Return a path that can be stored and sent: no control characters, no lone surrogates, of bounded length, still telling."""
    if not path.isprintable():
        path = _UNSENDABLE.sub("\ufffd", path)
    path = path.removeprefix("./")
    if len(path) <= LONGEST_PATH:
        return path
    return f"{path[: LONGEST_PATH - 20]}...{sha256(path.encode()).hexdigest()[:16]}"


class _Counter:
    """One pass over the sections of one patch."""

    __slots__ = (
        "added",
        "blind",
        "blind_at",
        "context",
        "deleted",
        "flags",
        "hunks",
        "left",
        "numbers",
        "patch",
        "raised",
        "retyped",
        "retyped_at",
        "text",
    )

    def __init__(self, text: str, patch: Patch, flags: tuple[str, ...]) -> None:
        self.text, self.patch, self.flags = text, patch, flags
        self.raised: list[str] = []
        self.hunks = self.blind = self.added = self.deleted = self.context = 0
        self.retyped: int | None = 0
        self.left = retyped_lines.BOUND
        self.numbers: dict[str, int] = {}
        self.blind_at: list[Place] = []
        self.retyped_at: list[Place] = []

    def facts(self) -> PatchFacts:
        patch = self.patch
        files = [self._file(edit) for edit in patch.files]
        if len(files) > MOST_FILES:
            self.raised.append("files_capped")
        if len(self.blind_at) > MOST_PLACES or len(self.retyped_at) > MOST_PLACES:
            self.raised.append("places_capped")
        if self.retyped is None:
            self.raised.append("work_bound_passed")
        elif self.retyped and any(word in self.text for word in _PLACEHOLDERS):
            self.raised.append("redacted")
        counted = patch.complete and "truncated" not in self.flags
        return PatchFacts(
            shape.of_patch(patch, self.hunks, self.blind) if counted else _TRUNCATED,
            _sorted((*self.flags, *patch.flags, *self.raised)) if self.flags or self.raised else patch.flags,
            self.hunks if counted else 0,
            self.blind if counted else 0,
            self.retyped if counted else 0,
            tuple(files[:MOST_FILES]),
            tuple(self.blind_at[:MOST_PLACES]),
            tuple(self.retyped_at[:MOST_PLACES]),
            patch.dialect,
            len(files),
            self.added,
            self.deleted,
            self.context,
        )

    def _file(self, edit: FileEdit) -> FileFacts:
        path = tidy_path(edit.path)
        hunks = blind = retyped = added = deleted = context = 0
        number = self.numbers.get(path, 0)
        for hunk in edit.hunks:
            number += 1
            kinds = hunk.kinds
            plus, minus = kinds.count("+"), kinds.count("-")
            added += plus
            deleted += minus
            context += len(kinds) - plus - minus
            if (plus or minus) and edit.action is _UPDATE:
                hunks += 1
                if plus and minus:
                    if blind_rewrite.is_blind(hunk):
                        blind += 1
                        self._note_blind(hunk, path, number)
                    retyped += self._retyped(hunk, path, number)
        self.numbers[path] = number
        self.hunks += hunks
        self.blind += blind
        self.added += added
        self.deleted += deleted
        self.context += context
        moved_to = tidy_path(edit.moved_to) if edit.moved_to else ""
        return FileFacts(path, edit.action, moved_to, hunks, blind, retyped, added, deleted, context)

    def _note_blind(self, hunk: Hunk, path: str, number: int) -> None:
        if len(self.blind_at) <= MOST_PLACES:
            block = max(blind_rewrite.blocks(hunk), key=lambda block: block.deleted + block.added)
            first, last = hunk.numbers[block.start], hunk.numbers[block.stop - 1]
            self.blind_at.append(Place(path, number, first, last, block.deleted, block.added))

    def _retyped(self, hunk: Hunk, path: str, number: int) -> int:
        if self.retyped is None:
            return 0
        lines, pairs = retyped_lines.count(hunk, self.left)
        if lines is None:
            self.retyped = None
            return 0
        self.left -= pairs
        if not lines:
            return 0
        self.retyped += lines
        if len(self.retyped_at) <= MOST_PLACES:
            kinds = hunk.kinds
            first = len(kinds) - len(kinds.lstrip(" "))
            last = len(kinds.rstrip(" ")) - 1
            self.retyped_at.append(Place(path, number, hunk.numbers[first], hunk.numbers[last], 0, 0, lines))
        return lines


def _with_marks(facts: PatchFacts, patch: Patch) -> PatchFacts:
    """Give each new file the marks of its lines, as long as the call may keep more of them."""
    left = MOST_MARKS
    files = list(facts.files)
    for at, edit in enumerate(patch.files[:MOST_FILES]):
        if edit.action is not _ADD:
            continue
        lines = [line for hunk in edit.hunks for line in filter(_telling, hunk.lines)]
        if 0 < len(lines) <= left:
            left -= len(lines)
            texts = "\n".join(lines).encode("utf-8", "surrogatepass").split(b"\n")
            files[at] = files[at]._replace(marks=pack(f">{len(texts)}I", *map(crc32, texts)).hex())
    return facts._replace(files=tuple(files))


def _graded(call: Call, facts: PatchFacts, text_hash: str) -> GradedCall:
    # by position, and the order of the fields: keywords would cost a third of the time that scoring a small patch takes
    return GradedCall(
        call.trace_id,
        call.observation_id,
        call.start_time,
        call.end_time,
        call.call_id,
        call.index,
        call.producer,
        call.evidence,
        call.outcome,
        call.has_output,
        call.environment,
        facts.shape,
        text_hash,
        facts.hunks,
        facts.blind_hunks,
        facts.retyped_lines,
        facts.files,
        facts.blind_at,
        facts.retyped_at,
        facts.flags,
        facts.why,
        facts.dialect,
        facts.file_count,
        facts.added_lines,
        facts.deleted_lines,
        facts.context_lines,
    )


def _sorted(flags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({flag[:LONGEST_WORD] for flag in flags})[:MOST_FLAGS]) if flags else ()

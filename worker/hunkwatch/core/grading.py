"""From a call to everything that its scores need: the patch is read once, counted, and its text let go.

Total, and bounded in what it keeps: a patch of a hundred thousand hunks makes no larger a record than one of fifty.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from hunkwatch.core import grammar, identity
from hunkwatch.core.model import Action, FileFacts, GradedCall, Malformed, Place, Shape
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

_UNSENDABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_PLACEHOLDERS = ("<redacted", "[REDACTED", "redacted-by-", "<fully masked")
_telling = re.compile(r"[^\W_]").search


class _Counts(NamedTuple):
    hunks: int
    blind: int
    retyped: int | None


def grade(call: Call) -> GradedCall:
    """Read the call's patch and count. Never raises."""
    if call.text is None:
        return _graded(call, Shape.UNRESOLVED, call.flags, why=call.why)
    read = grammar.parse(call.text)
    if isinstance(read, Malformed):
        return _graded(call, Shape.MALFORMED, (*call.flags, *read.flags), text_hash=identity.text_hash(call.text), why=read.why)
    return _Counter(call, call.text, read).graded()


class _Counter:
    """One pass over the sections of one patch."""

    __slots__ = (
        "added",
        "blind",
        "blind_at",
        "call",
        "context",
        "deleted",
        "flags",
        "hunks",
        "left",
        "marks",
        "patch",
        "places",
        "retyped",
        "text",
    )

    def __init__(self, call: Call, text: str, patch: Patch) -> None:
        self.call, self.text, self.patch = call, text, patch
        self.flags: list[str] = []
        self.hunks = self.blind = self.added = self.deleted = self.context = 0
        self.retyped: int | None = 0
        self.left = retyped_lines.BOUND
        self.marks = MOST_MARKS
        self.blind_at: list[Place] = []
        self.places: list[Place] = []

    def graded(self) -> GradedCall:
        call, patch = self.call, self.patch
        numbers: dict[str, int] = {}
        files = [self._file(edit, numbers) for edit in patch.files]
        counted = patch.complete and "truncated" not in call.flags
        found = shape.of_patch(patch, self.hunks, self.blind) if counted else Shape.TRUNCATED
        if len(files) > MOST_FILES:
            self.flags.append("files_capped")
        if len(self.blind_at) > MOST_PLACES or len(self.places) > MOST_PLACES:
            self.flags.append("places_capped")
        if self.retyped is None:
            self.flags.append("work_bound_passed")
        elif self.retyped and any(word in self.text for word in _PLACEHOLDERS):
            self.flags.append("redacted")
        counts = _Counts(self.hunks, self.blind, self.retyped) if counted else _Counts(0, 0, 0)
        return GradedCall(
            trace_id=call.trace_id,
            observation_id=call.observation_id,
            start_time=call.start_time,
            end_time=call.end_time,
            call_id=call.call_id,
            index=call.index,
            producer=call.producer,
            evidence=call.evidence,
            outcome=call.outcome,
            has_output=call.has_output,
            environment=call.environment,
            shape=found,
            text_hash=identity.text_hash(self.text),
            hunks=counts.hunks,
            blind_hunks=counts.blind,
            retyped_lines=counts.retyped,
            files=tuple(files[:MOST_FILES]),
            blind_at=tuple(self.blind_at[:MOST_PLACES]),
            retyped_at=tuple(self.places[:MOST_PLACES]),
            flags=_sorted((*call.flags, *patch.flags, *self.flags)),
            why=call.why[:LONGEST_WORD],
            dialect=patch.dialect.value,
            file_count=len(files),
            added_lines=self.added,
            deleted_lines=self.deleted,
            context_lines=self.context,
        )

    def _file(self, edit: FileEdit, numbers: dict[str, int]) -> FileFacts:
        path = tidy_path(edit.path)
        hunks = blind = added = deleted = context = 0
        retyped = 0
        number = numbers.get(path, 0)
        for hunk in edit.hunks:
            number += 1
            kinds = hunk.kinds
            plus, minus = kinds.count("+"), kinds.count("-")
            added += plus
            deleted += minus
            context += len(kinds) - plus - minus
            if edit.action is Action.UPDATE and (plus or minus):
                hunks += 1
                if plus and minus:
                    blind += self._note_blind(hunk, path, number)
                    retyped += self._note_retyped(hunk, path, number)
        numbers[path] = number
        self.hunks += hunks
        self.blind += blind
        self.added += added
        self.deleted += deleted
        self.context += context
        return FileFacts(
            path=path,
            action=edit.action.value,
            moved_to=tidy_path(edit.moved_to) if edit.moved_to else "",
            hunks=hunks,
            blind_hunks=blind,
            retyped_lines=retyped,
            added_lines=added,
            deleted_lines=deleted,
            context_lines=context,
            marks=self._marks(edit) if edit.action is Action.ADD else "",
        )

    def _note_blind(self, hunk: Hunk, path: str, number: int) -> bool:
        if not blind_rewrite.is_blind(hunk):
            return False
        if len(self.blind_at) <= MOST_PLACES:
            block = max(blind_rewrite.blocks(hunk), key=lambda block: block.deleted + block.added)
            first, last = hunk.numbers[block.start], hunk.numbers[block.stop - 1]
            self.blind_at.append(Place(path, number, first, last, block.deleted, block.added))
        return True

    def _note_retyped(self, hunk: Hunk, path: str, number: int) -> int:
        if self.retyped is None:
            return 0
        found = retyped_lines.count(hunk, self.left)
        if found.lines is None:
            self.retyped = None
            return 0
        self.left -= found.pairs
        if found.lines:
            self.retyped += found.lines
            if len(self.places) <= MOST_PLACES:
                kinds = hunk.kinds
                first = len(kinds) - len(kinds.lstrip(" "))
                last = len(kinds.rstrip(" ")) - 1
                self.places.append(Place(path, number, hunk.numbers[first], hunk.numbers[last], retyped=found.lines))
        return found.lines

    def _marks(self, edit: FileEdit) -> str:
        lines = [line for hunk in edit.hunks for line in hunk.lines if _telling(line)]
        if len(lines) > self.marks:
            self.flags.append("content_not_kept")
            return ""
        self.marks -= len(lines)
        return "".join([f"{crc32(line.encode('utf-8', 'surrogatepass')):08x}" for line in lines])


def tidy_path(path: str) -> str:
    """Return a path that can be stored and sent: no control characters, no lone surrogates, of bounded length, still telling."""
    if not path.isprintable():
        path = _UNSENDABLE.sub("\ufffd", path)
    path = path.removeprefix("./")
    if len(path) <= LONGEST_PATH:
        return path
    return f"{path[: LONGEST_PATH - 20]}...{sha256(path.encode()).hexdigest()[:16]}"


def _graded(call: Call, found: Shape, flags: tuple[str, ...], *, text_hash: str = "", why: str = "") -> GradedCall:
    return GradedCall(
        trace_id=call.trace_id,
        observation_id=call.observation_id,
        start_time=call.start_time,
        end_time=call.end_time,
        call_id=call.call_id,
        index=call.index,
        producer=call.producer,
        evidence=call.evidence,
        outcome=call.outcome,
        has_output=call.has_output,
        environment=call.environment,
        shape=found,
        text_hash=text_hash,
        flags=_sorted(flags),
        why=why[:LONGEST_WORD],
    )


def _sorted(flags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({flag[:LONGEST_WORD] for flag in flags})[:MOST_FLAGS]) if flags else ()

"""From a call to everything that its scores need: the patch is read once, counted, and its text let go.

Total, and bounded in what it keeps: a patch of a hundred thousand hunks makes no larger a record than one of fifty.
"""

from __future__ import annotations

import re
from functools import partial
from hashlib import sha256
from struct import pack
from typing import TYPE_CHECKING
from zlib import crc32

from hunkwatch.core import grammar, identity
from hunkwatch.core.model import Action, FileFacts, GradedCall, Malformed, PatchFacts, Place, Shape
from hunkwatch.core.scoring import blind_rewrite, retyped_lines, shape

if TYPE_CHECKING:
    from hunkwatch.core.model import Call, FileEdit, Hunk, Patch

MOST_TEXT = 16 * 2**20
MOST_LINES = 1_000_000
"""Characters and lines of a patch text beyond which it is not read, so that one poisoned observation cannot take the worker's memory."""

MOST_FILES = 200
MOST_PLACES = 50
MOST_FLAGS = 40
MOST_MARKS = 1000
"""The most lines of new files, over one call, whose marks are kept."""

LONGEST_PATH = 300
LONGEST_WORD = 200

_UPDATE, _ADD, _TRUNCATED = Action.UPDATE, Action.ADD, Shape.TRUNCATED

# what FileFacts(...) and PatchFacts(...) do, without their Python-level constructors, which cost more than counting a small hunk
_file_facts = partial(tuple.__new__, FileFacts)
_patch_facts = partial(tuple.__new__, PatchFacts)

_TOO_LONG = f"longer than {MOST_LINES} lines or {MOST_TEXT} characters"
_UNSENDABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_placeholder = re.compile(r"redacted|fully masked|[\[<(*]masked", re.IGNORECASE).search
_telling = re.compile(r"[^\W_]").search


def count(text: str, flags: tuple[str, ...] = ()) -> PatchFacts:
    """Read a patch and count. ``flags`` are what its finder knows of it: ``truncated`` keeps it out of the numbers. Never raises."""
    if _is_too_long(text):
        return PatchFacts(Shape.UNRESOLVED, _sorted(flags), why=_TOO_LONG)
    read = grammar.parse(text)
    if isinstance(read, Malformed):
        return PatchFacts(Shape.MALFORMED, _sorted((*flags, *read.flags)), why=read.why)
    return _facts(text, read, flags)


def grade(call: Call) -> GradedCall:
    """Read the call's patch and count. Never raises."""
    if call.text is None or _is_too_long(call.text):
        why = call.why[:LONGEST_WORD] if call.text is None else _TOO_LONG
        return _graded(call, PatchFacts(Shape.UNRESOLVED, _sorted(call.flags), why=why), "")
    read = grammar.parse(call.text)
    if isinstance(read, Malformed):
        facts = PatchFacts(Shape.MALFORMED, _sorted((*call.flags, *read.flags)), why=read.why)
    else:
        facts = _facts(call.text, read, call.flags)
        if any(edit.action is _ADD for edit in read.files):
            facts = _with_marks(facts, read)
    return _graded(call, facts, identity.text_hash(call.text))


def _is_too_long(text: str) -> bool:
    return len(text) > MOST_LINES and (len(text) > MOST_TEXT or text.count("\n") > MOST_LINES)


def tidy_path(path: str) -> str:
    """Return a path that can be stored and sent: no control characters, no lone surrogates, of bounded length, still telling."""
    if not path.isprintable():
        path = _UNSENDABLE.sub("\ufffd", path)
    path = path.removeprefix("./")
    if len(path) <= LONGEST_PATH:
        return path
    return f"{path[: LONGEST_PATH - 20]}...{sha256(path.encode()).hexdigest()[:16]}"


class _Notes:
    """What is noted while the sections of one patch are counted: places worth a sentence, and the work that may still be done."""

    __slots__ = ("abstains", "blind_at", "left", "numbers", "retyped_at")

    def __init__(self) -> None:
        self.blind_at: list[Place] = []
        self.retyped_at: list[Place] = []
        self.numbers: dict[str, int] = {}
        self.left = retyped_lines.BOUND
        self.abstains = False

    def blind(self, hunk: Hunk, path: str, number: int) -> None:
        block = blind_rewrite.first_block(hunk) if len(self.blind_at) <= MOST_PLACES else None
        if block is not None:
            first, last = hunk.numbers[block.start], hunk.numbers[block.stop - 1]
            self.blind_at.append(Place(path, number, first, last, block.deleted, block.added))

    def retyped(self, hunk: Hunk, path: str, number: int) -> int:
        """Count the retyped lines of a hunk and note them; 0 once the bound is passed, from where on the patch abstains."""
        if self.abstains:
            return 0
        lines, pairs = retyped_lines.count(hunk, self.left)
        if not lines:
            self.abstains = lines is None
            return 0
        self.left -= pairs
        if len(self.retyped_at) <= MOST_PLACES:
            kinds = hunk.kinds
            first = len(kinds) - len(kinds.lstrip(" "))
            last = len(kinds.rstrip(" ")) - 1
            self.retyped_at.append(Place(path, number, hunk.numbers[first], hunk.numbers[last], 0, 0, lines))
        return lines

    def flags(self, text: str, files: int) -> list[str]:
        raised = []
        if files > MOST_FILES:
            raised.append("files_capped")
        if len(self.blind_at) > MOST_PLACES or len(self.retyped_at) > MOST_PLACES:
            raised.append("places_capped")
        if self.abstains:
            raised.append("work_bound_passed")
        elif self.retyped_at and _placeholder(text):
            raised.append("redacted")
        return raised


def _facts(text: str, patch: Patch, flags: tuple[str, ...]) -> PatchFacts:
    notes = _Notes()
    files = [_file(edit, notes) for edit in patch.files]
    hunks = blind = retyped = added = deleted = context = 0
    for file in files:
        hunks += file.hunks
        blind += file.blind_hunks
        retyped += file.retyped_lines
        added += file.added_lines
        deleted += file.deleted_lines
        context += file.context_lines
    counted = patch.complete and "truncated" not in flags
    raised = notes.flags(text, len(files)) if notes.abstains or notes.retyped_at or notes.blind_at or len(files) > MOST_FILES else ()
    return _patch_facts(
        (
            shape.of_patch(patch, hunks, blind) if counted else _TRUNCATED,
            _sorted((*flags, *patch.flags, *raised)) if flags or raised else patch.flags,
            hunks if counted else 0,
            blind if counted else 0,
            0 if not counted else None if notes.abstains else retyped,
            tuple(files[:MOST_FILES]) if len(files) > MOST_FILES else tuple(files),
            tuple(notes.blind_at[:MOST_PLACES]) if notes.blind_at else (),
            tuple(notes.retyped_at[:MOST_PLACES]) if notes.retyped_at else (),
            patch.dialect,
            len(files),
            added,
            deleted,
            context,
            "",
        )
    )


def _file(edit: FileEdit, notes: _Notes) -> FileFacts:
    action, path, _, moved_to, its = edit
    path = tidy_path(path)
    is_update = action is _UPDATE
    hunks = blind = retyped = added = deleted = context = 0
    number = notes.numbers.get(path, 0)
    for hunk in its:
        number += 1
        kinds = hunk.kinds
        plus, minus = kinds.count("+"), kinds.count("-")
        added += plus
        deleted += minus
        context += len(kinds) - plus - minus
        if is_update and (plus or minus):
            hunks += 1
            if plus and minus:
                if blind_rewrite.is_blind(hunk):
                    blind += 1
                    notes.blind(hunk, path, number)
                retyped += notes.retyped(hunk, path, number)
    notes.numbers[path] = number
    return _file_facts((path, action, tidy_path(moved_to) if moved_to else "", hunks, blind, retyped, added, deleted, context, ""))


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
        trace_name=call.trace_name[:LONGEST_WORD],
        session_id=call.session_id[:LONGEST_WORD],
        model=call.model[:LONGEST_WORD],
    )


def _sorted(flags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({flag[:LONGEST_WORD] for flag in flags})[:MOST_FLAGS]) if flags else ()

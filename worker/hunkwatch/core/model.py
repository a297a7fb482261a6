"""The nouns that cross rooms, frozen.

Everything here is plain data: no behaviour beyond what a value can say about itself.
Patch, FileEdit and Hunk are made by ``grammar``; Call by ``discover``; GradedCall and Score by ``evaluate``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


class Observation(NamedTuple):
    """One row of Langfuse's observations as a reader hands it over.

    ``input`` and ``output`` are a JSON value (v1 reads, offline files) or the raw text (v2 reads); an unset text is ``""`` or
    ``None``, both meaning "not there". Times are aware and in UTC. A named tuple because a reader makes thousands a second.
    """

    id: str
    trace_id: str
    start_time: datetime
    type: str = "SPAN"
    name: str = ""
    end_time: datetime | None = None
    parent_id: str | None = None
    level: str = "DEFAULT"
    status_message: str = ""
    environment: str = "default"
    input: object = None
    output: object = None
    metadata: Mapping[str, object] | None = None
    updated_at: datetime | None = None
    created_at: datetime | None = None
    trace_name: str = ""
    session_id: str = ""
    user_id: str = ""
    tags: tuple[str, ...] = ()
    model: str = ""


class Evidence(StrEnum):
    """Which side of a call was recorded: the tool that ran, or the model that asked for it."""

    EXECUTION = "execution"
    REQUEST = "request"


class Outcome(StrEnum):
    """What became of a call, as far as the trace tells. Evidence only: it never moves a number."""

    APPLIED = "applied"
    FAILED = "failed"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


class Shape(StrEnum):
    """The values of ``patch_shape``; the order is the order of precedence."""

    UNRESOLVED = "unresolved"
    MALFORMED = "malformed"
    TRUNCATED = "truncated"
    FILE_REWRITE = "file_rewrite"
    BLIND_REWRITE = "blind_rewrite"
    NO_BLIND_REWRITE = "no_blind_rewrite"
    NEW_FILE = "new_file"
    DELETE_ONLY = "delete_only"
    MOVE_ONLY = "move_only"
    NO_CHANGE = "no_change"


@dataclass(frozen=True, slots=True)
class Call:
    """One patch in one argument position of one observation.

    ``index`` counts the patches under one call id (from 0); without a call id, the patches of the observation.
    ``text`` is the patch as the agent wrote it, from its first marker; ``None`` means that a call was clearly made but its
    patch cannot be read, and ``why`` says so in one or two words. ``flags`` are sorted and unique.
    """

    trace_id: str
    observation_id: str
    start_time: datetime
    end_time: datetime | None
    call_id: str | None
    index: int
    producer: str
    evidence: Evidence
    text: str | None
    why: str = ""
    outcome: Outcome = Outcome.UNKNOWN
    has_output: bool = False
    flags: tuple[str, ...] = ()
    environment: str = "default"
    trace_name: str = ""
    session_id: str = ""
    model: str = ""
    """Of the observation itself: the tool that ran knows of no model, the request for it does."""


class Action(StrEnum):
    """What a section of a patch does to its file."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


class Dialect(StrEnum):
    """How a patch was written down."""

    ENVELOPE = "envelope"
    """Between ``Begin`` and ``End`` markers."""
    BODY = "body"
    """Sections or bare hunks without a ``Begin`` marker."""
    UNIFIED = "unified"
    """A unified diff."""


class Hunk(NamedTuple):
    """A run of lines that belong together. Named tuples here, because parsing makes one for every handful of lines.

    ``kinds`` has one of ``" "``, ``"-"``, ``"+"`` a line, and always ``kinds[i] == lines[i][0]``: a line that was written without
    its prefix, or empty, got the prefix it was read as. The text of a line is ``lines[i][1:]``. ``numbers`` are the lines of the
    patch text, from 1. ``anchors`` are the texts after ``@@`` (``""`` for a bare one, none at all where it was left out).
    """

    anchors: tuple[str, ...]
    kinds: str
    lines: tuple[str, ...]
    numbers: Sequence[int]
    ends_file: bool = False


class FileEdit(NamedTuple):
    """One section: what a patch does to one file. An ``add`` keeps its content as one hunk of ``+`` lines.

    ``line`` is the line of the patch text with the section's header, 0 where there is none.
    """

    action: Action
    path: str
    line: int
    moved_to: str = ""
    hunks: tuple[Hunk, ...] = ()


class Patch(NamedTuple):
    """A patch as far as its text tells. ``complete`` is false for a text that begins and does not end. ``flags`` are sorted."""

    files: tuple[FileEdit, ...]
    flags: tuple[str, ...] = ()
    dialect: Dialect = Dialect.ENVELOPE
    complete: bool = True


class Malformed(NamedTuple):
    """A text in which nothing of a patch can be recognised, and why."""

    why: str
    flags: tuple[str, ...] = ()


class FileFacts(NamedTuple):
    """What a patch does to one path, without any of its text."""

    path: str
    action: str
    """``add``, ``update`` or ``delete``."""
    moved_to: str = ""
    hunks: int = 0
    blind_hunks: int = 0
    retyped_lines: int = 0
    added_lines: int = 0
    deleted_lines: int = 0
    context_lines: int = 0
    marks: str = ""
    """Of a new file: eight hex digits for each line with a letter or digit, so that a later rewrite can be compared; ``""`` if too long."""


class Place(NamedTuple):
    """Where something worth a sentence stands: a file, the hunk's number in that file from 1, lines of the patch text from 1.

    ``deleted`` and ``added`` are the lengths of the two runs of a blind block; ``retyped`` counts the retyped lines in the hunk.
    """

    path: str
    hunk: int
    first_line: int
    last_line: int
    deleted: int = 0
    added: int = 0
    retyped: int = 0


class PatchFacts(NamedTuple):
    """Everything that scores need to know of a patch text, and nothing of the text. The fields mean what they mean in ``GradedCall``."""

    shape: Shape
    flags: tuple[str, ...] = ()
    hunks: int = 0
    blind_hunks: int = 0
    retyped_lines: int | None = 0
    files: tuple[FileFacts, ...] = ()
    blind_at: tuple[Place, ...] = ()
    retyped_at: tuple[Place, ...] = ()
    dialect: str = ""
    file_count: int = 0
    added_lines: int = 0
    deleted_lines: int = 0
    context_lines: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class GradedCall:
    """A call with everything that its scores need and nothing of its text: what the ledger keeps.

    ``hunks`` counts hunks with a change. ``retyped_lines`` is ``None`` where the work bound made the scorer abstain. Both and
    ``blind_hunks`` are 0 for a truncated call, which is not counted; what its text shows stands in ``files`` and the line totals.
    ``text_hash`` is the SHA-256 (hex) of the patch with LF line ends, ``""`` when unresolved.
    ``files``, ``blind_at`` and ``retyped_at`` are cut to a bound, flagged ``files_capped`` or ``places_capped``; the totals are exact.
    """

    trace_id: str
    observation_id: str
    start_time: datetime
    end_time: datetime | None
    call_id: str | None
    index: int
    producer: str
    evidence: Evidence
    outcome: Outcome
    has_output: bool
    environment: str
    shape: Shape
    text_hash: str = ""
    hunks: int = 0
    blind_hunks: int = 0
    retyped_lines: int | None = 0
    files: tuple[FileFacts, ...] = ()
    blind_at: tuple[Place, ...] = ()
    retyped_at: tuple[Place, ...] = ()
    flags: tuple[str, ...] = ()
    why: str = ""
    dialect: str = ""
    file_count: int = 0
    added_lines: int = 0
    deleted_lines: int = 0
    context_lines: int = 0
    returned_lines: int | None = None
    """Of a file rewritten by a later call: lines that came back unchanged, where the trace knows the earlier content."""
    graded_by: str = "1"
    """The scorer's version that read the patch; the first one did not say so."""
    trace_name: str = ""
    session_id: str = ""
    model: str = ""
    """Who and what for, as far as the observation told; calls that an older worker put on record do not say."""


@dataclass(frozen=True, slots=True)
class Score:
    """One number or label about one observation or (``observation_id`` is ``None``) one trace, as Langfuse will hold it.

    ``timestamp`` is part of the identity: it never changes once a score was sent. ``metadata`` always has the same keys.
    """

    id: str
    name: str
    value: float | str
    trace_id: str
    observation_id: str | None
    timestamp: datetime
    environment: str
    comment: str
    metadata: Mapping[str, object]

"""One row a call: what a report counts, after copies were merged and the files that nobody asks about were left out.

Pure, and one trace at a time. The numbers are those of the scores; a call of which only files that are left out remain is no row.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core import merging, rewriting
from hunkwatch.core.model import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from hunkwatch.core.model import FileFacts, GradedCall

NO_TYPE = "(none)"
UNKNOWN = "(unknown)"

_CHANGED = {Shape.BLIND_REWRITE, Shape.NO_BLIND_REWRITE}
_WORDS_OF_ACTIONS = (("add", Shape.NEW_FILE), ("delete", Shape.DELETE_ONLY))


class FileRow(NamedTuple):
    """What a call did to the files of one type."""

    type: str
    hunks: int
    blind_hunks: int
    retyped_lines: int


class Row(NamedTuple):
    """One call as a report counts it. ``abstained`` is why it has no number, ``""`` where it has one."""

    trace_id: str
    observation_id: str
    at: datetime
    environment: str
    trace_name: str
    producer: str
    model: str
    session: str
    outcome: str
    shape: str
    abstained: str
    hunks: int
    blind_hunks: int
    retyped_lines: int | None
    files: tuple[FileRow, ...] = ()

    @property
    def day(self) -> str:
        """The day on which the call began, in UTC."""
        return self.at.date().isoformat()


def of_trace(calls: Sequence[GradedCall], leaves_out: Callable[[str], bool]) -> list[Row]:
    """Return the rows of one trace from all records of its calls, in order."""
    if not calls:
        return []
    trace_name = next((name for call in calls if (name := call.trace_name.strip())), UNKNOWN)
    session = next((name for call in calls if (name := call.session_id.strip())), UNKNOWN)
    models = {name for call in calls if (name := call.model.strip())}
    only_model = next(iter(models)) if len(models) == 1 else UNKNOWN
    counted = rewriting.across([merged.call for merged in merging.merge(calls)])
    found = [row for call in counted if (row := _row(call, call.model.strip() or only_model, leaves_out)) is not None]
    return [row._replace(trace_name=trace_name, session=session) for row in found]


def file_type(path: str) -> str:
    """Return the ending of a file's name, in small letters; names without one stand for themselves where they are common."""
    name = PurePosixPath(path.replace("\\", "/")).name
    ending = PurePosixPath(name).suffix.lower()
    return ending or (name if name in {"Dockerfile", "Makefile"} else NO_TYPE)


def _row(call: GradedCall, model: str, leaves_out: Callable[[str], bool]) -> Row | None:
    kept: list[FileFacts] = []
    gone: list[FileFacts] = []
    for file in call.files:
        (gone if leaves_out(file.path) else kept).append(file)
    if gone and not kept:
        return None
    hunks, blind, retyped, shape = call.hunks, call.blind_hunks, call.retyped_lines, call.shape
    if gone and shape is not Shape.TRUNCATED:
        hunks = max(hunks - sum(file.hunks for file in gone), 0)
        blind = min(max(blind - sum(file.blind_hunks for file in gone), 0), hunks)
        retyped = None if retyped is None else max(retyped - sum(file.retyped_lines for file in gone), 0)
        shape = _shape(shape, kept, hunks, blind)
    abstained = "" if hunks else shape.value
    return Row(
        trace_id=call.trace_id,
        observation_id=call.observation_id,
        at=call.start_time.astimezone(UTC),
        environment=call.environment.strip() or UNKNOWN,
        trace_name=call.trace_name,
        producer=call.producer,
        model=model,
        session=call.session_id,
        outcome=call.outcome.value,
        shape=shape.value,
        abstained=abstained,
        hunks=hunks,
        blind_hunks=blind,
        retyped_lines=retyped if hunks else None,
        files=_by_type(kept, counted=shape is not Shape.TRUNCATED),
    )


def _shape(shape: Shape, kept: Sequence[FileFacts], hunks: int, blind: int) -> Shape:
    """Return the shape of what is left of a call."""
    if shape not in _CHANGED:
        return shape
    if hunks:
        return Shape.BLIND_REWRITE if blind else Shape.NO_BLIND_REWRITE
    actions = {file.action for file in kept}
    return next((word for action, word in _WORDS_OF_ACTIONS if action in actions), Shape.NO_CHANGE)


def _by_type(files: Sequence[FileFacts], *, counted: bool) -> tuple[FileRow, ...]:
    hunks: Counter[str] = Counter()
    blind: Counter[str] = Counter()
    retyped: Counter[str] = Counter()
    for file in files:
        kind = file_type(file.path)
        hunks[kind] += file.hunks if counted else 0
        blind[kind] += file.blind_hunks if counted else 0
        retyped[kind] += file.retyped_lines if counted else 0
    return tuple(FileRow(kind, hunks[kind], blind[kind], retyped[kind]) for kind in hunks)

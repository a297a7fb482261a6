"""Graded calls as the ledger keeps them: one JSON text an observation.

Fields at their default are left out. Unknown keys, and words that this version does not know, are passed over, so that rows written
by a newer version load.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from hunkwatch.core.model import Evidence, FileFacts, GradedCall, Outcome, Place, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Word = TypeVar("Word", bound=StrEnum)
Part = TypeVar("Part", FileFacts, Place, GradedCall)


def dump(calls: Sequence[GradedCall]) -> str:
    """Write the calls of one observation."""
    return json.dumps([_plain(call) for call in calls], separators=(",", ":"))


def load(text: str) -> tuple[GradedCall, ...]:
    """Read what ``dump`` wrote, by this version or another. Raises ``ValueError`` for a text that is none of these."""
    rows = json.loads(text)
    try:
        return tuple(_built(GradedCall, row, _CALL) for row in rows)
    except (TypeError, AttributeError) as problem:
        raise ValueError("not a record of graded calls") from problem


def _plain(part: FileFacts | Place | GradedCall) -> dict[str, object]:
    row: dict[str, object] = {}
    for name, default in _DEFAULTS[type(part)]:
        value = getattr(part, name)
        if value == default and default is not MISSING:
            continue
        if isinstance(value, datetime):
            value = value.isoformat()
        elif isinstance(value, tuple):
            value = [_plain(item) if isinstance(item, FileFacts | Place) else item for item in value]
        row[name] = value
    return row


def _built(kind: type[Part], row: dict[str, Any], readers: dict[str, Callable[[Any], object]]) -> Part:
    known: dict[str, Any] = {name: row[name] for name, _ in _DEFAULTS[kind] if name in row}
    for name, read in readers.items():
        if name in known:
            known[name] = read(known[name])
    return kind(**known)


def _word(kind: type[Word], unknown: Word) -> Callable[[Any], Word]:
    words = {word.value: word for word in kind}
    return lambda value: words.get(value, unknown)


def _time(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


_DEFAULTS: dict[type, tuple[tuple[str, object], ...]] = {
    GradedCall: tuple((field.name, field.default) for field in fields(GradedCall)),
    FileFacts: tuple((name, FileFacts._field_defaults.get(name, MISSING)) for name in FileFacts._fields),
    Place: tuple((name, Place._field_defaults.get(name, MISSING)) for name in Place._fields),
}
_CALL: dict[str, Callable[[Any], object]] = {
    "start_time": _time,
    "end_time": _time,
    "evidence": _word(Evidence, Evidence.EXECUTION),
    "outcome": _word(Outcome, Outcome.UNKNOWN),
    "shape": _word(Shape, Shape.UNRESOLVED),
    "files": lambda rows: tuple(_built(FileFacts, row, {}) for row in rows),
    "blind_at": lambda rows: tuple(_built(Place, row, {}) for row in rows),
    "retyped_at": lambda rows: tuple(_built(Place, row, {}) for row in rows),
    "flags": tuple,
}

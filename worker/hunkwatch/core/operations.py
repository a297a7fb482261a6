"""Headerless patches: a file operation with a path and a bare diff, put back into an envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core import grammar
from hunkwatch.core.model import Action

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ACTIONS = {
    "updatefile": Action.UPDATE,
    "createfile": Action.ADD,
    "addfile": Action.ADD,
    "deletefile": Action.DELETE,
    "removefile": Action.DELETE,
    "update": Action.UPDATE,
    "create": Action.ADD,
    "add": Action.ADD,
    "delete": Action.DELETE,
    "remove": Action.DELETE,
}
_TYPES = ("type", "kind", "action", "op")
_PATHS = ("path", "file_path", "filePath", "file", "filename", "file_name", "target_file")
_MOVES = ("move_to", "moveTo", "move_path", "movePath", "new_path", "newPath")
_BODIES = ("diff", "patch", "content")


class Operation(NamedTuple):
    """One file operation. ``body`` is the diff as it was given."""

    action: Action
    path: str
    body: str
    moved_to: str = ""


def operation(value: object) -> Operation | None:
    """Return the operation that an object describes, or None when it describes none."""
    if not isinstance(value, dict):
        return None
    action = next((_ACTIONS[word] for key in _TYPES if (word := _word(value.get(key))) in _ACTIONS), None)
    path = path_of(value)
    if action is None or not path:
        return None
    body = next((text for key in _BODIES if isinstance(text := value.get(key), str)), None)
    if body is None and action is not Action.DELETE:
        return None
    moved_to = next((text for key in _MOVES if isinstance(text := value.get(key), str)), "")
    return Operation(action, path, body or "", moved_to)


def path_of(value: Mapping[str, object]) -> str:
    """Return the path that stands beside a diff."""
    return next((text.strip() for key in _PATHS if isinstance(text := value.get(key), str) and "\n" not in text), "")


def envelope(operations: Sequence[Operation], *, whole: bool = True) -> str:
    """Return one patch for all operations; without its End when the last body is cut."""
    sections = [grammar.section(each.action, each.path, each.body, each.moved_to) for each in operations]
    text = grammar.enclose(*sections)
    return text if whole else text.rpartition("\n")[0]


def _word(value: object) -> str:
    return value.replace("_", "").replace("-", "").lower() if isinstance(value, str) else ""

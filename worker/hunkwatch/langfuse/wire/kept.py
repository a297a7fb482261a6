"""What a project keeps beside its data (score configs, widgets, dashboards), as the server lists it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hunkwatch.langfuse.wire.answers import json_object, json_rows

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kept(NamedTuple):
    """One of them. ``made`` orders them by age; ``content`` is the whole row."""

    id: str
    name: str
    description: str
    made: str
    content: Mapping[str, Any]


def kept_page(answer: bytes) -> tuple[list[Kept], int]:
    """Return a page's things, and how many pages there are."""
    meta = json_object(answer).get("meta")
    pages = meta.get("totalPages") if isinstance(meta, dict) else None
    return [thing for thing in map(_kept, json_rows(answer)) if thing], pages if isinstance(pages, int) else 1


def kept(answer: bytes) -> Kept | None:
    """Return the thing that was made or changed; None when the answer shows none."""
    return _kept(json_object(answer))


def changes(thing: Kept, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return those members of the body that the server shows otherwise; what it adds of its own does not count."""
    return {name: value for name, value in body.items() if not _holds(thing.content.get(name), value)}


def _holds(shown: Any, wanted: Any) -> bool:
    match wanted:
        case dict():
            return isinstance(shown, dict) and all(_holds(shown.get(name), value) for name, value in wanted.items())
        case list():
            return isinstance(shown, list) and len(shown) == len(wanted) and all(map(_holds, shown, wanted))
        case _:
            return bool(shown == wanted)


def _kept(row: Mapping[str, Any]) -> Kept | None:
    identity, name = row.get("id"), row.get("name")
    if not isinstance(identity, str) or not identity or not isinstance(name, str):
        return None
    return Kept(identity, name, str(row.get("description") or ""), str(row.get("createdAt") or ""), row)

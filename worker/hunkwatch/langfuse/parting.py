"""Cut what is asked for by name into questions that a proxy lets through: by number, and by the room that names take in an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")

_AROUND = len("%22%22%2C")
"""What a list of names takes in an address beside each name."""


def parts(items: Iterable[Item], name: Callable[[Item], str], *, most: int, room: int) -> Iterator[list[Item]]:
    """Yield the items in order, in parts of at most so many, whose names take at most that room; a longer name stands alone."""
    part: list[Item] = []
    left = room
    for item in items:
        size = len(quote(name(item), safe="")) + _AROUND
        if part and (len(part) == most or size > left):
            yield part
            part, left = [], room
        part.append(item)
        left -= size
    if part:
        yield part

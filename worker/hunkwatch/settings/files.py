"""Small text files that settings come from, and why one could not be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST = 1_000_000


def read(path: Path) -> str:
    """Return the text of a file; raises OSError or ValueError."""
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError("larger than 1 MB")
    return content.decode("utf-8-sig")


def reason(error: Exception) -> str:
    """Say in a few words why a file could not be read, without anything that stands in it."""
    match error:
        case OSError():
            return error.strerror or type(error).__name__
        case UnicodeDecodeError():
            return "not UTF-8 text"
        case _:
            return str(error)

"""One layer of quoting: what a whole text says, when it says something other than itself.

JSON, a Go literal, then loosely what was meant to be JSON or is a Python ``repr``, whole or cut off.
"""

from __future__ import annotations

from hunkwatch.core import cuts
from hunkwatch.core.quoting import escapes, golang, loose

LAYERS = 5
"""How many layers of quoting are undone."""


def decode(text: str) -> tuple[object, bool]:
    """Return what a whole text says, one layer down, and whether all of it was there; the text itself when it says nothing else."""
    body = text.strip()
    value = loose.load(body)
    if value is not loose.NOT_JSON:
        return value, True
    if body[:1] == '"' and (literal := golang.unquote(body)) is not None:
        return (cuts.uncut(literal) or literal), escapes.closing(body, 1, '"') >= 0
    short = cuts.uncut(body) or cuts.unellipsed(body)
    read = loose.read(short or body)
    if isinstance(read.value, (dict, list, str)) and read.value and not (read.broken and short is None and not _is_meant(body, read.value)):
        return read.value, read.whole and short is None
    return text, True


def _is_meant(body: str, value: object) -> bool:
    """Say whether a text that stops making sense was an object all the same."""
    return body[:1] == "{" and isinstance(value, dict) and bool(value)


def is_escaped(text: str) -> bool:
    r"""Say whether a one-line text has a written-out ``\n`` behind the marker instead of a line end: one more layer to undo."""
    at = text.find("Begin Patch")
    if at < 0 or "\n" in text.strip():
        return False
    return text[at + 11 : at + 24].lstrip(" *").startswith(("\\n", "\\r\\n", "\\\\n"))


def unescaped(text: str) -> str:
    """Return the text with the escapes of a quoted string undone."""
    return escapes.undo(text, escapes.JSON)

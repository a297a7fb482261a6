"""Go string literals, as ``strconv.Quote`` and ``%q`` write them: JSON's escapes and a few that JSON does not have."""

from __future__ import annotations

from hunkwatch.core.quoting import escapes


def unquote(text: str) -> str | None:
    """Return what a text that is one whole literal stands for; None when it is not one.

    A literal that lacks its closing quote gives what is there.
    """
    if text[:1] == "`":
        return text[1:-1] if len(text) > 1 and text.find("`", 1) == len(text) - 1 else None
    if text[:1] != '"':
        return None
    close = escapes.closing(text, 1, '"')
    if close < 0:
        return escapes.undo(text[1:], escapes.GO)
    return escapes.undo(text[1:close], escapes.GO) if close == len(text) - 1 else None

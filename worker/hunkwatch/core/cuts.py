"""What tracers leave behind when they do not keep a text whole: truncation marks, redaction placeholders, media tokens.

The known marks are ``…[truncated N chars]``, ``[truncated to N characters]``, ``...[truncated, original N chars]``,
``...(truncated)``, ``[TRUNCATED: ...]``, and a bare ``…`` or ``...`` at the very end; all but the bare ones are recognised by the word in
brackets, so that a new wording is recognised too.
"""

from __future__ import annotations

MARK_LENGTH = 120
_ELLIPSES = ("…", "...")
_BRACKETS = {"]": "[", ")": "(", ">": "<"}
_PLACEHOLDERS = ("redact", "mask", "max-depth", "max depth", "hidden", "filtered", "removed", "omitted", "not captured", "content not")
_PLACEHOLDER_LENGTH = 200
_INSIDE = ("[redacted", "<redacted", "redacted-by-")
_OVERFLOW = "@@@langfuseMedia:"


def uncut(text: str) -> str | None:
    """Return a text without the truncation mark at its end; None when there is no mark."""
    body = text.rstrip()
    opening = _BRACKETS.get(body[-1:])
    if opening is not None:
        first = body.rfind(opening, max(0, len(body) - MARK_LENGTH))
        if first >= 0 and "truncated" in body[first:].lower():
            return _before_ellipsis(body[:first])
    return None


def unellipsed(text: str) -> str | None:
    """Return a text without the bare ellipsis that ends it; None when there is none. Only for a text that is known to be cut."""
    body = text.rstrip()
    return _before_ellipsis(body) if body.endswith(_ELLIPSES) else None


def is_placeholder(text: str) -> bool:
    """Say whether a text is a word in brackets that stands for something withheld."""
    body = text.strip()
    if not body or len(body) > _PLACEHOLDER_LENGTH or "\n" in body:
        return False
    lowered = body.lower()
    if lowered.startswith("redacted-by-"):
        return True
    bracketed = body[0] in "[<*(" and body[-1] in "]>*)"
    return bracketed and any(word in lowered for word in _PLACEHOLDERS)


def has_placeholder(text: str) -> bool:
    """Say whether something inside a text was withheld."""
    lowered = text.lower() if "edacted" in text or "EDACTED" in text else ""
    return any(word in lowered for word in _INSIDE)


def is_overflow(text: str) -> bool:
    """Say whether a text is the token that stands for a field kept as a media file."""
    return text.lstrip()[: len(_OVERFLOW)] == _OVERFLOW and len(text) < 10 * MARK_LENGTH


def _before_ellipsis(body: str) -> str:
    """Return what stands before the ellipsis, without half characters."""
    bare = body.rstrip(" ")
    for ellipsis in _ELLIPSES:
        if bare.endswith(ellipsis):
            return bare.removesuffix(ellipsis).removesuffix("\n").rstrip("\ufffd")
    return body.rstrip("\r\n").rstrip("\ufffd")

"""JSON and everything that was meant to be JSON: cut off, with raw line ends, as a Python ``repr`` or a ``name=value`` list.

``load`` is strict and fast; ``read`` takes what ``load`` refuses and says whether the text was whole. Both are bounded: nesting and
the number of tokens have limits, past which ``read`` gives what it has.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from hunkwatch.core.quoting import escapes

LOAD_LIMIT = 8_000_000
"""Longest text (characters) whose strings may be of any number, and most that may stand outside of strings in a longer one."""
CONTAINERS = 250_000
STRINGS = 100_000
TOKENS = 200_000
DEPTH = 64

_BLANK = re.compile(r"[ \t\r\n]*+")
_WORD = re.compile(r"[^\s\"'{}\[\](),:=]++")
_NAMES: dict[str, object] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
    "undefined": None,
}
_CLOSERS = {"{": "}", "[": "]", "(": ")"}
_PREFIXES = frozenset("rRbBuUfF")
_INT_DIGITS = 18


class Read(NamedTuple):
    """What a text says. ``whole`` is False when it ends early; ``broken`` when it stops making sense before its end."""

    value: object
    whole: bool = True
    broken: bool = False


class NotJson:
    """The answer for a text that is not JSON, since ``None`` is a JSON value."""


NOT_JSON = NotJson()


def load(text: str) -> object:
    """Return the value of a JSON text, or ``NOT_JSON``. Raw line ends in strings pass; so do numbers of any length."""
    if (len(text) > LOAD_LIMIT and not _is_light(text)) or text.count("[") + text.count("{") > CONTAINERS:
        return NOT_JSON
    try:
        return json.loads(text, strict=False, parse_int=_integer)
    except (ValueError, RecursionError):
        return NOT_JSON


def _is_light(text: str) -> bool:
    """Say whether a long text is long because of a few long strings, so that its objects are no larger than itself."""
    at = outside = 0
    for _ in range(STRINGS):
        quote = text.find('"', at)
        outside += (len(text) if quote < 0 else quote) - at
        if quote < 0 or outside > LOAD_LIMIT:
            return outside <= LOAD_LIMIT
        at = escapes.closing(text, quote + 1, '"') + 1
        if not at:
            return False
    return False


def _integer(digits: str) -> object:
    return int(digits) if len(digits) <= _INT_DIGITS else digits


def read(text: str) -> Read:
    """Return what a text that starts like a container, a string or ``name=`` says, as far as it goes."""
    return _Reader(text).run()


class _Frame:
    """A container that is still open: its items, or its keys and values."""

    __slots__ = ("close", "fields", "items", "key")

    def __init__(self, close: str) -> None:
        self.close = close
        self.items: list[object] = []
        self.fields: dict[str, object] = {}
        self.key: str | None = None

    def value(self) -> object:
        if self.close == "}" or self.fields:
            return {**self.fields, "args": self.items} if self.items and self.close == ")" else self.fields
        return self.items


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open = [_Frame("")]
        self.whole = True

    def run(self) -> Read:
        sound = True
        for _ in range(TOKENS):
            self.at = self._past_blank()
            if self.at >= len(self.text):
                break
            if not self._token():
                sound = False
                break
        else:
            sound = self._past_blank() >= len(self.text)
        unclosed = len(self.open) > 1
        self.whole = self.whole and not unclosed and sound
        while len(self.open) > 1:
            self._close()
        top = self.open[0]
        if top.key is not None:
            self.whole = False
        value: object = top.fields or (top.items[0] if len(top.items) == 1 else top.items or None)
        return Read(value, self.whole, broken=not sound)

    def _past_blank(self) -> int:
        found = _BLANK.match(self.text, self.at)
        return self.at if found is None else found.end()

    def _token(self) -> bool:
        """Take one token; False when it makes no sense here."""
        sign = self.text[self.at]
        if sign in _CLOSERS:
            if len(self.open) > DEPTH:
                return False
            self.at += 1
            self.open.append(_Frame(_CLOSERS[sign]))
            return True
        if sign in "}])":
            self.at += 1
            if len(self.open) == 1 or self.open[-1].close != sign:
                return False
            self._close()
            return True
        if sign in ",:=":
            self.at += 1
            return sign == "," or self._make_key()
        if sign in "\"'":
            return self._string("")
        return self._word()

    def _put(self, value: object) -> None:
        frame = self.open[-1]
        if frame.key is None:
            frame.items.append(value)
        else:
            frame.fields[frame.key] = value
            frame.key = None

    def _make_key(self) -> bool:
        """Take the value just read for a key."""
        items = self.open[-1].items
        if not items or not isinstance(items[-1], str):
            return False
        self.open[-1].key = str(items.pop())
        return True

    def _close(self) -> None:
        frame = self.open.pop()
        self._put(frame.value())

    def _string(self, prefix: str) -> bool:
        quote = self.text[self.at]
        first = self.at + 1
        close = self.text.find(quote, first) if "r" in prefix.lower() else escapes.closing(self.text, first, quote)
        content = self.text[first:] if close < 0 else self.text[first:close]
        if close < 0:
            self.whole = False
        if "r" not in prefix.lower():
            content = escapes.undo(content, escapes.JSON if quote == '"' and not prefix else escapes.PYTHON)
        if close < 0:
            content = without_half(content)
        self.at = len(self.text) if close < 0 else close + 1
        self._put(content)
        return True

    def _word(self) -> bool:
        found = _WORD.match(self.text, self.at)
        if found is None:
            return False
        word = found.group()
        self.at = found.end()
        following = self.text[self.at : self.at + 1]
        if following and following in "\"'" and len(word) <= 2 and _PREFIXES.issuperset(word):  # noqa: PLR2004 - the longest prefix is "rb"
            return self._string(word)
        if following == "(":
            return True
        if len(word) == 1 and word in "<>;|&`$%!?*+/":
            return False
        self._put(_NAMES.get(word, word))
        return True


def without_half(text: str) -> str:
    """Return the text without the half of a surrogate pair that a cut left at its end."""
    return text[:-1] if text and "\ud800" <= text[-1] <= "\udfff" else text

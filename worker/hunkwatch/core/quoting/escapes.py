"""Undo backslash escapes, by a table for each language. Linear: text between backslashes is copied in one piece."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Rules(NamedTuple):
    r"""What a backslash means in one language.

    ``letters`` maps the character behind it to what both stand for. ``digits`` maps a letter to the number of hex digits that it
    takes. ``octal`` reads up to three octal digits, ``braces`` reads ``\u{...}``. ``raw_bytes`` makes a hex or octal escape a byte of
    UTF-8 instead of a character. ``keeps`` says that the backslash of an unknown escape stays.
    """

    letters: Mapping[str, str]
    digits: Mapping[str, int]
    octal: bool = False
    braces: bool = False
    raw_bytes: bool = False
    keeps: bool = True


_C = {"\\": "\\", '"': '"', "'": "'", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
GO = Rules({**_C, "a": "\a", "v": "\v"}, {"x": 2, "u": 4, "U": 8}, octal=True, raw_bytes=True)
PYTHON = Rules({**_C, "a": "\a", "v": "\v", "\n": ""}, {"x": 2, "u": 4, "U": 8}, octal=True)
JAVASCRIPT = Rules(
    {**_C, "v": "\v", "`": "`", "$": "$", "\n": "", "\r": "", "\u2028": "", "\u2029": ""},
    {"x": 2, "u": 4},
    octal=True,
    braces=True,
    keeps=False,
)
ANSI_C = Rules({**_C, "a": "\a", "v": "\v", "e": "\x1b", "E": "\x1b", "?": "?"}, {"x": 2, "u": 4, "U": 8}, octal=True)
ECHO = Rules({"\\": "\\", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "e": "\x1b"}, {"x": 2}, octal=True)
JSON = Rules({**_C, "/": "/", "a": "\a", "v": "\v", "\n": ""}, {"x": 2, "u": 4, "U": 8})
"""JSON, and what Go, Python and JavaScript add to it where a JSON string was expected."""

_OCTAL = frozenset("01234567")
_UP_TO = {quote: re.compile(rf"(?:[^{quote}\\]++|\\.)*+", re.DOTALL) for quote in "\"'`"}
_HIGH, _LOW, _END, _TOP = 0xD800, 0xDC00, 0xE000, 0x110000
_ASCII = 0x80


def closing(text: str, at: int, quote: str) -> int:
    """Return where the string whose content starts at ``at`` is closed by ``quote``, or -1 when it is not."""
    found = _UP_TO[quote].match(text, at)
    end = len(text) if found is None else found.end()
    return end if text.startswith(quote, end) else -1


def undo(text: str, rules: Rules) -> str:
    """Return the text with its escapes undone. An escape that is cut off by the end of the text is dropped."""
    at = text.find("\\")
    if at < 0:
        return text
    if (rules is JSON or (rules is GO and "\\/" not in text)) and (plain := _plain_json(text)) is not None:
        return plain
    if "\r\n" in text and "\n" in rules.letters:
        text = text.replace("\\\r\n", "\\\n")
        at = text.find("\\")
    pieces: list[str] = []
    pending = bytearray()
    paired, done = False, 0
    while at >= 0:
        if pending and at > done:
            pieces.append(pending.decode("utf-8", "replace"))
            pending.clear()
        pieces.append(text[done:at])
        value, done, byte = _one(text, at, rules)
        if byte is not None:
            pending.append(byte)
        else:
            if pending:
                pieces.append(pending.decode("utf-8", "replace"))
                pending.clear()
            pieces.append(value)
            paired = paired or (len(value) == 1 and _HIGH <= ord(value) < _END)
        at = text.find("\\", done)
    pieces.append(pending.decode("utf-8", "replace"))
    pieces.append(text[done:])
    joined = "".join(pieces)
    return joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass") if paired else joined


def _plain_json(text: str) -> str | None:
    """Return what the inside of a JSON string says, at the speed of the standard library; None when it is not quite one."""
    if (len(text) - len(text.rstrip("\\"))) % 2:
        text = text[:-1]
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return None


def _one(text: str, at: int, rules: Rules) -> tuple[str, int, int | None]:
    """Return what the escape at ``at`` stands for, where it ends, and its byte when it stands for one."""
    letter = text[at + 1 : at + 2]
    if not letter:
        return "", at + 1, None
    if rules.octal and letter in _OCTAL:
        return _octal(text, at + 1, rules)
    if letter in rules.letters:
        return rules.letters[letter], at + 2, None
    if letter in rules.digits:
        return _hex(text, at, letter, rules)
    return ("\\" + letter if rules.keeps else letter), at + 2, None


def _hex(text: str, at: int, letter: str, rules: Rules) -> tuple[str, int, int | None]:
    first = at + 2
    if rules.braces and letter == "u" and text[first : first + 1] == "{":
        close = text.find("}", first, first + 10)
        last = close + 1
        digits = text[first + 1 : close] if close >= 0 else ""
    else:
        last = first + rules.digits[letter]
        digits = text[first:last]
        if len(digits) < rules.digits[letter] and first + len(digits) == len(text) and _is_hex(digits or "0"):
            return "", len(text), None
    if not _is_hex(digits) or int(digits, 16) >= _TOP:
        return ("\\" + letter if rules.keeps else letter), first, None
    code = int(digits, 16)
    if rules.raw_bytes and letter == "x" and code >= _ASCII:
        return "", last, code
    return chr(code), last, None


def _octal(text: str, first: int, rules: Rules) -> tuple[str, int, int | None]:
    last = first
    while last < first + 3 and text[last : last + 1] in _OCTAL:
        last += 1
    code = int(text[first:last], 8)
    if rules.raw_bytes and code >= _ASCII:
        return "", last, code & 0xFF
    return chr(code), last, None


def _is_hex(digits: str) -> bool:
    return bool(digits) and all(digit in "0123456789abcdefABCDEF" for digit in digits)

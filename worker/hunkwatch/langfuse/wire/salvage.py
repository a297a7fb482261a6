"""Rows out of a page that does not decode as a whole.

One bad row (invalid UTF-8, lone surrogates, ten thousand brackets, a number without end) must not take its page with it. The scanner
here walks bytes without recursion, so that nothing a row holds can exhaust the stack; what cannot be decoded stays raw text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{},:]', re.DOTALL)
"""A string without an end runs to the end of the text, so that a scan never starts again inside it."""
_DIGITS = 4000
"""Longer whole numbers are kept as text: Python refuses to read them."""


def elements(array: bytes) -> Iterator[bytes]:
    """Yield the raw elements of a JSON array (or the raw values of an object, each behind its raw key)."""
    depth = 0
    begin = 0
    for token in _TOKEN.finditer(array):
        match array[token.start()]:
            case 0x5B | 0x7B:  # [ {
                depth += 1
                begin = token.end() if depth == 1 else begin
            case 0x5D | 0x7D:  # ] }
                depth -= 1
                if depth == 0:
                    if last := array[begin : token.start()].strip():
                        yield last
                    return
            case 0x2C | 0x3A if depth == 1:  # , :
                yield array[begin : token.start()].strip()
                begin = token.end()
            case _:
                pass


def members(item: bytes) -> dict[str, bytes]:
    """Return the members of a JSON object with their values still raw; empty for anything else."""
    if not item.lstrip().startswith(b"{"):
        return {}
    parts = list(elements(item))
    return {str(value(key)): raw for key, raw in zip(parts[::2], parts[1::2], strict=False)}


def value(raw: bytes) -> object:
    """Return the JSON value, with every character that UTF-8 cannot carry replaced; the raw text where there is no decoding it."""
    text = raw.decode("utf-8", "replace")
    try:
        found: object = json.loads(text, strict=False, parse_int=_whole, parse_constant=_nothing)
        if "\\ud" in text or "\\uD" in text:
            found = json.loads(mended(json.dumps(found, ensure_ascii=False)), parse_int=_whole, parse_constant=_nothing)
    except (ValueError, RecursionError):
        return mended(text)
    return found


def mended(text: str) -> str:
    """Replace lone surrogates, which no database and no wire takes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= _DIGITS else digits


def _nothing(_constant: str) -> None:
    """NaN and Infinity are no JSON."""

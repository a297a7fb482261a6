"""Go literals: what ``strconv.Quote`` writes is read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.core.quoting import golang

NAMED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}


def quote(text: str) -> str:
    """Write a text as Go does: what cannot be printed as an escape."""
    pieces = []
    for sign in text:
        if sign in NAMED:
            pieces.append(NAMED[sign])
        elif sign.isprintable():
            pieces.append(sign)
        elif ord(sign) < 0x80:
            pieces.append(f"\\x{ord(sign):02x}")
        else:
            pieces.append(f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}")
    return '"' + "".join(pieces) + '"'


@given(st.text())
def test_a_quoted_text_is_read_back(text: str) -> None:
    """Control characters, quotes, backslashes, characters beyond the basic plane."""
    assert text == golang.unquote(quote(text))


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ('"\\xe2\\x82\\xac"', "€"),
        ('"a\\xffb"', "a\ufffdb"),
        ('"\\101\\377"', "A\ufffd"),
        ("`raw\\n`", "raw\\n"),
        ('"open\\n', "open\n"),
        ('"cut\\u12', "cut"),
        ('"cut\\', "cut"),
        ('"two" + "parts"', None),
        ("plain", None),
        ("", None),
    ],
)
def test_bytes_cuts_and_what_is_no_literal(literal: str, expected: str | None) -> None:
    """Bytes are UTF-8, half an escape at the end is dropped, and only one whole literal counts."""
    assert expected == golang.unquote(literal)

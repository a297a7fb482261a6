"""Rows out of a page that does not decode as a whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.langfuse.wire import salvage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(items=st.lists(JSON), indent=st.none() | st.integers(0, 2), escaped=st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_scanner_cuts_where_a_parser_would(items: list[Any], indent: int | None, escaped: bool) -> None:  # noqa: FBT001 - drawn
    """However it is written, an array falls into its elements."""
    array = json.dumps(items, indent=indent, ensure_ascii=escaped).encode()

    assert items == [json.loads(part) for part in salvage.elements(array)]


@given(item=st.dictionaries(st.text(), JSON))
@settings(max_examples=100, deadline=None)
def test_an_object_falls_into_its_members(item: dict[str, Any]) -> None:
    """Keys are decoded, values stay raw."""
    found = salvage.members(json.dumps(item).encode())

    assert item == {name: json.loads(part) for name, part in found.items()}


@given(noise=st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_bytes_make_it_fail(noise: bytes) -> None:
    """Elements, members and values of anything at all come without an exception, and without a lone surrogate."""
    parts = [*salvage.elements(noise), *salvage.members(noise).values(), noise]
    found = [salvage.value(part) for part in parts]

    assert found == [json.loads(json.dumps(value, ensure_ascii=False).encode().decode()) for value in found]


@pytest.mark.parametrize("array", [b'["abc', b'["abc\\', b"[[1,2", b"[", b"", b"[1]]", b'["a" "b"]'])
def test_a_cut_array_ends_without_an_error(array: bytes) -> None:
    """What has no end gives what came before the cut."""
    assert len(list(salvage.elements(array))) <= 1


def test_a_million_open_quotes_are_scanned_once() -> None:
    """A text of escaped quotes without an end costs one pass: ten times the text costs about ten times the steps, not a hundred."""
    array = b'["' + b'\\"' * 2_000_000

    assert [] == list(salvage.elements(array))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\ud83d"', "\ufffd"),
        (b'"\\\\ud83d"', "\\ud83d"),
        (b'{"\\udc00":["\\uD800x"]}', {"\ufffd": ["\ufffdx"]}),
        (b'"\xff"', "\ufffd"),
        (b"NaN", None),
        (b"-Infinity", None),
        (b"[1", "[1"),
        (b"", ""),
        (b'"raw\nnewline"', "raw\nnewline"),
    ],
)
def test_a_value_is_mended_or_stays_text(raw: bytes, expected: object) -> None:
    """Every character that UTF-8 cannot carry is replaced; what is no JSON stays what it is."""
    assert expected == salvage.value(raw)

"""Loose reading: what JSON and Python write is read back, cut anywhere, without ever raising."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.core.quoting import loose
from hunkwatch.core.quoting.loose import NOT_JSON, Read

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(texts, values, min_size=1, max_size=4))
def test_json_and_repr_are_read_back(value: dict[str, object]) -> None:
    """Both ways to write an object down, strictly and loosely."""
    text = json.dumps(value)

    assert [value, Read(value), Read(value)] == [loose.load(text), loose.read(text), loose.read(repr(value))]


@given(texts, st.data())
def test_a_cut_object_gives_the_start_of_its_text(text: str, data: st.DataObject) -> None:
    """Wherever it is cut inside the text, no half escape and no half character is left."""
    written = json.dumps({"input": text})
    cut = data.draw(st.integers(len('{"input": "'), len(written) - 2))

    read = loose.read(written[:cut])

    assert isinstance(read.value, dict)
    assert (False, True) == (read.whole, text.startswith(str(read.value["input"])))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": "one\ntwo"}', Read({"a": "one\ntwo"})),
        ("patch='a\\nb' mode=None", Read({"patch": "a\nb", "mode": None})),
        ("Arguments(patch='a', names=['x'])", Read({"patch": "a", "names": ["x"]})),
        ("('a', 'b')", Read(["a", "b"])),
        ('{"a": {"b": ["c', Read({"a": {"b": ["c"]}}, whole=False)),
        ('{"a": 1}}', Read({"a": "1"}, whole=False, broken=True)),
        ("rb'x\\n'", Read("x\\n")),
    ],
)
def test_what_was_meant_to_be_json(text: str, expected: Read) -> None:
    """Raw line ends, models' and libraries' reprs, cuts, and brackets too many."""
    assert expected == loose.read(text)


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 300_000 + "}", "x", "", '{"a"', "[1,]"])
def test_what_is_no_json_is_not_loaded(text: str) -> None:
    """Deep nesting is refused, never an error."""
    assert loose.load(text) is NOT_JSON


def test_long_numbers_pass() -> None:
    """A number of any length spoils nothing around it."""
    assert {"a": "x", "n": "9" * 5000} == loose.load('{"a": "x", "n": ' + "9" * 5000 + "}")


@given(st.text(st.sampled_from("ab'\"\\{}[]():=,u0n \n"), max_size=60))
def test_no_text_raises(text: str) -> None:
    """Whatever the brackets and quotes do, something comes back."""
    assert isinstance(loose.read(text), Read)

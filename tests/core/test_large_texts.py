"""Long texts: read at the speed of the standard library, and never into more objects than they are long."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.core import unwrap
from hunkwatch.core.quoting import escapes, loose
from hunkwatch.core.tools import Kind

LINE = "+    said = \"a, b\", ['c'], {d: 1}  # \\n is two characters, ° and ☕ are one\n"


def large(length: int) -> str:
    """Return a patch of about that many characters."""
    return "*** Begin Patch\n*** Add File: a.py\n" + LINE * (length // len(LINE)) + "*** End Patch"


def layered(patch: str, layers: int) -> str:
    """Return a patch in as many layers of JSON."""
    text = json.dumps({"input": patch})
    for _ in range(layers - 1):
        text = json.dumps(text)
    return text


@pytest.fixture(autouse=True)
def _early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call a text long from half a million characters on, so that the tests need not be."""
    monkeypatch.setattr(loose, "LOAD_LIMIT", 500_000)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_long_text_of_few_strings_is_decoded_at_once(layers: int) -> None:
    """A long patch in JSON in JSON take the decoder of the standard library, layer by layer."""
    patch = large(900_000)
    text = layered(patch, layers)

    assert loose.load(text) is not loose.NOT_JSON
    assert [found.text for found in unwrap.find(text, Kind.PATCH)] == [patch]


@pytest.mark.parametrize("text", ["[" + '"a",' * 250_000 + '"a"]', "[" + "-9," * 300_000 + "1]", '{"a":[' + "1.5," * 220_000 + "1]}"])
def test_a_long_text_of_many_values_is_not(text: str) -> None:
    """Very many small values would be many times as large as their text: they are read up to a bound."""
    assert loose.load(text) is loose.NOT_JSON


def test_a_long_string_without_its_end_is_read_as_far_as_it_goes() -> None:
    """What a tracer cut off in the middle gives what is there, flagged."""
    patch = large(900_000)
    (found,) = unwrap.find(layered(patch, 1)[:-500], Kind.PATCH, cut=True)

    assert found.text is not None
    assert patch.startswith(found.text)
    assert (len(patch) - len(found.text) < 600, "truncated" in found.flags) == (True, True)


@given(st.text(st.sampled_from("\\\"'`nrtu/x0aé🚀1\n"), max_size=40), st.sampled_from("\"'`"))
def test_a_string_is_closed_by_the_first_quote_that_is_not_escaped(text: str, quote: str) -> None:
    """The fast scanner finds what a plain walk finds."""
    at = 0
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    expected = at if at < len(text) else -1

    assert expected == escapes.closing(text, 0, quote)


@given(st.text(st.sampled_from('\\"nrtu/x0aé🚀1\n'), max_size=40), st.sampled_from([escapes.JSON, escapes.GO]))
def test_the_fast_way_says_what_the_slow_one_says(text: str, rules: escapes.Rules) -> None:
    """Where the standard library understands the inside of a string, escapes are undone as they are without it."""
    slow = escapes.undo(text, escapes.Rules(**rules._asdict()))

    assert slow == escapes.undo(text, rules)

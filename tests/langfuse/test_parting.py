"""Questions for many names at once: whole, in order, and never too long for a proxy."""

from __future__ import annotations

from itertools import pairwise
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.langfuse import parting

names = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=60)


@given(names, st.integers(1, 20), st.integers(1, 400))
def test_parts_are_the_whole_in_order_and_within_bounds(given_names: list[str], most: int, room: int) -> None:
    """Nothing is left out or asked twice; only a name that is too long breaks the bound, and alone; no part had room for the next."""
    found = list(parting.parts(given_names, str, most=most, room=room))

    def size(part: list[str]) -> int:
        return sum(len(quote(name, safe="")) + 9 for name in part)

    assert given_names == [name for part in found for name in part]
    assert all(len(part) <= most and (size(part) <= room or len(part) == 1) for part in found)
    assert all(len(part) == most or size([*part, following[0]]) > room for part, following in pairwise(found))

"""The fuzz targets on what is known and on a little of what is not; ``make fuzz`` goes on from here."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
TARGETS: dict[str, Callable[[bytes], None]] = runpy.run_path(str(HERE / "targets.py"))["TARGETS"]
SEEDS = [path.read_bytes() for path in sorted((HERE.parent / "golden").glob("*.json"))]
TOKENS = [
    line.partition('"')[2].rpartition('"')[0].encode().decode("unicode_escape").encode()
    for line in (HERE / "tokens.dict").read_text().splitlines()
    if '"' in line
]
EACH = pytest.mark.parametrize("target", sorted(TARGETS))


@EACH
def test_the_recorded_forms_are_no_finding(target: str) -> None:
    """Each golden file, whole, cut, and as each kind of tool's argument."""
    for at, seed in enumerate(SEEDS):
        for data in (seed, seed[: len(seed) // 2], seed[len(seed) // 3 :]):
            TARGETS[target](bytes([at]) + data)


@EACH
@given(data=st.data())
def test_random_pieces_are_no_finding(target: str, data: Any) -> None:
    """Markers, quotes and brackets in any order, between random bytes and pieces of golden files."""
    pieces = st.one_of(st.sampled_from(TOKENS), st.binary(max_size=8), st.sampled_from(SEEDS).map(lambda seed: seed[200:320]))

    TARGETS[target](bytes([data.draw(st.integers(0, 255))]) + b"".join(data.draw(st.lists(pieces, max_size=25))))

"""The generator's patches have the measures of real ones, and its rows cost nothing until they are read."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice

import pytest

from hunkwatch import Observation, score_patch
from hunkwatch.core import discover
from hunkwatch.sandbox import generator, patchwork
from hunkwatch.sandbox.rows import Row, text_of

UNTIL = datetime(2026, 11, 30, tzinfo=UTC)
PATCHES = [patchwork.write(number) for number in range(2000)]
UPDATES = [patch for patch in PATCHES if patch.updates]


def quantile(numbers: Sequence[int], share: float) -> int:
    """The number at this share of the sorted ones."""
    return sorted(numbers)[int(len(numbers) * share)]


def test_what_a_patch_says_of_itself_is_what_the_scorers_find() -> None:
    """Hunks, blind hunks and retyped lines are as the generator meant them."""
    scores = [score_patch(patch.text) for patch in PATCHES[:500]]
    meant = [(patch.hunks, patch.blind, patch.retyped) for patch in PATCHES[:500]]
    assert meant == [(score.hunks, score.blind_hunks, score.facts.retyped_lines) for score in scores]


def test_sizes_and_shares_follow_the_measured_distribution() -> None:
    """The measures of 9,330 real patches, within a fifth of each."""
    lines, hunks = [patch.text.count("\n") + 1 for patch in PATCHES], [patch.hunks for patch in UPDATES]
    found = {
        "median of lines": quantile(lines, 0.5),
        "nine tenths of lines": quantile(lines, 0.9),
        "median of characters": quantile([len(patch.text) for patch in PATCHES], 0.5),
        "share of updates": len(UPDATES) / len(PATCHES),
        "median of hunks": quantile(hunks, 0.5),
        "nine tenths of hunks": quantile(hunks, 0.9),
        "share of patches with a blind hunk": sum(patch.blind > 0 for patch in UPDATES) / len(UPDATES),
        "share of blind hunks": sum(patch.blind for patch in UPDATES) / sum(hunks),
        "share of patches with retyped lines": sum(patch.retyped > 0 for patch in UPDATES) / len(UPDATES),
    }
    measured = dict(zip(found, (23, 93, 955, 0.843, 2, 4, 0.283, 0.172, 0.366), strict=True))
    assert pytest.approx(measured, rel=0.2) == found


def test_the_same_seed_gives_the_same_rows() -> None:
    """Ids, times and texts, however many rows are asked for."""

    def read(count: int) -> list[tuple[object, ...]]:
        rows = islice(generator.rows(7, count, until=UNTIL), 300)
        return [(row.id, row.trace, row.start, row.name, text_of(row.input), text_of(row.output)) for row in rows]

    assert read(300) == read(5000)


def test_another_seed_gives_other_rows() -> None:
    """No id is shared."""
    ids = [{row.id for row in generator.rows(seed, 300, until=UNTIL)} for seed in (1, 2)]
    assert set() == ids[0] & ids[1]


def observation(row: Row) -> Observation:
    """A row as a reader of v2 hands it over."""
    start = datetime.fromtimestamp(row.start / 1000, UTC)
    return Observation(row.id, row.trace, start, row.type, row.name, input=text_of(row.input), output=text_of(row.output))


def test_every_patch_of_every_form_is_found_again() -> None:
    """A tool's row gives exactly the patch it was made from, and no other tool's row gives any."""
    tools = [row for row in generator.rows(3, 6000, until=UNTIL) if row.type == "TOOL"]
    assert {"freeform", "argv", "heredoc", "json"} <= {row.input.call.form for row in tools if isinstance(row.input, generator.Arguments)}
    for row in tools:
        meant = [row.input.call.patch().text] if isinstance(row.input, generator.Arguments) else []
        assert meant == [call.text for call in discover.calls(observation(row))]


def test_a_row_knows_without_reading_whether_it_holds_a_patch() -> None:
    """The marks are what looking at the texts would give."""
    rows = list(generator.rows(5, 400, until=UNTIL))
    looked = ["begin patch" in (text_of(row.input) or "").lower() for row in rows]
    assert looked == [bool(row.bodies & 1) for row in rows]

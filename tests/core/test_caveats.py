"""The words that travel with the numbers: one meaning a score, everywhere the same."""

from __future__ import annotations

import pydoc
from typing import get_args

import hunkwatch
from hunkwatch.core import caveats
from hunkwatch.core.model import Shape
from hunkwatch.core.scoring import SCORERS
from hunkwatch.settings import ScoreName


def test_every_score_has_its_meaning() -> None:
    """Scorers, meanings and the setting that chooses among them name the same scores in the same order."""
    names = [scorer.name for scorer in SCORERS]

    assert names == [meaning.name for meaning in caveats.MEANINGS]
    assert names == list(get_args(ScoreName))
    assert names == [caveats.of(name).name for name in names]


def test_a_meaning_says_what_it_does_not_say() -> None:
    """Each description is a statement and a caveat in full sentences, short enough for a score config."""
    for meaning in caveats.MEANINGS:
        assert meaning.description == f"{meaning.says} {meaning.caveat}"
        assert meaning.says.endswith(".")
        assert meaning.caveat.endswith(".")
        assert meaning.caveat.count(". ") == 0
        assert len(meaning.description) < 500


def test_ranges_and_categories_fit_the_type() -> None:
    """A share lies between 0 and 1, a count starts at 0, and the shape's categories are the shapes."""
    kinds = {meaning.name: (meaning.data_type, meaning.minimum, meaning.maximum, len(meaning.categories)) for meaning in caveats.MEANINGS}

    assert kinds == {
        "blind_rewrite": ("NUMERIC", 0.0, 1.0, 0),
        "blind_hunks": ("NUMERIC", 0.0, None, 0),
        "retyped_lines": ("NUMERIC", 0.0, None, 0),
        "blind_rewrite_patch": ("NUMERIC", 0.0, 1.0, 0),
        "retyped_lines_patch": ("NUMERIC", 0.0, None, 0),
        "patch_shape": ("CATEGORICAL", None, None, len(Shape)),
    }
    assert set(caveats.SHAPES) == set(Shape)


def test_whoever_asks_for_help_reads_the_caveats() -> None:
    """The docstrings of the public functions and results carry the description of each number they give, word for word."""
    of_a_patch = {"blind_rewrite_patch", "retyped_lines_patch", "patch_shape"}
    of_a_trace = {meaning.name for meaning in caveats.MEANINGS}
    for thing, names in (
        (hunkwatch.score_patch, of_a_patch),
        (hunkwatch.PatchScore, of_a_patch),
        (hunkwatch.score_observations, of_a_trace),
        (hunkwatch.TraceScore, of_a_trace),
    ):
        shown = " ".join(pydoc.plain(pydoc.render_doc(thing)).replace("|", " ").split())
        for meaning in caveats.MEANINGS:
            assert (f"{meaning.name}: {meaning.description}" in shown) == (meaning.name in names)
        assert not thing.__doc__.startswith(tuple(of_a_trace)), "the summary stays first"

"""What is generated from the settings' types is what is committed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from hunkwatch.settings import KEYS

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def reference() -> Any:
    """Return the module that writes the reference."""
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_settings_is_what_the_types_say(reference: Any) -> None:
    """A changed default, limit or sentence is on the page (make reference)."""
    assert reference.page() == reference.PAGE.read_text("utf-8")


def test_the_chart_takes_the_settings_that_the_types_have(reference: Any) -> None:
    """A new setting can be given in the chart's values at once (make reference)."""
    assert reference.schema() == reference.SCHEMA.read_text("utf-8")


def test_every_setting_has_its_row(reference: Any) -> None:
    """The page leaves none out, and each has words, a default and a variable."""
    rows = [line.split(" | ") for line in reference.page().splitlines() if line.startswith("| `")]

    assert [row[0].removeprefix("| ").strip("`") for row in rows] == list(KEYS)
    assert [row for row in rows if len(row) != 5 or not all(cell.strip(" |") for cell in row)] == []

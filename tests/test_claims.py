"""What the example configuration and the table of metrics claim, held against the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from hunkwatch import settings
from hunkwatch.core import caveats
from hunkwatch.telemetry.metrics import Metrics, names

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "config.example.toml"
OPERATIONS = (ROOT / "docs" / "operations.md").read_text("utf-8")


def table(heading: str) -> list[list[str]]:
    """Return the rows of the first table under a heading of docs/operations.md, without its head."""
    section = OPERATIONS.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


# ---------------------------------------------------------------- the example configuration


def test_the_example_is_the_defaults() -> None:
    """Who copies the example file changes nothing by accident."""
    environ = {"HOME": "/home/somebody"}

    assert settings.load(environ=environ).settings == settings.load(environ=environ, config=EXAMPLE).settings


def test_the_example_has_every_setting_and_no_other() -> None:
    """A setting that is added without its words in the example fails here."""
    example = tomllib.loads(EXAMPLE.read_text("utf-8"))

    assert list(settings.KEYS) == [f"{section}.{key}" for section, keys in example.items() for key in keys]


@pytest.mark.parametrize("key", settings.KEYS)
def test_every_setting_in_the_example_has_a_sentence_before_it(key: str) -> None:
    """No setting goes without its unit or consequence; a bare value would be guesswork."""
    section, _, name = key.partition(".")
    text = EXAMPLE.read_text("utf-8").split(f"[{section}]\n", 1)[1]

    comment = re.search(rf"((?:^#.*\n)+)^{name} = ", text, re.MULTILINE)

    assert comment is not None
    assert re.search(r"\w{3,}.*\.(\n|$)", comment[1])


@pytest.mark.parametrize("key", settings.KEYS)
def test_every_setting_has_a_variable_that_sets_it(key: str) -> None:
    """The rule that the head of the example states holds for each of them."""
    other = {
        "langfuse.base_url": "https://other.example",
        "discover.types": "SPAN",
        "discover.media": "true",
        "sweep.span": "7h",
        "sweep.keep": "30d",
        "sweep.sample": "0.5",
        "scores.write": "blind_hunks",
        "scores.paths": "false",
        "langfuse.accept_any_certificate": "true",
        "scores.link_below": "0.5",
        "store.url": "sqlite:////other.db",
        "store.lease": "7s",
        "log.level": "error",
        "log.format": "json",
        "http.host": "::1",
    }
    value = other.get(key, "7")
    defaults = settings.load(environ={}).settings

    loaded = settings.load(environ={settings.variable(key): value}).settings

    section, _, name = key.partition(".")
    assert getattr(getattr(loaded, section), name) != getattr(getattr(defaults, section), name)
    assert loaded.model_copy(update={section: getattr(defaults, section)}) == defaults


# ---------------------------------------------------------------- docs/operations.md


def test_the_documented_metrics_are_the_metrics() -> None:
    """Every metric has its row, and no row names one that is not there."""
    assert names(Metrics()) == {row[0].strip("`") for row in table("Metrics")}


# ---------------------------------------------------------------- docs/langfuse.md


def test_the_documented_cost_is_what_the_scores_come_to() -> None:
    """Three scores a trace and three an observation with a call, over thirty days; the front page names one of the rows."""
    page = (ROOT / "docs" / "langfuse.md").read_text("utf-8").split("\n## Cost\n", 1)[1].split("\n## ", 1)[0]
    rows = [[int(cell.replace(",", "")) for cell in line.strip("|").split("|")] for line in page.splitlines() if re.match(r"\| \d", line)]
    names = [meaning.name for meaning in caveats.MEANINGS]
    on_traces = sum(not name.endswith("_patch") and name != "patch_shape" for name in names)

    for traces, calls, everything, rollups, alone in rows:
        on_observations = len(names) - on_traces
        assert [30 * traces * (on_traces + calls * on_observations), 30 * traces * on_traces, 30 * traces] == [everything, rollups, alone]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [100, 5, 54_000, 9_000, 3_000] in rows
    assert ("54,000" in readme, "9,000" in readme) == (True, True)

"""Whatever the documents claim about the program, the program does."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
import typer.main

from hunkwatch import cli, events, score_observations
from hunkwatch.core import evaluate
from hunkwatch.core.discover import PRODUCERS, calls
from hunkwatch.core.model import Observation, Shape
from hunkwatch.errors import Exit
from hunkwatch.ports import Delivery
from hunkwatch.settings import KEYS, ScoreName

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "worker" / "hunkwatch"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def code_of(text: str) -> str:
    """Return what stands in code spans and code blocks."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))])


def first_column(page: Path, heading: str) -> list[str]:
    """Return the first cell of each row of the first table below a heading, without backticks."""
    section = page.read_text("utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.split("\n") if line.startswith("|")]
    return [row.split("|")[1].strip().strip("`") for row in rows[2:]]


def verbs() -> set[str]:
    """Return every verb of the command line."""
    return set(typer.main.get_command(cli.app).commands)  # type: ignore[attr-defined] # a group, because there are several verbs


def anchors(page: Path) -> set[str]:
    """Return the anchors that a heading of the page makes, as GitHub does."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def snake(name: str) -> str:
    """Return the name of an event in the logs."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


@pages
def test_every_verb_that_a_document_names_exists(page: Path) -> None:
    """A reader who copies a command never meets an unknown one."""
    named = set(re.findall(r"\bhunkwatch ([a-z][a-z-]*)", code_of(page.read_text("utf-8"))))

    assert sorted(named - verbs()) == []


def test_every_verb_is_documented() -> None:
    """No verb is a secret."""
    told = {row.split()[1] for row in first_column(DOCS / "operations.md", "Verbs")}

    assert verbs() == told


def test_the_exit_codes_are_those_of_the_program() -> None:
    """A supervisor can be configured from the table."""
    rows = re.findall(r"^\| (\d+) \| ([A-Z]+) \|", (DOCS / "operations.md").read_text("utf-8"), re.MULTILINE)

    assert {code.name: code.value for code in Exit} == {name: int(number) for number, name in rows}


def test_every_event_is_documented() -> None:
    """Each name that can stand in the log has a row, and each row a name."""
    assert {snake(event.__name__) for event in get_args(events.Event)} == set(first_column(DOCS / "operations.md", "Events"))


def test_the_documented_scores_are_those_that_can_be_written() -> None:
    """The table of scores and the setting that chooses among them agree, in order."""
    assert list(get_args(ScoreName)) == first_column(DOCS / "scores.md", "The six scores")


def test_the_documented_shapes_stand_in_their_order_of_precedence() -> None:
    """The table of shapes says which one wins."""
    assert [shape.value for shape in Shape] == first_column(DOCS / "scores.md", "Patch shape")


def test_the_documented_states_are_those_of_the_outbox() -> None:
    """The table of states has a row for each state."""
    assert [state.value for state in Delivery] == first_column(DOCS / "delivery.md", "States of a row")


def test_every_counterexample_is_named_in_the_document() -> None:
    """Who reads what a score does not see finds each case that the scorers are run against."""
    spec = importlib.util.spec_from_file_location("cases", ROOT / "tests" / "counterexamples" / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    names = {pair.name for its in cases.PAIRS.values() for pair in its} | {*cases.SURGICAL, *cases.EXCUSED, *cases.UNSEEN}
    text = " ".join((DOCS / "scores.md").read_text("utf-8").split())

    assert sorted(name for name in names if name not in text) == []


def test_the_worked_example_has_the_scores_that_the_page_says() -> None:
    """The patch of the scores page gets the numbers that its arithmetic leads to."""
    text = (DOCS / "scores.md").read_text("utf-8")
    patch = re.search(r"^```\n(\*\*\* Begin Patch\n.*?)\n```", text, re.DOTALL | re.MULTILINE)
    assert patch
    scored = evaluate_patch(patch[1])

    assert scored == {
        "blind_rewrite": 0.66,
        "blind_hunks": 1.0,
        "retyped_lines": 2.0,
        "blind_rewrite_patch": 0.5,
        "retyped_lines_patch": 2.0,
        "patch_shape": "blind_rewrite",
    }


def test_the_worked_example_of_the_shapes_is_what_the_page_says() -> None:
    """The second call writes over the first one's file, and the trace knows how much of it came back."""
    section = (DOCS / "scores.md").read_text("utf-8").split("\n## Patch shape\n", 1)[1].split("\n## ", 1)[0]
    patches = re.findall(r"^```\n(\*\*\* Begin Patch\n.*?)\n```", section, re.DOTALL | re.MULTILINE)
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    rows = [
        Observation(str(at), "t", start + timedelta(minutes=at), type="TOOL", name="apply_patch", input=patch, output="Done!")
        for at, patch in enumerate(patches)
    ]
    (trace,) = score_observations(rows)

    assert [(str(call.shape), call.returned_lines) for call in trace.calls] == [("new_file", None), ("file_rewrite", 2)]
    assert [score.value for score in trace.scores] == ["new_file", "file_rewrite"]


def evaluate_patch(patch: str) -> dict[str, float | str]:
    """Return every score of a trace whose only call is the patch, by name."""
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    seen = Observation("o", "t", start, type="TOOL", name="apply_patch", end_time=start, input=patch, output="Done!")
    graded = [evaluate.grade(call) for call in calls(seen)]
    evaluation = evaluate.trace("p", graded, now=start + timedelta(days=1), request_grace=timedelta(0))
    return {score.name: score.value for score in evaluation.scores}


@pages
def test_every_option_that_a_document_names_exists(page: Path) -> None:
    """An option that is copied from a page is one of its verb."""
    known = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined] # a group, because there are several verbs
    unknown = []
    for verb, rest in re.findall(r"\bhunkwatch ([a-z][a-z-]*)([^#\n]*)", code_of(page.read_text("utf-8"))):
        options = {option for parameter in known[verb].params for option in parameter.opts}
        unknown += [f"{verb} {option}" for option in re.findall(r"(?<!\S)--[a-z-]+", rest) if option not in options]

    assert unknown == []


@pages
def test_every_setting_that_a_document_names_exists(page: Path) -> None:
    """Nobody looks for a setting in vain."""
    sections = "|".join(sorted({key.split(".")[0] for key in KEYS}))
    named = set(re.findall(rf"`((?:{sections})\.[a-z_]+)(?: = [^`]*)?`", page.read_text("utf-8")))

    assert sorted({name for name in named if not name.endswith(".py")} - set(KEYS)) == []


@pages
def test_every_make_target_that_a_document_names_exists(page: Path) -> None:
    """A command of the first page works."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

    assert sorted(set(re.findall(r"\bmake ([a-z-]+)\b", code_of(page.read_text("utf-8")))) - targets) == []


@pages
def test_every_link_between_documents_resolves(page: Path) -> None:
    """A link leads to a file that exists, and to a heading that it holds."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)

    assert broken == []


@pages
def test_every_module_that_a_document_names_exists(page: Path) -> None:
    """A reader who follows a path finds the file."""
    named = re.findall(r"`((?:core|daemon|langfuse|store|telemetry|settings|sandbox|demo)/[\w/]*(?:\.py)?)`", page.read_text("utf-8"))

    assert [name for name in named if not (PACKAGE / name).exists()] == []


def test_every_test_that_a_document_names_exists() -> None:
    """The proof that the delivery page points to is there."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (DOCS / "delivery.md").read_text("utf-8"))
    missing = [f"{path}::{name}" for path, name in named if f"def {name}(" not in _read(ROOT / path)]

    assert (missing, len(named) > 0) == ([], True)


def test_the_layers_in_the_architecture_page_are_those_that_are_enforced() -> None:
    """The line of layers is the contract in pyproject.toml."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    line = " → ".join(f"`{layer}`" for layer in contract["layers"])

    assert line in (DOCS / "architecture.md").read_text("utf-8").replace("\n", " ")


@pages
def test_no_document_names_a_path_of_somebody_s_machine(page: Path) -> None:
    """Documents speak of the repository alone."""
    assert re.findall(r"(?<![\w.])/(?:root|home|Users|work|tmp)/\S*", page.read_text("utf-8")) == []


def test_every_decision_is_listed() -> None:
    """A record that nobody can find is no record."""
    folder = DOCS / "decisions"
    listed = set(re.findall(r"\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text("utf-8")))

    assert {file.name for file in folder.glob("0*.md")} == listed


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def test_every_producer_has_a_row() -> None:
    """Whoever reads a producer's name in ``status`` finds what is known to work with it, and no other name, on the page about Langfuse."""
    rows = re.findall(r"^\| `([\w-]+)` \| [^|\n]+ \| [^|\n]+ \| [^|\n]+ \|$", (DOCS / "langfuse.md").read_text("utf-8"), re.MULTILINE)

    assert sorted(rows) == sorted({sign.producer for sign in PRODUCERS} | {"unknown"})

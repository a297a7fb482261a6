"""What is released: packages that install into an empty environment, with types and a bill of materials; and who releases it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WHEELS = ROOT / ".venv" / "wheels"
WORKFLOW = ROOT / ".github" / "workflows" / "build.yaml"
ACTION = ROOT / ".github" / "actions" / "score" / "action.yml"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def tool(name: str) -> str:
    """Return the path of a tool of our own environment; skip where it is not installed."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        pytest.skip(f"{name} is not installed (make .venv/.deploy)")
    return str(path)


@dataclass(frozen=True)
class Release:
    """What ``make release`` made, and the environment that it was installed into."""

    folder: Path
    installed: Path

    def one(self, pattern: str) -> Path:
        """Return the one file of a kind."""
        (found,) = self.folder.glob(pattern)
        return found


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Release into another folder, without a network."""
    make = shutil.which("make")
    if not WHEELS.exists() or make is None:
        pytest.skip("the wheels are missing (make .venv/.deploy)")
    made = Release(tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("installed"))
    words = [make, "-o", ".venv/.deploy", "release", f"DIST={made.folder}", f"INSTALLED={made.installed}", f"PYTHON={sys._base_executable}"]  # type: ignore[attr-defined] # what made our environment
    environ = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS)}
    done = subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.mark.timeout(300)
def test_the_installed_program_says_its_version_and_works(release: Release, tmp_path: Path) -> None:
    """In an environment that has nothing but the wheel and its dependencies."""
    program, patch = release.installed / "bin" / "hunkwatch", tmp_path / "p.patch"
    patch.write_text("*** Begin Patch\n*** Update File: a\n@@\n-a1\n-a2\n-a3\n+b1\n+b2\n+b3\n*** End Patch\n", "utf-8")

    told, scored = (
        subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
        for words in (["--version"], ["score", "--json", patch])
    )

    assert (told.returncode, told.stdout) == (0, f"hunkwatch {VERSION}\n")
    assert json.loads(scored.stdout)["shape"] == "blind_rewrite", scored.stderr


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("of_score", "code"), [("PatchScore", 0), ("int", 1)])
def test_the_wheel_carries_its_types(release: Release, tmp_path: Path, of_score: str, code: int) -> None:
    """Somebody else's strict mypy knows what the public functions give, and what they do not."""
    snippet = tmp_path / "consumer.py"
    lines = [
        "import hunkwatch",
        "from hunkwatch import PatchScore",
        f"found: {of_score} = hunkwatch.score_patch('')",
        "print(PatchScore)",
    ]
    snippet.write_text("\n".join([*lines, ""]), "utf-8")
    words = [
        tool("mypy"),
        "--strict",
        "--python-executable",
        str(release.installed / "bin" / "python"),
        "--cache-dir",
        str(tmp_path),
        str(snippet),
    ]

    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=200, cwd=tmp_path)

    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.timeout(300)
def test_the_packages_hold_what_they_should(release: Release) -> None:
    """The wheel: the program, its marker of types, its samples. The sdist: all that is needed to build, test and document it."""
    wheel = set(zipfile.ZipFile(release.one("*.whl")).namelist())
    with tarfile.open(release.one("*.tar.gz")) as archive:
        sdist = {name.partition("/")[2] for name in archive.getnames()}

    assert {"hunkwatch/py.typed", "hunkwatch/demo/sessions/codex.toml"} <= wheel
    assert {name.partition("/")[0] for name in wheel} == {"hunkwatch", f"hunkwatch-{VERSION}.dist-info"}
    assert {"pyproject.toml", "Makefile", "constraints.txt", "docs/LICENSE", "docs/changelog.md", "tests/conftest.py"} <= sdist
    assert [name for name in sdist if re.search(r"(^|/)(\.venv|site|.*\.db)$|\.pyc$", name)] == []


@pytest.mark.timeout(300)
def test_the_bill_of_materials_names_all_that_is_installed(release: Release) -> None:
    """CycloneDX; each dependency with the version that is pinned."""
    bill = json.loads(release.one("*.cdx.json").read_text("utf-8"))
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if "==" in line)
    found = {re.sub(r"[-_.]+", "-", each["name"]).lower(): each["version"] for each in bill["components"]}

    assert (bill["bomFormat"], bill["metadata"]["component"]["name"], bill["metadata"]["component"]["version"]) == (
        "CycloneDX",
        "hunkwatch",
        VERSION,
    )
    assert {"langfuse", "httpx", "sqlalchemy", "psycopg"} <= set(found)
    assert {name: version for name, version in found.items() if pins.get(name) != version} == {}


def test_the_changelog_has_this_version() -> None:
    """Nothing is released without its words."""
    assert re.search(rf"^## {re.escape(VERSION)}\b", (ROOT / "docs" / "changelog.md").read_text("utf-8"), re.MULTILINE)


# ---------------------------------------------------------------- the workflow


@pytest.mark.parametrize(("schema", "file"), [("github-workflows", WORKFLOW), ("github-actions", ACTION)])
def test_github_understands_it(schema: str, file: Path) -> None:
    """By the schema of workflows and of actions."""
    words = [tool("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", str(file)]

    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100)

    assert done.returncode == 0, done.stdout + done.stderr


def steps_of(file: Path) -> list[dict[str, Any]]:
    """Return every step of a workflow or an action."""
    read = yaml.safe_load(file.read_text("utf-8"))
    jobs = read["jobs"].values() if "jobs" in read else [read["runs"]]
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("file", [WORKFLOW, ACTION], ids=lambda file: file.name)
def test_no_foreign_action_can_change_behind_our_back(file: Path) -> None:
    """Each is named by its commit, with the release that the commit is."""
    used = re.findall(r"uses: (.*)$", file.read_text("utf-8"), re.MULTILINE)

    assert [use for use in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []
    assert len(used) == sum("uses" in step for step in steps_of(file))


@pytest.mark.parametrize("file", [WORKFLOW, ACTION], ids=lambda file: file.name)
def test_nothing_from_outside_becomes_a_command(file: Path) -> None:
    """Expressions reach a script as variables only: a branch or an input that is named like a command stays a name."""
    assert [step["run"] for step in steps_of(file) if "${{" in step.get("run", "")] == []


def test_the_workflow_checks_tests_and_releases() -> None:
    """With the commands of this repository; only a tag releases, and no job may do more than it needs."""
    read = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    runs = {name: " ".join(step.get("run", "") for step in job["steps"]) for name, job in read["jobs"].items()}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

    assert set(re.findall(r"make ([a-z-]+)", " ".join(runs.values()))) == {"check", "docs", "release"}
    assert {"check", "docs", "release"} <= targets
    assert ".ci/run" in runs["test"]
    assert read["permissions"] == {}
    assert {
        name for name, job in read["jobs"].items() if set(job["permissions"]) != {"contents"} or "write" in job["permissions"].values()
    } == {
        "release",
        "image",
    }
    assert {job["if"] for name, job in read["jobs"].items() if name in {"release", "image"}} == {"github.ref_type == 'tag'"}
    assert all("timeout-minutes" in job for job in read["jobs"].values())


def test_a_tag_releases_all_that_the_workflow_says() -> None:
    """To the Python index, as an image and as a chart: each of these has a step, and the chart has the name it is pushed by."""
    read = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    steps = [step for name in ("release", "image") for step in read["jobs"][name]["steps"]]
    used = {step["uses"].partition("@")[0] for step in steps if "uses" in step}
    chart = yaml.safe_load((ROOT / "deploy" / "helm" / "hunkwatch" / "Chart.yaml").read_text("utf-8"))["name"]

    assert "to the Python index, as an image and as a chart" in WORKFLOW.read_text("utf-8")
    assert {"pypa/gh-action-pypi-publish", "docker/build-push-action"} <= used
    assert any(f'helm push "charts/{chart}-$VERSION.tgz"' in step.get("run", "") for step in steps)

"""The GitHub Action and the pre-commit hook, run as their hosts run them, without a network; and the examples of the page about them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WHEELS = ROOT / ".venv" / "wheels"
ACTION = ROOT / ".github" / "actions" / "score" / "action.yml"
PAGE = ROOT / "docs" / "pipelines.md"

GOOD = "*** Begin Patch\n*** Update File: a.py\n@@\n keep\n-old = 1\n+old = 2\n more\n*** End Patch\n"
BLIND = "*** Begin Patch\n*** Update File: b.py\n@@\n-a1\n-a2\n-a3\n+b1\n+b2\n+b3\n*** End Patch\n"
NEW = "*** Begin Patch\n*** Add File: c.py\n+new\n*** End Patch\n"
SHIPPED = (
    "pyproject.toml",
    "constraints.txt",
    "README.md",
    "docs/LICENSE",
    "worker",
    ".pre-commit-hooks.yaml",
    ".github/actions/score/action.yml",
)


def offline(folder: Path) -> dict[str, str]:
    """Return an environment in which installers use the wheels that are kept, and ``python`` is the one that made ours."""
    python = folder / "python"
    python.mkdir(exist_ok=True)
    for name in ("python", "python3"):
        if not (python / name).exists():
            (python / name).symlink_to(sys._base_executable)  # type: ignore[attr-defined] # the interpreter that made our environment
    quiet = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "VIRTUALENV_NO_PERIODIC_UPDATE": "1"}
    git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(folder)}
    return {**quiet, **git, "PATH": f"{python}:/usr/local/bin:/usr/bin:/bin", "PRE_COMMIT_HOME": str(folder / "pre-commit")}


def run(words: list[str], folder: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run something there."""
    return subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=280)


def commit(folder: Path, environ: dict[str, str]) -> None:
    """Make a repository of a folder, with everything in it committed."""
    who = ["-c", "user.name=n", "-c", "user.email=n@example.com"]
    for words in (["init", "--quiet"], ["add", "--all"], [*who, "commit", "--quiet", "--message", "all"]):
        done = run(["git", *words], folder, environ)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with what the hook and the action need of ours."""
    if not WHEELS.exists():
        pytest.skip("the wheels are missing (make .venv/.deploy)")
    folder = tmp_path_factory.mktemp("hunkwatch")
    for name in SHIPPED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    commit(folder, offline(tmp_path_factory.mktemp("environment")))
    return folder


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """Return somebody's checkout with recorded patches."""
    folder = tmp_path / "theirs"
    for name, text in {"runs/good.patch": GOOD, "runs/deep/blind.patch": BLIND, "new/new.patch": NEW}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


# ---------------------------------------------------------------- the action


@dataclass
class Runner:
    """As much of a runner as a composite action needs."""

    folder: Path
    environ: dict[str, str]

    def step(self, step: dict[str, Any], inputs: dict[str, str], cwd: Path) -> tuple[int, dict[str, str], str]:
        """Run one step; return its exit code, its outputs and the summary."""
        output, summary = self.folder / "output", self.folder / "summary"
        output.write_text("", "utf-8")
        summary.write_text("", "utf-8")
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        given = {name: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: known.get(found[1], ""), text) for name, text in step["env"].items()}
        given = {name: text for name, text in given.items() if name not in self.environ}
        there = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "RUNNER_TEMP": str(self.folder)}
        script = self.folder / "script.sh"
        script.write_text(step["run"], "utf-8")
        done = run(["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)], cwd, {**self.environ, **there, **given})
        outputs = dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())
        return done.returncode, outputs, summary.read_text("utf-8") + done.stderr


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    """Return the action as it is written."""
    read: dict[str, Any] = yaml.safe_load(ACTION.read_text("utf-8"))
    return read


@pytest.fixture(scope="module")
def runner(shipped: Path, action: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Return a runner on which the action's own step has installed Hunkwatch from where the action lies."""
    folder = tmp_path_factory.mktemp("runner")
    made = Runner(folder, {**offline(folder), "ACTION_PATH": str(shipped / ".github" / "actions" / "score")})
    (install,) = (step for step in action["runs"]["steps"] if step.get("name") == "Install")
    code, _, said = made.step(install, {}, folder)
    assert code == 0, said
    return made


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"files": "runs/*.patch"}, (0, "1")),
        ({"files": "runs/**/*.patch"}, (1, "2")),
        ({"files": "runs/**/*.patch", "fail-under": "", "max-retyped": "5"}, (0, "2")),
        ({"files": "new/*.patch\nruns/good.patch"}, (0, "2")),
        ({"files": "new/*.patch", "allow-nothing": "false"}, (2, "1")),
        ({"files": "none/*.patch"}, (0, "0")),
        ({"files": "none/*.patch", "allow-nothing": "false"}, (2, "0")),
        ({"files": "$(touch${IFS}harm) `touch harm`"}, (2, "0")),
    ],
)
def test_the_action_gates_what_matches(
    runner: Runner, action: dict[str, Any], theirs: Path, inputs: dict[str, str], expected: tuple[int, str]
) -> None:
    """Its exit code is that of the gate, its outputs say how many calls there were, and no input becomes a command."""
    whole = {name: str(of.get("default", "")) for name, of in action["inputs"].items()} | inputs
    (score,) = (step for step in action["runs"]["steps"] if step.get("id") == "score")

    exit_code, outputs, said = runner.step(score, whole, theirs)

    assert (exit_code, outputs.get("calls")) == expected, said
    assert len(Path(outputs["report"]).read_text("utf-8").splitlines()) == int(expected[1])
    assert ("blind_rewrite 0 is under 1" in said) is (exit_code == 1)
    assert not (theirs / "harm").exists()


# ---------------------------------------------------------------- the hook


@pytest.fixture(scope="module")
def shelter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where pre-commit keeps what it has built, so that it builds once."""
    return tmp_path_factory.mktemp("shelter")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("names", "code"), [(["runs/good.patch", "new/new.patch"], 0), (["runs/deep/blind.patch", "runs/good.patch"], 1)])
def test_the_hook_stops_a_commit_that_does_not_pass(shipped: Path, theirs: Path, shelter: Path, names: list[str], code: int) -> None:
    """pre-commit builds the hook from the repository and runs it on the files of a commit."""
    pre_commit = Path(sys.executable).with_name("pre-commit")
    if not pre_commit.exists():
        pytest.skip("pre-commit is not installed (make .venv/.deploy)")
    environ = offline(shelter)
    head = run(["git", "rev-parse", "HEAD"], shipped, environ).stdout.strip()
    hook = {"repo": str(shipped), "rev": head, "hooks": [{"id": "hunkwatch-score"}]}
    (theirs / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [hook]}), "utf-8")
    commit(theirs, environ)

    done = run([str(pre_commit), "run", "--files", *names], theirs, environ)

    assert done.returncode == code, done.stdout + done.stderr
    assert ("runs/deep/blind.patch: patch 1: blind_rewrite 0 is under 1" in done.stdout) is (code == 1)


# ---------------------------------------------------------------- the page


def examples() -> list[dict[str, Any]]:
    """Return the YAML of the page."""
    return [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)]


def test_the_example_of_the_action_gives_what_it_takes(action: dict[str, Any]) -> None:
    """The names of its inputs are right, the required ones are there, and it lies where the example says; the table has them all."""
    (step,) = (step for step in examples()[0]["jobs"]["score"]["steps"] if step["uses"].startswith("OWNER/"))
    path = step["uses"].partition("@")[0].removeprefix("OWNER/hunkwatch/")

    assert (ROOT / path / "action.yml") == ACTION
    assert set(step["with"]) <= set(action["inputs"])
    assert {name for name, of in action["inputs"].items() if of.get("required")} <= set(step["with"])
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (?:`([^`]*)`)?", PAGE.read_text("utf-8"), re.MULTILINE))
    assert rows == {name: str(of.get("default", "")) for name, of in action["inputs"].items()}


def test_the_example_of_the_hook_names_it(tmp_path: Path) -> None:
    """pre-commit takes the example, and the hook that it names is ours."""
    pre_commit = Path(sys.executable).with_name("pre-commit")
    if not pre_commit.exists():
        pytest.skip("pre-commit is not installed (make .venv/.deploy)")
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(examples()[1]), "utf-8")
    environ = offline(tmp_path)

    config = run([str(pre_commit), "validate-config", "config.yaml"], tmp_path, environ)
    manifest = run([str(pre_commit), "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")], tmp_path, environ)

    assert (config.returncode, manifest.returncode) == (0, 0), config.stdout + manifest.stdout
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    assert {hook["id"] for repo in examples()[1]["repos"] for hook in repo["hooks"]} == hooks

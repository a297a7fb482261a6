"""The systemd unit: hardened, true to the command line and to the exit codes."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from hunkwatch import cli
from hunkwatch.app import _LAST_GRACE
from hunkwatch.daemon.run import DRAIN
from hunkwatch.errors import Exit
from hunkwatch.settings import CREDENTIALS, variable

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "hunkwatch.service"


def directives(name: str) -> list[str]:
    """Return the values of a directive, in order."""
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text("utf-8"), re.MULTILINE)


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    """Run systemd's own reader of units; skip where it is not installed."""
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is not installed (Debian: apt-get install systemd)")
    return subprocess.run([tool, *words], capture_output=True, text=True, check=False, timeout=60)


def test_little_is_left_to_attack() -> None:
    """What the unit may do to the machine is next to nothing, by systemd's own measure."""
    done = analyze("security", "--offline=true", "--no-pager", str(UNIT))

    exposure = re.search(r"Overall exposure level for hunkwatch.service: (\d+\.\d+)", done.stdout)
    assert exposure, done.stderr
    assert float(exposure[1]) < 2.0


def test_systemd_understands_every_line(tmp_path: Path) -> None:
    """No directive is misspelled or in the wrong section; the program alone is another, because ours is not installed there."""
    copy = tmp_path / UNIT.name
    copy.write_text(
        UNIT.read_text("utf-8").replace("/usr/local/bin/hunkwatch", sys.executable).replace("/bin/kill", sys.executable), "utf-8"
    )

    done = analyze("verify", "--man=no", str(copy))

    assert [line for line in done.stderr.splitlines() if copy.name in line] == []


def test_several_projects_are_a_change_that_systemd_understands(tmp_path: Path) -> None:
    """What docs/deploy.md puts into the drop-in takes the place of the one project's keys; an entry's file is a credential."""
    text = (UNIT.parents[2] / "docs" / "deploy.md").read_text("utf-8")
    (change,) = re.findall(r"^```ini\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text("utf-8").replace("/usr/local/bin/hunkwatch", sys.executable).replace("/bin/kill", sys.executable))
    (tmp_path / f"{UNIT.name}.d").mkdir()
    (tmp_path / f"{UNIT.name}.d" / "override.conf").write_text(change)

    done = analyze("verify", "--man=no", str(copy))

    credentials = re.findall(r"^LoadCredential=(\w+):", change, re.MULTILINE)
    named = re.findall(rf"/run/credentials/{re.escape(UNIT.name)}/(\w+)", text)
    assert [line for line in done.stderr.splitlines() if copy.name in line] == []
    assert ({"Environment", "LoadCredential"}, True) == (set(re.findall(r"^(\w+)=$", change, re.MULTILINE)), set(named) <= set(credentials))


def test_a_supervisor_does_not_try_again_what_it_cannot_mend() -> None:
    """Wrong words, a missing permission and a wrong configuration wait for a person; everything else is tried again."""
    assert sorted([Exit.USAGE, Exit.PERMISSION, Exit.CONFIG]) == [int(code) for code in directives("RestartPreventExitStatus")[0].split()]


def test_the_unit_calls_a_verb_and_options_that_exist() -> None:
    """A verb or option that is renamed fails here, not on the machine."""
    known = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined] # a group, because there are several verbs
    _, verb, *words = shlex.split(directives("ExecStart")[0])

    options = {option for parameter in known[verb].params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} - options == set()


def test_each_credential_of_the_unit_is_read() -> None:
    """The variables name files of the unit's own credentials, and the settings know them."""
    given = dict(pair.split("=", 1) for line in directives("Environment") for pair in line.split())
    loaded = {line.split(":")[0] for line in directives("LoadCredential")}

    assert {value for value in given.values() if value.removeprefix("%d/") not in loaded} == set()
    assert {f"{variable(key)}_FILE" for key in CREDENTIALS} == set(given)


def test_the_service_manager_waits_longer_than_the_worker_drains() -> None:
    """SIGKILL never comes before the worker's own end."""
    assert int(directives("TimeoutStopSec")[0]) > (DRAIN + _LAST_GRACE).total_seconds()

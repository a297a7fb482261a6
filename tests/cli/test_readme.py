"""Every command of the front page, typed as it stands there, against a Langfuse over a real socket."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hunkwatch.sandbox import Project, Sandbox

Say = Callable[..., Any]

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
LINES = [line.split(" #")[0].strip() for block in BLOCKS for line in block.splitlines()]
COMMANDS = [line for line in LINES if line.startswith("hunkwatch ")]
ELSEWHERE = {
    "hunkwatch run",  # goes on until a signal comes: tests/process starts it and ends it
}


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, row: Callable[..., dict[str, Any]], patches: Any) -> Iterator[None]:
    """Stand in a folder with a patch and an export, keys in the environment, a server behind them with one scored trace."""
    sandbox = Sandbox(projects=(Project(),))
    ago = datetime.now(UTC) - timedelta(hours=1)
    times = {"startTime": ago.isoformat(), "endTime": (ago + timedelta(seconds=1)).isoformat()}
    rows = [row(text, form="v1", observation=f"o{number}", **times) for number, text in enumerate((patches.surgical, patches.blind))]
    sandbox.add_observations(rows)
    (tmp_path / "patch.txt").write_text(patches.blind)
    (tmp_path / "export.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    monkeypatch.chdir(tmp_path)
    with sandbox.serving_in_thread() as url:
        keys = {"LANGFUSE_BASE_URL": url, "LANGFUSE_PUBLIC_KEY": Project().public_key, "LANGFUSE_SECRET_KEY": Project().secret_key}
        for name, value in {**keys, "HUNKWATCH_DELIVERY__LOOK_AFTER": "20ms,20ms", "HUNKWATCH_DELIVERY__EVERY": "10ms"}.items():
            monkeypatch.setenv(name, value)
        yield


@pytest.mark.usefixtures("at_home")
def test_every_command_of_the_front_page_works(say: Say) -> None:
    """In the order in which a reader meets them, each ends well."""
    codes = {command: say(*shlex.split(command)[1:]).code for command in COMMANDS if command not in ELSEWHERE}

    assert len(codes) > 8
    assert dict.fromkeys(codes, 0) == codes


def test_whatever_is_not_ours_is_a_target_or_a_setting() -> None:
    """The other lines are the two make targets and the variables; their tests are this run and the demo's."""
    others = [line for line in LINES if line and not line.startswith("hunkwatch ")]

    assert [] == [line for line in others if line not in {"make demo", "make test"} and not line.startswith("export LANGFUSE_")]


def test_the_pictures_are_there_and_small() -> None:
    """Nobody waits for the front page."""
    named = re.findall(r"!\[[^\]]{20,}\]\((docs/pictures/[\w.]+)\)", TEXT)

    assert ["docs/pictures/report.png", "docs/pictures/terminal.png"] == named
    assert [] == [name for name in named if not 10_000 < (ROOT / name).stat().st_size < 400_000]

"""The command line in this process: its words in, its output and exit code out."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.cli import main

if TYPE_CHECKING:
    from pathlib import Path

SURGICAL = """*** Begin Patch
*** Update File: app/a.py
@@ def f():
 keep
-one()
+two()
 keep
*** End Patch"""

BLIND = """*** Begin Patch
*** Update File: app/a.py
@@ def f():
 keep
-one()
-two()
-three()
+one()
+two_b()
+three()
 keep
@@
 other
-1
+2
*** End Patch"""

NEW_FILE = """*** Begin Patch
*** Add File: app/n.py
+hello()
*** End Patch"""


@dataclass(frozen=True)
class Patches:
    """Three patches whose numbers are known by hand."""

    surgical: str = SURGICAL
    blind: str = BLIND
    new_file: str = NEW_FILE


@dataclass(frozen=True)
class Said:
    """What a run of the command line came to."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Return the JSON objects on stdout, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def patches() -> Patches:
    """Patches to score."""
    return Patches()


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the settings or the state of whoever runs it."""
    for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "LANGFUSE_BASE_URL", "LANGFUSE_HOST", "STATE_DIRECTORY", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """Run the command line with these words, and ``stdin`` if a verb reads it."""

    def run(*words: str | Path, stdin: str | bytes = b"") -> Said:
        raw = stdin.encode("utf-8") if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return run


@pytest.fixture
def row() -> Callable[..., dict[str, Any]]:
    """Build an observation of a tool call as an API shows it, v1 or v2."""

    def build(patch: str, *, form: str = "v2", trace: str = "t1", observation: str = "o1", **given: Any) -> dict[str, Any]:
        arguments: Any = {"input": patch}
        return {
            "id": observation,
            "traceId": trace,
            "type": "TOOL",
            "name": "apply_patch",
            "startTime": "2026-01-02T03:04:05.000Z",
            "endTime": "2026-01-02T03:04:06.000Z",
            "environment": "default",
            "level": "DEFAULT",
            "statusMessage": None,
            "input": arguments if form == "v1" else json.dumps(arguments),
            "output": "Done!" if form == "v1" else '"Done!"',
            "metadata": {},
            **given,
        }

    return build

"""What a server is asked for finds every recorded form, and not because everything is read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.core import discover
from hunkwatch.core.window import Window
from hunkwatch.langfuse.reader import ReaderV2
from hunkwatch.langfuse.reader_v1 import ReaderV1
from hunkwatch.sandbox import Sandbox
from hunkwatch.settings import DiscoverSection

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunkwatch.core.model import Observation
    from hunkwatch.langfuse.http import Http

KEYS = ("pk-lf-demo", "sk-lf-demo")
GOLDEN = Path(__file__).parent.parent / "golden"
FILES = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(GOLDEN.glob("*.json"))}
START = datetime(2026, 4, 1, 8, tzinfo=UTC)
WINDOW = Window(START - timedelta(days=1), START + timedelta(days=1))

HIDDEN: dict[str, dict[str, Any]] = {
    "a program that puts the patch together": {
        "type": "TOOL",
        "name": "exec",
        "input": 'const p = ["*** Begin", "Patch"].join(" ");\ntext(await tools.apply_patch(p + rest))',
    },
    "a program that picks the tool by its name": {"type": "TOOL", "name": "exec", "input": 'await tools["apply_patch"](make())'},
    "a redacted argument of a tool behind a server": {"type": "TOOL", "name": "mcp__files__apply_patch", "input": "[REDACTED]"},
    "an empty argument of a span behind a server": {"type": "SPAN", "name": "files.apply_patch", "input": None},
    "a patch that comes from a file": {"type": "SPAN", "name": "bash", "input": {"command": "apply_patch < fix.diff"}},
    "a model's headerless request": {
        "type": "GENERATION",
        "name": "gpt",
        "output": [{"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a.py"}}],
    },
}
"""Calls that show no marker."""

OTHERS: dict[str, dict[str, Any]] = {
    "a history": {"type": "GENERATION", "input": [{"content": "*** Begin Patch"}], "output": "Hello"},
    "an agent's prompt": {"type": "AGENT", "input": "Use apply_patch with *** Begin Patch", "output": "Yes."},
    "a dispatcher": {"type": "SPAN", "name": "dispatch", "input": {"batch": 7}},
    "a span of a web server": {"type": "SPAN", "name": "GET /", "input": {"path": "/"}},
    "a result": {"type": "CHAIN", "name": "step", "input": {"n": 1}, "output": "Success. Updated the following files: apply_patch"},
}


def row(identity: str, at: int, **parts: Any) -> dict[str, Any]:
    """Return an observation a second after the one before."""
    return {"id": identity, "traceId": identity, "startTime": (START + timedelta(seconds=at)).isoformat(), "name": "step", **parts}


def fill(sandbox: Sandbox) -> None:
    """Put every recorded form, the calls without a marker, and rows that are no calls into a sandbox."""
    for name, data in FILES.items():
        sandbox.add_observations([{**data["observation"], "id": name, "traceId": name}])
    sandbox.add_observations(row(name, at, **parts) for at, (name, parts) in enumerate({**HIDDEN, **OTHERS}.items()))
    sandbox.add_observations(row(f"filler-{at}", at, type="SPAN", input={"n": at}) for at in range(100))


def v2(http: Http) -> ReaderV2:
    """Return the reader as the worker makes it."""
    return ReaderV2(http, names=discover.NAMES)


def v1(http: Http) -> ReaderV1:
    """Return the reader as the worker makes it, over a window that is too large to be read whole."""
    reader = ReaderV1(http, names=(*discover.NAMES, *discover.SCRIPTS), types=DiscoverSection().types)
    reader._limit = 1
    return reader


SERVERS = {"v2": ("4.16.0", "events_only", v2), "v1": ("3.200.0", "dual", v1)}

UNUSUAL = {"haystack-invoker", "an empty argument of a span behind a server"}
"""SPAN rows whose name nobody can know beforehand: on v1, in a large window, only a setting finds them."""


async def found_by(on_socket: Any, api: str, make: Callable[[Http], ReaderV1 | ReaderV2] | None = None) -> dict[str, Observation]:
    """Return what a server hands over as candidates, by id, whole."""
    version, mode, reader = SERVERS[api]
    sandbox = Sandbox(version=version, mode=mode)
    fill(sandbox)
    async with sandbox.serving() as url, on_socket(url, KEYS) as http:
        reading = (make or reader)(http)
        pages = [page async for page in reading.candidates(WINDOW, complete=True)]
        whole = await reading.read([one for page in pages for one in page.observations])
    return {one.id: one for one in whole.observations}


@pytest.mark.parametrize(("api", "unseen"), [("v2", set[str]()), ("v1", UNUSUAL)])
async def test_every_recorded_form_is_found_by_what_is_asked(on_socket: Any, api: str, unseen: set[str]) -> None:
    """Each golden file that holds a call is among the candidates, and still holds as many calls as it says."""
    candidates = await found_by(on_socket, api)
    expected = {name: len(data["calls"]) for name, data in FILES.items() if data["calls"] and name not in unseen}
    found = {name: len(discover.calls(candidates[name])) for name in FILES if name in candidates and discover.calls(candidates[name])}

    assert expected == found


@pytest.mark.parametrize(("api", "unseen"), [("v2", set[str]()), ("v1", UNUSUAL)])
async def test_a_call_without_a_marker_is_found_by_what_is_asked(on_socket: Any, api: str, unseen: set[str]) -> None:
    """Programs that put a patch together, hidden arguments and headerless forms are found, and are calls."""
    candidates = await found_by(on_socket, api)
    expected = {name for name in HIDDEN if name not in unseen}

    assert expected == {name for name in HIDDEN if name in candidates and discover.calls(candidates[name])}


@pytest.mark.parametrize(
    "settings",
    [DiscoverSection(names=("files.apply_patch", "tool_invoker - ['apply_patch']")), DiscoverSection(types=())],
    ids=["by name", "everything"],
)
async def test_a_name_that_nobody_knows_is_found_on_v1_once_it_is_configured(on_socket: Any, settings: DiscoverSection) -> None:
    """The settings close the gap, by naming the rows or by reading every row."""

    def configured(http: Http) -> ReaderV1:
        reader = ReaderV1(http, names=(*discover.NAMES, *settings.names), types=settings.types)
        reader._limit = 1
        return reader

    names = {data["observation"]["name"] for name, data in FILES.items() if name in UNUSUAL}
    assert names <= {"tool_invoker - ['apply_patch']"}
    assert set(await found_by(on_socket, "v1", configured)) >= UNUSUAL


@pytest.mark.parametrize("api", SERVERS)
async def test_what_cannot_be_a_call_is_not_read(on_socket: Any, api: str) -> None:
    """Histories, prompts and everybody else's spans are not candidates, so that the tests above find nothing by reading all."""
    assert set() == set(await found_by(on_socket, api)) & {*OTHERS, *(f"filler-{at}" for at in range(100))}

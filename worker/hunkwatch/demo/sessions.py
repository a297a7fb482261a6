"""The demo's sessions as plain data, read from the TOML files beside this module.

A session is one trace of one agent. Its files say what was planted: each call with the shape that its patch must be given.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from hunkwatch.core.model import Outcome, Shape

AGENTS = ("codex", "codex_shell", "json_tool", "cline", "openai_agents", "opencode", "copilot", "talk")
"""One file each, in the order of the demo's table."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a headerless call: ``diff`` is empty for a deletion."""

    type: str
    path: str
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Planted:
    """One tool call: exactly one of ``patches``, ``operations`` and ``raw`` (an input that hides its patch) is set."""

    shape: Shape
    outcome: Outcome
    patches: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()
    raw: str = ""
    form: str = ""
    output: str = ""

    @property
    def calls(self) -> int:
        """How many patches the worker must find in it."""
        return max(len(self.patches), 1)


@dataclass(frozen=True, slots=True)
class Session:
    """One trace. ``together``: the model asked for all calls in one answer. ``mentions`` are patches that nobody called."""

    agent: str
    title: str
    task: str
    calls: tuple[Planted, ...]
    mentions: tuple[str, ...]
    together: bool


def load() -> tuple[Session, ...]:
    """Return every session of every agent."""
    folder = resources.files("hunkwatch.demo").joinpath("sessions")
    return tuple(
        _session(agent, entry)
        for agent in AGENTS
        for entry in tomllib.loads(folder.joinpath(f"{agent}.toml").read_text("utf-8"))["sessions"]
    )


def _session(agent: str, entry: dict[str, Any]) -> Session:
    return Session(
        agent=agent,
        title=entry["title"],
        task=entry["task"],
        calls=tuple(_planted(call) for call in entry.get("calls", ())),
        mentions=tuple(mention["text"].removesuffix("\n") for mention in entry.get("mentions", ())),
        together=entry.get("together", False),
    )


def _planted(entry: dict[str, Any]) -> Planted:
    patches = tuple(entry[key].removesuffix("\n") for key in ("patch", "second") if key in entry)
    if entry.get("line_ends") == "crlf":
        patches = tuple(patch.replace("\n", "\r\n") for patch in patches)
    return Planted(
        shape=Shape(entry["shape"]),
        outcome=Outcome(entry["outcome"]),
        patches=patches,
        operations=tuple(Operation(step["type"], step["path"], step.get("diff", "")) for step in entry.get("operations", ())),
        raw=entry.get("input", "").removesuffix("\n"),
        form=entry.get("form", ""),
        output=entry.get("output", ""),
    )

"""Every way to write a call that we could think of, in both forms of reading, and everything that only looks like one.

``golden/variants.json`` holds answers of models by provider, arguments of tools, and scripts, each with its patches (``P`` and ``Q`` stand
for the two that nearly all of them carry, ``null`` for one that cannot be read); ``golden/negatives.json`` holds what carries no call.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hunkwatch.core import discover
from hunkwatch.core.model import Observation

GOLDEN = Path(__file__).parent / "golden"
KNOWN: dict[str, Any] = json.loads((GOLDEN / "variants.json").read_text(encoding="utf-8"))
NEGATIVES: list[Any] = json.loads((GOLDEN / "negatives.json").read_text(encoding="utf-8"))
START = datetime(2026, 4, 1, 8, tzinfo=UTC)
FORMS = pytest.mark.parametrize("form", ["raw", "parsed"])


def read(value: object, form: str) -> object:
    """Return an input or output as v2 hands it over, as raw text, or as v1 does, parsed where it is JSON."""
    if form == "raw":
        return value if isinstance(value, str) or value is None else json.dumps(value)
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def found(form: str, **fields: Any) -> list[str | None]:
    """Return the patches of an observation's calls."""
    told = {key: read(value, form) if key in {"input", "output"} else value for key, value in fields.items()}
    row = Observation(**{"id": "o", "trace_id": "t", "start_time": START, "type": "TOOL", **told})
    return [None if call.text is None else call.text.strip().replace("\r\n", "\n") for call in discover.calls(row)]


def spelled(patches: list[str | None]) -> list[str | None]:
    """Return the patches that are expected."""
    return [None if name is None else KNOWN.get(name, name).strip() for name in patches]


def asked(tool: str, argument: object) -> str:
    """Return the answer of a model that asks for one call."""
    return json.dumps([{"type": "function_call", "call_id": "c", "name": tool, "arguments": json.dumps(argument)}])


@FORMS
@pytest.mark.parametrize(("about", "output", "patches"), KNOWN["answers"], ids=[each[0] for each in KNOWN["answers"]])
def test_each_provider_writes_a_call_in_its_own_way(form: str, about: str, output: object, patches: list[str | None]) -> None:
    """An answer of a model gives exactly the patches that it asks for."""
    assert spelled(patches) == found(form, type="GENERATION", name="llm", output=output), about


@FORMS
def test_each_tracer_writes_an_argument_in_its_own_way(form: str) -> None:
    """A tool's argument gives its patch, whatever the tool is called and whatever the argument is wrapped in."""
    wrong = [fields for fields, patches in KNOWN["tools"] if spelled(patches) != found(form, **fields)]

    assert wrong == []


@FORMS
@pytest.mark.parametrize(
    "script", KNOWN["scripts"], ids=[f"{each[0].partition(chr(10))[0][:60]}-{at}" for at, each in enumerate(KNOWN["scripts"])]
)
def test_each_shell_hands_over_a_patch_in_its_own_way(form: str, script: tuple[str, list[str | None]]) -> None:
    """The same script as an argument vector, as a command, and asked for by a model gives the same patches."""
    text, patches = script
    ways = [
        found(form, name="shell", input={"command": ["bash", "-lc", text]}),
        found(form, name="Tool: Bash", input={"command": text}),
        found(form, type="GENERATION", output=asked("exec_command", {"cmd": text})),
    ]

    assert [spelled(patches)] * 3 == ways


@FORMS
def test_powershell_hands_over_a_patch_in_its_own_way(form: str) -> None:
    """As an argument vector and as a command."""
    for text, patches in KNOWN["powershell"]:
        assert spelled(patches) == found(form, name="shell", input={"command": ["powershell", "-NoProfile", "-Command", text]}), text
        assert spelled(patches) == found(form, name="powershell", input={"command": text}), text


@FORMS
def test_a_program_hands_over_a_patch_in_its_own_way(form: str) -> None:
    """JavaScript that was run, and JavaScript that a model wrote."""
    for text, patches in KNOWN["programs"]:
        assert spelled(patches) == found(form, name="exec", input=text), text
        asking = [{"type": "custom_tool_call", "call_id": "c", "name": "exec", "input": text}]
        assert spelled(patches) == found(form, type="GENERATION", output=asking), text


@FORMS
@pytest.mark.parametrize(("about", "fields"), NEGATIVES, ids=[f"{each[0]}-{at}" for at, each in enumerate(NEGATIVES)])
def test_what_only_looks_like_a_call_is_none(form: str, about: str, fields: dict[str, Any]) -> None:
    """Histories, prompts, documents, judgements, searches, other tools: nothing is counted, not even as unresolved."""
    assert [] == found(form, **{"name": "llm", **fields}), about

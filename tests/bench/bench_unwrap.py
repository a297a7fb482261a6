"""How finding the patch in an argument grows with the argument: good ones in each quoting, and ones that are made to hurt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from bench_compare import Step, peak, seconds
from bench_corpus import added_file

from hunkwatch.core import discover
from hunkwatch.core.model import Call, Observation

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
HOSTILE_SIZES = (100_000, 1_000_000)


def measure() -> Iterator[Step]:
    """Yield a curve for each way of writing the argument down."""
    for name, tool, write in _forms():
        for size in SIZES:
            yield _step(f"find: {name}", tool, write(added_file(size)), "found")
    for name, tool, make in _hostile():
        for size in HOSTILE_SIZES:
            yield _step(f"find: {name}", tool, make(size), "")


def _forms() -> tuple[tuple[str, str, Callable[[str], str]], ...]:
    return (
        ("raw patch", "apply_patch", str),
        ("JSON object", "apply_patch", lambda patch: json.dumps({"input": patch})),
        ("JSON, three layers", "apply_patch", lambda patch: json.dumps(json.dumps(json.dumps({"input": patch})))),
        (
            "shell heredoc",
            "shell",
            lambda patch: json.dumps({"command": ["bash", "-lc", f"cd /repo && apply_patch <<'EOF'\n{patch}\nEOF\n"]}),
        ),
        ("JavaScript constant", "exec", lambda patch: f"const patch = {json.dumps(patch)};\ntext(await tools.apply_patch(patch));\n"),
        ("JavaScript template", "exec", lambda patch: f"await tools.apply_patch(`{_escaped(patch, '`$')}`);\n"),
        ("Python repr", "apply_patch", lambda patch: repr({"input": patch})),
        ("Python program", "python", lambda patch: f"import subprocess\nsubprocess.run(['apply_patch', {patch!r}])\n"),
        ("repr in JSON", "apply_patch", lambda patch: json.dumps(repr({"input": patch}))),
        ("Go literal", "codex.tool.file_change", lambda patch: json.dumps(patch, ensure_ascii=False)[:-1] + '\\a"'),
        ("shell in a shell", "shell", lambda patch: "bash -lc '" + f"apply_patch <<'EOF'\n{patch}\nEOF".replace("'", "'\\''") + "'"),
        ("shell, ANSI quotes", "shell", lambda patch: "apply_patch $'" + _escaped(patch, "'").replace("\n", "\\n") + "'"),
        ("PowerShell", "powershell", lambda patch: f"@'\n{patch}\n'@ | apply_patch"),
        ("cut JSON", "apply_patch", lambda patch: json.dumps({"input": patch})[:-200]),
        ("cut JSON, three layers", "apply_patch", lambda patch: json.dumps(json.dumps(json.dumps({"input": patch})))[:-200]),
    )


def _escaped(text: str, signs: str) -> str:
    for sign in "\\" + signs:
        text = text.replace(sign, "\\" + sign)
    return text


def _hostile() -> tuple[tuple[str, str, Callable[[int], str]], ...]:
    begin = "*** Begin Patch"
    return (
        ("nested brackets", "apply_patch", lambda size: "[" * (size // 2) + begin + "]" * (size // 2)),
        ("unclosed braces", "shell", lambda size: '{"a":' * (size // 5) + begin),
        ("open quotes", "shell", lambda size: f"apply_patch {begin} " + "'\"" * (size // 2)),
        ("heredoc starts", "shell", lambda size: f"{begin}\n" + "apply_patch <<'E'\n" * (size // 18)),
        ("backslashes", "apply_patch", lambda size: f'"{begin}' + "\\" * size),
        ("markers", "apply_patch", lambda size: f"{begin}\n" * (size // 16)),
        ("call starts", "exec", lambda size: f"// {begin}\n" + "tools.apply_patch(`" * (size // 19)),
    )


def _step(name: str, tool: str, text: str, note: str) -> Step:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    observation = Observation("o", "t", start, type="TOOL", name=tool, input=text, output="Done!")
    calls: list[Call] = []
    took = seconds(lambda: calls.extend(discover.calls(observation)))
    most = peak(lambda: discover.calls(observation)) if len(text) >= HOSTILE_SIZES[-1] / 2 else 0
    return Step(name, len(text), took, most, note=f"{sum(call.text is not None for call in calls)} found" if note else "")

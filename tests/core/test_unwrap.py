"""Unwrapping: any stack of the known wrappers gives the patch back, and nothing is undone that was not done."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.core import cuts, layers, scripts, unwrap
from hunkwatch.core.quoting import javascript, python, shell
from hunkwatch.core.tools import Kind
from hunkwatch.core.unwrap import Found

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 'a\\n'\n+x = \"b\\u2192\" # `$HOME` ${y}\n*** End Patch"

SMALL = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"
ADDED = "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch"
SEVERAL = frozenset({"several_envelopes", "text_after"})

lines = st.text(st.sampled_from("ab '\"\\$`{}()[]<>|&;#!@%*é🚀\tn"), max_size=20)
bodies = st.lists(st.sampled_from(" -+").flatmap(lambda sign: lines.map(lambda line: sign + line)), min_size=1, max_size=6)


@st.composite
def patches(draw: st.DrawFn) -> str:
    """Draw an envelope whose lines are made of what quoting is about."""
    return "\n".join(["*** Begin Patch", "*** Update File: a b.py", "@@", *draw(bodies), "*** End Patch"])


def double(text: str) -> str:
    """Return the text in double quotes of a shell."""
    for sign in '\\"$`':
        text = text.replace(sign, "\\" + sign)
    return f'"{text}"'


def go_quote(text: str) -> str:
    """Return a Go literal, with an escape that JSON does not have."""
    return json.dumps(text, ensure_ascii=False).replace("\\t", "\\x09")


PLAIN: dict[str, Callable[[str], str]] = {
    "bare": str,
    "fenced": "Here:\n```patch\n{}\n```\n".format,
    "heredoc alone": "<<'EOF'\n{}\nEOF\n".format,
    "notebook cell": '%%bash\napply_patch <<"EOF"\n{}\nEOF'.format,
    "byte order mark": "\ufeff{}\n".format,
}
SCRIPT: dict[str, Callable[[str], object]] = {
    "heredoc": "set -e\ncd 'a b' && apply_patch <<'PATCH-1'\n{}\nPATCH-1\nmake".format,
    "single quotes": lambda text: "apply_patch '" + text.replace("'", "'\\''") + "'",
    "double quotes": lambda text: f"apply_patch {double(text)}",
    "substitution": "apply_patch \"$(cat <<'EOF'\n{}\nEOF\n)\"".format,
    "file": "cat > f <<'EOF'\n{}\nEOF\napply_patch < f".format,
    "shell in shell": lambda text: "bash -lc " + double(f"apply_patch <<'EOF'\n{text}\nEOF"),
    "here-string": "@'\n{}\n'@ | apply_patch".format,
    "JavaScript": lambda text: f"const p = {json.dumps(text)};\nawait tools.apply_patch(p);",
    "JavaScript template": lambda text: (
        "await tools.apply_patch(`" + text.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${") + "`)"
    ),
    "Python": lambda text: f"import subprocess\nsubprocess.run(['apply_patch'], input={text!r}, text=True)",
    "argument vector": lambda text: ["apply_patch", text],
    "script vector": lambda text: ["bash", "-lc", f"apply_patch <<'EOF'\n{text}\nEOF"],
    "vector of a script and its argument": lambda text: ["bash", "-lc", 'cd /work && apply_patch "$1"', "_", text],
    "PowerShell vector": lambda text: ["pwsh", "-NoProfile", "-Command", f"@'\n{text}\n'@ | apply_patch"],
}
PATCH_KEYS = ("input", "patch", "patchText", "patch_text", "__arg1", "command", "diff")
SCRIPT_KEYS = ("command", "cmd", "script", "input")
WRAPPING = ("arguments", "args", "parameters", "tool_input", "kwargs")
QUOTINGS: dict[str, Callable[[object], str]] = {
    "JSON": json.dumps,
    "JSON, not ASCII": lambda value: json.dumps(value, ensure_ascii=False),
    "indented JSON": lambda value: json.dumps(value, indent=2),
    "Python": lambda value: repr(value) if isinstance(value, dict) else json.dumps(value),
    "Go": lambda value: go_quote(value) if isinstance(value, str) else json.dumps(value),
}


@settings(max_examples=150)
@given(patches(), st.data())
def test_any_stack_of_wrappers_gives_the_patch_back(text: str, data: st.DataObject) -> None:
    """A script or none, an object or two, and up to three layers of quoting, in any combination."""
    kind = data.draw(st.sampled_from([Kind.PATCH, Kind.SCRIPT]))
    forms, keys = (PLAIN, PATCH_KEYS) if kind is Kind.PATCH else (SCRIPT, SCRIPT_KEYS)
    value: object = forms[data.draw(st.sampled_from(sorted(forms)))](text)
    if isinstance(value, list) or data.draw(st.booleans()):
        value = {data.draw(st.sampled_from(keys[:3])) if isinstance(value, str) else "command": value}
        if data.draw(st.booleans()):
            value = {data.draw(st.sampled_from(WRAPPING)): value}
    for _ in range(data.draw(st.integers(0, 3))):
        value = QUOTINGS[data.draw(st.sampled_from(sorted(QUOTINGS)))](value)

    assert [text] == [found.text for found in unwrap.find(value, kind)]


@pytest.mark.parametrize("key", PATCH_KEYS)
def test_every_key_is_known(key: str) -> None:
    """Whatever the tool calls its argument."""
    assert (Found(PATCH),) == unwrap.find({"explanation": "x", key: PATCH}, Kind.PATCH)


@pytest.mark.parametrize("text", [PATCH, f"{PATCH}\n", json.dumps({"input": PATCH}), {"input": PATCH}])
def test_a_decoded_patch_is_never_unescaped(text: object) -> None:
    r"""The written-out ``\n`` and ``\u2192`` in its lines are the agent's own."""
    assert [PATCH] == [found.text for found in unwrap.find(text, Kind.PATCH)]


@pytest.mark.parametrize("count", range(layers.LAYERS + 1))
def test_layers_are_undone_up_to_the_bound(count: int) -> None:
    """Five are; a text that is quoted more often is left as it is."""
    text: str = PATCH
    for _ in range(count):
        text = json.dumps(text)

    assert [PATCH] == [found.text for found in unwrap.find(text, Kind.PATCH)]


@pytest.mark.parametrize(
    "mark",
    [
        "…[truncated 123 chars]",
        "\n…[truncated 123 chars]",
        "\n\n[truncated to 50000 characters]",
        "... [truncated 5 chars]",
        "...[truncated, original 70000 chars]",
        "...(truncated)",
        "[TRUNCATED: Field exceeded size limit]",
        "[... telemetry preview truncated ...]",
        "…",
        "...",
    ],
)
@pytest.mark.parametrize("write", [str, lambda text: json.dumps({"input": text}), lambda text: json.dumps({"input": text})[:-2]])
def test_every_truncation_mark_is_recognised(mark: str, write: Callable[[str], str]) -> None:
    """At the end of a text, of a value, or of JSON text that breaks off."""
    kept = PATCH[:60]

    assert (Found(kept, flags=frozenset({"truncated"})),) == unwrap.find(write(kept + mark), Kind.PATCH)


@given(st.integers(20, len(PATCH) - 16), st.booleans())
def test_a_cut_anywhere_gives_what_is_whole(cut: int, escaped: bool) -> None:  # noqa: FBT001 - hypothesis draws it
    """The start of the patch, flagged, without half an escape."""
    written = json.dumps({"input": PATCH}, ensure_ascii=escaped)
    (found,) = unwrap.find(written[: 11 + cut], Kind.PATCH)

    assert (True, frozenset({"truncated"})) == (PATCH.startswith(found.text or "?"), found.flags)


def test_a_silent_cut_is_flagged() -> None:
    """A cut that only the caller knows of: flagged where the end is missing, and only there."""
    assert (Found(PATCH[:60], flags=frozenset({"truncated"})),) == unwrap.find(PATCH[:60], Kind.PATCH, cut=True)
    assert (Found(PATCH),) == unwrap.find(PATCH, Kind.PATCH, cut=True)


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        (None, "empty"),
        ("", "empty"),
        ('""', "empty"),
        ({}, "empty"),
        ({"input": ""}, "empty"),
        ({"patch": "  \n"}, "empty"),
        ("[REDACTED]", "redacted"),
        ('"[REDACTED:secret:ab12]"', "redacted"),
        ({"patchText": "<redacted>"}, "redacted"),
        ("redacted-by-litellm", "redacted"),
        ({"mode": "patch", "patch": "<max-depth>"}, "redacted"),
        ("@@@langfuseMedia:type=text/plain|id=x|source=field_size_limit@@@", "overflow"),
        (["apply_patch"], "empty"),
    ],
)
def test_a_call_that_cannot_be_read_says_why(argument: object, why: str) -> None:
    """A patch tool was called, so there was a patch."""
    assert (Found(None, why),) == unwrap.find(argument, Kind.PATCH)


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ({"path": "a", "edits": [{"old": "a", "new": "b"}]}, ()),
        ({"files": ["a"]}, ()),
        ({"mode": "replace", "path": "a", "old_string": "x", "new_string": "y"}, ()),
        ({"input": "please fix"}, (Found("please fix"),)),
        ({"patch": "fix-12.patch"}, ()),
        ({"args": ["src/a.py"], "kwargs": {}}, ()),
        ({"input": PATCH.split("\n")}, (Found(PATCH),)),
        ({"type": "function_call", "name": "x", "arguments": json.dumps({"input": PATCH})}, (Found(PATCH),)),
        ({"id": "i", "function": {"name": "x", "arguments": json.dumps({"input": PATCH})}}, (Found(PATCH),)),
        ({"path": "a.py", "diff": "@@\n-a\n+b"}, (Found(SMALL, flags=frozenset({"headerless", "synthesized"})),)),
        ("*** Add File: a\n+b", (Found(ADDED, flags=frozenset({"no_begin", "no_end", "synthesized"})),)),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b", (Found("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b", flags=frozenset({"unified"})),)),
        ("*** Add File: a\n+b\n*** End Patch", (Found(ADDED, flags=frozenset({"no_begin", "synthesized"})),)),
        (f"{PATCH}\nand\n{PATCH}", (Found(PATCH, flags=SEVERAL), Found(PATCH, flags=SEVERAL))),
        (f"Here:\n```\n{PATCH}\n```", (Found(PATCH, flags=frozenset({"fenced", "text_after", "text_before"})),)),
        ("\ufeff" + PATCH, (Found(PATCH, flags=frozenset({"bom"})),)),
        ({"patches": [PATCH, PATCH]}, (Found(PATCH), Found(PATCH))),
        (PATCH.replace("HOME", "<redacted>"), (Found(PATCH.replace("HOME", "<redacted>"), flags=frozenset({"redacted"})),)),
    ],
)  # fmt: skip
def test_what_a_patch_tool_may_be_given(argument: object, expected: tuple[Found, ...]) -> None:
    """Other tools of the same name give nothing; odd patches are kept as they are and flagged."""
    assert expected == unwrap.find(argument, Kind.PATCH)


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ({"type": "exec", "command": ["bash", "-lc", f"apply_patch <<'E'\n{PATCH}\nE"]}, [PATCH]),
        ({"commands": ["ls", f"apply_patch <<'E'\n{PATCH}\nE"]}, [PATCH]),
        ({"command": "apply_patch", "args": [PATCH]}, [PATCH]),
        ({"command": "apply_patch", "stdin": PATCH}, [PATCH]),
        ({"command": "bash", "args": ["-c", f"apply_patch <<'E'\n{PATCH}\nE"]}, [PATCH]),
        ({"command": ["env", "A=b", "/bin/bash", "-c", f"apply_patch <<'E'\n{PATCH}\nE"]}, [PATCH]),
        ({"command": PATCH}, [PATCH]),
        ({"command": 'apply_patch "*** Begin Patch\n@\'\n\\$\n*** End Patch"'}, ["*** Begin Patch\n@'\n$\n*** End Patch"]),
        ({"command": ["ls"]}, []),
        ({"command": f"echo '{PATCH[:40]}'"}, []),
        ({"command": "git diff | apply_patch"}, [None]),
        (["bash", "-c", 'apply_patch "$1"', "_", PATCH], [PATCH]),
        ({"command": ["bash", "-c", 'apply_patch "$1"', "_", PATCH]}, [PATCH]),
        (["bash", "-c", "apply_patch", "_", PATCH], []),
        (["bash", "-c", 'shift; apply_patch "$1"', "_", "x", PATCH], [None]),
        (["fish", "-c", 'apply_patch "$1"', "_", PATCH], [None]),
        (["bash", "-c", 'echo "$1"', "_", PATCH], []),
        (f"await tools.exec_command({{cmd: {json.dumps(f'apply_patch <<E{chr(10)}+x{chr(10)}E')}}})", ["+x"]),
    ],
)
def test_what_a_shell_tool_may_be_given(argument: object, expected: list[str | None]) -> None:
    """Scripts, vectors, commands with their input beside them, source that calls a shell."""
    assert expected == [found.text for found in unwrap.find(argument, Kind.SCRIPT)]


@pytest.mark.parametrize(
    ("module", "bound", "source"),
    [
        (python, "TOKENS", f"import os\n{'a = b + c; ' * 50}\napply_patch({PATCH!r})\n"),
        (javascript, "TOKENS", f"const a = 1;\n{'a = b + c; ' * 50}\nawait tools.apply_patch({json.dumps(PATCH)});\n"),
        (shell, "STEPS", f"cd /work\n{'echo a b c; ' * 50}\napply_patch <<'EOF'\n{PATCH}\nEOF\n"),
    ],
)
def test_a_call_behind_the_bound_is_on_record(module: ModuleType, bound: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too dense to be read to its end is unresolved where a call stands in the rest, and read whole where it is not."""
    assert [PATCH] == [(found.text or "").rstrip("\n") for found in unwrap.find(source, Kind.SCRIPT)]
    monkeypatch.setattr(module, bound, 60)

    assert [(None, "dynamic")] == [(found.text, found.why) for found in unwrap.find(source, Kind.SCRIPT)]
    assert () == unwrap.find(source.partition("apply_patch")[0] + "# Begin Patch", Kind.SCRIPT)


@pytest.mark.parametrize("text", ["ls -la " * 10_000, "x" * 100_000, json.dumps({"command": "make"})])
def test_a_script_without_a_mention_is_not_looked_into(text: str) -> None:
    """One search in the text decides."""
    assert (False, ()) == (scripts.mentions(text), unwrap.find(text, Kind.SCRIPT))


@pytest.mark.parametrize(
    "write", [str, json.dumps, lambda text: json.dumps(json.dumps({"input": text})), lambda text: repr({"patch": text})]
)
def test_memory_is_a_small_multiple_of_the_text(write: Callable[[str], str]) -> None:
    """However it is quoted."""
    text = write("*** Begin Patch\n*** Add File: a\n" + "+line of text\n" * 70_000 + "*** End Patch")
    tracemalloc.start()
    found = unwrap.find(text, Kind.PATCH)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert ([True], True) == ([bool(each.text) for each in found], peak < 20 * len(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a...(truncated)", "a"), ("a\n…[truncated 3 chars]", "a"), ("[truncated", None), ("see (the truncated one) here", None), ("", None)],
)
def test_only_a_mark_at_the_end_is_a_cut(text: str, expected: str | None) -> None:
    """The word elsewhere means nothing."""
    assert expected == cuts.uncut(text)

"""Discovery: every recorded form gives exactly its calls, and nothing that only looks like a call gives any."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.core import discover, tools
from hunkwatch.core.model import Evidence, Observation, Outcome

GOLDEN = Path(__file__).parent.parent / "golden"
FILES = sorted(path.stem for path in GOLDEN.glob("*.json"))
START = datetime(2026, 4, 1, 8, tzinfo=UTC)
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 'a\\n'\n+x = \"b\"\n*** End Patch"
HEREDOC = f"apply_patch <<'EOF'\n{PATCH}\nEOF"
ASKED = {
    "role": "assistant",
    "tool_calls": [{"id": "i", "type": "function", "function": {"name": "apply_patch", "arguments": json.dumps({"input": PATCH})}}],
}


def observed(**fields: Any) -> Observation:
    """Return an observation with only the interesting fields."""
    return Observation(**{"id": "o", "trace_id": "t", "start_time": START, "type": "TOOL", **fields})


def tidy(text: str | None) -> str | None:
    """Return a text without what no patch is told apart by: blanks around it and CR before LF."""
    return None if text is None else text.strip().replace("\r\n", "\n")


def parsed(text: object) -> object:
    """Return a raw text as a server that parses JSON hands it over."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def golden(name: str, form: str) -> tuple[dict[str, Any], Observation]:
    """Return a golden file and its observation, with input and output as raw text or parsed."""
    data = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    row = data["observation"]
    read = parsed if form == "parsed" else (lambda value: value)
    return data, observed(
        id=row["id"],
        trace_id=row["traceId"],
        type=row["type"],
        name=row["name"],
        level=row["level"],
        status_message=row["statusMessage"],
        input=read(row["input"]),
        output=read(row["output"]),
        metadata=flat(row["metadata"] or {}) if form == "raw" else row["metadata"],
    )


def flat(metadata: dict[str, Any]) -> dict[str, str]:
    """Return metadata as v2 hands it over: dotted paths to texts."""
    leaves: dict[str, str] = {}
    for key, value in metadata.items():
        if isinstance(value, dict) and value:
            leaves.update((f"{key}.{below}", text) for below, text in flat(value).items())
        else:
            leaves[key] = value if isinstance(value, str) else json.dumps(value)
    return leaves


@pytest.mark.parametrize("form", ["raw", "parsed"])
@pytest.mark.parametrize("name", FILES)
def test_a_recorded_form_gives_exactly_its_calls(name: str, form: str) -> None:
    """Text, call id, outcome, flags and the reason are as the golden file says, in both forms of reading."""
    data, row = golden(name, form)
    keys = ("text", "call_id", "outcome", "flags", "why", "evidence")

    actual = [{key: asdict(call)[key] for key in keys} for call in discover.calls(row)]

    expected = [{**call, "text": tidy(call["text"]), "flags": tuple(call["flags"])} for call in data["calls"]]
    assert expected == [{**call, "text": tidy(call["text"])} for call in actual]


@pytest.mark.parametrize("name", FILES)
def test_a_recorded_form_shows_its_producer(name: str) -> None:
    """The producer is recognised, and it is one of the documented set."""
    data, row = golden(name, "raw")

    assert all(call.producer == data["producer"] for call in discover.calls(row))


def test_every_producer_has_a_golden_file() -> None:
    """Whoever adds a producer shows what it records."""
    shown = {json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))["producer"] for name in FILES}

    assert {sign.producer for sign in discover.PRODUCERS} - shown == set()


def test_calls_are_counted_under_their_call_id() -> None:
    """The index starts anew for each call id."""
    texts = {at: f"{PATCH}\n{PATCH.replace('a.py', at)}" for at in ("p", "q")}
    answer = {"tool_calls": [{"id": at, "name": "apply_patch", "arguments": text} for at, text in texts.items()]}

    calls = discover.calls(observed(type="GENERATION", output=answer))

    assert [("p", 0), ("p", 1), ("q", 0), ("q", 1)] == [(call.call_id, call.index) for call in calls]


def test_a_model_asks_and_a_tool_executes() -> None:
    """The evidence says which side was recorded; a request has no outcome yet."""
    asked = discover.calls(observed(type="GENERATION", output=[ASKED]))
    ran = discover.calls(observed(name="apply_patch", input=PATCH, output="Done!"))

    assert [(Evidence.REQUEST, Outcome.UNKNOWN, False), (Evidence.EXECUTION, Outcome.APPLIED, True)] == [
        (call.evidence, call.outcome, call.has_output) for call in (*asked, *ran)
    ]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"codex.call_id": "x"}, "x"),
        ({"call_id": "x"}, "x"),
        ({"callID": '"x"'}, "x"),
        ({"tool_call_id": "x"}, "x"),
        ({"toolCallId": "x"}, "x"),
        ({"tool_id": "x"}, "x"),
        ({"attributes": {"gen_ai.tool.call.id": "x"}}, "x"),
        ({"attributes": '{"ai.toolCall.id": "x"}'}, "x"),
        ({}, None),
    ],
)
def test_a_call_id_is_found_wherever_it_is_kept(metadata: dict[str, object], expected: str | None) -> None:
    """Metadata, quoted or not, and OTel attributes, as text or not."""
    assert [expected] == [call.call_id for call in discover.calls(observed(name="apply_patch", input=PATCH, metadata=metadata))]


@pytest.mark.parametrize("name", discover.NAMES)
def test_every_name_that_is_asked_for_is_a_patch_tool(name: str) -> None:
    """A row found by its name alone is understood as a call even when its argument is hidden."""
    assert tools.kind(name) is tools.Kind.PATCH
    halves = name.startswith("tool-")
    assert ([] if halves else ["empty"]) == [call.why for call in discover.calls(observed(name=name, input=""))]


THANKS = [ASKED, {"role": "user", "content": "?"}, {"role": "assistant", "content": "ok"}]
DEFINED = {"type": "function", "function": {"name": "apply_patch", "parameters": {"x": PATCH}}}
RESULTS = [{"role": "tool", "name": "apply_patch", "content": PATCH}, {"type": "custom_tool_call_output", "call_id": "i", "output": PATCH}]

NEGATIVES: dict[str, dict[str, Any]] = {
    "a search for the marker": {"name": "bash", "input": {"command": "grep -rn '*** Begin Patch' docs | head; rg 'apply_patch <<' ."}},
    "a search tool": {"name": "grep", "input": {"pattern": "*** Begin Patch", "path": "."}},
    "a file that quotes a patch": {"name": "write_file", "input": {"path": "how-to.md", "content": PATCH}},
    "a heredoc into a document": {"name": "bash", "input": {"command": f"cat > how-to.md <<'DOC'\nType:\n{HEREDOC}\nDOC\n"}},
    "an echo into a document": {"name": "bash", "input": {"command": f"echo '{PATCH.replace(chr(39), '')}' >> notes.md"}},
    "a commit message": {"name": "bash", "input": {"command": f"git commit -m \"$(cat <<'EOF'\nfix\n{PATCH}\nEOF\n)\""}},
    "a question about the command": {"name": "bash", "input": {"command": "which apply_patch; command -v apply_patch; apply_patch --help"}},
    "a commented-out run": {"name": "bash", "input": {"command": f"# apply_patch '{PATCH[:15]}'\nls"}},
    "git apply": {"name": "bash", "input": {"command": "git apply <<'EOF'\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nEOF"}},
    "the patch program": {"name": "bash", "input": {"command": "patch -p1 <<'EOF'\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nEOF"}},
    "a result": {"name": "read_file", "input": {"path": "x"}, "output": PATCH},
    "the same name for files": {"name": "ApplyPatch", "input": {"files": ["a", "b"]}},
    "the same name for edits": {"name": "patch", "input": {"path": "x", "edits": [{"old": "a", "new": "b"}]}},
    "another mode": {"name": "Tool: patch", "input": {"mode": "replace", "path": "x", "old_string": "-a", "new_string": "+b"}},
    "an HTTP method": {"type": "SPAN", "name": "PATCH", "input": ""},
    "a subagent's task": {"name": "spawn_agent", "input": {"prompt": f"Run this:\n{HEREDOC}"}},
    "a span that renders": {"type": "SPAN", "name": "render_prompt", "input": PATCH},
    "a judge": {"type": "EVALUATOR", "name": "apply_patch", "input": PATCH},
    "a verdict about a call": {"name": "apply_patch_approval_request", "input": {"patch": PATCH}},
    "source with a comment": {"name": "exec", "input": f"// tools.apply_patch({json.dumps(PATCH)})\ntext('tools.apply_patch(x)');"},
    "a function of that name": {"name": "python", "input": {"code": f"def apply_patch(text):\n    return text\nprint('''{PATCH}''')"}},
    "assistant text": {"type": "GENERATION", "output": {"role": "assistant", "content": PATCH}},
    "bare assistant text": {"type": "GENERATION", "output": PATCH},
    "a call written as text": {"type": "GENERATION", "output": {"role": "assistant", "content": json.dumps(ASKED["tool_calls"])}},
    "leaked channel text": {"type": "GENERATION", "output": {"role": "assistant", "content": f"to=functions.apply_patch code\n{PATCH}"}},
    "a history": {"type": "GENERATION", "input": [ASKED], "output": {"role": "assistant", "content": "done"}},
    "a history in the answer": {"type": "GENERATION", "output": {"messages": THANKS}},
    "an agent's input": {"type": "AGENT", "input": [ASKED], "output": "done"},
    "an agent's copy without ids": {"type": "AGENT", "output": {"tool_calls": [{"name": "apply_patch", "arguments": {"input": PATCH}}]}},
    "definitions": {"type": "GENERATION", "output": {"tools": [DEFINED]}},
    "results in the answer": {"type": "GENERATION", "output": RESULTS},
    "a name without arguments": {"type": "GENERATION", "output": {"tool_calls": [{"id": "i", "name": "apply_patch"}]}},
    "a chain's messages": {"type": "CHAIN", "name": "agent", "input": {"messages": [ASKED]}, "output": {"messages": [ASKED]}},
    "a copy in the metadata": {"name": "lookup", "input": {"id": 1}, "metadata": {"args": {"patch": PATCH}, "tool_input": PATCH}},
}  # fmt: skip


@pytest.mark.parametrize("case", NEGATIVES)
def test_what_only_looks_like_a_call_is_none(case: str) -> None:
    """Neither parsed nor raw."""
    fields = NEGATIVES[case]
    raw = {key: json.dumps(value) if key in {"input", "output"} and not isinstance(value, str) else value for key, value in fields.items()}

    assert [(), ()] == [discover.calls(observed(**fields)), discover.calls(observed(**raw))]


def test_answers_tell_what_became_of_earlier_calls() -> None:
    """Every provider's way to hand a result back to the model is read, by call id."""
    history = [
        {"role": "tool", "tool_call_id": "chat", "content": "Success. Updated the following files:\nM a"},
        {"type": "apply_patch_call_output", "call_id": "responses", "status": "failed", "output": "Invalid context at line 1"},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "otel", "response": {"result": "x", "success": True}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "anthropic", "content": "no", "is_error": True}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "bedrock", "content": [{"text": "Done!"}], "status": "success"}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "gemini", "name": "apply_patch", "response": {"output": "Done!"}}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "ai-sdk", "output": {"type": "text", "value": "Done!"}}]},
        {"role": "tool", "tool_call_id": "user", "content": "patch rejected by user"},
    ]

    assert {
        "chat": Outcome.APPLIED,
        "responses": Outcome.FAILED,
        "otel": Outcome.APPLIED,
        "anthropic": Outcome.FAILED,
        "bedrock": Outcome.APPLIED,
        "gemini": Outcome.APPLIED,
        "ai-sdk": Outcome.APPLIED,
        "user": Outcome.REJECTED,
    } == discover.answers(observed(type="GENERATION", input=json.dumps({"messages": history})))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from([PATCH, HEREDOC, json.dumps(ASKED)]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["input", "patch", "command", "tool_calls", "name", "arguments", "type", "operation", "id"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(
    kind=st.sampled_from(["TOOL", "SPAN", "GENERATION", "AGENT", "CHAIN", ""]),
    name=st.sampled_from(["apply_patch", "shell", "exec", "edit", "x", "tool_invoker"]),
    input=values,
    output=values,
    metadata=st.none() | st.dictionaries(st.text(max_size=5), values, max_size=3),
)
def test_no_observation_raises(**fields: Any) -> None:
    """Whatever is in it, the calls are returned, every text in them a string."""
    fields["type"] = fields.pop("kind")

    calls = discover.calls(observed(**fields))

    assert [True] * len(calls) == [call.text is None or isinstance(call.text, str) for call in calls]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000 + "*** Begin Patch" + "]" * 10_000,
        '{"a":' * 10_000 + '"*** Begin Patch"',
        '{"input": "*** Begin Patch", "n": ' + "9" * 5000 + "}",
        '{"input": NaN, "patch": "*** Begin Patch\\ud800"}',
        "\ud800*** Begin Patch\ud83d",
        "*** Begin Patch\x00",
        "(" * 10_000 + "'*** Begin Patch'",
        "apply_patch " + "$(" * 10_000 + "*** Begin Patch",
        "tools.apply_patch(" + "(`${" * 10_000 + "*** Begin Patch",
    ],
)
@pytest.mark.parametrize("name", ["apply_patch", "shell", "exec"])
def test_poison_costs_nothing_but_itself(text: str, name: str) -> None:
    """Nesting, long numbers, lone surrogates: a result comes back, as raw text, nested in a list, and as a model's answer."""
    nested: object = text
    for _ in range(2000):
        nested = [nested]

    for value in (text, {"command": text}, nested):
        assert isinstance(discover.calls(observed(name=name, input=value, output=value)), tuple)
    assert isinstance(discover.calls(observed(type="GENERATION", input=text, output=nested)), tuple)

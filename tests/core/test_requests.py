"""Every provider's way to write a tool call gives that call, with its id and its argument."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hunkwatch.core import requests

ARGUMENT = {"input": "text"}
TEXT = json.dumps(ARGUMENT)
LANGCHAIN = {"name": "edit", "args": ARGUMENT, "id": "i", "type": "tool_call"}
INVOCATION = {"toolCallId": "i", "toolName": "edit", "args": ARGUMENT}
FUNCTION = {"name": "edit", "arguments": TEXT}

ANSWERS: dict[str, Any] = {
    "OpenAI chat": {"role": "assistant", "content": None, "tool_calls": [{"id": "i", "type": "function", "function": FUNCTION}]},
    "OpenAI choices": {"choices": [{"index": 0, "message": {"tool_calls": [{"id": "i", "type": "function", "function": FUNCTION}]}}]},
    "OpenAI custom": {"tool_calls": [{"id": "i", "type": "custom", "custom": {"name": "edit", "input": TEXT}}]},
    "OpenAI responses": {"output": [{"type": "function_call", "id": "fc", "call_id": "i", "name": "edit", "arguments": TEXT}]},
    "OpenAI responses, one item": {"type": "custom_tool_call", "id": "ct", "call_id": "i", "name": "edit", "input": TEXT},
    "Anthropic": {"type": "message", "content": [{"type": "tool_use", "id": "i", "name": "edit", "input": ARGUMENT}]},
    "Anthropic blocks": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "i", "name": "edit", "input": ARGUMENT}],
    "Gemini": {"candidates": [{"content": {"parts": [{"functionCall": {"id": "i", "name": "edit", "args": ARGUMENT}}]}}]},
    "Gemini in Python": {"parts": [{"function_call": {"id": "i", "name": "edit", "args": ARGUMENT}}]},
    "Bedrock": {"output": {"message": {"content": [{"toolUse": {"toolUseId": "i", "name": "edit", "input": ARGUMENT}}]}}},
    "AI SDK text": {"role": "assistant", "tool_calls": json.dumps([{"toolCallId": "i", "toolName": "edit", "input": TEXT}])},
    "AI SDK parts": [{"type": "tool-call", "toolCallId": "i", "toolName": "edit", "input": ARGUMENT}],
    "AI SDK message": {"parts": [{"type": "tool-edit", "toolCallId": "i", "state": "input-available", "input": ARGUMENT}]},
    "AI SDK invocation": {
        "parts": [{"type": "tool-invocation", "toolInvocation": {"toolCallId": "i", "toolName": "edit", "args": ARGUMENT}}]
    },
    "OpenTelemetry parts": [{"role": "assistant", "parts": [{"type": "tool_call", "id": "i", "name": "edit", "arguments": ARGUMENT}]}],
    "OpenTelemetry attributes": {"0": {"role": "assistant", "tool_calls": {"0": {"id": "i", "name": "edit", "arguments": TEXT}}}},
    "OpenInference": [{"message": {"tool_calls": [{"tool_call": {"id": "i", "function": FUNCTION}}]}}],
    "OpenInference, flat": [
        {"message.tool_calls": [{"tool_call.id": "i", "tool_call.function.name": "edit", "tool_call.function.arguments": TEXT}]}
    ],
    "LangChain": {"content": "", "tool_calls": [LANGCHAIN]},
    "LangChain generations": {"generations": [[{"message": {"lc": 1, "kwargs": {"tool_calls": [LANGCHAIN]}}}]]},
    "LangChain, broken arguments": {"invalid_tool_calls": [{"name": "edit", "args": TEXT, "id": "i", "error": "x"}]},
    "pydantic-ai": {"parts": [{"part_kind": "tool-call", "tool_name": "edit", "args": TEXT, "tool_call_id": "i"}]},
    "Haystack": {"content": [{"tool_call": {"tool_name": "edit", "arguments": ARGUMENT, "id": "i"}}]},
    "AutoGen": {"content": [{"id": "i", "arguments": TEXT, "name": "edit"}]},
    "Semantic Kernel": {"items": [{"content_type": "function_call", "id": "i", "name": "edit", "arguments": TEXT}]},
    "JSON text": json.dumps(json.dumps({"tool_calls": [{"id": "i", "function": FUNCTION}]})),
    "Python repr": f"Message(content=None, tool_calls=[Call(id='i', function=Function(arguments={TEXT!r}, name='edit'))])",
    "OpenAI stream": [
        {"delta": {"tool_calls": [{"index": 0, "id": "i", "function": {"name": "edit", "arguments": ""}}]}},
        *({"delta": {"tool_calls": [{"index": 0, "function": {"arguments": sign}}]}} for sign in TEXT),
    ],
    "Anthropic stream": [
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "i", "name": "edit", "input": {}}},
        *({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": sign}} for sign in TEXT),
    ],
}


@pytest.mark.parametrize("provider", ANSWERS)
def test_the_call_is_found(provider: str) -> None:
    """Name, id and argument, whatever they are called and however deep they lie."""
    found = requests.made(ANSWERS[provider])

    assert [("edit", "i", ARGUMENT)] == [(call.name, call.call_id, _value(call.argument)) for call in found]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"tool_calls": [{"name": "edit", "parameters": ARGUMENT}]}, ("edit", None)),
        ({"message": {"tool_calls": [{"function": {"name": "edit", "arguments": ARGUMENT}}]}}, ("edit", None)),
        ({"function_call": FUNCTION}, ("edit", None)),
        ([{"type": "apply_patch_call", "call_id": "i", "operation": ARGUMENT}], ("apply_patch", "i")),
        ([{"type": "local_shell_call", "call_id": "i", "action": ARGUMENT}], ("local_shell", "i")),
        ([{"type": "shell_call", "call_id": "i", "action": ARGUMENT}], ("shell", "i")),
    ],
)
def test_calls_without_a_name_or_an_id_are_found(answer: object, expected: tuple[str, str | None]) -> None:
    """Hosted tools are named by their type; some providers give no ids."""
    assert [(*expected, ARGUMENT)] == [(call.name, call.call_id, _value(call.argument)) for call in requests.made(answer)]


def test_parallel_calls_share_an_id() -> None:
    """A call that makes several gives each of them."""
    uses = [{"recipient_name": f"functions.{name}", "parameters": ARGUMENT} for name in ("edit", "shell")]
    answer = {"tool_calls": [{"id": "i", "function": {"name": "multi_tool_use.parallel", "arguments": json.dumps({"tool_uses": uses})}}]}

    assert [("functions.edit", "i"), ("functions.shell", "i")] == [(call.name, call.call_id) for call in requests.made(answer)]


@pytest.mark.parametrize(
    "answer",
    [
        {"role": "assistant", "content": TEXT},
        {"tools": [{"type": "function", "function": {"name": "edit", "parameters": {}}}], "instructions": "x"},
        {"role": "tool", "name": "edit", "content": TEXT},
        {"type": "function_call_output", "call_id": "i", "output": TEXT},
        [{"tool_calls": [{"id": "i", "function": FUNCTION}]}, {"role": "user", "content": "x"}],
        {"name": "edit", "arguments": TEXT, "role": "assistant"},
        {"id": "i", "name": "edit"},
    ],
)
def test_what_is_no_call(answer: object) -> None:
    """Texts, definitions, results, history, and objects that only have a name."""
    assert () == requests.made(answer)


def _value(argument: object) -> object:
    return json.loads(argument) if isinstance(argument, str) else argument

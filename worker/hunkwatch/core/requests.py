"""The calls in what a model answered: every provider's way to write a tool call, found by walking the answer.

``made`` takes the decoded output of a generation. Texts are never searched; instructions, prompts, tool definitions and tool
results are never entered; in a list of messages only those behind the last one of a user or system count. Bounded and total.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from hunkwatch.core import layers

DEPTH = 24
_ITEMS = 20_000

_NAMES = ("name", "toolName", "tool_name", "recipient_name", "tool", "function_name", "FunctionName", "tool_call.function.name")
_ARGUMENTS = (
    "arguments", "args", "input", "parameters", "params", "tool_input", "toolInput", "tool_args", "tool_kwargs", "tool_arguments",
    "kwargs", "partial_json", "input_json", "Arguments", "tool_call.function.arguments",
)  # fmt: skip
_IDS = ("call_id", "callId", "callID", "toolCallId", "tool_call_id", "toolUseId", "tool_use_id", "tool_id", "id", "Id", "tool_call.id")
_TYPES = {
    "function_call", "custom_tool_call", "tool_call", "tool-call", "tool_use", "server_tool_use", "mcp_tool_use", "mcp_call", "function",
    "custom", "tool-invocation", "tool_invocation", "invalid_tool_call", "tool_call_chunk", "dynamic-tool", "toolCall", "tooluse",
    "toolUse", "functionCall", "tool", "ToolCall", "FunctionCall", "apply_patch_call", "local_shell_call", "shell_call",
    "code_interpreter_call",
}  # fmt: skip
_CARRIERS = frozenset({
    "tool_calls", "toolCalls", "tool_call", "toolCall", "function_call", "functionCall", "toolUse", "tool_use", "invalid_tool_calls",
    "tool_uses", "toolInvocations", "toolInvocation", "function", "custom", "function_calls", "functionCalls", "tool_invocations",
    "message.tool_calls",
})  # fmt: skip
_TEXT_CARRIERS = _CARRIERS | {
    "message", "messages", "output_messages", "llm.output_messages", "gen_ai.output.messages", "gen_ai.completion", "ai.response.toolCalls",
    "candidates", "choices", "generations", "parts", "items",
}  # fmt: skip
"""Keys under which calls may stand as JSON text. A text that somebody said has none of them."""
_CLOSED = frozenset({
    "tools", "tool_definitions", "toolDefinitions", "functions", "instructions", "system", "system_prompt", "systemInstruction", "prompt",
    "prompts", "input_messages", "history", "chat_history", "tool_results", "toolResults", "tool_result", "toolResult", "result",
    "results", "observation", "metadata", "usage", "text", "reasoning", "summary", "schema", "request", "input", "arguments", "args",
    "parameters", "tool_outputs", "config", "functionResponse", "function_response", "tool_choice", "examples", "input_schema",
    "providerMetadata", "provider_metadata", "response_metadata", "usage_metadata", "logprobs", "tool_config",
})  # fmt: skip
_OBJECT = re.compile(r"\s*+(?:[\[{\"(]|[A-Za-z_]\w*+\([A-Za-z_\[{])")
_ASKING = frozenset({"user", "human", "system", "developer"})
_ANSWERING = frozenset({"tool", "function", "ipython", "toolresult", "tool_result"})
_RESULT_TYPES = ("output", "result", "response")


class Request(NamedTuple):
    """A call that a model asks for. ``place`` tells the several copies of one call in one answer apart."""

    name: str
    call_id: str | None
    argument: object
    place: str
    cut: bool = False


def made(answer: object, *, cut: bool = False, whole_history: bool = False) -> tuple[Request, ...]:
    """Return the calls in an answer, in order, each as often as it is written there.

    ``cut``: the end of the answer is lost. ``whole_history``: calls of earlier turns count too.
    """
    for _ in range(layers.LAYERS):
        if not isinstance(answer, str) or _OBJECT.match(answer) is None:
            break
        answer, whole = layers.decode(answer)
        cut = cut or not whole
    walk = _Walk(whole_history=whole_history)
    walk.enter(answer, "", 0)
    found = walk.finish()
    if cut and found:
        found[-1] = found[-1]._replace(cut=True)
    return tuple(found)


def item(value: object, carrier: str = "") -> Request | None:
    """Return the call that an object describes, or None when it describes none. ``carrier`` is the key that it was found under."""
    if not isinstance(value, dict):
        return None
    inner = next((value[key] for key in ("function", "custom", "tool_call", "toolInvocation") if isinstance(value.get(key), dict)), None)
    kind = _string(value, ("type",))
    if inner is not None and not _string(value, _NAMES):
        found = item(inner, "function")
        return None if found is None else found._replace(call_id=_string(value, _IDS) or found.call_id)
    if kind in {"apply_patch_call", "local_shell_call", "shell_call", "code_interpreter_call"}:
        argument = next((value[key] for key in ("operation", "action", "code", *_ARGUMENTS) if key in value), None)
        return Request(kind.removesuffix("_call"), _string(value, _IDS) or None, argument, carrier)
    name = _string(value, _NAMES)
    if not name and kind.startswith("tool-") and kind not in _TYPES:
        name = kind.removeprefix("tool-")
    key = next((key for key in _ARGUMENTS if key in value), None)
    if not name or key is None:
        return None
    call_id = _string(value, _IDS) or None
    part = value.get("part_kind") or value.get("content_type") or ""
    told = kind in _TYPES or kind.startswith("tool-") or carrier in _CARRIERS or part in {"tool-call", "builtin-tool-call", "function_call"}
    told = told or ("tool" in value and "tool_input" in value)
    if not told and (call_id is None or kind or value.get("role")):
        return None
    return Request(name, call_id, value[key], carrier)


class _Walk:
    def __init__(self, *, whole_history: bool) -> None:
        self.whole_history = whole_history
        self.found: list[Request] = []
        self.growing: dict[int, tuple[int, list[object]]] = {}
        self.left = _ITEMS

    def _grow(self, piece: dict[str, object]) -> bool:
        """Put a piece behind the call that it belongs to; False when there is none."""
        inner = next((each for key in ("function", "delta") if isinstance(each := piece.get(key), dict)), {})
        text = _string(inner, ("arguments", "partial_json"))
        index = piece["index"]
        if not isinstance(index, int) or index not in self.growing or _string(inner, _NAMES):
            return False
        self.growing[index][1].append(text)
        return True

    def finish(self) -> list[Request]:
        """Return what was found, with streamed arguments put together."""
        for at, pieces in self.growing.values():
            if len(pieces) > 1 and at < len(self.found):
                whole = "".join(piece for piece in pieces if isinstance(piece, str))
                self.found[at] = self.found[at]._replace(argument=whole)
        return self.found

    def enter(self, value: object, carrier: str, depth: int) -> None:
        if depth > DEPTH or self.left <= 0:
            return
        self.left -= 1
        if isinstance(value, list):
            for each in value if self.whole_history else value[_answers_from(value) :]:
                self.enter(each, carrier, depth + 1)
        elif isinstance(value, dict):
            self._object(value, carrier, depth)
        elif isinstance(value, str) and carrier in _TEXT_CARRIERS and _OBJECT.match(value) is not None:
            decoded, _ = layers.decode(value)
            if decoded is not value:
                self.enter(decoded, carrier, depth + 1)

    def _object(self, value: dict[str, object], carrier: str, depth: int) -> None:
        if _is_answer(value):
            return
        if _is_piece(value) and self._grow(value):
            return
        begun = value.get("content_block")
        found = item(value if begun is None else begun, carrier)
        if found is not None:
            index = value.get("index")
            if isinstance(index, int):
                self.growing[index] = (len(self.found), [found.argument])
            self.found.extend(_spread(found))
            return
        for key, each in _nested(value).items():
            if key in _TEXT_CARRIERS or (isinstance(each, (dict, list)) and key not in _CLOSED):
                self.enter(each, carrier if key.isdigit() else key, depth + 1)


def _nested(value: dict[str, object]) -> dict[str, object]:
    """Return an object whose keys are paths (``a.0.tool_calls.1.name``), as some tracers flatten a message, as the tree that it was."""
    if not any(".tool_calls." in key for key in value):
        return value
    tree: dict[str, object] = {}
    for key, each in islice(value.items(), _ITEMS):
        *path, last = key.split(".", DEPTH)
        place = tree
        for step in path:
            inner = place.setdefault(step, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place[last] = each
    return tree


def _is_piece(value: dict[str, object]) -> bool:
    """Say whether an object is a piece of a streamed call that began in an earlier one: it has an index, a text, and no name."""
    return isinstance(value.get("index"), int) and not _string(value, _NAMES) and ("function" in value or "delta" in value)


def _spread(request: Request) -> list[Request]:
    """Return the calls inside a call that makes several at once."""
    argument = request.argument
    if "parallel" not in request.name.lower():
        return [request]
    if isinstance(argument, str):
        argument, _ = layers.decode(argument)
    uses = argument.get("tool_uses") if isinstance(argument, dict) else None
    if not isinstance(uses, list):
        return [request]
    inner = [found for use in uses[:_ITEMS] if (found := item(use, "tool_uses")) is not None]
    return [found._replace(call_id=found.call_id or request.call_id, place=request.place) for found in inner]


def _answers_from(items: list[object]) -> int:
    """Return where the newest turn of the model starts in a list of messages; what stands before is history."""
    for at in range(len(items) - 1, -1, -1):
        each = items[at]
        if isinstance(each, dict) and _role(each) in _ASKING:
            return at + 1
    return 0


def _is_answer(value: dict[str, object]) -> bool:
    kind = value.get("type")
    return _role(value) in _ANSWERING or (isinstance(kind, str) and kind.endswith(_RESULT_TYPES) and kind != "response")


def _role(value: dict[str, object]) -> str:
    role = value.get("role")
    return role.lower() if isinstance(role, str) else ""


def _string(value: dict[str, object], keys: tuple[str, ...]) -> str:
    return next((text for key in keys if isinstance(text := value.get(key), str) and text), "")

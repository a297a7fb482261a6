"""The results of calls in a list of messages: every provider's way to tell a model what its tool answered.

``told`` takes the decoded input of a generation (the conversation so far) or the output of a node that ran several tools. Bounded and
total; of several results under one call id the last counts.
"""

from __future__ import annotations

from hunkwatch.core.requests import DEPTH

_ITEMS = 50_000
_IDS = ("tool_call_id", "call_id", "toolCallId", "tool_use_id", "toolUseId", "callId")
_RESULTS = ("output", "content", "response", "result")
_CARRIERS = frozenset({"functionResponse", "function_response", "toolResult", "tool_result", "tool_call_result"})
_PARTS = frozenset({"tool-return", "retry-prompt", "builtin-tool-return", "function_result"})


def told(value: object) -> dict[str, object]:
    """Return what each call was answered, by call id."""
    found: dict[str, object] = {}
    left = _ITEMS
    stack: list[tuple[object, str, int]] = [(value, "", 0)]
    while stack and left:
        left -= 1
        each, carrier, depth = stack.pop()
        if depth > DEPTH:
            continue
        if isinstance(each, list):
            stack.extend((inner, carrier, depth + 1) for inner in reversed(each))
        elif isinstance(each, dict):
            call_id = _call_id(each, carrier)
            if call_id:
                found[call_id] = each
            else:
                stack.extend((inner, str(key), depth + 1) for key, inner in reversed(each.items()) if isinstance(inner, (dict, list)))
    return found


def _call_id(value: dict[str, object], carrier: str) -> str:
    """Return the id of the call that an object is the result of, or ``""``."""
    if not any(key in value for key in _RESULTS):
        return ""
    kind = value.get("type")
    kind = kind if isinstance(kind, str) else ""
    is_result = (
        value.get("role") in {"tool", "function"}
        or kind in {"tool", "tool_result", "tool-result", "tool_call_response"}
        or kind.endswith("_output")
        or carrier in _CARRIERS
        or value.get("part_kind") in _PARTS
        or value.get("content_type") in _PARTS
    )
    if not is_result:
        return ""
    origin = value.get("origin")
    if isinstance(origin, dict) and isinstance(origin.get("id"), str):
        return str(origin["id"])
    keys = _IDS if value.get("role") and kind != "tool_call_response" else (*_IDS, "id")
    return next((text for key in keys if isinstance(text := value.get(key), str) and text), "")

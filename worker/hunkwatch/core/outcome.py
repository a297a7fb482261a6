"""What became of a call, from the level, the status, the structured result and the words of the output, in this order of trust.

Evidence only: it never moves a number. Only known words count; what is not known is ``unknown``. Only the first and last few
thousand characters of an output are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunkwatch.core import cuts, layers
from hunkwatch.core.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WINDOW = 4000
_DEPTH = 6
_OPENED = 64 * WINDOW
_OPENINGS = ("{", "[", "content=")
_ITEMS = 200

_DECLINED = (
    "rejected by user", "rejected by the user", "denied by user", "denied by the user", "user rejected", "user denied", "user declined",
    "cancelled by the user", "cancelled by user", "user cancelled", "user canceled", "approval settings", "approval policy",
    "approval denied", "approval required", "requires approval", "without approval", "awaiting approval", "patch declined",
    "was declined", "declined by", "not approved", "rejected permission", "chose to skip", "doesn't want to", "does not want to",
    "aborted by user", "aborted by the user", "user aborted",
)  # fmt: skip
_APPLIED = (
    "success. updated the following files", "successfully applied patch", "successfully applied the patch", "successfully edited",
    "patch applied", "applied patch", "done!",
)  # fmt: skip
_FAILED = (
    "verification failed", "invalid patch", "failed to find", "invalid context", "command not found", "patch rejected",
    "not recognized as", "no such file", "failed to parse", "apply_patch failed", "could not apply", "failed to apply", "does not apply",
    "tool execution failed", "script failed", "patch failed", "traceback (most recent call last)", "requires a non-empty",
    "no files were modified", "unexpected token", "is not a valid", "patchapplyerror", "differror", "invalid line", "invalid hunk",
    "context not found", "could not find context", "permission denied", "<tool_use_error>",
)  # fmt: skip
_FAILED_STARTS = ("error", "failed", "failure", "exception", "invalid")
_APPLIED_STARTS = ("updated ", "created ", "deleted ", "moved ", "added ", "modified ", "edited ", "applied ", "script completed")
_BARE = frozenset({"ok", "ok.", "done", "done.", "success", "success.", "succeeded", "applied", "completed", "true"})
_GOOD = frozenset({"success", "succeeded", "completed", "complete", "ok", "applied", "done", "true"})
_BAD = frozenset({"failed", "failure", "error", "errored", "false", "incomplete", "aborted"})
_REFUSED = frozenset({"declined", "rejected", "denied"})
_TEXT_KEYS = (
    "output",
    "error",
    "message",
    "content",
    "text",
    "result",
    "stdout",
    "stderr",
    "title",
    "response",
    "value",
    "kwargs",
    "data",
    "errorText",
    "details",
)
_STATUS_KEYS = (
    "success", "status", "is_error", "isError", "ok", "applied", "exit_code", "exitCode", "returncode", "error", "error_type", "type",
)  # fmt: skip
_YES_KEYS = frozenset({"success", "ok", "applied"})
_TYPES = {
    "error-text": Outcome.FAILED, "error-json": Outcome.FAILED, "tool-error": Outcome.FAILED, "execution-denied": Outcome.REJECTED,
}  # fmt: skip
_PLACES = ("metadata", "result", "response", "kwargs", "output", "content", "text", "value")
_EXIT_KEYS = frozenset({"exit_code", "exitCode", "returncode"})
_ERROR_KEYS = frozenset({"is_error", "isError", "error", "error_type"})
_HEAD_LINES = 6
_CODE_HEADS = ("exit code:", "process exited with code", "exit code ")


def of(level: str, status_message: str, output: object, metadata: Mapping[str, object], *, calls: int = 1) -> Outcome:
    """Return the outcome of the calls that one execution record holds. ``calls`` is how many patches the record carries."""
    output = _opened(output, 0)
    text = " \n".join(_texts(output, 0))
    lowered = _window(text).lower()
    status = status_message.lower()
    applied, failed = _count(lowered, _APPLIED), any(word in lowered for word in _FAILED)
    succeeded = applied > 0 and (not failed or applied >= calls)
    told = _structured(output, metadata)
    if not succeeded and (
        told is Outcome.REJECTED or status.strip() in _REFUSED or any(word in status or word in lowered for word in _DECLINED)
    ):
        return Outcome.REJECTED
    if level == "ERROR":
        return Outcome.APPLIED if succeeded and not any(word in status for word in _FAILED) else Outcome.FAILED
    if applied and failed:
        return Outcome.APPLIED if applied >= calls > 1 else Outcome.UNKNOWN if calls > 1 else _mixed(lowered)
    if failed:
        return Outcome.FAILED
    if applied:
        return Outcome.APPLIED
    return told or _plain(lowered)


def of_result(result: object, *, calls: int = 1) -> Outcome:
    """Return the outcome that a tool's result tells by itself, as a later message carries it."""
    return of("DEFAULT", "", result, {}, calls=calls)


def _mixed(lowered: str) -> Outcome:
    """Return what comes first, success or failure: what follows is about something else, such as the compiler."""
    applied = min(at for word in _APPLIED if (at := lowered.find(word)) >= 0)
    failed = min(at for word in _FAILED if (at := lowered.find(word)) >= 0)
    return Outcome.APPLIED if applied < failed else Outcome.FAILED


def _plain(lowered: str) -> Outcome:
    body = lowered.strip().strip('"').strip()
    if not body:
        return Outcome.UNKNOWN
    for line in body.split("\n", _HEAD_LINES)[:_HEAD_LINES]:
        for head in _CODE_HEADS:
            if line.startswith(head):
                return Outcome.APPLIED if line[len(head) :].strip() == "0" else Outcome.FAILED
    if body == "false" or body.startswith(_FAILED_STARTS):
        return Outcome.FAILED
    if body in _BARE or body.startswith(_APPLIED_STARTS):
        return Outcome.APPLIED
    return Outcome.UNKNOWN


def _count(lowered: str, words: tuple[str, ...]) -> int:
    return sum(lowered.count(word) for word in words[:1]) or int(any(word in lowered for word in words))


def _window(text: str) -> str:
    return text if len(text) <= 2 * WINDOW else text[:WINDOW] + "\n" + text[-WINDOW:]


def _opened(value: object, depth: int) -> object:
    """Return a result whose texts that are objects themselves are read: a tool's JSON stands as text in what a model is told."""
    if depth > _DEPTH:
        return value
    if isinstance(value, str):
        if len(value) > _OPENED or not value.lstrip().startswith(_OPENINGS):
            return value
        inner, whole = layers.decode(value)
        return _opened(inner, depth + 1) if whole and isinstance(inner, (dict, list)) else value
    if isinstance(value, list):
        return [_opened(each, depth + 1) for each in value[:_ITEMS]]
    if isinstance(value, dict):
        return {key: _opened(each, depth + 1) if key in _TEXT_KEYS else each for key, each in value.items()}
    return value


def _texts(value: object, depth: int) -> Iterator[str]:
    """Yield the words of a result, not the changes that it may repeat."""
    if depth > _DEPTH:
        return
    if isinstance(value, str):
        if not cuts.is_placeholder(value):
            yield value
    elif isinstance(value, bool):
        yield str(value)
    elif isinstance(value, list):
        for each in value[:_ITEMS]:
            yield from _texts(each, depth + 1)
    elif isinstance(value, dict):
        for key in _TEXT_KEYS:
            if key in value:
                yield from _texts(value[key], depth + 1)


def _structured(output: object, metadata: Mapping[str, object]) -> Outcome | None:
    told = [found for place in _places(output, 0) if (found := _status(place)) is not None]
    if told:  # what wraps a result may say that it came, while the result says that it is bad
        return next((each for each in told if each is not Outcome.APPLIED), Outcome.APPLIED)
    places: list[Mapping[str, object]] = [{key: value for key, value in metadata.items() if key != "type"}]
    attributes = metadata.get("attributes")
    if isinstance(attributes, dict):
        places.append({"success": attributes.get("codex.tool.success"), "is_error": attributes.get("is_error")})
    return next((found for place in places if (found := _status(place)) is not None), None)


def _places(value: object, depth: int) -> Iterator[Mapping[str, object]]:
    """Yield the objects of a result that may hold a status, the outer before the inner."""
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for each in value[:_ITEMS]:
            yield from _places(each, depth + 1)
    elif isinstance(value, dict):
        yield value
        for key in _PLACES:
            if isinstance(value.get(key), (dict, list)):
                yield from _places(value[key], depth + 1)


def _status(place: Mapping[str, object]) -> Outcome | None:
    kind = place.get("type")
    of_item = isinstance(kind, str) and kind.endswith("call_output") and kind != "apply_patch_call_output"
    keys = (key for key in _STATUS_KEYS if key in place and not (of_item and key == "status"))
    return next((found for key in keys if (found := _verdict(key, place[key])) is not None), None)


def _verdict(key: str, value: object) -> Outcome | None:
    """Return what one field of a result says, or None when it says nothing."""
    word = str(value).lower() if isinstance(value, (str, bool, int)) else ""
    if key == "type":
        return _TYPES.get(word)
    if key in _YES_KEYS and word in {"0", "1"}:
        return Outcome.APPLIED if word == "1" else Outcome.FAILED
    if key in _EXIT_KEYS:
        return None if not word.lstrip("-").isdigit() else Outcome.APPLIED if word == "0" else Outcome.FAILED
    if key in _ERROR_KEYS:
        if word in {"false", "none", "null", ""} and not isinstance(value, dict):
            return Outcome.APPLIED if value is False else None
        return Outcome.FAILED if value else None
    if word in _REFUSED:
        return Outcome.REJECTED
    return Outcome.FAILED if word in _BAD else Outcome.APPLIED if word in _GOOD else None

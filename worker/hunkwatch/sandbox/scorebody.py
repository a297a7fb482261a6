"""What a score in a request may look like: the schema of ``POST /scores`` and of ``score-create`` events.

Whether a score also fits its config is not asked here: Langfuse asks that later, and drops in silence.
"""

from collections.abc import Mapping
from typing import Any

from hunkwatch.sandbox import answers, moments
from hunkwatch.sandbox.answers import ABSENT, Issue

DATA_TYPES = ["NUMERIC", "CATEGORICAL", "BOOLEAN", "CORRECTION", "TEXT"]
SOURCES = ["API", "ANNOTATION"]
LONGEST_TEXT = 500
TARGET = (
    "Provide exactly one of the following: traceId (with optional observationId), sessionId or datasetRunId. "
    "ObservationId requires traceId."
)
BOOLEAN = "Value must be a number equal to either 0 or 1 for data type BOOLEAN"
TEXTS = ("id", "traceId", "sessionId", "datasetRunId", "observationId", "comment", "configId", "queueId", "environment")


def issues(body: object) -> list[Issue]:
    """Everything that is wrong with a score's body; empty for a good one."""
    if not isinstance(body, Mapping):
        issue = answers.expected("object", body, [])
        return [issue, {key: issue[key] for key in ("code", "expected", "path", "message")}]
    found = [*_texts(body), *_value(body)]
    if body.get("source") is not None and body["source"] not in SOURCES:
        found.append(answers.not_one_of(SOURCES, ["source"]))
    if body.get("timestamp") is not None and moments.parse(body["timestamp"]) is None:
        found.append(answers.bad_time(["timestamp"]))
    return found or _target(body)


def _texts(body: Mapping[str, Any]) -> list[Issue]:
    name = body.get("name", ABSENT)
    found = [] if isinstance(name, str) else [answers.expected("string", name, ["name"])]
    if name == "":
        message = "Too small: expected string to have >=1 characters"
        found.append({"origin": "string", "code": "too_small", "minimum": 1, "inclusive": True, "path": ["name"], "message": message})
    return found + [
        answers.expected("string", body[key], [key]) for key in TEXTS if body.get(key) is not None and not isinstance(body[key], str)
    ]


def _value(body: Mapping[str, Any]) -> list[Issue]:
    value, path = body.get("value", ABSENT), ["value"]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    kind = body.get("dataType")
    if kind is None:
        if isinstance(value, str) or is_number:
            return []
        branches = [[answers.expected("string", value, [])], [answers.expected("number", value, [])]]
        return [{"code": "invalid_union", "errors": branches, "path": path, "message": "Invalid input"}]
    if kind not in DATA_TYPES:
        return [answers.not_one_of(DATA_TYPES, ["dataType"])]
    if kind in {"NUMERIC", "BOOLEAN"}:
        if not is_number:
            return [answers.expected("number", value, path)]
        return [answers.custom(BOOLEAN, path)] if kind == "BOOLEAN" and value not in {0, 1} else []
    if not isinstance(value, str):
        return [answers.expected("string", value, path)]
    if kind == "TEXT" and not 1 <= len(value) <= LONGEST_TEXT:
        return [answers.custom(f"Text must have 1 to {LONGEST_TEXT} characters", path)]
    return []


def _target(body: Mapping[str, Any]) -> list[Issue]:
    targets = [key for key in ("traceId", "sessionId", "datasetRunId") if body.get(key)]
    if len(targets) != 1 or (body.get("observationId") and targets != ["traceId"]):
        return [answers.custom(TARGET, ["traceId", "sessionId", "datasetRunId", "observationId"])]
    return []

"""Conditions of the v2 observations: the ``filter`` parameter's JSON array and the plain parameters, in one form.

A condition in ``filter`` on a column overrides every plain parameter of that column; what is left is ANDed.
Texts compare exactly, except that ``matches`` looks for the literal text in any case.
"""

import json
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

from hunkwatch.sandbox import answers, moments
from hunkwatch.sandbox.rows import IN_INPUT, IN_OUTPUT, MARK, Body, Row, metadata_of, text_of

_T = TypeVar("_T")
Predicate = Callable[[Row], bool]


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison."""

    column: str
    type: str
    operator: str
    value: Any
    key: str = ""


TEXTS: dict[str, Callable[[Row], str]] = {
    "id": lambda row: row.id,
    "traceId": lambda row: row.trace,
    "name": lambda row: row.name,
    "type": lambda row: row.type,
    "level": lambda row: row.level,
    "environment": lambda row: row.environment,
    "statusMessage": lambda row: row.status,
    "version": lambda row: row.version,
    "parentObservationId": lambda row: row.parent or "",
    "model": lambda row: row.model,
    "traceName": lambda row: row.context.name,
    "userId": lambda row: row.context.user,
    "sessionId": lambda row: row.context.session,
    "release": lambda row: row.context.release,
}
TIMES: dict[str, Callable[[Row], int | None]] = {"startTime": lambda row: row.start, "endTime": lambda row: row.end}
FLAGS: dict[str, Callable[[Row], bool]] = {
    "isRootObservation": lambda row: row.root or row.parent is None,
    "hasInput": lambda row: bool(row.input),
    "hasOutput": lambda row: bool(row.output),
}
NUMBERS: dict[str, Callable[[Row], float | None]] = {"latency": lambda row: None if row.end is None else (row.end - row.start) / 1000}
LISTS: dict[str, Callable[[Row], Sequence[str]]] = {"tags": lambda row: row.context.tags, "traceTags": lambda row: row.context.tags}
BODIES: dict[str, Callable[[Row], Body]] = {"input": lambda row: row.input, "output": lambda row: row.output}
COLUMNS = {*TEXTS, *TIMES, *FLAGS, *NUMBERS, *LISTS, *BODIES, "metadata"}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
TEXT_COMPARE: dict[str, Callable[[str, str], bool]] = {
    "=": operator.eq,
    "contains": lambda text, part: part in text,
    "does not contain": lambda text, part: part not in text,
    "starts with": str.startswith,
    "ends with": str.endswith,
    "matches": lambda text, part: part.lower() in text.lower(),
}


def parse(text: str) -> list[Condition]:
    """The conditions of the ``filter`` parameter on observations, or a 400."""
    conditions = read(text)
    for condition in conditions:
        if condition.column not in COLUMNS:
            raise answers.refused(f"Column {condition.column} does not match a UI / CH table mapping.")
    on_bodies = [condition for condition in conditions if condition.column in BODIES]
    if on_bodies and not any(condition.operator in {"matches", "="} for condition in on_bodies):
        raise answers.refused("Input/output filters require at least one `matches` or `=` operator.")
    return conditions


def read(text: str) -> list[Condition]:
    """The conditions of a ``filter`` parameter whatever their columns, or a 400."""
    try:
        listed = json.loads(text)
    except ValueError:
        raise answers.refused("Invalid JSON in filter parameter") from None
    if not isinstance(listed, list):
        raise answers.invalid([answers.expected("array", listed, ["filter"])])
    return [_condition(entry, number) for number, entry in enumerate(listed)]


def merge(filtered: Sequence[Condition], plain: Iterable[Condition]) -> list[Condition]:
    """Both kinds together; a filter drops the plain parameters of its column."""
    columns = {condition.column for condition in filtered}
    return [*filtered, *(condition for condition in plain if condition.column not in columns)]


def compile_all(conditions: Iterable[Condition]) -> Predicate:
    """One predicate for all of them, the cheap ones asked first."""
    predicates = [predicate(condition) for condition in sorted(conditions, key=lambda condition: condition.column in BODIES)]
    return reduce(_both, predicates) if predicates else lambda _row: True


def _both(first: Predicate, second: Predicate) -> Predicate:
    return lambda row: first(row) and second(row)


def predicate(condition: Condition) -> Predicate:
    """What one condition asks of a row, or a 400 for a type the column does not have."""
    made = _of_text(condition) or _of_measure(condition)
    if made is None:
        raise answers.refused(f"Filter type {condition.type} is not supported for column {condition.column}.")
    return made


def _of_text(condition: Condition) -> Predicate | None:
    column, value = condition.column, condition.value
    match condition.type:
        case "string" if column in BODIES:
            return _in_body(condition)
        case "string" if column in TEXTS:
            compare, read = _pick(TEXT_COMPARE, condition), TEXTS[column]
            return lambda row: compare(read(row), value)
        case "stringOptions" if column in TEXTS:
            read, options = TEXTS[column], frozenset(value)
            if _pick({"any of": True, "none of": False}, condition):
                return lambda row: read(row) in options
            return lambda row: read(row) not in options
        case "stringObject" if column == "metadata":
            compare, key = _pick(TEXT_COMPARE, condition), condition.key
            return lambda row: compare(metadata_of(row).get(key, ""), value)
        case _:
            return None


def _of_measure(condition: Condition) -> Predicate | None:
    column, value = condition.column, condition.value
    match condition.type:
        case "arrayOptions" if column in LISTS:
            return _in_list(condition)
        case "datetime" if column in TIMES:
            return _compared(TIMES[column], _pick(COMPARE, condition), _moment(value))
        case "number" if column in NUMBERS:
            return _compared(NUMBERS[column], _pick(COMPARE, condition), value)
        case "boolean" if column in FLAGS:
            return _compared(FLAGS[column], _pick(COMPARE, condition), value)
        case "null" if column in {*TEXTS, *TIMES}:
            wanted = _pick({"is null": False, "is not null": True}, condition)
            look = TEXTS.get(column) or TIMES[column]
            return lambda row: (look(row) not in {None, ""}) is wanted
        case _:
            return None


def _compared(read: Callable[[Row], Any], compare: Callable[[Any, Any], bool], value: Any) -> Predicate:
    def holds(row: Row) -> bool:
        found = read(row)
        return found is not None and compare(found, value)

    return holds


def _in_body(condition: Condition) -> Predicate:
    compare, read, value = _pick(TEXT_COMPARE, condition), BODIES[condition.column], condition.value
    bit = IN_INPUT if condition.column == "input" else IN_OUTPUT
    if condition.operator == "matches":
        wanted = value.lower()
        if wanted == MARK:
            return lambda row: bool(row.bodies & bit)
        if MARK in wanted:
            return lambda row: bool(row.bodies & bit) and wanted in (text_of(read(row)) or "").lower()
        return lambda row: wanted in (text_of(read(row)) or "").lower()
    return lambda row: compare(text_of(read(row)) or "", value)


def _in_list(condition: Condition) -> Predicate:
    read, options = LISTS[condition.column], frozenset(condition.value)
    match _pick({"any of": 1, "none of": 0, "all of": 2}, condition):
        case 0:
            return lambda row: options.isdisjoint(read(row))
        case 1:
            return lambda row: not options.isdisjoint(read(row))
        case _:
            return lambda row: options.issubset(read(row))


def _pick(options: Mapping[str, _T], condition: Condition) -> _T:
    if condition.operator not in options:
        raise answers.invalid([answers.not_one_of(list(options), ["filter", "operator"])])
    return options[condition.operator]


def _moment(value: object) -> int:
    moment = value if isinstance(value, int) else moments.parse(value)
    if moment is None:
        raise answers.invalid([answers.bad_time(["filter", "value"])])
    return moment


VALUES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "stringObject": str,
    "stringOptions": list,
    "arrayOptions": list,
    "categoryOptions": list,
    "datetime": str,
    "number": (int, float),
    "numberObject": (int, float),
    "boolean": bool,
    "null": object,
}
_KIND = {str: "string", list: "array", bool: "boolean", (int, float): "number"}


def _condition(entry: object, number: int) -> Condition:
    path: list[str | int] = ["filter", number]
    if not isinstance(entry, dict):
        raise answers.invalid([answers.expected("object", entry, path)])
    kind = entry.get("type")
    if kind not in VALUES:
        issue = {"code": "invalid_union", "errors": [], "note": "No matching discriminator", "discriminator": "type"}
        raise answers.invalid([{**issue, "path": [*path, "type"], "message": "Invalid input"}])
    for field in ("column", "operator", *(["key"] if kind.endswith("Object") or kind == "categoryOptions" else [])):
        if not isinstance(entry.get(field), str):
            raise answers.invalid([answers.expected("string", entry.get(field, answers.ABSENT), [*path, field])])
    value, wanted = entry.get("value", answers.ABSENT), VALUES[kind]
    strays = isinstance(value, list) and not all(isinstance(option, str) for option in value)
    if kind != "null" and (not isinstance(value, wanted) or strays or (isinstance(value, bool) and wanted is not bool)):
        raise answers.invalid([answers.expected(_KIND[wanted], value, [*path, "value"])])
    return Condition(entry["column"], kind, entry["operator"], value, entry.get("key", ""))

"""``GET /api/public/v2/observations``: parse, select, render.

Field groups decide what a row shows; input and output are raw text; the last page has an empty ``meta``.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from hunkwatch.sandbox import answers, filters, moments, xxhash
from hunkwatch.sandbox.filters import Condition, Predicate
from hunkwatch.sandbox.rows import Row, metadata_of, text_of
from hunkwatch.sandbox.shelf import Shelf

TYPES = ["GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"]
LEVELS = ["DEBUG", "DEFAULT", "WARNING", "ERROR"]
GROUPS = ("core", "basic", "time", "io", "metadata", "model", "usage", "prompt", "metrics", "trace_context")
MOST = 1000
CUT = 200
EXACT = ("name", "userId", "sessionId", "traceId", "version", "parentObservationId")
Key = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Query:
    """What a v2 request asks for."""

    conditions: list[Condition]
    fields: frozenset[str]
    limit: int
    after: Key | None
    whole: frozenset[str]


def plain_conditions(params: QueryParams) -> list[Condition]:
    """What the plain parameters ask, or a 400."""
    issues: list[answers.Issue] = []
    plain = [*_exact(params), *_chosen(params, issues), *_between(params, issues)]
    if issues:
        raise answers.invalid(issues)
    return plain


def parse(params: QueryParams) -> Query:
    """Read the parameters, or a 400 with every problem of the schema at once."""
    issues: list[answers.Issue] = []
    limit = _limit(params.get("limit"), issues)
    plain = [*_exact(params), *_chosen(params, issues), *_between(params, issues)]
    if params.get("parseIoAsJson") == "true":
        issues.append({"code": "custom", "path": ["parseIoAsJson"], "message": RAW_ONLY})
    if issues:
        raise answers.invalid(issues)
    asked = frozenset(params["fields"].split(",")) & frozenset(GROUPS) if "fields" in params else frozenset({"basic"})
    after = _read_cursor(params["cursor"]) if params.get("cursor") else None
    filtered = filters.parse(params["filter"]) if params.get("filter") else []
    whole = frozenset(filter(None, params.get("expandMetadata", "").split(",")))
    return Query(filters.merge(filtered, plain), asked, limit, after, whole)


def _exact(params: QueryParams) -> Iterator[Condition]:
    for name in EXACT:
        if name in params:
            yield Condition(name, "string", "=", params[name])
    if environments := params.getlist("environment"):
        yield Condition("environment", "stringOptions", "any of", environments)
    if "isRootObservation" in params:
        yield Condition("isRootObservation", "boolean", "=", params["isRootObservation"] == "true")


def _chosen(params: QueryParams, issues: list[answers.Issue]) -> Iterator[Condition]:
    for name, options in (("type", TYPES), ("level", LEVELS)):
        if name in params and params[name] not in options:
            issues.append(answers.not_one_of(options, [name]))
        elif name in params:
            yield Condition(name, "string", "=", params[name])


def _between(params: QueryParams, issues: list[answers.Issue]) -> Iterator[Condition]:
    for name, comparison in (("fromStartTime", ">="), ("toStartTime", "<")):
        if name in params and moments.parse(params[name]) is None:
            issues.append(answers.bad_time([name]))
        elif name in params:
            yield Condition("startTime", "datetime", comparison, params[name])


RAW_ONLY = (
    "parseIoAsJson=true is no longer supported on the v2 observations endpoint. Input/output fields are always returned as raw strings. "
    "Remove the parseIoAsJson parameter or set it to false."
)


def select(shelf: Shelf, query: Query, now: int, *, twice: Predicate = lambda _row: False) -> tuple[list[Row], bool]:
    """The page's rows, and whether there are more; what ``twice`` picks is there two times."""
    if query.limit == 0:
        return [], False
    holds = filters.compile_all(query.conditions)
    hiding = shelf.hidden_until > now
    page: list[Row] = []
    for row in candidates(shelf, query):
        if holds(row) and not (hiding and row.seen > now):
            if len(page) == query.limit:
                return page, True
            page.append(row)
            if twice(row) and len(page) < query.limit:
                page.append(row)
    return page, False


def candidates(shelf: Shelf, query: Query) -> Iterable[Row]:
    """The rows that may fit, the newest first, found by id, by trace or by start time."""
    for column, find in (("id", shelf.with_ids), ("traceId", shelf.of_traces)):
        names = [_names(condition) for condition in query.conditions if condition.column == column]
        named = [listed for listed in names if listed is not None]
        if named:
            rows = find(named[0])
            return rows if query.after is None else [row for row in rows if row.key < query.after]
    low, below = None, query.after
    for condition in query.conditions:
        if condition.column == "startTime" and (bound := moments.parse(condition.value)) is not None:
            if condition.operator in {">=", ">"}:
                low = bound if low is None else max(low, bound)
            else:
                limit = (bound + (condition.operator == "<="), -1, "")
                below = limit if below is None else min(below, limit)
    return shelf.newest_first(low, below)


def _names(condition: Condition) -> list[str] | None:
    match condition.type, condition.operator:
        case "string", "=":
            return [condition.value]
        case "stringOptions", "any of":
            return list(condition.value)
    return None


def page(rows: Iterable[Row], query: Query, project: str, *, more: bool) -> dict[str, Any]:
    """The body of the answer."""
    rows = list(rows)
    meta = {"cursor": _write_cursor(rows[-1])} if more else {}
    return {"data": [render(row, query.fields, project, query.whole) for row in rows], "meta": meta}


def render(row: Row, fields: frozenset[str], project: str, whole: frozenset[str] = frozenset()) -> dict[str, Any]:
    """One row with the groups asked for, in the server's order of fields."""
    return dict(_rendered(row, fields, project, whole))


def _rendered(row: Row, fields: frozenset[str], project: str, whole: frozenset[str]) -> Iterator[tuple[str, Any]]:
    yield from (
        ("id", row.id),
        ("traceId", row.trace),
        ("startTime", moments.write(row.start)),
        ("endTime", moments.write_or_none(row.end)),
    )
    yield from (("projectId", project), ("parentObservationId", row.parent), ("type", row.type))
    if "basic" in fields:
        yield from (("name", row.name), ("level", row.level), ("statusMessage", row.status))
        yield from (("version", row.version), ("environment", row.environment))
    if "time" in fields:
        yield "completionStartTime", (row.extras or {}).get("completionStartTime")
        yield from (("createdAt", moments.write(row.created)), ("updatedAt", moments.write(row.updated)))
    if "io" in fields:
        yield from (("input", text_of(row.input)), ("output", text_of(row.output)))
    if "metadata" in fields:
        yield "metadata", _metadata(row, None if "io" in fields else whole)
    yield from _costs(row, fields)
    took = None if row.end is None else answers.whole((row.end - row.start) / 1000)
    yield from (("latency", (took or None) if "metrics" in fields else took), ("timeToFirstToken", None))
    yield from _trace(row, fields)
    yield from (("modelId", None), ("inputPrice", None), ("outputPrice", None), ("totalPrice", None))


def _costs(row: Row, fields: frozenset[str]) -> Iterator[tuple[str, Any]]:
    extras: Mapping[str, Any] = row.extras or {}
    if "model" in fields:
        yield from (("model", row.model), ("internalModelId", ""), ("modelParameters", extras.get("modelParameters") or {}))
    if "usage" in fields:
        yield from _usage(extras)
    if "prompt" in fields:
        yield from (("promptId", extras.get("promptId") or ""), ("promptName", extras.get("promptName") or ""))
        yield "promptVersion", extras.get("promptVersion")
    if "usage" in fields:
        yield from (("usagePricingTierId", None), ("usagePricingTierName", None))


def _trace(row: Row, fields: frozenset[str]) -> Iterator[tuple[str, Any]]:
    if "basic" in fields or "trace_context" in fields:
        yield from (("userId", row.context.user), ("sessionId", row.context.session))
        yield "isRootObservation", row.root or row.parent is None
    if "trace_context" in fields:
        yield from (("traceName", row.context.name), ("release", row.context.release), ("tags", list(row.context.tags)))
    if "basic" in fields:
        yield from (("bookmarked", row.context.bookmarked), ("public", row.context.public))


def _usage(extras: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    usage, cost = extras.get("usageDetails") or {}, extras.get("costDetails") or {}
    yield "usageDetails", usage
    yield from ((f"{name}Usage", usage.get(name, 0)) for name in ("input", "output", "total"))
    yield "costDetails", cost
    yield from (("inputCost", cost.get("input")), ("outputCost", cost.get("output")), ("totalCost", cost.get("total", 0)))


def _metadata(row: Row, whole: frozenset[str] | None) -> dict[str, Any]:
    leaves = metadata_of(row)
    if whole is not None:
        leaves = {key: text if key in whole else text[:CUT] for key, text in leaves.items()}
    return {key: unquoted(text) for key, text in leaves.items()}


def unquoted(text: str) -> str:
    """A metadata text that is a JSON string, as the string."""
    if text[:1] == text[-1:] == '"' and len(text) > 1:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        return value if isinstance(value, str) else text
    return text


def _limit(text: str | None, issues: list[answers.Issue]) -> int:
    if text is None:
        return 50
    if not text.lstrip("-").isdecimal():
        issues.append(answers.not_a_number(["limit"]))
        return 0
    limit = int(text)
    if limit > MOST:
        issues.append(answers.too_big(MOST, ["limit"]))
    if limit < 0:
        issues.append(answers.too_small(0, ["limit"]))
    return limit


def _write_cursor(row: Row) -> str:
    place = {"lastStartTimeTo": moments.write(row.start), "lastTraceId": row.trace, "lastId": row.id}
    return base64.b64encode(answers.encode(place)).decode()


def _read_cursor(text: str) -> Key:
    try:
        place = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), validate=True))
        start, trace, id_ = moments.parse(place["lastStartTimeTo"]), place["lastTraceId"], place["lastId"]
    except (ValueError, KeyError, TypeError):
        raise answers.refused("Invalid cursor format") from None
    if start is None or not isinstance(trace, str) or not isinstance(id_, str):
        raise answers.refused("Invalid cursor format")
    return start, xxhash.digest(trace), id_

"""Scores as the v1 and v2 readings list them: numbered pages, one row per id, only of traces that exist."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

from starlette.datastructures import QueryParams

from hunkwatch.sandbox import answers, moments, pages
from hunkwatch.sandbox.scores import Score
from hunkwatch.sandbox.state import Room

ORDER = (
    "id", "projectId", "environment", "name", "value", "source", "authorUserId", "comment", "metadata", "configId", "queueId",
    "executionTraceId", "createdAt", "updatedAt", "timestamp", "traceId", "observationId", "sessionId", "datasetRunId",
    "stringValue", "dataType",
)  # fmt: skip
ONLY_V2 = ("sessionId", "datasetRunId")
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "!=": operator.ne, "=": operator.eq,
}  # fmt: skip
EXACT = ("name", "source", "configId", "queueId", "dataType", "traceId", "observationId", "sessionId", "datasetRunId")
TraceOf = Callable[[Room, str, int], dict[str, Any] | None]


def render(score: Score, room: Room) -> dict[str, Any]:
    """One score in the form of ``GET /v2/scores``, without its trace."""
    times = {key: moments.write(score[key]) for key in ("createdAt", "updatedAt", "timestamp")}
    value = answers.whole(score["value"])
    written = {"projectId": room.project.id, "authorUserId": None, "executionTraceId": None, **score, **times, "value": value}
    return {key: written[key] for key in ORDER}


def plain(score: Score, room: Room) -> dict[str, Any]:
    """One score in the form of v1, without its trace."""
    return {key: value for key, value in render(score, room).items() if key not in ONLY_V2}


def listed(
    room: Room, params: QueryParams, now: int, *, trace_of: TraceOf, write: Callable[[Score, Room], dict[str, Any]]
) -> dict[str, Any]:
    """The body of ``GET /scores`` or ``GET /v2/scores``; ``trace_of`` gives a trace's own fields."""
    page, limit = pages.numbers(params)
    holds = list(_conditions(params))
    with_session = write is render
    data = []
    for score in _candidates(room, params, now):
        if not all(hold(score) for hold in holds) or not (with_session or score["traceId"]):
            continue
        trace = trace_of(room, score["traceId"], now) if score["traceId"] else None
        if score["traceId"] and (trace is None or not _fits(trace, params)):
            continue
        about = ("userId", "tags", "environment", *(["sessionId"] if with_session else []))
        data.append({**write(score, room), "trace": {key: trace[key] for key in about} if trace else None})
    part, meta = pages.cut(data, page, limit)
    return {"data": part, "meta": meta}


def _candidates(room: Room, params: QueryParams, now: int) -> list[Score]:
    if "scoreIds" in params:
        return room.scores.of(params["scoreIds"].split(","), now)
    if "traceId" in params:
        return room.scores.of_traces([params["traceId"]], now)
    return room.scores.seen(now)


def _fits(trace: dict[str, Any], params: QueryParams) -> bool:
    tags = set(params.getlist("traceTags"))
    return tags.issubset(trace["tags"]) and params.get("userId", trace["userId"]) == trace["userId"]


def _conditions(params: QueryParams) -> Iterator[Callable[[Score], bool]]:
    for key in EXACT:
        if key in params:
            yield lambda score, key=key: score[key] == params[key]  # type: ignore[misc] # the default binds the loop's variable
    if environments := params.getlist("environment"):
        yield lambda score: score["environment"] in environments
    low, high = (moments.parse(params.get(key)) for key in ("fromTimestamp", "toTimestamp"))
    if low is not None:
        yield lambda score: score["timestamp"] >= low
    if high is not None:
        yield lambda score: score["timestamp"] < high
    if "operator" in params and "value" in params:
        if params["operator"] not in COMPARE:
            raise answers.invalid([answers.not_one_of(list(COMPARE), ["operator"])])
        compare, value = COMPARE[params["operator"]], float(params["value"])
        yield lambda score: score["dataType"] in {"NUMERIC", "BOOLEAN"} and compare(score["value"], value)


def one(room: Room, id_: str, now: int, *, write: Callable[[Score, Room], dict[str, Any]]) -> dict[str, Any]:
    """The body of ``GET /scores/{id}`` or ``GET /v2/scores/{id}``, or a 404."""
    found = room.scores.of([id_], now)
    if not found:
        raise answers.missing("Score not found")
    return write(found[0], room)

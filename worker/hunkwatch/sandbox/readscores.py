"""``GET /api/public/v3/scores``: strict parameters, a cursor, and only the groups of fields that were asked for."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from starlette.datastructures import QueryParams

from hunkwatch.sandbox import answers, moments
from hunkwatch.sandbox.scorebody import DATA_TYPES
from hunkwatch.sandbox.scores import Score, Scores

GROUPS = ("core", "details", "subject", "annotation")
LISTS = (
    "id",
    "name",
    "source",
    "dataType",
    "environment",
    "configId",
    "queueId",
    "authorUserId",
    "traceId",
    "sessionId",
    "observationId",
    "experimentId",
)
KNOWN = {*LISTS, "fields", "limit", "cursor", "value", "valueMin", "valueMax", "fromTimestamp", "toTimestamp"}
MOST = 100
NEEDS_TRACE = "observationId filter requires traceId — observation IDs are scoped to a trace"


def read(scores: Scores, params: QueryParams, project: str, now: int) -> dict[str, Any]:
    """The body of the answer, or a 400."""
    limit, wanted = _limit(params), _lists(params)
    holds = [*_bounds(params), *_listed(wanted), *_after(params)]
    if "id" in wanted:
        found = scores.of(wanted["id"], now)
    elif "traceId" in wanted:
        found = scores.of_traces(wanted["traceId"], now)
    else:
        found = scores.seen(now)
    found = [score for score in found if all(hold(score) for hold in holds)]
    fields = frozenset(params.get("fields", "").split(","))
    meta: dict[str, Any] = {"limit": limit}
    if len(found) > limit:
        meta["cursor"] = _write_cursor(found[limit - 1])
    return {"data": [render(score, fields, project) for score in found[:limit]], "meta": meta}


def render(score: Score, fields: frozenset[str], project: str) -> dict[str, Any]:
    """One score as v3 writes it."""
    return dict(_rendered(score, fields, project))


def _rendered(score: Score, fields: frozenset[str], project: str) -> Iterator[tuple[str, Any]]:
    yield from (("id", score["id"]), ("projectId", project), ("name", score["name"]), ("source", score["source"]))
    yield from (("timestamp", moments.write(score["timestamp"])), ("environment", score["environment"]))
    yield from (("createdAt", moments.write(score["createdAt"])), ("updatedAt", moments.write(score["updatedAt"])))
    if "details" in fields:
        yield from (("comment", score["comment"]), ("configId", score["configId"]), ("metadata", score["metadata"]))
    if "annotation" in fields:
        yield from (("authorUserId", None), ("queueId", score["queueId"]))
    if "subject" in fields:
        yield "subject", _subject(score)
    yield from (("dataType", score["dataType"]), ("value", value_of(score)))


def value_of(score: Score) -> Any:
    """The value in the form of its type."""
    match score["dataType"]:
        case "NUMERIC":
            return answers.whole(score["value"])
        case "BOOLEAN":
            return bool(score["value"])
        case _:
            return score["stringValue"]


def _subject(score: Score) -> dict[str, Any]:
    if score["observationId"]:
        return {"kind": "observation", "id": score["observationId"], "traceId": score["traceId"]}
    for kind, key in (("trace", "traceId"), ("session", "sessionId")):
        if score[key]:
            return {"kind": kind, "id": score[key]}
    return {"kind": "experiment", "id": score["datasetRunId"]}


def _lists(params: QueryParams) -> dict[str, frozenset[str]]:
    strangers = [key for key in params if key not in KNOWN]
    issues: list[answers.Issue] = []
    if strangers:
        message = f"Unrecognized key{'s' if len(strangers) > 1 else ''}: {', '.join(f'{chr(34)}{key}{chr(34)}' for key in strangers)}"
        issues.append({"code": "unrecognized_keys", "keys": strangers, "path": [], "message": message})
    wanted = {key: frozenset(params[key].split(",")) for key in LISTS if key in params}
    issues += [answers.not_one_of(DATA_TYPES, ["dataType", 0]) for kind in wanted.get("dataType", ()) if kind not in DATA_TYPES]
    issues += [
        answers.not_one_of(GROUPS, ["fields", 0]) for group in filter(None, params.get("fields", "").split(",")) if group not in GROUPS
    ]
    if not issues and "observationId" in wanted and "traceId" not in wanted:
        issues.append({"code": "custom", "message": NEEDS_TRACE, "path": []})
    if not issues and "value" in params and len(wanted.get("dataType", ())) != 1:
        issues.append({"code": "custom", "message": "value filter requires a single dataType", "path": []})
    if not issues and ("valueMin" in params or "valueMax" in params) and wanted.get("dataType") != frozenset({"NUMERIC"}):
        issues.append({"code": "custom", "message": "valueMin and valueMax require dataType NUMERIC", "path": []})
    if issues:
        raise answers.invalid(issues)
    return wanted


COLUMN: dict[str, Callable[[Score], Any]] = {"authorUserId": lambda _score: None, "experimentId": lambda score: score["datasetRunId"]}


def _listed(wanted: Mapping[str, frozenset[str]]) -> Iterator[Callable[[Score], bool]]:
    for key, options in wanted.items():
        read_ = COLUMN.get(key)
        yield lambda score, key=key, options=options, read_=read_: (read_(score) if read_ else score[key]) in options  # type: ignore[misc] # defaults bind the loop


def _bounds(params: QueryParams) -> Iterator[Callable[[Score], bool]]:
    issues = [answers.bad_time([key]) for key in ("fromTimestamp", "toTimestamp") if key in params and moments.parse(params[key]) is None]
    numbers: dict[str, float] = {}
    for key in ("valueMin", "valueMax"):
        if key in params:
            try:
                numbers[key] = float(params[key])
            except ValueError:
                issues.append(answers.expected("number", params[key], [key]))
    if issues:
        raise answers.invalid(issues)
    low, high = moments.parse(params.get("fromTimestamp")), moments.parse(params.get("toTimestamp"))
    if low is not None:
        yield lambda score: score["timestamp"] >= low
    if high is not None:
        yield lambda score: score["timestamp"] < high
    if "valueMin" in numbers:
        yield lambda score: score["value"] >= numbers["valueMin"]
    if "valueMax" in numbers:
        yield lambda score: score["value"] <= numbers["valueMax"]
    if "value" in params:
        values = frozenset(params["value"].split(","))
        yield lambda score: _as_text(value_of(score)) in values


def _as_text(value: Any) -> str:
    return answers.encode(value).decode().strip('"')


def _limit(params: QueryParams) -> int:
    text = params.get("limit", "50")
    if not text.lstrip("-").isdecimal():
        raise answers.invalid([answers.not_a_number(["limit"])])
    limit = int(text)
    if limit > MOST:
        raise answers.invalid([answers.too_big(MOST, ["limit"])])
    if limit < 1:
        raise answers.invalid([answers.too_small(1, ["limit"])])
    return limit


def _write_cursor(score: Score) -> str:
    place = {"v": 1, "lastTimestamp": moments.write(score["timestamp"]), "lastId": score["id"]}
    return base64.urlsafe_b64encode(answers.encode(place)).decode().rstrip("=")


def _after(params: QueryParams) -> Iterator[Callable[[Score], bool]]:
    text = params.get("cursor")
    if not text:
        return
    try:
        place = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        moment, id_ = moments.parse(place["lastTimestamp"]), place["lastId"]
    except (ValueError, KeyError, TypeError):
        raise answers.refused("Invalid cursor format") from None
    if moment is None or not isinstance(id_, str):
        raise answers.refused("Invalid cursor format")
    yield lambda score: (score["timestamp"], score["id"]) < (moment, id_)

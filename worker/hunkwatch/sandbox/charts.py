"""What a widget may be: the rules that the unstable API enforces on views, fields, measures, filters and charts."""

from collections.abc import Mapping, Sequence
from typing import Any

from hunkwatch.sandbox.answers import Answer

VIEWS = ("observations", "scores-numeric", "scores-boolean", "scores-categorical")
CHARTS = (
    "LINE_TIME_SERIES", "AREA_TIME_SERIES", "BAR_TIME_SERIES", "HORIZONTAL_BAR", "VERTICAL_BAR", "PIE", "NUMBER", "HISTOGRAM",
    "PIVOT_TABLE",
)  # fmt: skip
OVER_TIME = ("LINE_TIME_SERIES", "AREA_TIME_SERIES", "BAR_TIME_SERIES")
PIVOT = "PIVOT_TABLE"
MEASURES = {
    "scores-numeric": ("count", "value"),
    "scores-boolean": ("count", "value"),
    "scores-categorical": ("count",),
}
"""The views whose measures, fields and filters are known here; those of observations are taken as they come."""
AGGREGATIONS = ("sum", "avg", "count", "max", "min", "p50", "p75", "p90", "p95", "p99", "histogram", "uniq")
VALUES = {"scores-numeric": "value", "scores-boolean": "booleanValue", "scores-categorical": "stringValue"}
MANY = ("userId", "sessionId", "id", "traceId", "observationId")
"""Fields of so many values that they cannot be drawn over time."""
FIELDS = (
    "name", "environment", "source", "dataType", "configId", "traceName", "tags", "traceRelease", "traceVersion", "observationName",
    "observationModelName", "observationPromptName", "observationPromptVersion", "timestampMonth", "timestampDay", *MANY,
)  # fmt: skip
FILTERS = (
    "name", "source", "dataType", "tags", "environment", "userId", "sessionId", "metadata", "traceName", "observationName", "traceRelease",
    "traceVersion",
)  # fmt: skip
PIVOT_FIELDS, PIVOT_METRICS = 2, 10
LIMITS = {"row_limit": 1000, "bins": 100}
OF_ONE_CHART = {"HORIZONTAL_BAR": {"show_value_labels"}, "HISTOGRAM": {"bins"}, PIVOT: {"defaultSort"}}


def refused(message: str, field: str, allowed: Sequence[str] | None = None) -> Answer:
    """400 as the unstable API words it."""
    details = {"field": field} if allowed is None else {"field": field, "allowedValues": list(allowed)}
    return Answer(400, {"message": message, "code": "invalid_request", "details": details})


def widget(body: Mapping[str, Any]) -> dict[str, Any]:
    """The widget as it is kept, or a 400."""
    if not isinstance(body.get("name"), str) or not body["name"]:
        raise refused("Name is required", "name")
    _one_of(body, "view", VIEWS)
    _one_of(body, "chartType", CHARTS)
    for field in ("dimensions", "metrics", "filters"):
        if not isinstance(body.get(field), list) or not all(isinstance(part, Mapping) for part in body[field]):
            raise refused(f"Invalid {field}", field)
    _check_fields(body)
    _check_metrics(body)
    return {
        "name": body["name"],
        "description": body.get("description", ""),
        "view": body["view"],
        "dimensions": body["dimensions"],
        "metrics": body["metrics"],
        "filters": [_condition(condition, body["view"]) for condition in body["filters"]],
        "chartType": body["chartType"],
        "chartConfig": _config(body),
    }


def _check_fields(body: Mapping[str, Any]) -> None:
    view, chart = body["view"], body["chartType"]
    fields = [dimension.get("field") for dimension in body["dimensions"]]
    if len(fields) > (PIVOT_FIELDS if chart == PIVOT else 1):
        raise refused("Too many dimensions", "dimensions")
    if view not in MEASURES:
        return
    allowed = (*FIELDS, VALUES[view])
    for field in fields:
        if field not in allowed:
            raise refused("Invalid dimension", "dimensions.field", allowed)
        if field in MANY and chart in OVER_TIME:
            raise refused(f"{field} has too many values to be drawn over time", "dimensions.field")
        if field in MANY and not (body.get("chartConfig") or {}).get("row_limit"):
            raise refused(f"{field} needs chartConfig.row_limit", "chartConfig.row_limit")


def _check_metrics(body: Mapping[str, Any]) -> None:
    if not body["metrics"]:
        raise refused("At least one metric is required", "metrics")
    if body["chartType"] == PIVOT and len(body["metrics"]) > PIVOT_METRICS:
        raise refused("Too many metrics", "metrics")
    for metric in body["metrics"]:
        if body["view"] in MEASURES:
            _one_of(metric, "measure", MEASURES[body["view"]])
        _one_of(metric, "agg", AGGREGATIONS)


def _condition(condition: Mapping[str, Any], view: str) -> dict[str, Any]:
    column, kind = condition.get("column"), condition.get("type")
    if view in MEASURES:
        allowed = (*FILTERS, VALUES[view])
        if column not in allowed:
            raise refused("Invalid filter column", "filters.column", allowed)
        if column == "value" and kind != "number":
            raise refused("Invalid filter type", "filters.type", ("number",))
        if column == "metadata" and (kind != "stringObject" or not condition.get("key")):
            raise refused("Invalid filter type", "filters.type", ("stringObject",))
    return {key: condition[key] for key in ("column", "operator", "key", "value", "type") if key in condition}


def _config(body: Mapping[str, Any]) -> dict[str, Any]:
    chart = body["chartType"]
    config = {"type": chart, **(body.get("chartConfig") or {})}
    if config["type"] != chart:
        raise refused("chartConfig.type must equal chartType", "chartConfig.type", (chart,))
    allowed = {"type", *OF_ONE_CHART.get(chart, ())} | ({"row_limit"} if chart not in OVER_TIME else set())
    for key, value in config.items():
        if key not in allowed:
            raise refused(f"{key} does not belong to {chart}", f"chartConfig.{key}", sorted(allowed))
        if key in LIMITS and not (isinstance(value, int) and 1 <= value <= LIMITS[key]):
            raise refused(f"{key} runs from 1 to {LIMITS[key]}", f"chartConfig.{key}")
    return config


def _one_of(body: Mapping[str, Any], field: str, allowed: Sequence[str]) -> None:
    if body.get(field) not in allowed:
        raise refused(f"Invalid {field}", field, allowed)

"""``GET /api/public/v2/metrics`` as far as counting goes: observations by name, type, level, environment or trace name."""

import json
from collections import Counter
from typing import Any

from starlette.datastructures import QueryParams

from hunkwatch.sandbox import answers, filters, moments
from hunkwatch.sandbox.filters import Condition
from hunkwatch.sandbox.shelf import Shelf

DIMENSIONS = ("name", "type", "level", "environment", "traceName", "userId", "sessionId", "version")
COUNT = {"measure": "count", "aggregation": "count"}


def count(shelf: Shelf, params: QueryParams, now: int) -> dict[str, Any]:
    """The body of the answer, or a 400 for what the sandbox cannot count."""
    try:
        query = json.loads(params.get("query", ""))
    except ValueError:
        raise answers.refused("Invalid JSON in query parameter") from None
    if not isinstance(query, dict) or query.get("view") != "observations" or query.get("metrics") != [COUNT]:
        raise answers.refused("This sandbox counts observations and nothing else.")
    fields = [dimension.get("field") for dimension in query.get("dimensions") or ()]
    if any(field not in DIMENSIONS for field in fields):
        raise answers.invalid([answers.not_one_of(DIMENSIONS, ["dimensions", 0, "field"])])
    low, high = moments.parse(query.get("fromTimestamp")), moments.parse(query.get("toTimestamp"))
    if low is None or high is None:
        raise answers.invalid([answers.bad_time(["fromTimestamp" if low is None else "toTimestamp"])])
    holds = filters.compile_all(Condition(**{"key": "", **condition}) for condition in query.get("filters") or ())
    counted = Counter(
        tuple(filters.TEXTS[field](row) for field in fields)
        for row in shelf.newest_first(low, (high, -1, ""))
        if row.seen <= now and holds(row)
    )
    return {"data": [{**dict(zip(fields, key, strict=True)), "count_count": number} for key, number in counted.most_common()]}

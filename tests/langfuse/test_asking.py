"""Questions for observations."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.core import discover
from hunkwatch.core.window import Window
from hunkwatch.langfuse import wire

if TYPE_CHECKING:
    from collections.abc import Callable

NINE = datetime(2026, 11, 30, 9, tzinfo=UTC)
WINDOW = Window(NINE, NINE + timedelta(hours=1))


def test_nothing_is_asked_that_was_not_meant() -> None:
    """Empty parts stay out of the address."""
    assert {"limit": "5"} == wire.query(limit=5)


def test_a_window_goes_in_as_parameters_and_never_as_a_condition() -> None:
    """A condition on the start time would make the server drop both bounds without a word."""
    for filters in wire.discovery(discover.NAMES):
        query = wire.query(limit=1, window=WINDOW, filters=filters)

        assert ("2026-11-30T09:00:00.000Z", "2026-11-30T10:00:00.000Z") == (query["fromStartTime"], query["toStartTime"])
        assert "startTime" not in {condition["column"] for condition in json.loads(query["filter"])}


@given(
    start=st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1)),  # noqa: DTZ001 - hypothesis wants naive bounds
    length=st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=2)),
    at=st.floats(0, 1),
)
@settings(max_examples=100, deadline=None)
def test_no_row_of_a_window_is_outside_of_what_is_asked_for(start: datetime, length: timedelta, at: float) -> None:
    """Langfuse keeps milliseconds; every millisecond of the window, to the last, is inside the bounds that are sent."""
    window = Window(start.replace(tzinfo=UTC), start.replace(tzinfo=UTC) + length)
    moment = window.start + length * at
    kept = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    query = wire.query(limit=1, window=window)

    if moment < window.end:
        assert query["fromStartTime"] <= wire.spelled(kept) < query["toStartTime"]


def test_a_window_that_ends_inside_a_millisecond_asks_for_all_of_it() -> None:
    """The end is exclusive and rows stand at whole milliseconds, so half a millisecond more still holds the row at its start."""
    window = Window(NINE + timedelta(microseconds=1500), NINE + timedelta(microseconds=2500))
    query = wire.query(limit=1, window=window)

    assert ("2026-11-30T09:00:00.001Z", "2026-11-30T09:00:00.003Z") == (query["fromStartTime"], query["toStartTime"])


def test_times_are_spelled_in_utc() -> None:
    """A window in another zone means the same moments."""
    at = datetime(2026, 11, 30, 23, 30, 0, 999_999, tzinfo=timezone(timedelta(hours=2)))

    assert wire.spelled(at) == "2026-11-30T21:30:00.999Z"


def test_discovery_finds_tools_by_their_input_and_models_by_their_output() -> None:
    """Never the input of a model or an agent, which repeats the session; what shows both words is not listed twice."""
    filters = wire.discovery(discover.NAMES)
    told = [[(one["column"], one["operator"], one["value"]) for one in filter_] for filter_ in filters]
    models = ["GENERATION", "AGENT"]

    assert [
        [("input", "matches", "Begin Patch"), ("type", "none of", models)],
        [("input", "matches", "apply_patch"), ("input", "does not contain", "Begin Patch"), ("type", "none of", models)],
        [("output", "matches", "Begin Patch"), ("type", "any of", models)],
        [("output", "matches", "apply_patch"), ("output", "does not contain", "Begin Patch"), ("type", "any of", models)],
        [("name", "contains", "apply_patch"), ("type", "none of", models)],
        [("name", "any of", [name for name in discover.NAMES if "apply_patch" not in name]), ("type", "none of", models)],
    ] == told


def test_every_discovery_address_passes_a_proxy() -> None:
    """With all names, a window and a cursor, an address stays far below the 8 KB at which proxies stop."""
    lengths = [
        len(str(httpx.URL("https://langfuse.example/", params=wire.query(limit=1000, window=WINDOW, filters=filters, cursor="c" * 300))))
        for filters in wire.discovery(discover.NAMES)
    ]

    assert max(lengths) < 4000


def test_the_filter_is_spelled_as_a_real_server_took_it(recorded: Callable[[str], dict[str, Any]]) -> None:
    """The recorded filters that a 4.16.0 answered have the members that ours have."""
    path = recorded("176")["request"]["path"]
    (theirs,) = json.loads(parse_qs(urlsplit(path).query)["filter"][0])

    assert set(theirs) == set(wire.discovery(())[0][0])
    assert ("string", "input", "matches") == (theirs["type"], theirs["column"], theirs["operator"])

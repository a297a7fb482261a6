"""A page's bytes to observations: recorded pages, odd rows, and whatever else may come."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.core.model import Observation
from hunkwatch.errors import RetryLater
from hunkwatch.langfuse import wire
from hunkwatch.langfuse.wire import rows
from hunkwatch.ports import ObservationKey

if TYPE_CHECKING:
    from collections.abc import Callable

START = "2026-11-30T21:18:39.856Z"
AT = datetime(2026, 11, 30, 21, 18, 39, 856_000, tzinfo=UTC)
FIELDS = {
    "id": "id",
    "trace_id": "traceId",
    "start_time": "startTime",
    "type": "type",
    "name": "name",
    "end_time": "endTime",
    "parent_id": "parentObservationId",
    "level": "level",
    "status_message": "statusMessage",
    "environment": "environment",
    "input": "input",
    "output": "output",
    "metadata": "metadata",
    "updated_at": "updatedAt",
    "created_at": "createdAt",
    "trace_name": "traceName",
    "session_id": "sessionId",
    "user_id": "userId",
    "tags": "tags",
    "model": "model",
}
"""Each of our fields under Langfuse's name."""


def row(**parts: Any) -> dict[str, Any]:
    """Return a small good row."""
    return {"id": "o1", "traceId": "t1", "startTime": START, **parts}


def page(*given_rows: Any, **meta: Any) -> bytes:
    """Return the bytes of a page."""
    return json.dumps({"data": list(given_rows), "meta": meta}).encode()


def test_the_fast_row_stands_in_the_order_of_the_observation() -> None:
    """Decoding copies fields by position, so both must name the same in the same order."""
    assert rows._Row.__struct_fields__ == Observation._fields
    assert tuple(FIELDS.values()) == rows._Row.__struct_encode_fields__


@pytest.mark.parametrize("number", ["003", "206", "207", "209"])
def test_a_recorded_v2_page_is_decoded_field_by_field(number: str, recorded: Callable[[str], dict[str, Any]]) -> None:
    """Every field of every recorded row arrives, and the cursor with them."""
    body = recorded(number)["response"]["body"]
    found, cursor = wire.observations_v2(json.dumps(body).encode())

    assert [expected(one) for one in body["data"]] == found
    assert body["meta"].get("cursor") == cursor


@pytest.mark.parametrize("number", ["202"])
def test_a_recorded_v1_page_is_decoded_field_by_field(number: str, recorded: Callable[[str], dict[str, Any]]) -> None:
    """Nulls become empty texts, parsed input and output stay values, and the counts of the page arrive."""
    body = recorded(number)["response"]["body"]
    found = wire.observations(json.dumps(body).encode())

    assert [expected(one) for one in body["data"]] == found.observations
    assert (body["meta"]["totalItems"], body["meta"]["totalPages"]) == (found.total_items, found.total_pages)


def test_a_recorded_single_row_is_decoded(recorded: Callable[[str], dict[str, Any]]) -> None:
    """``GET /observations/{id}`` answers the row itself."""
    body = recorded("204")["response"]["body"]

    assert expected(body) == wire.observation_of(json.dumps(body).encode()) == wire.observation(body)


def expected(given_row: dict[str, Any]) -> Observation:
    """Say, naively, what a row of the recorded pages is."""
    values = {ours: given_row[theirs] for ours, theirs in FIELDS.items() if given_row.get(theirs) is not None}
    for name in ("start_time", "end_time", "updated_at", "created_at"):
        if name in values:
            values[name] = datetime.fromisoformat(values[name])
    return Observation(**{**values, "tags": tuple(values.get("tags", ()))})


def test_the_smallest_row_has_the_defaults() -> None:
    """Fields that were not asked for are not there, which is no error."""
    assert [Observation("o1", "t1", AT)] == wire.observations_v2(page(row()))[0]


@pytest.mark.parametrize(
    ("parts", "changed"),
    [
        ({"name": None, "statusMessage": None, "traceName": None, "tags": None, "model": None}, {}),
        ({"type": None, "level": None, "environment": None}, {}),
        ({"name": 7, "statusMessage": {"code": 2}}, {"name": "7", "status_message": '{"code": 2}'}),
        ({"metadata": {"a": 1, "b": [None]}}, {"metadata": {"a": 1, "b": [None]}}),
        ({"metadata": ["x"]}, {"metadata": {"metadata": ["x"]}}),
        ({"metadata": "x"}, {"metadata": {"metadata": "x"}}),
        ({"metadata": ""}, {}),
        ({"tags": ["a", 1]}, {"tags": ("a", "1")}),
        ({"tags": "a"}, {}),
        ({"endTime": "soon", "updatedAt": 12}, {}),
        ({"endTime": "2026-11-30T22:18:40+01:00"}, {"end_time": AT.replace(second=40, microsecond=0)}),
        ({"startTime": "2026-11-30T23:18:39.856+02:00"}, {}),
        ({"startTime": "2026-11-30 21:18:39.856"}, {}),
        ({"input": "\ud83d\ude00 \ud83d"}, {"input": "\U0001f600 \ufffd"}),
        ({"input": 10**5000}, {"input": "1" + "0" * 5000}),
        ({"input": 1e400}, {"input": None}),
        ({"unknown": {"deep": [1]}}, {}),
    ],
)
def test_an_odd_row_is_read_as_far_as_it_goes(parts: dict[str, Any], changed: dict[str, Any]) -> None:
    """Nulls, other types, other time zones, characters that cannot be: nothing of it costs the row, nor its neighbour."""
    if isinstance(parts.get("input"), int):
        body = page(row(input="@"), row(id="o2")).replace(b'"@"', b"1" + b"0" * 5000)
    else:
        body = page(row(**parts), row(id="o2"))
    found = wire.observations(body)

    assert [Observation("o1", "t1", AT)._replace(**changed), Observation("o2", "t1", AT)] == found.observations
    assert {} == found.unreadable


def test_times_are_in_utc_whatever_they_came_in() -> None:
    """Their text is part of what is remembered, so one moment has one form."""
    (offset,) = wire.observations(page(row(startTime="2026-11-30T23:18:39.856+02:00"))).observations
    (naive,) = wire.observations(page(row(endTime="2026-11-30T21:18:40"))).observations

    assert (UTC, UTC) == (offset.start_time.tzinfo, naive.end_time and naive.end_time.tzinfo)


@pytest.mark.parametrize(
    ("bad", "key", "reason"),
    [
        ({"id": "o1", "traceId": None, "startTime": START}, ObservationKey("", "o1"), "it belongs to no trace"),
        ({"id": "o1", "traceId": "t1", "startTime": "x"}, ObservationKey("t1", "o1"), "its start time cannot be read"),
        ({"id": "o1", "traceId": "t1"}, ObservationKey("t1", "o1"), "its start time cannot be read"),
        ({"traceId": "t1", "startTime": START}, ObservationKey("t1", ""), "it has no id"),
        ({"id": "", "traceId": "t1", "startTime": START}, ObservationKey("t1", ""), "it has no id"),
        ({"id": "o1", "traceId": "", "startTime": START}, ObservationKey("", "o1"), "it belongs to no trace"),
        (None, ObservationKey("", ""), "it has no id"),
        ([1], ObservationKey("", ""), "it has no id"),
    ],
)
def test_a_row_that_is_none_is_named_and_spoils_nothing(bad: Any, key: ObservationKey, reason: str) -> None:
    """Its reason is on the page beside the rows that could be read."""
    found = wire.observations(page(bad, row(id="o2"), cursor="c"))

    assert ([Observation("o2", "t1", AT)], {key: reason}, "c") == (found.observations, found.unreadable, found.cursor)


def test_invalid_utf8_costs_the_characters_and_nothing_else() -> None:
    """A field that was cut inside a character arrives with a replacement."""
    body = page(row(input="caf@"), row(id="o2")).replace(b"@", b"\xc3")

    assert ["caf\ufffd", None] == [one.input for one in wire.observations(body).observations]


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_brackets_without_end_stay_text(depth: int) -> None:
    """What is nested deeper than any decoder goes is handed on as the text it is, the other fields decoded."""
    nested = "[" * depth + "]" * depth
    body = page(row(input="@", name="n"), row(id="o2", input={"a": 1}), cursor="c").replace(b'"@"', nested.encode())
    found = wire.observations(body)

    assert [nested, {"a": 1}] == [one.input for one in found.observations]
    assert (["n", ""], "c") == ([one.name for one in found.observations], found.cursor)


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b'{"data":{}}', b'{"data":[', b"<html>", b'{"data":[{"id":"o1"', b'"data"', b"\xff\xfe"]
)
def test_what_is_no_page_is_asked_for_again(body: bytes) -> None:
    """A cut or a foreign answer is a matter of the moment, and nothing of it is believed."""
    with pytest.raises(RetryLater):
        _only_if_whole(wire.observations(body))


def _only_if_whole(found: wire.ObservationPage) -> None:
    raise AssertionError(found)


def test_an_export_spells_names_with_underscores() -> None:
    """A blob export's row is read like one of the API."""
    given_row = {"id": "o1", "trace_id": "t1", "start_time": "2026-11-30 21:18:39.856", "parent_observation_id": "p", "status_message": "m"}

    assert Observation("o1", "t1", AT, parent_id="p", status_message="m") == wire.observation(given_row)


@pytest.mark.parametrize("given_row", [{}, {"id": "o1"}, {"id": "o1", "traceId": "t1", "startTime": None}])
def test_a_mapping_that_is_no_observation_says_why(given_row: dict[str, Any]) -> None:
    """``score FILE`` tells the user which line is none."""
    with pytest.raises(ValueError, match="not an observation: it"):
        wire.observation(given_row)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ROW = st.dictionaries(st.sampled_from(list(FIELDS.values())), JSON, max_size=8)


@given(odd=ROW, before=st.integers(0, 2), after=st.integers(0, 2))
@settings(max_examples=150, deadline=None)
def test_no_row_costs_its_neighbours(odd: dict[str, Any], before: int, after: int) -> None:
    """Whatever stands in one row, the others of the page are read as if they were alone."""
    good = [row(id=f"n{number}") for number in range(before + after)]
    found = wire.observations(page(*good[:before], odd, *good[before:]))

    assert {one["id"] for one in good} <= {one.id for one in found.observations}
    assert before + after + 1 == len(found.observations) + len(found.unreadable)


@given(times=st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2100, 1, 1)), hours=st.integers(-12, 14))  # noqa: DTZ001 - hypothesis wants naive bounds
@settings(max_examples=50, deadline=None)
def test_a_time_is_the_same_moment_whatever_path_reads_it(times: datetime, hours: int) -> None:
    """The fast and the patient way agree on every time, to the microsecond."""
    aware = times.replace(tzinfo=timezone(timedelta(hours=hours)))
    fast = wire.observations(page(row(startTime=aware.isoformat())))
    patient = wire.observations(page(row(startTime=aware.isoformat(), name=None)))

    assert [aware] == [one.start_time for one in fast.observations] == [one.start_time for one in patient.observations]

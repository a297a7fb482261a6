"""Scores as they are written and shown, against the recorded forms and the SDK's own."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from langfuse.api import CreateScoreRequest
from langfuse.api.core.jsonable_encoder import jsonable_encoder
from langfuse.api.core.serialization import convert_and_respect_annotation_metadata

from hunkwatch.langfuse import wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunkwatch.core.model import Score
    from hunkwatch.ports import SeenScore


def answer(recorded: dict[str, Any]) -> bytes:
    """Return the bytes of a recorded answer."""
    return json.dumps(recorded["response"]["body"]).encode()


def test_an_event_has_the_recorded_form(make_score: Callable[..., Score], recorded: Callable[[str], dict[str, Any]]) -> None:
    """Its envelope has the members of the one that a 4.16.0 took, and its body at least those."""
    (theirs,) = recorded("080")["request"]["body"]["batch"]
    ours = wire.ingestion_event(make_score())

    assert set(theirs) == set(ours)
    assert set(theirs["body"]) <= set(ours["body"])
    assert ("score-create", "2026-11-30T09:00:00.250Z") == (ours["type"], ours["timestamp"])


def test_a_body_says_everything_each_time(make_score: Callable[..., Score]) -> None:
    """Langfuse merges, so what is left out would stay as it was."""
    score = make_score(observation_id="o1", environment="staging")

    assert wire.score_body(score, config_id="c1") == {
        "id": "s1",
        "traceId": "t1",
        "observationId": "o1",
        "name": "blind_rewrite",
        "value": 0.75,
        "dataType": "NUMERIC",
        "environment": "staging",
        "comment": "One of four hunks is blind.",
        "metadata": {"fingerprint": "f-s1", "scorer": "1"},
        "configId": "c1",
    }


def test_a_label_is_categorical_and_a_trace_score_names_no_observation(make_score: Callable[..., Score]) -> None:
    """The value decides the type; without a config there is no config id."""
    body = wire.score_body(make_score(name="patch_shape", value="new_file"))

    assert ("CATEGORICAL", False, False) == (body["dataType"], "observationId" in body, "configId" in body)


def test_a_list_element_is_what_the_sdk_sends(make_score: Callable[..., Score]) -> None:
    """Langfuse's own SDK spells the same score the same way."""
    score = make_score(observation_id="o1")
    request = CreateScoreRequest(
        id=score.id,
        trace_id=score.trace_id,
        observation_id=score.observation_id,
        name=score.name,
        value=score.value,
        comment=score.comment,
        metadata=dict(score.metadata),
        environment=score.environment,
        data_type="NUMERIC",
        config_id="c1",
        timestamp=score.timestamp,
    )
    theirs = jsonable_encoder(convert_and_respect_annotation_metadata(object_=request, annotation=CreateScoreRequest, direction="write"))
    ours = wire.listed_score(score, config_id="c1")

    assert datetime.fromisoformat(theirs.pop("timestamp")) == datetime.fromisoformat(ours.pop("timestamp")) == score.timestamp
    assert {name: value for name, value in theirs.items() if value is not None} == ours


def test_the_same_score_is_the_same_event_and_a_change_is_another(make_score: Callable[..., Score]) -> None:
    """A repetition is recognised by the server; new content, another time or another config is not taken for one."""
    first = wire.ingestion_event(make_score())["id"]
    others = [
        wire.ingestion_event(make_score(value=0.5))["id"],
        wire.ingestion_event(make_score(comment="x"))["id"],
        wire.ingestion_event(make_score(timestamp=datetime(2026, 11, 29, tzinfo=UTC)))["id"],
        wire.ingestion_event(make_score(), config_id="c1")["id"],
        wire.ingestion_event(make_score("s2"))["id"],
    ]

    assert first == wire.ingestion_event(make_score())["id"]
    assert len({first, *others}) == 6


def test_a_time_goes_out_in_utc_with_an_offset(make_score: Callable[..., Score]) -> None:
    """The server refuses a time without an offset, and the calendar day is part of a score's identity."""
    late = datetime(2026, 12, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))

    assert wire.listed_score(make_score(timestamp=late))["timestamp"] == "2026-11-30T23:30:00.000Z"


def test_what_utf8_cannot_carry_is_replaced(make_score: Callable[..., Score]) -> None:
    """A path with a lone surrogate must not stop a batch."""
    sent = wire.encoded(wire.ingestion_event(make_score(comment="a\ud800b", metadata={"paths": ["\udfff"]})))

    assert ("a\ufffdb", ["\ufffd"]) == (json.loads(sent)["body"]["comment"], json.loads(sent)["body"]["metadata"]["paths"])


def test_a_batch_is_json(make_score: Callable[..., Score]) -> None:
    """Events that were spelled one by one make one body."""
    events = [wire.ingestion_event(make_score(name)) for name in ("s1", "s2")]

    assert {"batch": events} == json.loads(wire.batch([wire.encoded(event) for event in events]))


def test_the_recorded_answers_of_a_batch_are_read(recorded: Callable[[str], dict[str, Any]]) -> None:
    """Successes and errors by event id, each error with its first words."""
    (taken,) = wire.event_answers(answer(recorded("080")))
    good, bad = wire.event_answers(answer(recorded("136")))

    assert (201, 201, 400) == (taken.status, good.status, bad.status)
    assert bad.message == "Event type not accepted"


def test_the_counts_of_a_207_to_a_list_are_read() -> None:
    """It names how many were refused and why, never which."""
    assert wire.list_told(b'{"accepted":1,"rejected":2,"errors":[{"message":"bad value"},{"message":"x"}]}') == (2, "bad value")
    assert wire.list_told(b'{"message":"Accepted"}') == (None, "")


def test_recorded_scores_are_read_back_through_v3(recorded: Callable[[str], dict[str, Any]]) -> None:
    """Numbers and labels with their times."""
    at = "2026-11-30T21:24:02"
    number = wire.seen_scores(answer(recorded("151")))
    label = wire.seen_scores(answer(recorded("158")))

    assert {"cfg-in-range-bc1d8": ("rng-448ba", 0.5, f"{at}.285000+00:00", "")} == {one: shown(seen) for one, seen in number.items()}
    assert {"cfg-cat-good-07aa7": ("rng-448ba-cat", "good", f"{at}.441000+00:00", "")} == {one: shown(seen) for one, seen in label.items()}


def test_recorded_scores_are_read_back_through_v2(recorded: Callable[[str], dict[str, Any]]) -> None:
    """Older servers show them in the older form."""
    (seen,) = wire.seen_scores(answer(recorded("060"))).values()

    assert ("score-obs-77eba9", 1.0) == (seen.id, seen.value)


def shown(seen: SeenScore) -> tuple[str, float | str, str, str]:
    """Return a seen score, its time spelled out."""
    return seen.name, seen.value, seen.timestamp.isoformat(), seen.fingerprint


def seen_row(**parts: Any) -> dict[str, Any]:
    """Return a score as v3 shows it."""
    return {"id": "s1", "name": "n", "value": 1, "dataType": "NUMERIC", "timestamp": "2026-11-30T09:00:00.000Z", **parts}


def test_our_fingerprint_is_found_in_the_metadata() -> None:
    """It is what tells our payload from an older one."""
    found = wire.seen_scores(json.dumps({"data": [seen_row(metadata={"fingerprint": "abc"})]}).encode())

    assert found["s1"].fingerprint == "abc"


def test_a_label_in_v2_stands_beside_its_number() -> None:
    """v2 gives a categorical score its config's number as value."""
    found = wire.seen_scores(json.dumps({"data": [seen_row(dataType="CATEGORICAL", value=0, stringValue="new_file")]}).encode())

    assert found["s1"].value == "new_file"


def test_of_two_rows_with_one_id_the_newer_update_counts() -> None:
    """A score that was sent for two days is shown as it was last."""
    rows = [seen_row(value=1, updatedAt="2026-11-30T10:00:00Z"), seen_row(value=2, updatedAt="2026-11-30T11:00:00Z"), seen_row(value=3)]

    assert wire.seen_scores(json.dumps({"data": rows}).encode())["s1"].value == 2.0


@pytest.mark.parametrize(
    "bad",
    [{"id": None}, {"id": 7}, {"name": None}, {"value": None}, {"value": True}, {"value": [1]}, {"timestamp": None}, {"timestamp": "x"}],
)
def test_a_score_that_cannot_be_read_is_not_seen(bad: dict[str, Any]) -> None:
    """It spoils none of the others."""
    content = json.dumps({"data": [seen_row(**bad), seen_row(id="s2"), None]}).encode()

    assert ["s2"] == list(wire.seen_scores(content))


def test_recorded_configs_are_read(recorded: Callable[[str], dict[str, Any]]) -> None:
    """Name, type and what they allow."""
    found, pages = wire.configs_of(answer(recorded("090")))

    assert (2, [("BOOLEAN", {"True", "False"}), ("CATEGORICAL", {"good", "bad"})]) == (
        pages,
        [(config.data_type, set(config.labels)) for config in found],
    )

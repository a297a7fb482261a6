"""Metrics: named by the rules, bounded, and equal to what happened."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from hunkwatch import events
from hunkwatch.ports import Delivery, Status
from hunkwatch.telemetry.metrics import Metrics, names

NOW = datetime(2026, 1, 1, tzinfo=UTC)
UNITS = ("_seconds", "_total", "_info", "_bytes_total", "_scores", "_waiting", "_scorer", "_value", "_amount", "_up")


def sample(metrics: Metrics, name: str, /, **labels: str) -> float | None:
    """Return one sample as a scraper sees it."""
    for family in text_string_to_metric_families(metrics.render().decode()):
        for found in family.samples:
            if found.name == name and labels.items() <= found.labels.items():
                return found.value
    return None


def test_every_event_can_be_recorded(kind: type, an_event: Callable[..., Any]) -> None:
    """No class of event is unknown to the metrics, and the page stays readable for a scraper."""
    metrics = Metrics()

    metrics.record(an_event(kind), now=NOW)

    assert list(text_string_to_metric_families(metrics.render().decode()))


def test_names_have_the_prefix_and_end_in_their_unit() -> None:
    """A name tells what its number means."""
    wrong = [name for name in names(Metrics()) if not re.fullmatch(r"hunkwatch_[a-z_]+", name) or not name.endswith(UNITS)]

    assert wrong == []


def test_birthdays_of_counters_are_left_out(an_event: Callable[..., Any]) -> None:
    """The page has no ``_created`` series."""
    metrics = Metrics()
    metrics.record(an_event(events.RequestAnswered), now=NOW)

    assert "_created" not in metrics.render().decode()


def test_each_worker_has_its_own_numbers(an_event: Callable[..., Any]) -> None:
    """Two workers in one process do not count for each other."""
    first, second = Metrics(), Metrics()

    first.record(an_event(events.PoisonSkipped), now=NOW)

    assert tuple(sample(metrics, "hunkwatch_poison_observations_total") for metrics in (first, second)) == (1.0, None)


def test_labels_are_bounded(an_event: Callable[..., Any]) -> None:
    """However many values come, the surplus is one series."""
    metrics = Metrics()

    for number in range(500):
        metrics.record(an_event(events.CallFound, producer=f"producer-{number}"), now=NOW)

    assert sample(metrics, "hunkwatch_calls_found_total", producer="other") == 460.0
    assert metrics.render().decode().count("hunkwatch_calls_found_total{") == 41


def test_abstaining_calls_are_counted_by_reason(an_event: Callable[..., Any]) -> None:
    """A call with a number is no abstention, a new file is one."""
    metrics = Metrics()

    for shape in ("blind_rewrite", "no_blind_rewrite", "new_file", "truncated", "truncated"):
        metrics.record(an_event(events.CallFound, shape=shape), now=NOW)

    found = {
        reason: sample(metrics, "hunkwatch_calls_abstained_total", reason=reason) for reason in ("blind_rewrite", "new_file", "truncated")
    }
    assert found == {"blind_rewrite": None, "new_file": 1.0, "truncated": 2.0}


def test_values_fall_on_quarters_and_counts_on_counts(an_event: Callable[..., Any]) -> None:
    """A share from 0 to 1 and a number of lines have buckets of their own; a label has none."""
    metrics = Metrics()

    for name, value in (("blind_rewrite_patch", 0.5), ("blind_rewrite_patch", 1.0), ("retyped_lines", 7.0), ("patch_shape", "new_file")):
        metrics.record(an_event(events.ScoreValueSent, name=name, value=value), now=NOW)

    assert sample(metrics, "hunkwatch_score_value_bucket", name="blind_rewrite_patch", le="0.5") == 1.0
    assert sample(metrics, "hunkwatch_score_amount_bucket", name="retyped_lines", le="10.0") == 1.0
    assert sample(metrics, "hunkwatch_score_value_count", name="patch_shape") is None
    assert sample(metrics, "hunkwatch_scores_accepted_total", name="patch_shape") == 1.0


def test_a_changed_server_replaces_the_old_one(an_event: Callable[..., Any]) -> None:
    """Only one server is shown as served."""
    metrics = Metrics()
    metrics.record(an_event(events.WorkerStarted, server="4.16.0"), now=NOW)

    metrics.record(an_event(events.ServerChanged, server="4.59.0"), now=NOW)

    found = [sample(metrics, "hunkwatch_server_info", server=server) for server in ("4.16.0", "4.59.0")]
    assert found == [None, 1.0]


def test_a_loop_that_ticks_has_a_time_of_its_last_success(an_event: Callable[..., Any]) -> None:
    """What an alert compares with now."""
    metrics = Metrics()

    metrics.record(an_event(events.LoopTicked, loop="sweep"), now=NOW)
    metrics.record(an_event(events.LoopFailed, loop="sweep"), now=NOW + timedelta(hours=1))

    assert sample(metrics, "hunkwatch_last_success_timestamp_seconds", loop="sweep") == NOW.timestamp()


def test_the_store_is_shown_state_by_state() -> None:
    """Depth and age of the outbox, watermark, waiting traces: also the states that are empty."""
    metrics = Metrics()
    status = Status(
        watermarks={"live": NOW - timedelta(minutes=5)},
        outbox={Delivery.DUE: 3},
        oldest_undelivered=NOW - timedelta(seconds=90),
        observations=1,
        calls_by_producer={},
        shapes={},
        outcomes={},
        sent_per_day=(),
        older_scorer=4,
        traces_waiting=2,
        poison=0,
    )

    metrics.show("p", status, now=NOW)

    found = {state.value: sample(metrics, "hunkwatch_outbox_scores", state=state.value) for state in Delivery}
    assert found == {state.value: 3.0 if state is Delivery.DUE else 0.0 for state in Delivery}
    rest = ("outbox_oldest_age_seconds", "watermark_timestamp_seconds", "traces_waiting", "scores_from_older_scorer")
    assert [sample(metrics, f"hunkwatch_{name}") for name in rest] == [90.0, (NOW - timedelta(minutes=5)).timestamp(), 2.0, 4.0]

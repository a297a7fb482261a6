"""The dashboard and the alerts ask for what the worker tells, and each alert says what to do."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hunkwatch.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "deploy" / "grafana" / "hunkwatch.json"
RULES = ROOT / "deploy" / "prometheus" / "alerts.yaml"
UNIT_TESTS = ROOT / "deploy" / "prometheus" / "alerts_test.yaml"
OPERATIONS = ROOT / "docs" / "operations.md"

TARGET_LABELS = {"job", "instance"}
"""Labels that Prometheus itself puts on whatever it scrapes."""
FOREIGN = {"up": TARGET_LABELS}
"""Metrics that Prometheus itself makes."""
WORDS = {"by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless", "offset", "bool"}
FUNCTIONS = {"sum", "max", "min", "rate", "increase", "changes", "absent", "time", "histogram_quantile", "label_values"}
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
NAME = re.compile(r"(?<![\w$.])[a-zA-Z_:][\w:]*")
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
SELECTOR = re.compile(r"\b([a-zA-Z_:][\w:]*)?\{([^}]*)\}")


@cache
def declared() -> dict[str, frozenset[str]]:
    """Return the labels of each series that the worker can show, by the series' name."""
    series: dict[str, frozenset[str]] = {}
    for metric in vars(Metrics()).values():
        if not hasattr(metric, "describe"):
            continue
        described, labels = next(iter(metric.describe())), frozenset(metric._labelnames)
        match described.type:
            case "counter":
                series[f"{described.name}_total"] = labels
            case "histogram":
                series |= {f"{described.name}_bucket": labels | {"le"}, f"{described.name}_sum": labels, f"{described.name}_count": labels}
            case _:
                series[described.name] = labels
    return series


def metrics_in(query: str) -> set[str]:
    """Return every name in a query that is neither a label, a word of the language nor a function of those that we use."""
    bare = GROUPING.sub(" ", SELECTOR.sub(lambda found: f"{found[1] or ''} ", STRING.sub('""', query)))
    without_spans = re.sub(r"\[[^\]]*\]|\boffset \w+", " ", bare)
    return {name for name in NAME.findall(without_spans) if name not in WORDS | FUNCTIONS} - {"project"}


def labels_in(query: str) -> set[str]:
    """Return every label that a query groups or selects by."""
    quiet = STRING.sub('""', query)
    grouped = {label.strip() for found in GROUPING.findall(quiet) for label in found.split(",")}
    return grouped | {label for _, within in SELECTOR.findall(quiet) for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", within)} - {""}


def wrong_in(query: str) -> set[str]:
    """Return the metrics and labels of a query that the worker does not have; each selector is held against its own metric."""
    known = {name: labels | TARGET_LABELS for name, labels in declared().items()} | FOREIGN
    used = metrics_in(query)
    together = set().union(*(known.get(name, set()) for name in used))
    wrong = (used - known.keys()) | (labels_in(query) - together)
    for name, within in SELECTOR.findall(STRING.sub('""', query)):
        wrong |= set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", within)) - known.get(name, set())
    return wrong


def rules() -> list[dict[str, Any]]:
    """Return every alert."""
    return [rule for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    """Return every panel that shows something."""
    return [panel for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"] if panel["type"] != "row"]


def dashboard_queries() -> Iterator[str]:
    """Yield every query of the dashboard, those of its variables among them."""
    for panel in panels():
        yield from (target["expr"] for target in panel["targets"])
    for variable in json.loads(DASHBOARD.read_text("utf-8"))["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]


alerts = pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('sum by (project) (rate(hunkwatch_requests_total{status="503"}[5m]))', set()),
        ("hunkwatch_request_total", {"hunkwatch_request_total"}),
        ("hunkwatch_requests", {"hunkwatch_requests"}),
        ("hunkwatch_request_duration_seconds", {"hunkwatch_request_duration_seconds"}),
        ("sum by (le) (rate(hunkwatch_request_duration_seconds_bucket[$__rate_interval]))", set()),
        ("sum by (colour) (hunkwatch_requests_total)", {"colour"}),
        ('hunkwatch_poison_observations_total{status="1"} / hunkwatch_requests_total', {"status"}),
        ('up{project="p"} == 0', {"project"}),
        ("max by (project) (other_metric offset 30m)", {"other_metric", "project"}),
    ],
)
def test_a_wrong_name_is_noticed(query: str, expected: set[str]) -> None:
    """The reading of queries that the other tests rest on tells right from wrong."""
    assert expected == wrong_in(query)


@alerts
def test_an_alert_asks_for_what_the_worker_tells(rule: dict[str, Any]) -> None:
    """No rule is silent for good because a metric or a label has another name."""
    assert wrong_in(rule["expr"]) == set()


def test_the_dashboard_asks_for_what_the_worker_tells() -> None:
    """No panel is empty for good because a metric or a label has another name."""
    assert {query: wrong for query in dashboard_queries() if (wrong := wrong_in(query))} == {}


def test_every_metric_is_on_the_dashboard() -> None:
    """What is worth counting is worth seeing."""
    shown = {re.sub(r"_bucket$", "", name) for query in dashboard_queries() for name in metrics_in(query)}

    assert {re.sub(r"_(?:bucket|sum|count)$", "", name) for name in declared()} == shown


def test_every_panel_takes_its_data_from_the_chosen_source() -> None:
    """The dashboard can be imported anywhere: it names no data source of its own, and its ids are unique."""
    sources = {
        source["uid"] for panel in panels() for source in (panel["datasource"], *(target["datasource"] for target in panel["targets"]))
    }
    ids = [panel["id"] for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]]

    assert (sources, len(ids)) == ({"${datasource}"}, len(set(ids)))


@alerts
def test_an_alert_says_how_bad_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    """It waits before it wakes anybody, and leads to a paragraph of its own with symptom, what to look at, and what to do."""
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    paragraph = OPERATIONS.read_text("utf-8").partition(f"\n### {rule['alert']}\n")[2].split("\n#", 1)[0]

    assert (page, anchor) == ("docs/operations.md", rule["alert"].lower())
    assert [word for word in ("Symptom:", "Look at", "Do:") if word not in paragraph.replace("\n", " ")] == []
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert (bool(rule["for"]), rule["annotations"]["summary"].rstrip('"')[-1]) == (True, ".")


def test_every_runbook_paragraph_belongs_to_an_alert() -> None:
    """A rule that is renamed leaves no orphan behind."""
    section = OPERATIONS.read_text("utf-8").partition("\n## Alerts\n")[2].split("\n## ", 1)[0]

    assert [rule["alert"] for rule in rules()] == re.findall(r"^### (.*)$", section, re.MULTILINE)


def test_no_alert_looks_at_the_values_of_scores() -> None:
    """Nobody is woken because agents rewrite more than they did: that is a finding, not a fault."""
    values = {"hunkwatch_score_value_bucket", "hunkwatch_score_value_sum", "hunkwatch_score_amount_bucket", "hunkwatch_score_amount_sum"}

    assert {rule["alert"] for rule in rules() if metrics_in(rule["expr"]) & values or re.search(r"\bavg", rule["expr"])} == set()


def test_every_alert_is_tried_both_ways() -> None:
    """The unit tests of the rules show each of them silent and firing."""
    cases = [case for test in yaml.safe_load(UNIT_TESTS.read_text("utf-8"))["tests"] for case in test["alert_rule_test"]]
    names = {rule["alert"] for rule in rules()}

    assert {case["alertname"] for case in cases if case["exp_alerts"]} == names
    assert {case["alertname"] for case in cases if not case["exp_alerts"]} == names


def test_the_rules_do_what_their_unit_tests_say() -> None:
    """Prometheus' own tool takes the rules and runs their tests."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")

    done = subprocess.run(
        [promtool, "test", "rules", UNIT_TESTS.name], cwd=UNIT_TESTS.parent, capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr

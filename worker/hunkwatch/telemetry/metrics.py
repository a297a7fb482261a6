"""Every Prometheus metric, declared once, in a registry of its own for each worker.

``record`` takes one event, ``show`` takes the store's count. Label values come from bounded sets; should one not, the surplus
is counted as ``other``. Ids, paths and texts are never labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric

from hunkwatch import events
from hunkwatch.core.model import Shape
from hunkwatch.ports import Delivery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from prometheus_client.metrics import MetricWrapperBase

    from hunkwatch.ports import Status

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_LARGEST_LABEL_SET = 40
_COUNTED = frozenset({Shape.FILE_REWRITE, Shape.BLIND_REWRITE, Shape.NO_BLIND_REWRITE})
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LAG = (5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14400, 86400)
_QUARTERS = (0, 0.25, 0.5, 0.75, 1)
_COUNTS = (0, 1, 3, 10, 30, 100, 300, 1000)


class Metrics:
    """The metrics of one worker."""

    def __init__(self) -> None:
        """Declare them all; none is shown before its first event."""
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._seen_labels: dict[str, set[str]] = {}

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"hunkwatch_{name}", text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"hunkwatch_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"hunkwatch_{name}", text, labels, buckets=buckets, registry=registry)

        self.build_info = gauge("build_info", "Always 1; the labels say what runs.", "version", "scorer")
        self.server_info = gauge("server_info", "Always 1; which Langfuse is served, and how.", "project", "server", "reader", "writer")
        self.up = gauge("project_up", "1 while the project is worked on, 0 while it is parked.", "name")
        self.started = gauge("start_timestamp_seconds", "When the worker knew its server.", "project")

        self.observations_seen = counter("observations_seen_total", "Candidates that a sweep came across.", "project", "lane")
        self.observations_read = counter("observations_read_total", "Candidates whose input and output were read.", "project", "lane")
        self.sweep_seconds = histogram("sweep_duration_seconds", "Time to put one window on record.", _SECONDS, "project", "lane")
        self.swept_to = gauge("swept_to_timestamp_seconds", "End of the last window on record.", "project", "lane")
        self.watermark = gauge("watermark_timestamp_seconds", "All that started before this is on record.", "project", "lane")
        self.windows_halved = counter("windows_halved_total", "Windows that were too much for the server.", "project")
        self.poison = counter("poison_observations_total", "Observations that could not be read or scored.", "project")
        self.lag = histogram("ingestion_lag_seconds", "From an observation's start to its being visible.", _LAG, "project", "producer")

        self.calls = counter("calls_found_total", "Patch calls graded, first time or anew.", "project", "producer", "outcome")
        self.shapes = counter("call_shapes_total", "Patch calls by shape.", "project", "shape")
        self.abstained = counter("calls_abstained_total", "Patch calls with nothing to count, by shape.", "project", "reason")

        self.scores = counter("scores_accepted_total", "Scores that Langfuse took.", "project", "name")
        self.value = histogram("score_value", "Values of the scores from 0 to 1.", _QUARTERS, "project", "name")
        self.count = histogram("score_amount", "Values of the scores that count.", _COUNTS, "project", "name")
        self.receipts = counter("score_receipts_total", "What the server said of each score sent.", "project", "verdict")
        self.seen = counter("scores_seen_total", "Scores that a read-back found as we wrote them.", "project")
        self.missing = counter("scores_missing_total", "Looks that did not find the score yet.", "project")
        self.dead = counter("dead_letters_total", "Scores given up, with a reason on record.", "project", "name")
        self.withdrawn = counter("scores_withdrawn_total", "Scores deleted from Langfuse.", "project", "name")
        self.rollups = counter("traces_rolled_up_total", "Traces whose own scores were worked out again.", "project")
        self.outbox = gauge("outbox_scores", "Scores in the outbox, by state.", "project", "state")
        self.oldest = gauge("outbox_oldest_age_seconds", "Age of the longest undelivered score; 0 when there is none.", "project")
        self.traces_waiting = gauge("traces_waiting", "Traces that are due for another look.", "project")
        self.older_scorer = gauge("scores_from_older_scorer", "Scores in Langfuse that an older scorer version made.", "project")

        self.requests = counter("requests_total", "Requests to Langfuse; status 0 had no answer.", "project", "route", "status")
        self.request_seconds = histogram("request_duration_seconds", "Time to the whole answer.", _SECONDS, "project", "route")
        self.received = counter("received_bytes_total", "Bytes of answers.", "project", "route")
        self.retries = counter("request_retries_total", "Requests that are tried again.", "project", "route")
        self.rate_limits = counter("rate_limit_waits_total", "Times the server asked us to wait.", "project", "route")
        self.rate_limit_seconds = counter("rate_limit_wait_seconds_total", "Seconds the server asked us to wait.", "project", "route")

        self.success = gauge("last_success_timestamp_seconds", "Last time a loop did its work without an error.", "project", "loop")
        self.loop_failures = counter("loop_failures_total", "Errors that a loop lived through.", "project", "loop")
        self.reloads = counter("reloads_total", "Reloads of the settings, by result: taken or refused.", "project", "result")
        self.loop_seconds = histogram("loop_duration_seconds", "Time of one unit of work.", _SECONDS, "project", "loop")

    def record(self, event: events.Event, *, now: datetime) -> None:  # noqa: C901, PLR0912, PLR0915 (one case an event is the whole point)
        """Count one event."""
        match event:
            case events.WorkerStarted():
                self.build_info.labels(event.version, event.scorer).set(1)
                self.started.labels(event.project).set(now.timestamp())
                self.up.labels(event.name).set(1)
                self._serve(event)
            case events.ProjectParked():
                self.up.labels(event.name).set(0)
            case events.ServerChanged():
                self.server_info.remove_by_labels({"project": event.project})
                self._serve(event)
            case events.WindowSwept():
                lane = self._bounded("lane", event.lane)
                self.observations_seen.labels(event.project, lane).inc(event.observations)
                self.observations_read.labels(event.project, lane).inc(event.read)
                self.sweep_seconds.labels(event.project, lane).observe(event.seconds)
                self.swept_to.labels(event.project, lane).set(event.end.timestamp())
            case events.CallFound():
                shape = self._bounded("shape", event.shape)
                self.calls.labels(event.project, self._bounded("producer", event.producer), self._bounded("outcome", event.outcome)).inc()
                self.shapes.labels(event.project, shape).inc()
                if event.shape not in _COUNTED:
                    self.abstained.labels(event.project, shape).inc()
            case events.LagSeen():
                self.lag.labels(event.project, self._bounded("producer", event.producer)).observe(event.seconds)
            case events.TracesRolledUp():
                self.rollups.labels(event.project).inc(event.traces)
            case events.ScoresSent():
                for verdict in ("accepted", "uncertain", "refused"):
                    self.receipts.labels(event.project, verdict).inc(getattr(event, verdict))
            case events.ScoreValueSent():
                self._take_value(event)
            case events.ScoresSeen():
                self.seen.labels(event.project).inc(event.seen)
                self.missing.labels(event.project).inc(event.missing)
            case events.ScoreDied():
                self.dead.labels(event.project, self._bounded("name", event.name)).inc()
            case events.ScoreWithdrawn():
                self.withdrawn.labels(event.project, self._bounded("name", event.name)).inc()
            case events.RequestAnswered():
                route = self._bounded("route", event.route)
                self.requests.labels(event.project, route, self._bounded("status", str(event.status))).inc()
                self.request_seconds.labels(event.project, route).observe(event.seconds)
                self.received.labels(event.project, route).inc(event.received)
            case events.RequestRetried():
                self.retries.labels(event.project, self._bounded("route", event.route)).inc()
            case events.RateLimited():
                route = self._bounded("route", event.route)
                self.rate_limits.labels(event.project, route).inc()
                self.rate_limit_seconds.labels(event.project, route).inc(event.wait)
            case events.WindowHalved():
                self.windows_halved.labels(event.project).inc()
            case events.PoisonSkipped():
                self.poison.labels(event.project).inc()
            case events.LoopFailed():
                self.loop_failures.labels(event.project, self._bounded("loop", event.loop)).inc()
            case events.LoopTicked():
                loop = self._bounded("loop", event.loop)
                self.success.labels(event.project, loop).set(now.timestamp())
                self.loop_seconds.labels(event.project, loop).observe(event.seconds)
            case events.SettingsReloaded():
                self.reloads.labels(event.project, "taken").inc()
            case events.ReloadRefused():
                self.reloads.labels(event.project, "refused").inc()
            case (
                events.AnswersSought()
                | events.CertificateUnchecked()
                | events.LinksMade()
                | events.WorkerStopping()
                | events.WorkerStopped()
                | events.SettingDeprecated()
                | events.CertificateUnchecked()
                | events.LinksMade()
                | events.WorkerStopping()
                | events.WorkerStopped()
                | events.SettingDeprecated()
            ):
                return
            case _:
                assert_never(event)

    def show(self, project: str, status: Status, *, now: datetime) -> None:
        """Set the gauges that only the store can tell."""
        for lane, watermark in status.watermarks.items():
            self.watermark.labels(project, self._bounded("lane", lane)).set(watermark.timestamp())
        for state in Delivery:
            self.outbox.labels(project, state.value).set(status.outbox.get(state, 0))
        oldest = status.oldest_undelivered
        self.oldest.labels(project).set(max((now - oldest).total_seconds(), 0) if oldest else 0)
        self.traces_waiting.labels(project).set(status.traces_waiting)
        self.older_scorer.labels(project).set(status.older_scorer)

    def render(self) -> bytes:
        """Return the whole registry in Prometheus' text format."""
        return generate_latest(_WithoutBirthdays(self.registry))

    def _serve(self, event: events.WorkerStarted | events.ServerChanged) -> None:
        self.server_info.labels(event.project, event.server, event.reader, event.writer).set(1)

    def _take_value(self, event: events.ScoreValueSent) -> None:
        name = self._bounded("name", event.name)
        self.scores.labels(event.project, name).inc()
        if isinstance(event.value, str):
            return
        into = self.value if event.name.startswith("blind_rewrite") else self.count
        into.labels(event.project, name).observe(event.value)

    def _bounded(self, label: str, value: str) -> str:
        known = self._seen_labels.setdefault(label, set())
        if value not in known and len(known) >= _LARGEST_LABEL_SET:
            return "other"
        known.add(value)
        return value


class _WithoutBirthdays(CollectorRegistry):
    """The same metrics without the ``_created`` series that the client adds to each counter and histogram."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__()
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            kept = Metric(metric.name, metric.documentation, metric.type, metric.unit)
            kept.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield kept


def names(metrics: Metrics) -> frozenset[str]:
    """Return the name of every metric of ours, as Prometheus shows it; a histogram by its base name."""
    wrapped = (value for value in vars(metrics).values() if hasattr(value, "describe"))
    return frozenset(_shown(metric) for metric in wrapped)


def _shown(metric: MetricWrapperBase) -> str:
    described = next(iter(metric.describe()))
    return f"{described.name}_total" if described.type == "counter" else described.name

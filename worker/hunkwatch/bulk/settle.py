"""The second stage: the calls of a trace, from whatever files, put together and scored. One piece takes a stretch of buckets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from hunkwatch.bulk import harvest, places, tables
from hunkwatch.core import evaluate, record
from hunkwatch.core.scoring import blind_rewrite
from hunkwatch.ports import LedgerEntry, ObservationKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hunkwatch.core.model import GradedCall, Score

_GROUP = 1000
"""Traces that are written at once."""

_Trace = tuple[list[dict[str, Any]], dict[str, Any]]


class Task(NamedTuple):
    """One piece: which buckets, of which kept files. ``shared``: keys of the call ids that several traces have."""

    out: str
    number: int
    first: int
    end: int
    names: tuple[str, ...]
    shared: frozenset[int] = frozenset()
    project: str = ""


@dataclass(slots=True)
class Settled:
    """What one piece gave."""

    traces: int = 0
    calls: int = 0
    blind: int = 0
    """Calls with at least one blind rewrite."""
    unresolved: int = 0


def run(task: Task) -> Settled:
    """Score the traces of a piece and write its two files."""
    folder, done = places.Folder(task.out), Settled()
    rows = gathered(task)
    name = f"part-{task.number:05}.parquet"
    folder.write(f"calls/{name}", lambda calls: folder.write(f"traces/{name}", lambda traces: _fill(task, rows, calls, traces, done)))
    return done


def gathered(task: Task) -> list[dict[str, Any]]:
    """Return the kept rows of a piece by trace, each observation once: the newest that any file has."""
    folder = places.Folder(task.out)
    newest: dict[tuple[str, str], dict[str, Any]] = {}
    for name in task.names:
        with folder.open(name) as stream:
            for row in tables.rows(stream, between=(task.first, task.end)):
                at = row["trace_id"], row["observation_id"]
                if at not in newest or _order(row) > _order(newest[at]):
                    newest[at] = row
    return [newest[at] for at in sorted(newest)]


def entries(task: Task) -> list[LedgerEntry]:
    """Return what the worker's record would hold of a piece: every observation with its calls, whole traces together."""
    kept = [row for row in gathered(task) if row["calls"]]
    return [
        LedgerEntry(
            project=row["project_id"],
            key=ObservationKey(row["trace_id"], row["observation_id"]),
            first_start=row["start_time"],
            version=row["version"],
            fingerprint=row["fingerprint"],
            calls=record.load(row["calls"]),
            seen_at=row["start_time"],
        )
        for row in kept
    ]


def _order(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """The newest update; between equals always the same, whatever the order of the files. One that knows its trace's name goes first."""
    return row["version"] or "", row["trace_name"] or "", row["fingerprint"] or ""


def _fill(task: Task, rows: Sequence[Mapping[str, Any]], calls: Any, traces: Any, done: Settled) -> None:
    with tables.Writer(calls, tables.CALLS) as call_writer, tables.Writer(traces, tables.TRACES) as trace_writer:
        for writer in (call_writer, trace_writer):
            writer.tell({"scorer": evaluate.SCORER, "first": task.first, "end": task.end})
        for group in _groups(_traces(task, rows)):
            call_rows = [row for its_calls, _ in group for row in its_calls]
            call_writer.add(call_rows)
            trace_writer.add([its_trace for _, its_trace in group])
            done.traces += len(group)
            done.calls += len(call_rows)
            done.blind += sum(bool(row["blind_hunks"]) for row in call_rows)
            done.unresolved += sum(row["shape"] == "unresolved" for row in call_rows)


def _groups(traces: Iterator[_Trace]) -> Iterator[list[_Trace]]:
    while group := list(islice(traces, _GROUP)):
        yield group


def _traces(task: Task, rows: Sequence[Mapping[str, Any]]) -> Iterator[_Trace]:
    for _, of_trace in groupby(rows, key=lambda row: row["trace_id"]):
        its = list(of_trace)
        observations = [row for row in its if row["calls"]]
        if observations:
            yield _trace(task, observations, next((row for row in its if not row["calls"]), None))


def _trace(task: Task, observations: Sequence[Mapping[str, Any]], told: Mapping[str, Any] | None) -> _Trace:
    calls = [call for row in observations for call in record.load(row["calls"])]
    project = task.project or next((row["project_id"] for row in observations if row["project_id"]), "")
    also_in = frozenset(call.call_id for call in calls if call.call_id and harvest.key(call.call_id) in task.shared)
    seen = evaluate.finished_trace(project, calls, also_in=also_in)
    context = {name: _first(observations, told, name) for name in ("trace_name", "session_id", "user_id", "tags")}
    models = {row["observation_id"]: row["model"] for row in observations}
    first = min(seen.counted, key=lambda call: call.start_time)
    own = {score.name: score.value for score in seen.scores if score.observation_id is None}
    trace = {
        "project_id": project,
        "trace_id": observations[0]["trace_id"],
        "start_time": first.start_time,
        "environment": first.environment,
        **context,
        "calls": len(seen.counted),
        "producers": sorted({call.producer for call in seen.counted}),
        "shapes": sorted({call.shape.value for call in seen.counted}),
        **{name: own.get(name) for name in tables.TRACE_SCORES},
        "scorer": evaluate.SCORER,
        "scores": json.dumps([_written(score) for score in seen.scores]),
    }
    return [_call(call, project, models.get(call.observation_id, ""), context) for call in seen.counted], trace


def _first(observations: Sequence[Mapping[str, Any]], told: Mapping[str, Any] | None, name: str) -> Any:
    return next((row[name] for row in (*observations, *([told] if told else ())) if row[name]), None)


def _call(call: GradedCall, project: str, model: str, context: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "project_id": project,
        "trace_id": call.trace_id,
        "observation_id": call.observation_id,
        "call_id": call.call_id,
        "index": call.index,
        "start_time": call.start_time,
        "end_time": call.end_time,
        "environment": call.environment,
        **context,
        "model": model,
        "producer": call.producer,
        "evidence": call.evidence.value,
        "outcome": call.outcome.value,
        "shape": call.shape.value,
        "why": call.why,
        "flags": list(call.flags),
        "blind_rewrite": blind_rewrite.kept(call.blind_hunks, call.hunks, blind_rewrite.QUARTERS) if call.hunks else None,
        "hunks": call.hunks,
        "blind_hunks": call.blind_hunks,
        "retyped_lines": call.retyped_lines if call.hunks else None,
        "files": [file.path for file in call.files],
        "file_count": call.file_count,
        "added_lines": call.added_lines,
        "deleted_lines": call.deleted_lines,
        "context_lines": call.context_lines,
        "text_hash": call.text_hash,
        "scorer": call.graded_by,
        "record": record.dump((call,)),
    }


def _written(score: Score) -> dict[str, object]:
    return {
        "id": score.id,
        "name": score.name,
        "value": score.value,
        "observation_id": score.observation_id,
        "timestamp": score.timestamp.isoformat(),
        "environment": score.environment,
        "comment": score.comment,
        "metadata": dict(score.metadata),
    }

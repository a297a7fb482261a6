"""The first stage: one file in, its calls out. What a file gave is kept until the file or the scorer changes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from hunkwatch.bulk import formats, places, tables
from hunkwatch.core import evaluate, identity, record
from hunkwatch.langfuse.wire import exports

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import IO

    from hunkwatch.core.model import GradedCall, Observation

FOLDER = "harvest"
BUCKETS = 1 << 16
"""Into how many buckets traces fall; a piece of the second stage takes a stretch of them."""
LAYOUT = 1
"""Raised when kept files would be read wrongly."""
_GROUP_ROWS = 20_000
_GROUP_BYTES = 64 << 20
_OVERHEAD = 500


class Task(NamedTuple):
    """What one piece of the first stage needs, and nothing more, so that it can run anywhere."""

    source: places.Source
    out: str
    sample: float = 1.0


@dataclass(slots=True)
class Harvested:
    """What one file gave. ``failed``: why it could not be read to its end; it is tried again next time."""

    key: str
    rows: int = 0
    calls: int = 0
    observations: int = 0
    rejected: int = 0
    failed: str = ""
    kept: bool = False
    """It had been harvested before."""


def run(task: Task) -> Harvested:
    """Harvest one file, or say that it was done. Never raises on what a file holds."""
    folder = places.Folder(task.out)
    if (before := _before(folder, task)) is not None:
        return before
    name, done = f"{FOLDER}/{task.source.key}.parquet", Harvested(task.source.key)
    rejects: list[dict[str, object]] = []

    def fill(stream: IO[bytes]) -> None:
        with tables.Writer(stream, tables.HARVEST) as writer:
            for group in _groups(_rows(task, done, rejects)):
                writer.add(sorted(group, key=_place))
            done.rejected = len(rejects)
            writer.tell({**_mark(task), **asdict(done)})
        # Before the file itself is in place: that it is there says that everything is kept.
        told = "".join(f"{json.dumps(reject)}\n" for reject in rejects).encode()
        folder.write(f"{FOLDER}/{task.source.key}.rejects.jsonl", lambda rejected: _put(rejected, told))

    folder.write(name, fill)
    return done


def _groups(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield rows in groups that fit into memory."""
    group: list[dict[str, Any]] = []
    weight = 0
    for row in rows:
        group.append(row)
        weight += len(row["calls"]) + _OVERHEAD
        if len(group) >= _GROUP_ROWS or weight >= _GROUP_BYTES:
            yield group
            group, weight = [], 0
    yield group


def bucket(trace_id: str) -> int:
    """Return the bucket of a trace."""
    return int.from_bytes(sha256(trace_id.encode("utf-8", "surrogatepass")).digest()[:2])


def key(text: str) -> int:
    """Return a short key for an id: equal ids have equal keys, and others next to never."""
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], signed=True)


def _put(stream: IO[bytes], content: bytes) -> None:
    stream.write(content)


def _mark(task: Task) -> dict[str, object]:
    source = task.source
    return {
        "url": source.url,
        "size": source.size,
        "stamp": source.stamp,
        "sample": task.sample,
        "scorer": evaluate.SCORER,
        "layout": LAYOUT,
    }


def _before(folder: places.Folder, task: Task) -> Harvested | None:
    try:
        with folder.open(f"{FOLDER}/{task.source.key}.parquet") as stream:
            told = tables.about(stream)
    except (FileNotFoundError, ValueError):
        return None
    if any(told.get(name) != value for name, value in _mark(task).items()) or told.get("failed"):
        return None
    return Harvested(task.source.key, told["rows"], told["calls"], told["observations"], told["rejected"], kept=True)


def _rows(task: Task, done: Harvested, rejects: list[dict[str, object]]) -> Iterator[dict[str, Any]]:
    """Yield what is kept of a file; a file that cannot be read on ends here, with the reason."""
    count, traces = formats.Count(), task.source.table == "traces"
    try:
        with places.opened(task.source) as (stream, form):
            for row in formats.read(stream, form, count, all_rows=traces):
                try:
                    if row.fields is None:
                        raise ValueError(row.why)  # noqa: TRY301 - joins what a row that is no observation raises
                    yield from _of_row(task, row.fields, done, traces=traces)
                except ValueError as flaw:
                    rejects.append({"file": task.source.url, "row": row.number, "reason": str(flaw)})
    except (OSError, EOFError, ImportError) as error:
        done.failed = f"{type(error).__name__} after row {count.rows}"
        rejects.append({"file": task.source.url, "row": count.rows + 1, "reason": f"the file cannot be read on ({type(error).__name__})"})
    done.rows = count.rows


def _of_row(task: Task, fields: Mapping[str, Any], done: Harvested, *, traces: bool) -> Iterator[dict[str, Any]]:
    inside = exports.nested(fields) if traces or "observations" in fields else None
    if inside is not None:
        for each in inside:
            yield from _of_observation(task, each, exports.project(fields), done)
    elif traces:
        yield _of_context(exports.context(fields))
    else:
        yield from _of_observation(task, fields, exports.project(fields), done)


def _of_observation(task: Task, fields: Mapping[str, Any], project: str, done: Harvested) -> Iterator[dict[str, Any]]:
    row = exports.exported(fields)
    done.observations += 1
    if not identity.sampled(row.trace_id, task.sample):
        return
    calls = evaluate.grade_observation(row)
    if calls:
        done.calls += len(calls)
        yield _kept(row, calls, project)


def _kept(row: Observation, calls: tuple[GradedCall, ...], project: str) -> dict[str, Any]:
    return {
        "bucket": bucket(row.trace_id),
        "trace_id": row.trace_id,
        "observation_id": row.id,
        "version": "" if row.updated_at is None else row.updated_at.isoformat(timespec="microseconds"),
        "fingerprint": identity.content(row),
        "start_time": row.start_time,
        "project_id": project,
        "model": row.model,
        "trace_name": row.trace_name,
        "session_id": row.session_id,
        "user_id": row.user_id,
        "tags": list(row.tags),
        "trace_key": key(row.trace_id),
        "call_keys": sorted({key(call.call_id) for call in calls if call.call_id}),
        "calls": record.dump(calls),
    }


def _of_context(context: exports.TraceContext) -> dict[str, Any]:
    return {
        "bucket": bucket(context.trace_id),
        "trace_id": context.trace_id,
        "observation_id": "",
        "trace_name": context.name,
        "session_id": context.session_id,
        "user_id": context.user_id,
        "tags": list(context.tags),
        "calls": "",
    }


def _place(row: Mapping[str, Any]) -> tuple[int, str]:
    return row["bucket"], row["trace_id"]

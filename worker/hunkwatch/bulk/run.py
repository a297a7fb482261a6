"""Both stages over everything that a source names, and what came of it.

``run`` may be interrupted anywhere and run again: files that were harvested are passed over, results appear whole or not at all, and the
same files give the same results whatever ran them. Results of an earlier run are replaced once the new ones are there.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hunkwatch.bulk import harvest, places, settle, tables
from hunkwatch.core import evaluate
from hunkwatch.daemon import rollup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import IO

    from hunkwatch.bulk.engines import Engine

PIECE = 20_000
"""About how many observations with calls one piece of the second stage holds in memory."""

REJECTS, SUMMARY = "rejects.jsonl", "summary.json"


@dataclass(frozen=True, slots=True)
class Step:
    """How far the work got: ``done`` of ``total`` pieces of a stage."""

    stage: str
    done: int
    total: int
    rows: int
    calls: int


@dataclass(slots=True)
class Summary:
    """What a run gave. ``failed`` files could not be read to their end; another run tries them again."""

    files: int = 0
    kept: int = 0
    """Files that an earlier run had harvested."""
    failed: list[str] = field(default_factory=list)
    rows: int = 0
    rejected: int = 0
    calls: int = 0
    traces: int = 0
    blind: int = 0
    unresolved: int = 0
    scorer: str = evaluate.SCORER


def run(  # noqa: PLR0913 - the whole work in one call
    given: Sequence[str],
    out: str,
    engine: Engine,
    *,
    project: str = "",
    sample: float = 1.0,
    tell: Callable[[Step], None] = lambda _step: None,
) -> Summary:
    """Score everything that ``given`` names into ``out``. Raises Halt when there is nothing to read."""
    sources = places.sources(given, but=out)
    folder, summary = places.Folder(out), Summary(files=len(sources))
    harvested = _harvest(engine, [harvest.Task(source, out, sample) for source in sources], summary, tell)
    names = tuple(f"{harvest.FOLDER}/{each.key}.parquet" for each in harvested)
    pieces = _pieces(folder, names, project)
    _settle(engine, pieces, summary, tell)
    _tidy(folder, len(pieces))
    folder.write(REJECTS, lambda stream: _gather_rejects(folder, [each for each in harvested if each.rejected], stream))
    folder.write(SUMMARY, lambda stream: _put(stream, json.dumps(asdict(summary), indent=2)))
    return summary


def pieces_of(out: str, project: str = "") -> Sequence[settle.Task]:
    """Return the pieces of what an earlier run harvested, for whoever wants the calls themselves (``settle.gathered``)."""
    folder = places.Folder(out)
    return _pieces(folder, tuple(folder.names(harvest.FOLDER, ".parquet")), project)


def _harvest(engine: Engine, tasks: Sequence[harvest.Task], summary: Summary, tell: Callable[[Step], None]) -> list[harvest.Harvested]:
    done: list[harvest.Harvested] = []
    urls = {task.source.key: task.source.url for task in tasks}
    calls = 0
    for each in engine.each(harvest.run, tasks):
        done.append(each)
        summary.rows += each.rows
        summary.rejected += each.rejected
        summary.kept += each.kept
        calls += each.calls
        if each.failed:
            summary.failed.append(f"{urls[each.key]}: {each.failed}")
        tell(Step("reading", len(done), len(tasks), summary.rows, calls))
    summary.failed.sort()
    return sorted(done, key=lambda each: each.key)


def _pieces(folder: places.Folder, names: tuple[str, ...], project: str) -> list[settle.Task]:
    counts: Counter[int] = Counter()
    for name in names:
        with folder.open(name) as stream:
            counts.update(tables.table(stream, ["bucket"])["bucket"].to_pylist())
    shared = _shared(folder, names)
    pieces: list[settle.Task] = []
    first, weight = 0, 0
    for bucket in sorted(counts):
        if weight and weight + counts[bucket] > PIECE:
            pieces.append(settle.Task(folder.url, len(pieces), first, bucket, names, shared, project))
            first, weight = bucket, 0
        weight += counts[bucket]
    pieces.append(settle.Task(folder.url, len(pieces), first, harvest.BUCKETS, names, shared, project))
    return pieces


def _shared(folder: places.Folder, names: Sequence[str]) -> frozenset[int]:
    """Return the keys of call ids that several traces have."""
    found = []
    for name in names:
        with folder.open(name) as stream:
            table = tables.table(stream, ["trace_key", "call_keys"])
        lists = table["call_keys"].combine_chunks()
        parents = pc.list_parent_indices(lists)
        found.append(pa.table({"call": pc.list_flatten(lists), "trace": table["trace_key"].combine_chunks().take(parents)}))
    if not found:
        return frozenset()
    by_call = pa.concat_tables(found).group_by("call").aggregate([("trace", "count_distinct")])
    return frozenset(
        call
        for call, traces in zip(by_call["call"].to_pylist(), by_call["trace_count_distinct"].to_pylist(), strict=True)
        if 1 < traces <= rollup.MOST_SHARING
    )


def _settle(engine: Engine, pieces: Sequence[settle.Task], summary: Summary, tell: Callable[[Step], None]) -> None:
    for number, each in enumerate(engine.each(settle.run, pieces), start=1):
        summary.traces += each.traces
        summary.calls += each.calls
        summary.blind += each.blind
        summary.unresolved += each.unresolved
        tell(Step("scoring", number, len(pieces), summary.rows, summary.calls))


def _tidy(folder: places.Folder, pieces: int) -> None:
    """Remove the parts of an earlier run that had more of them."""
    for table in ("calls", "traces"):
        for name in folder.names(table, ".parquet"):
            if name >= f"{table}/part-{pieces:05}.parquet":
                folder.remove(name)


def _gather_rejects(folder: places.Folder, harvested: Sequence[harvest.Harvested], stream: IO[bytes]) -> None:
    for each in harvested:
        with folder.open(f"{harvest.FOLDER}/{each.key}.rejects.jsonl") as rejects:
            for line in rejects:
                stream.write(line)


def _put(stream: IO[bytes], text: str) -> None:
    stream.write(f"{text}\n".encode())

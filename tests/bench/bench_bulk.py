"""Scoring an export with one process and with two, on plain processes and on Ray; time without what starting an engine takes."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from bench_compare import Duel, Step, watched
from bench_rivals import rows

FILES = 8
_NAMES = {"traceId": "trace_id", "startTime": "start_time", "endTime": "end_time"}


def measure() -> Iterator[Duel | Step]:
    """Yield two workers against one, by engine, and how one grows with the data."""
    with tempfile.TemporaryDirectory() as folder:
        export = Path(folder) / "export"
        _write(export, 200_000)
        engines = [("processes", [])] + ([("Ray", ["--ray"])] if importlib.util.find_spec("ray") else [])
        for name, flags in engines:
            empty = Path(folder) / "empty"
            _write(empty, FILES)
            start = [_run(empty, Path(folder) / f"start-{name}-{workers}", workers, flags)[0] for workers in (1, 2)]
            took = [_run(export, Path(folder) / f"out-{name}-{workers}", workers, flags)[0] for workers in (1, 2)]
            one, two = (max(seconds - begun, 0.001) for seconds, begun in zip(took, start, strict=True))
            yield Duel(f"bulk on {name}, 200,000 rows in {FILES} files: two workers against one", two, one, one / two, target=1.5)
        for count in (10_000, 100_000, 1_000_000):
            place = Path(folder) / f"of-{count}"
            _write(place, count)
            seconds, memory = _run(place, Path(folder) / f"grown-{count}", 1, [])
            yield Step("bulk, one worker, rows", count, seconds, memory)


def _write(export: Path, count: int) -> None:
    """Write an export of that many rows over several packed files."""
    folder = export / "p1" / "observations_v2"
    folder.mkdir(parents=True)
    for part, its in groupby(enumerate(rows(count, now=datetime(2026, 3, 1, tzinfo=UTC))), key=lambda pair: pair[0] * FILES // count):
        with gzip.open(folder / f"part{part}.jsonl.gz", "wt", compresslevel=1) as stream:
            stream.writelines(_line(row) for _, row in its)


def _line(row: dict[str, Any]) -> str:
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items() if name in {"input", "output"}}
    plain = {_NAMES.get(name, name): value for name, value in row.items()} | texts | {"project_id": "p1"}
    return f"{json.dumps(plain)}\n"


def _run(export: Path, out: Path, workers: int, flags: list[str]) -> tuple[float, int]:
    """Run it as a user does; return seconds and the largest memory of its own process."""
    words = [sys.executable, "-m", "hunkwatch", "bulk", str(export), "--out", str(out), "--workers", str(workers), *flags]
    ended = watched(words)
    if ended.code:
        raise RuntimeError(f"bulk ended with {ended.code}")
    return ended.seconds, ended.memory

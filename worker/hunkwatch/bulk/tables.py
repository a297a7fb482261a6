"""The columns of every Parquet file that is written, and rows in and out of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from hunkwatch.core.scoring import SCORERS
from hunkwatch.core.scoring.tally import Subject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO, BinaryIO

_TIME = pa.timestamp("us", "UTC")
_WORDS = pa.list_(pa.string())

HARVEST = pa.schema(
    {
        "bucket": pa.int32(),
        "trace_id": pa.string(),
        "observation_id": pa.string(),
        "version": pa.string(),
        "fingerprint": pa.string(),
        "start_time": _TIME,
        "project_id": pa.string(),
        "model": pa.string(),
        "trace_name": pa.string(),
        "session_id": pa.string(),
        "user_id": pa.string(),
        "tags": _WORDS,
        "trace_key": pa.int64(),
        "call_keys": pa.list_(pa.int64()),
        "calls": pa.string(),
    }
)
"""One row an observation with calls; one without an observation is what a legacy export says of a trace."""

CALLS = pa.schema(
    {
        "project_id": pa.string(),
        "trace_id": pa.string(),
        "observation_id": pa.string(),
        "call_id": pa.string(),
        "index": pa.int32(),
        "start_time": _TIME,
        "end_time": _TIME,
        "environment": pa.string(),
        "trace_name": pa.string(),
        "session_id": pa.string(),
        "user_id": pa.string(),
        "tags": _WORDS,
        "model": pa.string(),
        "producer": pa.string(),
        "evidence": pa.string(),
        "outcome": pa.string(),
        "shape": pa.string(),
        "why": pa.string(),
        "flags": _WORDS,
        "blind_rewrite": pa.float64(),
        "hunks": pa.int64(),
        "blind_hunks": pa.int64(),
        "retyped_lines": pa.int64(),
        "files": _WORDS,
        "file_count": pa.int64(),
        "added_lines": pa.int64(),
        "deleted_lines": pa.int64(),
        "context_lines": pa.int64(),
        "text_hash": pa.string(),
        "scorer": pa.string(),
        "record": pa.string(),
    }
)
"""One row a call, duplicates merged. ``record`` is the whole call as the worker's ledger keeps it (``core.record``)."""

TRACE_SCORES = tuple(scorer.name for scorer in SCORERS if scorer.subject is Subject.TRACE)

TRACES = pa.schema(
    {
        "project_id": pa.string(),
        "trace_id": pa.string(),
        "start_time": _TIME,
        "environment": pa.string(),
        "trace_name": pa.string(),
        "session_id": pa.string(),
        "user_id": pa.string(),
        "tags": _WORDS,
        "calls": pa.int64(),
        "producers": _WORDS,
        "shapes": _WORDS,
        **dict.fromkeys(TRACE_SCORES, pa.float64()),
        "scorer": pa.string(),
        "scores": pa.string(),
    }
)
"""One row a trace. ``scores`` holds every score of the trace and of its observations as the worker would send them, as JSON."""

_ABOUT = b"hunkwatch"


class Writer:
    """Writes rows to one Parquet file, a row group at a time."""

    def __init__(self, stream: IO[bytes], schema: pa.Schema) -> None:
        """Begin a file; it is whole once the context ends."""
        self._writer = pq.ParquetWriter(stream, schema, compression="zstd")
        self._schema = schema

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a row group."""
        if rows:
            self._writer.write_table(self._table(rows))

    def _table(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        try:
            return pa.Table.from_pylist(list(rows), schema=self._schema)
        except UnicodeEncodeError:
            return pa.Table.from_pylist([{name: _writable(value) for name, value in row.items()} for row in rows], schema=self._schema)

    def tell(self, about: Mapping[str, object]) -> None:
        """Write down what is to be known of the file."""
        self._writer.add_key_value_metadata({_ABOUT: json.dumps(about).encode()})

    def __enter__(self) -> Self:
        """Write until the context ends."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """End the file."""
        self._writer.close()


def about(stream: BinaryIO) -> dict[str, Any]:
    """Return what a file says of itself; raises ValueError for a file that is none of ours."""
    try:
        told = pq.read_metadata(stream).metadata or {}
        return dict(json.loads(told[_ABOUT]))
    except (pa.ArrowException, KeyError, TypeError) as error:
        raise ValueError("not a file of ours") from error


def rows(stream: BinaryIO, *, between: tuple[int, int]) -> list[dict[str, Any]]:
    """Return the rows of some buckets (from, until) of a harvested file; row groups without any are not read."""
    found: list[dict[str, Any]] = pq.read_table(stream, filters=[("bucket", ">=", between[0]), ("bucket", "<", between[1])]).to_pylist()
    return found


def table(stream: BinaryIO, columns: Sequence[str]) -> pa.Table:
    """Return some columns of a file."""
    return pq.read_table(stream, columns=list(columns))


def _writable(value: object) -> object:
    """Return a value without lone surrogates, which no Parquet file takes."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list():
            return [_writable(each) for each in value]
        case _:
            return value

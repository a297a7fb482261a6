"""The rows of a file: those that may hold a call, and those that are none, each with its number.

Everything else is only counted: it is checked for being a row, and for the letters that every call has, and never decoded further.
"""

from __future__ import annotations

import csv
import re
import sys
from dataclasses import dataclass
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hunkwatch.bulk import elements
from hunkwatch.langfuse.wire import exports, salvage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

    from hunkwatch.bulk.elements import Stream

LETTERS = r"(?i)atch|filechange|file_change|\\u00[2-7]"
"""Every marker of a patch and every name of a patch tool has one of these, or hides its letters behind escapes (see ``core.discover``)."""

LONGEST = elements.LONGEST
BATCH = 256
"""Rows of a Parquet file that are held at once."""

_has_letters = re.compile(LETTERS.encode()).search
_text_has_letters = re.compile(LETTERS).search
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_SEARCHED = ("name", "input", "output")


class Row(NamedTuple):
    """A row worth looking at: ``fields`` as they were written, or None and the reason."""

    number: int
    fields: Mapping[str, Any] | None
    why: str = ""


@dataclass(slots=True)
class Count:
    """How many rows went by, whatever they were."""

    rows: int = 0


def read(stream: BinaryIO, form: str, count: Count, *, all_rows: bool = False) -> Iterator[Row]:
    """Yield the rows of a stream; ``all_rows`` for files in which every row counts. A stream that breaks off is a last row with a reason.

    Raises OSError when the stream itself cannot be read on.
    """
    match form:
        case "parquet":
            yield from _parquet(stream, count, all_rows=all_rows)
        case "csv":
            yield from _csv(stream, count, all_rows=all_rows)
        case "json":
            yield from _json(stream, count, all_rows=all_rows)
        case _:
            yield from _texts(_lines(stream), count, all_rows=all_rows)


def _json(stream: BinaryIO, count: Count, *, all_rows: bool) -> Iterator[Row]:
    """Read one array, one object with rows inside, or objects one a line."""
    head = b""
    while chunk := stream.read(elements.CHUNK):
        head += chunk
        if head.lstrip(_BLANK):
            break
    ahead = _Ahead(head.removeprefix(b"\xef\xbb\xbf"), stream)
    if head.lstrip(_BLANK)[:1] == b"[":
        try:
            yield from _texts(elements.of(ahead), count, all_rows=all_rows)
        except elements.Unclosed as early:
            yield Row(count.rows + 1, None, str(early))
        return
    wrapped = bytearray()
    for line in _lines(ahead):
        if wrapped or not _is_object(line):
            wrapped += line + b"\n"
            if len(wrapped) > LONGEST:
                yield Row(count.rows + 1, None, "too long")
                return
        else:
            yield from _texts((line,), count, all_rows=all_rows)
    if wrapped:
        yield from _wrapped(bytes(wrapped), count, all_rows=all_rows)


def _wrapped(content: bytes, count: Count, *, all_rows: bool) -> Iterator[Row]:
    inside = salvage.members(content)
    rows = next((inside[name] for name in ("data", "observations") if inside.get(name, b"").startswith(b"[")), None)
    if rows is None:
        yield from _texts((content,), count, all_rows=all_rows)
    else:
        yield from _texts(salvage.elements(rows), count, all_rows=all_rows)


def _is_object(line: bytes) -> bool:
    try:
        _decode(line)
    except (ValueError, RecursionError):
        return False
    return not line.lstrip().startswith((b'{"data":[', b'{"data": ['))


def _texts(raws: Iterable[bytes], count: Count, *, all_rows: bool) -> Iterator[Row]:
    for raw in raws:
        if not raw.strip():
            continue
        count.rows += 1
        if len(raw) > LONGEST:
            yield Row(count.rows, None, "too long")
            continue
        wanted = all_rows or _has_letters(raw) is not None
        try:
            parts = _decode(raw)
        except (ValueError, RecursionError):
            wanted, parts = True, {}
        if wanted or not _looks_like_a_row(parts):
            fields = salvage.value(raw)
            yield Row(count.rows, fields) if isinstance(fields, dict) else Row(count.rows, None, "not a JSON object")


def _looks_like_a_row(parts: Mapping[str, object]) -> bool:
    return "id" in parts and ("trace_id" in parts or "traceId" in parts) and ("start_time" in parts or "startTime" in parts)


def _lines(stream: Stream) -> Iterator[bytes]:
    """Yield the lines of a stream; of one that is too long only the beginning, as long as it takes to tell."""
    rest = bytearray()
    too_long = False
    while chunk := stream.read(elements.CHUNK):
        *whole, last = chunk.split(b"\n")
        for piece in whole:
            if not too_long:
                rest += piece
                yield bytes(rest)
            rest.clear()
            too_long = False
        if too_long:
            continue
        rest += last
        if len(rest) > LONGEST:
            too_long = True
            yield bytes(rest)
            rest.clear()
    if rest:
        yield bytes(rest)


def _csv(stream: BinaryIO, count: Count, *, all_rows: bool) -> Iterator[Row]:
    csv.field_size_limit(sys.maxsize)
    text = TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
    try:
        yield from _records(csv.reader(text), count, all_rows=all_rows)
    finally:
        text.detach()  # whoever opened the stream closes it


def _records(reader: Iterator[list[str]], count: Count, *, all_rows: bool) -> Iterator[Row]:
    names = next(reader, None)
    if names is None:
        return
    for values in reader:
        if not values:
            continue
        count.rows += 1
        if len(values) != len(names):
            yield Row(count.rows, None, f"{len(values)} columns instead of {len(names)}")
            continue
        fields = {name: value for name, value in zip(names, values, strict=True) if value}
        if all_rows or any(map(_text_has_letters, values)) or not _looks_like_a_row(fields):
            yield Row(count.rows, fields)


def _parquet(stream: BinaryIO, count: Count, *, all_rows: bool) -> Iterator[Row]:
    try:
        file = pq.ParquetFile(stream)
        names = [name for name in file.schema_arrow.names if name in exports.COLUMNS]
        for batch in file.iter_batches(batch_size=BATCH, columns=names):
            yield from _batch(batch, count, all_rows=all_rows)
    except pa.ArrowException as broken:
        yield Row(count.rows + 1, None, f"not a whole Parquet file ({type(broken).__name__})")


def _batch(batch: pa.RecordBatch, count: Count, *, all_rows: bool) -> Iterator[Row]:
    first = count.rows + 1
    count.rows += batch.num_rows
    wanted = list(range(batch.num_rows)) if all_rows else _worth_reading(batch)
    for number, fields in zip(wanted, batch.take(pa.array(wanted, pa.int64())).to_pylist(), strict=True):
        yield Row(first + number, {name: value for name, value in fields.items() if value is not None})


def _worth_reading(batch: pa.RecordBatch) -> list[int]:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    wanted = pa.array([False] * batch.num_rows)
    for name in _SEARCHED:
        if name in columns:
            column = columns[name]
            text = column if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) else _as_text(column)
            wanted = pc.or_(wanted, pc.fill_null(pc.match_substring_regex(text, LETTERS), fill_value=False))
    for keys in (("id",), ("trace_id", "traceId"), ("start_time", "startTime")):
        there = [columns[key] for key in keys if key in columns]
        wanted = pc.or_(wanted, pc.is_null(there[0]) if there else pa.array([True] * batch.num_rows))
    if "metadata" in columns:
        told = (str(value) for value in columns["metadata"].to_pylist())
        wanted = pc.or_(wanted, pa.array([_text_has_letters(text) is not None for text in told]))
    return [at for at, is_wanted in enumerate(wanted.to_pylist()) if is_wanted]


def _as_text(column: pa.Array) -> pa.Array:
    return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())


_BLANK = b"\xef\xbb\xbf \t\r\n"


class _Ahead:
    """A stream of which the beginning was read already."""

    def __init__(self, head: bytes, rest: Stream) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        head, self._head = self._head, b""
        return head or self._rest.read(size)

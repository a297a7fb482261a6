"""Exports as Langfuse writes them, made from the golden files: every layout and every format."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

GOLDEN = Path(__file__).parent.parent / "golden"

_SNAKE = {
    "id": "id", "traceId": "trace_id", "type": "type", "name": "name", "startTime": "start_time", "endTime": "end_time", "level": "level",
    "statusMessage": "status_message", "environment": "environment", "input": "input", "output": "output", "metadata": "metadata",
    "updatedAt": "updated_at", "parentObservationId": "parent_observation_id", "traceName": "trace_name", "sessionId": "session_id",
    "userId": "user_id", "tags": "tags",
}  # fmt: skip

Rows = list[dict[str, Any]]


def text(value: object) -> str:
    """Return an input or output as a column holds it."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def enriched(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the API as the blob storage export writes it."""
    out = {_SNAKE[name]: value for name, value in row.items() if name in _SNAKE}
    for name in ("start_time", "end_time", "updated_at"):
        if out.get(name):
            out[name] = f"{datetime.fromisoformat(out[name]):%Y-%m-%d %H:%M:%S.%f}"
    return {**out, "project_id": "p1", "input": text(row.get("input")), "output": text(row.get("output")), "provided_model_name": "m-1"}


def jsonl(rows: Rows) -> bytes:
    """One object a line."""
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def array(rows: Rows) -> bytes:
    """One array, indented, as the UI and the blob export write it."""
    return json.dumps(rows, indent=1, ensure_ascii=False).encode()


def page(rows: Rows) -> bytes:
    """A page of the API."""
    return json.dumps({"data": rows, "meta": {"cursor": None}}).encode()


def table(rows: Rows) -> bytes:
    """CSV with objects as JSON text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(names)
    for row in rows:
        values = (row.get(name) for name in names)
        writer.writerow("" if value is None else value if isinstance(value, str) else json.dumps(value) for value in values)
    return out.getvalue().encode()


def parquet(rows: Rows) -> bytes:
    """Typed columns: times as timestamps, metadata as a map of texts."""
    typed = [
        {
            **row,
            **{name: datetime.fromisoformat(row[name]) for name in ("start_time", "end_time", "updated_at") if row.get(name)},
            "metadata": [(key, text(value)) for key, value in (row.get("metadata") or {}).items()],
        }
        for row in rows
    ]
    names = list(dict.fromkeys(name for row in typed for name in row))
    kinds: dict[str, pa.DataType] = {"metadata": pa.map_(pa.string(), pa.string()), "tags": pa.list_(pa.string())}
    kinds |= dict.fromkeys(("start_time", "end_time", "updated_at"), pa.timestamp("us"))
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in names])
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(typed, schema=schema), out)
    return out.getvalue()


FORMS: dict[str, Callable[[Rows], bytes]] = {
    "jsonl": jsonl,
    "json": array,
    "page.json": page,
    "csv": table,
    "parquet": parquet,
    "jsonl.gz": lambda rows: gzip.compress(jsonl(rows)),
    "csv.gz": lambda rows: gzip.compress(table(rows)),
}


@pytest.fixture
def golden() -> Rows:
    """Return every golden observation as the API's v2 form has it, each in a trace of its own."""
    rows: Rows = []
    for number, path in enumerate(sorted(GOLDEN.glob("*.json"))):
        row = json.loads(path.read_text())["observation"]
        row |= {"id": f"o{number}", "traceId": f"t{number}", "input": text(row.get("input")), "output": text(row.get("output"))}
        rows.append({"updatedAt": "2026-04-02T08:00:00.000Z", "environment": "default", **row})
    return rows


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write rows as one file of an export and return the export's folder."""

    def write(rows: Rows, form: str = "jsonl", *, name: str = "2026-04-01T00-00-00", folder: str = "observations_v2") -> Path:
        path = tmp_path / "export" / "p1" / folder / f"{name}.{form}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(FORMS[form](rows))
        return tmp_path / "export"

    return write


@pytest.fixture
def as_export() -> Callable[[Rows], Rows]:
    """Spell rows of the API as the blob storage export does."""
    return lambda rows: [enriched(row) for row in rows]


@pytest.fixture
def forms() -> tuple[str, ...]:
    """Name every format."""
    return tuple(FORMS)

"""Whatever the layout and the format of an export, the same calls come out, and what is no row is named and harms nothing."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.bulk import elements, formats, harvest, places, run
from hunkwatch.bulk.engines import Engine
from hunkwatch.core import discover, record
from hunkwatch.langfuse import wire

if TYPE_CHECKING:
    from pathlib import Path

Rows = list[dict[str, Any]]
FORMS = ("jsonl", "json", "page.json", "csv", "parquet", "jsonl.gz", "csv.gz")


def told(out: Path) -> list[tuple[str, str, str | None, int, str, str, str]]:
    """Return what identifies each call and what was found of it, in order."""
    rows = pq.read_table(out / "calls").to_pylist()
    return sorted(
        (row["trace_id"], row["observation_id"], row["call_id"] or "", row["index"], row["text_hash"], row["shape"], row["outcome"])
        for row in rows
    )


def expected(rows: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the trace and the patch's hash of every call of the rows, from the core itself."""
    calls = [call for row in rows for call in harvest.evaluate.grade_observation(wire.observation(row))]
    return sorted((call.trace_id, call.text_hash) for call in calls)


@pytest.mark.parametrize("form", FORMS)
def test_every_golden_call_is_found_in_every_format(
    form: str, golden: Rows, written: Callable[..., Path], as_export: Callable[[Rows], Rows], tmp_path: Path
) -> None:
    """The calls of an export are those that the core finds in the same rows read from the API."""
    source = written(as_export(golden), form)

    run.run([str(source)], str(tmp_path / "out"), Engine())

    assert expected(golden) == sorted((row[0], row[4]) for row in told(tmp_path / "out"))


@pytest.mark.parametrize("form", ["jsonl", "json", "page.json", "csv"])
def test_rows_in_the_spelling_of_the_api_are_read_too(form: str, golden: Rows, written: Callable[..., Path], tmp_path: Path) -> None:
    """An export from the UI spells its columns as the API does."""
    source = written(golden, form, folder="from-the-ui")

    run.run([str(source)], str(tmp_path / "out"), Engine())

    assert expected(golden) == sorted((row[0], row[4]) for row in told(tmp_path / "out"))


def test_a_trace_that_was_written_out_whole_gives_its_observations(golden: Rows, written: Callable[..., Path], tmp_path: Path) -> None:
    """A trace with its observations inside needs no trace id in them."""
    inside = [{name: value for name, value in row.items() if name != "traceId"} for row in golden[:5]]
    source = written([{"id": "t-whole", "name": "x", "observations": inside}], "json", folder="dumps")

    run.run([str(source)], str(tmp_path / "out"), Engine())

    assert {"t-whole"} == {row[0] for row in told(tmp_path / "out")}
    assert sorted(hash_ for _, hash_ in expected(golden[:5])) == sorted(row[4] for row in told(tmp_path / "out"))


def test_a_legacy_export_takes_what_it_says_of_a_trace_from_its_own_file(
    golden: Rows, written: Callable[..., Path], as_export: Callable[[Rows], Rows], tmp_path: Path
) -> None:
    """Name, session, user and tags of a trace stand in traces/, and reach its calls."""
    source = written(as_export(golden[:1]), folder="observations")
    about = {"id": "t0", "name": "nightly", "session_id": "s1", "user_id": "u1", "tags": ["a", "b"], "project_id": "p1"}
    written([about], folder="traces")

    run.run([str(source)], str(tmp_path / "out"), Engine())

    (trace,) = pq.read_table(tmp_path / "out" / "traces").to_pylist()
    assert ("nightly", "s1", "u1", ["a", "b"]) == (trace["trace_name"], trace["session_id"], trace["user_id"], trace["tags"])


def test_scores_manifests_and_notices_are_not_observations(
    golden: Rows, written: Callable[..., Path], as_export: Callable[[Rows], Rows], tmp_path: Path
) -> None:
    """Of an export's folders only those with observations and traces are read."""
    source = written(as_export(golden[:1]))
    written([{"id": "s", "name": "blind_rewrite"}], folder="scores")
    written([{"version": 1, "files": []}], "json", folder="manifests")
    (source / "p1" / "DEPRECATION_NOTICE.txt").write_text("read this")

    summary = run.run([str(source)], str(tmp_path / "out"), Engine())

    assert (1, 0) == (summary.files, summary.rejected)


def test_bad_rows_are_named_and_the_others_go_on(
    golden: Rows, written: Callable[..., Path], as_export: Callable[[Rows], Rows], tmp_path: Path
) -> None:
    """Each row that is none stands in the reject file with its number and a reason, never with what it holds."""
    (good,) = as_export(golden[:1])
    source = written([good])
    path = source / "p1" / "observations_v2" / "2026-04-01T00-00-00.jsonl"
    line = path.read_bytes()
    bad = [b'{"id": "o9", "trace_id": "marked0patch', b"[1]\n", json.dumps({**good, "id": None}).encode(), b'{"id": 1}']
    path.write_bytes(b"\n".join([*bad[:1], line.strip(), *bad[1:], line.replace(b'"o0"', b'"o-last"').replace(b'"t0"', b'"t-last"')]))

    summary = run.run([str(source)], str(tmp_path / "out"), Engine())

    rejects = [json.loads(each) for each in (tmp_path / "out" / "rejects.jsonl").read_text().splitlines()]
    assert [1, 3, 4, 5] == [each["row"] for each in rejects]
    assert all(each["reason"] for each in rejects)
    assert "marked0patch" not in json.dumps(rejects)
    assert {"o0", "o-last"} == {row[1] for row in told(tmp_path / "out")}
    assert 4 == summary.rejected


def test_a_csv_row_with_other_columns_is_rejected(
    golden: Rows, written: Callable[..., Path], as_export: Callable[[Rows], Rows], tmp_path: Path
) -> None:
    """A row that does not fit its header cannot be trusted."""
    source = written(as_export(golden[:2]), "csv")
    path = source / "p1" / "observations_v2" / "2026-04-01T00-00-00.csv"
    path.write_bytes(path.read_bytes() + b"a,b\r\n")

    summary = run.run([str(source)], str(tmp_path / "out"), Engine())

    assert 1 == summary.rejected
    assert expected(golden[:2]) == sorted((row[0], row[4]) for row in told(tmp_path / "out"))


@pytest.mark.parametrize("form", ["jsonl.gz", "parquet", "json"])
def test_a_file_that_breaks_off_gives_what_is_whole_and_says_so(
    form: str, golden: Rows, written: Callable[..., Path], as_export: Callable[[Rows], Rows], tmp_path: Path
) -> None:
    """Half a file is a reject with a reason; other files are read."""
    source = written(as_export(golden), form, name="cut")
    path = source / "p1" / "observations_v2" / f"cut.{form}"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    written(as_export(golden[:3]), name="whole")

    summary = run.run([str(source)], str(tmp_path / "out"), Engine())

    assert summary.rejected
    assert set(expected(golden[:3])) <= {(row[0], row[4]) for row in told(tmp_path / "out")}


def test_hostile_ids_and_times_harm_nothing(written: Callable[..., Path], golden: Rows, tmp_path: Path) -> None:
    """Lone surrogates, NULs and times at the edge of time go through or are rejected, never end the run."""
    rows = [
        {**golden[0], "id": "o\ud800", "traceId": "t\x00"},
        {**golden[0], "id": "late", "traceId": "t-late", "startTime": "9999-12-31T23:59:59.999Z"},
        {**golden[0], "id": "never", "startTime": "soon"},
        {**golden[0], "id": "deep", "output": json.loads("[" * 500 + "]" * 500)},
    ]
    source = written(rows)

    summary = run.run([str(source)], str(tmp_path / "out"), Engine())

    assert (1, 3) == (summary.rejected, summary.calls)


def test_an_object_over_many_lines_is_read_in_time(golden: Rows, tmp_path: Path) -> None:
    """A page of the API that somebody had indented: half a million lines cost no more than their letters."""
    source = tmp_path / "page.json"
    long = {"id": "o", "traceId": "t", "startTime": "2026-01-01T00:00:00Z", "input": [[]] * 500_000}
    source.write_text(json.dumps({"data": [*golden, long]}, indent=0))

    run.run([str(source)], str(tmp_path / "out"), Engine())

    assert expected(golden) == sorted((row[0], row[4]) for row in told(tmp_path / "out"))


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    """An empty folder is a mistake of whoever names it."""
    with pytest.raises(places.Halt, match="no export files"):
        run.run([str(tmp_path)], str(tmp_path / "out"), Engine())


def test_every_golden_call_has_the_letters_that_rows_are_picked_by(golden: Rows) -> None:
    """No row with a call is passed over unread."""
    for row in golden:
        if discover.calls(wire.observation(row)):
            raw = json.dumps(row).encode()
            assert [1] == [each.number for each in formats.read(io.BytesIO(raw), "jsonl", formats.Count())], row["name"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.lists(values, max_size=6), st.integers(1, 7), st.sampled_from([None, 1]), st.booleans())
def test_an_array_comes_apart_at_its_elements(items: list[Any], size: int, indent: int | None, ascii_only: bool) -> None:  # noqa: FBT001 - drawn
    """Whatever the pieces in which the bytes come, the elements are those of the array."""
    text = json.dumps(items, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")

    class Dripping(io.BytesIO):
        def read(self, _size: int | None = -1) -> bytes:
            return super().read(size)

    assert items == [json.loads(each.decode("utf-8", "surrogatepass")) for each in elements.of(Dripping(text))]


def test_an_array_that_does_not_close_gives_what_it_has() -> None:
    """The whole elements come first, then the complaint."""
    found = elements.of(io.BytesIO(b'[{"a": 1}, {"b": "]'))
    assert b'{"a": 1}' == next(found)
    with pytest.raises(elements.Unclosed):
        next(found)


def test_what_is_packed_is_told_by_its_content(
    golden: Rows, written: Callable[..., Path], as_export: Callable[[Rows], Rows], tmp_path: Path
) -> None:
    """A packed file without the suffix, and a file without any, are read when they are named."""
    source = written(as_export(golden[:4]))
    path = source / "p1" / "observations_v2" / "2026-04-01T00-00-00.jsonl"
    bare = tmp_path / "download"
    bare.write_bytes(gzip.compress(path.read_bytes()))

    run.run([str(bare)], str(tmp_path / "out"), Engine())

    assert expected(golden[:4]) == sorted((row[0], row[4]) for row in told(tmp_path / "out"))


def test_a_call_in_the_results_is_the_call_of_the_record(
    golden: Rows, written: Callable[..., Path], as_export: Callable[[Rows], Rows], tmp_path: Path
) -> None:
    """The record column gives the whole graded call back."""
    run.run([str(written(as_export(golden)))], str(tmp_path / "out"), Engine())

    for row in pq.read_table(tmp_path / "out" / "calls").to_pylist():
        (call,) = record.load(row["record"])
        assert (row["trace_id"], row["shape"], row["hunks"]) == (call.trace_id, call.shape.value, call.hunks)

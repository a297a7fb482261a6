"""Both stages together: traces that span files, runs that are interrupted, other engines, other places, and delivery."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import hunkwatch
from hunkwatch.bulk import harvest, places, run
from hunkwatch.bulk.engines import Engine
from hunkwatch.cli import main
from hunkwatch.langfuse import wire
from hunkwatch.sandbox import Project, Sandbox

Rows = list[dict[str, Any]]
Written = Callable[..., Path]
AsExport = Callable[[Rows], Rows]

BLIND = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n-b\n-c\n+x\n+y\n+z\n@@\n-k\n+l\n*** End Patch"


def results(out: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return every call and every trace of a run's results, in order."""
    calls, traces = (pq.read_table(out / table).to_pylist() for table in ("calls", "traces"))
    return sorted(calls, key=lambda row: (row["trace_id"], row["record"])), sorted(traces, key=lambda row: row["trace_id"])


def in_traces(rows: Rows, size: int = 5) -> Rows:
    """Put several rows into each trace."""
    return [{**row, "traceId": f"t{number // size}"} for number, row in enumerate(rows)]


@pytest.fixture
def spread(golden: Rows, written: Written, as_export: AsExport) -> Path:
    """Write an export of three files, with traces that span them."""
    rows = as_export(in_traces(golden))
    for part in range(3):
        export = written(rows[part::3], name=f"part{part}")
    return export


def test_a_trace_over_several_files_is_scored_as_one(spread: Path, golden: Rows, tmp_path: Path) -> None:
    """Every score of every trace is what the public interface gives for all of its observations at once."""
    run.run([str(spread)], str(tmp_path / "out"), Engine())

    _, traces = results(tmp_path / "out")
    observations = [wire.observation(row) for row in in_traces(golden)]
    asked = {trace.trace_id: trace for trace in hunkwatch.score_observations(observations, project="p1")}
    assert sorted(asked) == [row["trace_id"] for row in traces]
    for row in traces:
        told = {(score["id"], score["value"]) for score in json.loads(row["scores"])}
        assert {(score.id, score.value) for score in asked[row["trace_id"]].scores} == told


def test_one_layout_beside_the_other_counts_once(golden: Rows, written: Written, as_export: AsExport, tmp_path: Path) -> None:
    """A bucket with both the legacy and the enriched observations holds each twice; windows share their edges too."""
    rows = as_export(golden)
    export = written(rows)
    run.run([str(export)], str(tmp_path / "once"), Engine())
    written(rows, folder="observations")
    written(rows[:7], "csv", name="next-window")

    run.run([str(export)], str(tmp_path / "out"), Engine())

    assert results(tmp_path / "once") == results(tmp_path / "out")


def test_the_newest_version_of_an_observation_counts(golden: Rows, written: Written, as_export: AsExport, tmp_path: Path) -> None:
    """An observation that was exported while it ran is replaced by what it became."""
    (row,) = as_export(golden[:1])
    newer = {**row, "input": BLIND, "updated_at": "2026-04-03 00:00:00.000000"}
    written([newer], name="a")
    export = written([row], name="b")

    run.run([str(export)], str(tmp_path / "out"), Engine())

    (call,), _ = results(tmp_path / "out")
    assert (2, 1, 0.5) == (call["hunks"], call["blind_hunks"], call["blind_rewrite"])


def test_a_second_run_reads_only_what_is_new(spread: Path, golden: Rows, written: Written, as_export: AsExport, tmp_path: Path) -> None:
    """Files that were read are passed over; one that grew is read again; results are those of a run over everything."""
    out = tmp_path / "out"
    first = run.run([str(spread)], str(out), Engine())
    again = run.run([str(spread)], str(out), Engine())
    written(as_export([{**golden[0], "id": "late", "traceId": "t0"}]), name="part3")
    third = run.run([str(spread)], str(out), Engine())

    run.run([str(spread)], str(tmp_path / "fresh"), Engine())
    assert (0, 3, 3) == (first.kept, again.kept, third.kept)
    assert (first.rows, first.calls) == (again.rows, again.calls)
    assert results(tmp_path / "fresh") == results(out)


def test_an_interrupted_run_goes_on_by_file(spread: Path, tmp_path: Path) -> None:
    """What one run harvested before it ended, the next one does not read again, and a half-written file counts for nothing."""
    out = tmp_path / "out"
    sources = harvest.places.sources([str(spread)], but=str(out))
    harvest.run(harvest.Task(sources[0], str(out)))
    (out / "harvest" / f"{sources[1].key}.parquet.part").write_bytes(b"PAR1 half")

    summary = run.run([str(spread)], str(out), Engine())

    run.run([str(spread)], str(tmp_path / "fresh"), Engine())
    assert 1 == summary.kept
    assert results(tmp_path / "fresh") == results(out)


def test_small_pieces_give_the_same_results(spread: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the second stage is cut up, and whatever parts an earlier run left, the rows are the same."""
    run.run([str(spread)], str(tmp_path / "whole"), Engine())
    monkeypatch.setattr(run, "PIECE", 3)
    run.run([str(spread)], str(tmp_path / "cut"), Engine())
    assert len(list((tmp_path / "cut" / "calls").iterdir())) > 1
    assert results(tmp_path / "whole") == results(tmp_path / "cut")

    monkeypatch.undo()
    run.run([str(spread)], str(tmp_path / "cut"), Engine())
    assert results(tmp_path / "whole") == results(tmp_path / "cut")


def test_several_processes_give_the_same_results(spread: Path, tmp_path: Path) -> None:
    """The engine changes nothing but the time."""
    run.run([str(spread)], str(tmp_path / "one"), Engine())
    run.run([str(spread)], str(tmp_path / "two"), Engine(workers=2))

    assert results(tmp_path / "one") == results(tmp_path / "two")


@pytest.mark.timeout(300)
def test_ray_gives_the_same_results(spread: Path, tmp_path: Path) -> None:
    """A Ray of our own on this machine runs the same pieces, in a process of its own as a user starts it."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("the extra ray is not installed")
    run.run([str(spread)], str(tmp_path / "one"), Engine())

    words = [sys.executable, "-m", "hunkwatch", "bulk", str(spread), "--out", str(tmp_path / "ray"), "--ray", "--workers", "2"]
    ended = subprocess.run(words, check=False, capture_output=True, text=True, timeout=200)

    assert 0 == ended.returncode, ended.stderr
    assert results(tmp_path / "one") == results(tmp_path / "ray")


def test_a_ray_that_does_not_come_up_is_said_in_a_line(spread: Path, tmp_path: Path) -> None:
    """Where no cluster answers, the run ends with what to do, and nothing is lost."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("the extra ray is not installed")
    words = [sys.executable, "-m", "hunkwatch", "bulk", str(spread), "--out", str(tmp_path / "ray"), "--ray-address", "auto"]

    ended = subprocess.run(words, check=False, capture_output=True, text=True, timeout=200, cwd=tmp_path)

    assert (75, True) == (ended.returncode, "Ray did not start at that address" in ended.stderr)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve an S3 on loopback with an empty bucket, and point the environment at it."""
    import boto3  # noqa: PLC0415 - slow to load, and only here
    import s3fs  # noqa: PLC0415
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3").create_bucket(Bucket="exports")
    yield "s3://exports"
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def test_exports_and_results_can_live_in_a_bucket(bucket: str, spread: Path, tmp_path: Path) -> None:
    """Reading from S3 and writing to it gives the same as files do, and the second run reads nothing again."""
    import s3fs  # noqa: PLC0415 - as above

    s3 = s3fs.S3FileSystem()
    for path in spread.rglob("*.jsonl"):
        s3.put_file(str(path), f"exports/{path.relative_to(spread)}")

    run.run([bucket], f"{bucket}/out", Engine())
    again = run.run([bucket], f"{bucket}/out", Engine())

    s3.get(f"{bucket}/out/", str(tmp_path / "down"), recursive=True)
    run.run([str(spread)], str(tmp_path / "out"), Engine())
    assert results(tmp_path / "out") == results(tmp_path / "down")
    assert 3 == again.kept


@pytest.fixture
def langfuse(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Sandbox]:
    """Serve a sandbox and point the environment at it."""
    sandbox = Sandbox()
    with sandbox.serving_in_thread() as url:
        for name, value in {
            "LANGFUSE_BASE_URL": url,
            "LANGFUSE_PUBLIC_KEY": Project().public_key,
            "LANGFUSE_SECRET_KEY": Project().secret_key,
            "HUNKWATCH_DELIVERY__LOOK_AFTER": "20ms,20ms",
            "HUNKWATCH_DELIVERY__EVERY": "10ms",
            "XDG_STATE_HOME": str(tmp_path / "state"),
        }.items():
            monkeypatch.setenv(name, value)
        yield sandbox


def scores(sandbox: Sandbox) -> set[tuple[str, object, str]]:
    """Return id, value and timestamp of every score that Langfuse holds."""
    return {(row["id"], row["value"], row["timestamp"]) for row in sandbox.scores()}


def test_delivered_scores_are_those_of_the_worker(
    langfuse: Sandbox, golden: Rows, written: Written, as_export: AsExport, tmp_path: Path
) -> None:
    """`bulk --deliver` leaves in Langfuse what `run --once` would: same ids, same values; neither then has anything to add."""
    start = datetime.now(UTC) - timedelta(hours=2)
    rows = [{**row, "startTime": start.isoformat(), "endTime": start.isoformat()} for row in in_traces(golden)]
    langfuse.add_observations(rows)
    export = written([{**row, "project_id": Project().id} for row in as_export(rows)])
    words = ["bulk", str(export), "--out", str(tmp_path / "out"), "--deliver"]

    assert 0 == main(words)
    delivered = scores(langfuse)
    assert 0 == main(words)
    assert delivered == scores(langfuse)
    _, traces = results(tmp_path / "out")
    wanted = {score["id"] for row in traces for score in json.loads(row["scores"])}
    assert wanted == {score_id for score_id, _, _ in delivered}
    assert 0 == main(["run", "--once", "--state", str(tmp_path / "fresh.db")])
    assert delivered == scores(langfuse)


def test_an_export_of_another_project_is_not_delivered(
    langfuse: Sandbox, golden: Rows, written: Written, as_export: AsExport, tmp_path: Path
) -> None:
    """The key's project must be the one that was exported."""
    export = written([{**row, "project_id": "another"} for row in as_export(golden[:3])])

    assert 78 == main(["bulk", str(export), "--out", str(tmp_path / "out"), "--deliver"])
    assert set() == scores(langfuse)


@pytest.mark.usefixtures("langfuse")
def test_one_of_several_projects_has_to_be_named_before_the_work(
    golden: Rows, written: Written, as_export: AsExport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody learns after hours that nothing can be delivered; an entry that is the only one is taken."""
    for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"):
        monkeypatch.delenv(name)
    export = written([{**row, "project_id": Project().id} for row in as_export(golden[:3])])
    keys = f'public_key = "{Project().public_key}"\nsecret_key = "{Project().secret_key}"\n'
    config = tmp_path / "config.toml"
    words = ["bulk", str(export), "--out", str(tmp_path / "out"), "--deliver", "--config", str(config)]

    config.write_text("".join(f'[[projects]]\nname = "{name}"\n{keys}' for name in ("a", "b")))
    assert (2, False) == (main(words), (tmp_path / "out").exists())
    config.write_text(f'[[projects]]\nname = "a"\n{keys}')
    assert 0 == main(words)


def test_an_interruption_between_what_is_kept_of_a_file_loses_nothing(
    golden: Rows, written: Written, as_export: AsExport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file counts as read once everything that it gave is kept, its rejects too."""
    export = written([{"not": "a row"}, *as_export(golden[:3])])
    write = places.Folder.write

    def interrupted(folder: places.Folder, name: str, fill: Any) -> None:
        if name.endswith(".rejects.jsonl"):
            raise KeyboardInterrupt
        write(folder, name, fill)

    with monkeypatch.context() as during:
        during.setattr(places.Folder, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.run([str(export)], str(tmp_path / "out"), Engine())

    summary = run.run([str(export)], str(tmp_path / "out"), Engine())

    assert (1, 1) == (summary.rejected, len((tmp_path / "out" / "rejects.jsonl").read_text().splitlines()))

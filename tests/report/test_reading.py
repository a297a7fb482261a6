"""The report over a real state, through the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hunkwatch.cli import main
from hunkwatch.core import record
from hunkwatch.core.model import GradedCall
from hunkwatch.ports import Commit, LedgerEntry, ObservationKey
from hunkwatch.report import reading
from hunkwatch.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

Build = Callable[..., GradedCall]


def entry(call: GradedCall, project: str = "p") -> LedgerEntry:
    """Return what is on record of the observation of a call."""
    key = ObservationKey(call.trace_id, call.observation_id)
    return LedgerEntry(project, key, call.start_time, "", "", (call,), call.start_time)


@pytest.fixture
def state(tmp_path: Path, call: Build, blind: str) -> Path:
    """A state with three calls in two projects."""
    path = tmp_path / "state.db"

    async def fill() -> None:
        async with open_store(f"sqlite:///{path}") as store:
            entries = [entry(call()), entry(call(blind, trace_id="u"))]
            await store.commit(Commit("p", ledger=entries))
            await store.commit(Commit("q", ledger=[entry(call(trace_id="w", trace_name="Other"), "q")]))

    asyncio.run(fill())
    return path


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Run the command line."""
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_it_counts_every_project_on_record(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No key and no network is needed; each trace leads to the page of its own project."""
    code, out, err = said(capsys, "report", "--state", state, "--json")
    value = json.loads(out)

    assert (0, 3, 3, {"Other": 1, "(unknown)": 2}) == (
        code,
        value["total"]["calls"],
        value["total"]["traces"],
        {member["trace_name"]: member["calls"] for member in value["by"]["trace_name"]},
    )
    assert ["https://cloud.langfuse.com/project/p/traces/u"] == [trace["link"] for trace in value["worth_opening"]]
    assert "report 100%" in err


def test_it_prints_tables_and_csv(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same numbers for people and for spreadsheets."""
    people, machines = said(capsys, "report", "--state", state), said(capsys, "report", "--state", state, "--csv")

    assert (0, 0) == (people[0], machines[0])
    assert "3 calls in 3 traces, 2026-03-01 (UTC)" in people[1]
    assert machines[1].split("\n")[1].startswith("total,,3,3,3,1,0.3333,")


def test_it_leaves_out_what_it_is_told(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Patterns of somebody's own add to those that are left out anyway."""
    _, out, _ = said(capsys, "report", "--state", state, "--json", "--leave-out", "src/*")

    assert (2, {"src/*": 1}) == (json.loads(out)["total"]["calls"], json.loads(out)["left_out"]["files"])


def test_it_counts_only_the_time_that_is_asked_about(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of 2026 began before it."""
    _, out, _ = said(capsys, "report", "--state", state, "--json", "--until", "2026-01-01")

    assert 0 == json.loads(out)["total"]["calls"]


def test_without_a_state_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing was scored yet, which is another thing than nothing to count."""
    code, _, err = said(capsys, "report", "--state", tmp_path / "none.db")

    assert (74, True) == (code, "there is no state yet" in err)


async def test_traces_come_whole_however_few_are_read_at_once(tmp_path: Path, call: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of a trace are never torn apart, and none is left out."""
    monkeypatch.setattr(reading, "AT_ONCE", 2)
    monkeypatch.setattr(reading, "_IDS_AT_ONCE", 3)
    told: list[tuple[int, int, int]] = []
    async with open_store(f"sqlite:///{tmp_path}/state.db") as store:
        entries = [entry(call(trace_id=f"t{trace}", observation_id=f"o{number}")) for trace in range(7) for number in range(2)]
        await store.commit(Commit("p", ledger=entries))
        found = [its async for its in reading.traces(store, "p", tell=lambda *step: told.append(step))]

    assert [2] * 7 == [len({call.observation_id for call in its}) for its in found]
    assert (4, (7, 7, 14)) == (len(told), told[-1])


def test_it_counts_what_bulk_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str], call: Build, blind: str) -> None:
    """A row of a Parquet file is a call; what only the export told of its trace counts too."""
    (tmp_path / "calls").mkdir()
    rows = [
        {"project_id": "p", "trace_id": one.trace_id, "trace_name": "Named", "session_id": None, "model": "m", "record": record.dump([one])}
        for one in (call(), call(blind, trace_id="u"))
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "calls" / "part-00000.parquet")
    code, out, _ = said(capsys, "report", "--from-parquet", tmp_path, "--json")
    value = json.loads(out)

    assert (0, 2, 1, ["Named"], ["m"]) == (
        code,
        value["total"]["calls"],
        value["total"]["blind_calls"],
        [member["trace_name"] for member in value["by"]["trace_name"]],
        [member["model"] for member in value["by"]["model"]],
    )


@pytest.mark.parametrize("content", [None, b"", b"PAR1 and more"])
def test_a_file_that_bulk_did_not_write_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None) -> None:
    """One line says what to name instead."""
    if content is not None:
        (tmp_path / "x.parquet").write_bytes(content)
    code, _, err = said(capsys, "report", "--from-parquet", tmp_path)

    assert (2, True) == (code, "hunkwatch bulk" in err)

"""Calls from the Parquet files that ``hunkwatch bulk`` writes: one row a call, with the call as the worker's ledger keeps it.

Needs ``pyarrow`` (the extra ``bulk``). All calls of a trace stand in one file, so one file is held at a time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hunkwatch.core import record
from hunkwatch.errors import Exit, Halt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from hunkwatch.core.model import GradedCall

_COLUMNS = ("project_id", "trace_id", "trace_name", "session_id", "model", "record")


def files(place: Path) -> list[Path]:
    """Return the files with calls: the one that is named, or those of a folder that ``bulk`` wrote. Raises Halt when there is none."""
    folder = place / "calls" if (place / "calls").is_dir() else place
    found = [place] if place.is_file() else sorted(folder.glob("*.parquet"))
    if not found:
        mend = "Name the folder that `hunkwatch bulk --out` wrote, or one of its files in calls/."
        raise Halt(f"{place} holds no Parquet file with calls", mend=mend, exit_code=Exit.USAGE)
    return found


def traces(found: Sequence[Path], *, tell: Callable[[int, int, int], None]) -> Iterator[tuple[str, Sequence[GradedCall]]]:
    """Yield the project and the calls of each trace; ``tell`` hears of files done, of how many, and of calls."""
    calls = 0
    for number, path in enumerate(found, start=1):
        its = _read(path)
        calls += sum(map(len, its.values()))
        for (project, _), trace in its.items():
            yield project, trace
        tell(number, len(found), calls)


def _read(path: Path) -> dict[tuple[str, str], list[GradedCall]]:
    its: defaultdict[tuple[str, str], list[GradedCall]] = defaultdict(list)
    try:
        for row in pq.read_table(path, columns=list(_COLUMNS)).to_pylist():
            (call,) = record.load(row["record"])
            known = replace(
                call,
                trace_name=call.trace_name or row["trace_name"] or "",
                session_id=call.session_id or row["session_id"] or "",
                model=call.model or row["model"] or "",
            )
            its[row["project_id"] or "", row["trace_id"] or ""].append(known)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        mend = "Write it anew with `hunkwatch bulk`."
        raise Halt(f"{path} is no file of calls that `hunkwatch bulk` wrote", mend=mend, exit_code=Exit.USAGE) from error
    return its

"""A report while it is being counted: traces go in one at a time, and nothing is kept of a call beyond counts.

Groups are the days, environments, trace names, producers, models, sessions and file types that occur; each trace also has a line of
its own. The lines worth opening first come first: most retyped lines, then most blind hunks, then most failures, then the newest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hunkwatch.report import rows
from hunkwatch.report.counts import Counts, retyped_step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from hunkwatch.core.model import GradedCall
    from hunkwatch.report.compare import Comparison
    from hunkwatch.report.leaving_out import LeavingOut
    from hunkwatch.report.rows import Row

GROUPS = ("day", "environment", "trace_name", "producer", "model", "session", "file_type")
WORTH_OPENING = 20

_OF_ROW: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("day", lambda row: row.day),
    ("environment", lambda row: row.environment),
    ("trace_name", lambda row: row.trace_name),
    ("producer", lambda row: row.producer),
    ("model", lambda row: row.model),
    ("session", lambda row: row.session),
)


@dataclass(slots=True)
class TraceLine:
    """One trace in a table."""

    project: str
    trace_id: str
    name: str
    at: datetime
    environment: str
    session: str
    producers: tuple[str, ...]
    models: tuple[str, ...]
    shapes: Counter[str]
    counts: Counts

    @property
    def rank(self) -> tuple[float, ...]:
        """Smaller is worth opening sooner."""
        its = self.counts
        return (-its.retyped_lines, -its.blind_hunks, -its.failed, -self.at.timestamp())

    @property
    def is_telling(self) -> bool:
        """Say whether there is anything in it to look at."""
        return bool(self.counts.retyped_lines or self.counts.blind_hunks or self.counts.failed)


@dataclass(slots=True)
class Survey:
    """Everything that a report says, before it is put into words or pictures."""

    leaves_out: LeavingOut
    total: Counts = field(default_factory=Counts)
    groups: dict[str, defaultdict[str, Counts]] = field(default_factory=lambda: {name: defaultdict(Counts) for name in GROUPS})
    by_retyped: defaultdict[int, Counts] = field(default_factory=lambda: defaultdict(Counts))
    traces: list[TraceLine] = field(default_factory=list)
    comparison: Comparison | None = None
    first: datetime | None = None
    last: datetime | None = None

    def add(self, project: str, calls: Sequence[GradedCall], keeps: Callable[[Row], bool] = lambda _row: True) -> list[Row]:
        """Count the calls of one trace, from all records of them; return the rows that were counted."""
        found = rows.of_trace(calls, self.leaves_out)
        return self.add_rows(project, [row for row in found if keeps(row)])

    def add_rows(self, project: str, its: list[Row]) -> list[Row]:
        """Count the rows of one trace."""
        if not its:
            return its
        met: set[tuple[str, str]] = set()
        line = _line(project, its)
        for row in its:
            self._count(row, met, line.counts)
        self.total.traces += 1
        line.counts.traces = 1
        for name, value in met:
            self.groups[name][value].traces += 1
        self.traces.append(line)
        if self.comparison is not None:
            self.comparison.add(its)
        return its

    def worth_opening(self, most: int = WORTH_OPENING) -> list[TraceLine]:
        """Return the traces to look at first."""
        return sorted((line for line in self.traces if line.is_telling), key=lambda line: line.rank)[:most]

    def group(self, name: str) -> list[tuple[str, Counts]]:
        """Return the members of a group, the largest first; days in order."""
        members = self.groups[name].items()
        if name == "day":
            return sorted(members)
        return sorted(members, key=lambda item: (-item[1].calls, item[0]))

    def _count(self, row: Row, met: set[tuple[str, str]], own: Counts) -> None:
        self.first = row.at if self.first is None else min(self.first, row.at)
        self.last = row.at if self.last is None else max(self.last, row.at)
        facts = (row.hunks, row.blind_hunks, row.retyped_lines, row.outcome)
        self.total.add(*facts, abstained=row.abstained)
        own.add(*facts, abstained=row.abstained)
        for name, value_of in _OF_ROW:
            value = value_of(row)
            self.groups[name][value].add(*facts, abstained=row.abstained)
            met.add((name, value))
        for file in row.files:
            self.groups["file_type"][file.type].add(file.hunks, file.blind_hunks, file.retyped_lines, row.outcome)
            met.add(("file_type", file.type))
        if row.retyped_lines is not None:
            self.by_retyped[retyped_step(row.retyped_lines)].add(*facts)


def _line(project: str, its: Sequence[Row]) -> TraceLine:
    first = its[0]
    return TraceLine(
        project=project,
        trace_id=first.trace_id,
        name=first.trace_name,
        at=min(row.at for row in its),
        environment=first.environment,
        session=first.session,
        producers=tuple(sorted({row.producer for row in its})),
        models=tuple(sorted({row.model for row in its if row.model != rows.UNKNOWN})),
        shapes=Counter(row.shape for row in its),
        counts=Counts(),
    )

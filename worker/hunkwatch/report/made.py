"""What was asked of a report, and the report that came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hunkwatch.report import leaving_out
from hunkwatch.report.compare import Comparison
from hunkwatch.report.survey import Survey

if TYPE_CHECKING:
    from datetime import datetime

    from hunkwatch.report.compare import Side
    from hunkwatch.report.rows import Row

Link = Callable[[str, str], str]
"""From a project and a trace id to the page of that trace, ``""`` where there is none."""


def no_link(_project: str, _trace_id: str) -> str:
    """Return nothing: whoever is asked about has no pages."""
    return ""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which calls are counted (begun since and before some time), which files are left out, and what is compared."""

    since: datetime | None = None
    until: datetime | None = None
    patterns: tuple[str, ...] = leaving_out.GENERATED
    compared: tuple[Side, Side] | None = None

    def keeps(self, row: Row) -> bool:
        """Say whether a call lies in the time that is asked about."""
        return (self.since is None or row.at >= self.since) and (self.until is None or row.at < self.until)

    def survey(self) -> Survey:
        """Return a survey to be filled."""
        comparison = None if self.compared is None else Comparison(self.compared)
        return Survey(leaving_out.LeavingOut(self.patterns), comparison=comparison)


@dataclass(frozen=True, slots=True)
class Report:
    """A survey that is done. ``source`` says in a few words where the calls were read."""

    survey: Survey
    asked: Asked
    source: str
    made_at: datetime
    link: Link = field(default=no_link)

"""Addresses in Langfuse's UI: the tables with our filter set, a trace, an observation, a dashboard. Builds text, asks nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from hunkwatch.langfuse import wire

if TYPE_CHECKING:
    from datetime import datetime

ON_TRACES = "blind_rewrite"
ON_OBSERVATIONS = "blind_rewrite_patch"


@dataclass(frozen=True, slots=True)
class Links:
    """The addresses of one project. ``base_url`` keeps its base path; tables show what scores ``below``."""

    base_url: str
    project: str
    below: float

    def traces(self, between: tuple[datetime, datetime] | None = None) -> str:
        """Return the table of traces with a low score, of the last seven days unless told between which times."""
        return f"{self._root}/traces?{wire.table_query(wire.low_score(ON_TRACES, self.below), wire.is_root(), between=between)}"

    def observations(self, between: tuple[datetime, datetime] | None = None) -> str:
        """Return the table of observations with a low score, of the last seven days unless told between which times."""
        return f"{self._root}/observations?{wire.table_query(wire.low_score(ON_OBSERVATIONS, self.below), between=between)}"

    def trace(self, trace_id: str) -> str:
        """Return the page of a trace."""
        return f"{self._root}/traces/{quote(trace_id, safe='')}"

    def observation(self, trace_id: str, observation_id: str) -> str:
        """Return the page of a trace that shows one of its observations."""
        return f"{self.trace(trace_id)}?{wire.observation_query(observation_id)}"

    def dashboard(self, dashboard_id: str) -> str:
        """Return the page of a dashboard."""
        return f"{self._root}/dashboards/{quote(dashboard_id, safe='')}"

    @property
    def _root(self) -> str:
        return f"{self.base_url.rstrip('/')}/project/{quote(self.project, safe='')}"

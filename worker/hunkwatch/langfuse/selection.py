"""Which rows are to be read: what of that the server is asked for, and what is looked at here.

Whatever a server does with the conditions, a row that is not selected is never handed on. Langfuse's own environments never are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from hunkwatch.langfuse import wire
from hunkwatch.langfuse.merging import OWN
from hunkwatch.settings import SelectSection

if TYPE_CHECKING:
    from hunkwatch.core.model import Observation

ROOM = 3000
"""Bytes that the conditions may take in an address; one that does not fit is only looked at here."""


class Selection:
    """What somebody wants to be read, in the words of both APIs."""

    def __init__(self, section: SelectSection | None = None) -> None:
        """Select everything, unless told otherwise."""
        self._section = section or SelectSection()
        self._wanted = {name: frozenset(getattr(self._section, name)) for name in SelectSection.model_fields}

    @property
    def by_trace(self) -> bool:
        """Say whether a row's trace decides, too."""
        return any(self._wanted[name] for name in ("tags", "trace_names", "users", "sessions"))

    def conditions(self) -> list[dict[str, Any]]:
        """Return the conditions for v2, as many as fit into an address."""
        section = self._section
        listed = [
            wire.one_of(column, values)
            for column, values in (
                ("environment", section.environments),
                ("traceName", section.trace_names),
                ("sessionId", section.sessions),
                ("userId", section.users),
                ("tags", section.tags),
            )
            if values
        ]
        if section.not_environments:
            listed.append(wire.none_of("environment", section.not_environments))
        fitting, room = [], ROOM
        for condition in listed:
            room -= (size := len(quote_plus(json.dumps(condition))))
            if room >= 0:
                fitting.append(condition)
            else:
                room += size
        return fitting

    def parameters(self) -> dict[str, str | list[str]]:
        """Return the parameters for v1, which knows an observation's environment and its trace's user."""
        asked: dict[str, str | list[str]] = {}
        if self._section.environments and sum(len(quote_plus(each)) + 13 for each in self._section.environments) <= ROOM:
            asked["environment"] = list(self._section.environments)
        if len(self._section.users) == 1:
            asked["userId"] = self._section.users[0]
        return asked

    def takes(self, row: Observation) -> bool:
        """Say whether a row that carries its trace's context is to be read."""
        return self.takes_environment(row) and self.takes_trace(wire.TraceContext(row.trace_name, row.user_id, row.session_id, row.tags))

    def takes_environment(self, row: Observation) -> bool:
        """Say whether a row's environment is to be read."""
        environment, wanted = row.environment, self._wanted
        if environment.startswith(OWN) or environment in wanted["not_environments"]:
            return False
        return not wanted["environments"] or environment in wanted["environments"]

    def takes_trace(self, trace: wire.TraceContext) -> bool:
        """Say whether a trace is to be read."""
        wanted = self._wanted
        return (
            (not wanted["tags"] or not wanted["tags"].isdisjoint(trace.tags))
            and (not wanted["trace_names"] or trace.name in wanted["trace_names"])
            and (not wanted["users"] or trace.user_id in wanted["users"])
            and (not wanted["sessions"] or trace.session_id in wanted["sessions"])
        )

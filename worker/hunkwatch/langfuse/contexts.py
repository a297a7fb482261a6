"""Whether a trace is selected, for v1, whose observations do not say what their trace is called or whose it is.

A trace is asked for once. One that is not selected, or not there yet, is asked for again later, since its name or its tags may come
after its observations.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING
from urllib.parse import quote

from hunkwatch.langfuse import wire
from hunkwatch.langfuse.faults import Missing
from hunkwatch.langfuse.http import Route

if TYPE_CHECKING:
    from hunkwatch.langfuse.http import Http
    from hunkwatch.langfuse.selection import Selection

TRACES_V1 = "api/public/traces"

REMEMBERED = 10_000
"""Traces whose answer is kept."""

DOUBTED = 300.0
"""Seconds after which a no is asked for again."""


class Contexts:
    """Remembers which traces are selected."""

    def __init__(self, http: Http, selection: Selection) -> None:
        """Start with nothing known."""
        self._http = http
        self._selection = selection
        self._known: OrderedDict[str, tuple[bool, float]] = OrderedDict()

    async def takes(self, trace_id: str) -> bool:
        """Say whether the trace is to be read; raises AskForLess where the server cannot show it."""
        if not self._selection.by_trace:
            return True
        now = self._http.elapsed()
        taken, at = self._known.get(trace_id, (False, now - DOUBTED))
        if not taken and now - at >= DOUBTED:
            taken = await self._ask(trace_id)
            self._known[trace_id] = taken, now
        self._known.move_to_end(trace_id)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return taken

    async def _ask(self, trace_id: str) -> bool:
        try:
            answer = await self._http.get(
                f"{TRACES_V1}/{quote(trace_id, safe='')}", route=Route.TRACES_V1, query={"fields": wire.LEAST_FIELDS}
            )
        except Missing:
            return False
        return self._selection.takes_trace(wire.trace_of(answer.content))

"""Find the generation that comes next in a session: it carries the results of the calls before it.

v2 knows the session of every row and is asked for many at once, without their text. v1 does not: the rest of the trace is looked at,
then the next trace of its session, one row at a time. Either way a bounded number of requests; what lies beyond is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from hunkwatch.core.window import Window
from hunkwatch.langfuse import parting, wire
from hunkwatch.langfuse.contexts import TRACES_V1
from hunkwatch.langfuse.faults import Missing
from hunkwatch.langfuse.http import Route
from hunkwatch.langfuse.merging import key_of, merged
from hunkwatch.langfuse.probe import OBSERVATIONS_V1

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from hunkwatch.core.model import Observation
    from hunkwatch.langfuse.http import Http
    from hunkwatch.ports import ObservationKey

REACHES = (timedelta(minutes=15), timedelta(days=1))
"""How far behind a call is looked: nearly every answer comes within minutes."""

PAGES = 3
"""Pages of one question at most."""

_PAGE = 1000
_HOMES = 50
_ROOM = 5000
_MARGIN = timedelta(hours=1)

Get = Callable[["Mapping[str, str]"], Awaitable[tuple[wire.ObservationPage, int]]]


class _Wanted(NamedTuple):
    """Where the generation behind an observation is looked for: ``column`` says what ``home`` names."""

    key: ObservationKey
    after: datetime
    column: str
    home: str


async def by_session(get: Get, observations: Sequence[Observation]) -> dict[ObservationKey, Observation]:
    """Ask v2 for many sessions at once."""
    wanted = [each async for each in _at_home(get, observations)]
    found: dict[ObservationKey, Observation] = {}
    for reach in REACHES:
        missing = [each for each in wanted if each.key not in found]
        for column in (wire.SESSION, wire.TRACE):
            for part in _parts(each for each in missing if each.column == column):
                found |= await _next_of(get, part, reach)
    return found


async def _at_home(get: Get, observations: Sequence[Observation]) -> AsyncIterator[_Wanted]:
    """Yield where to look, observation by observation; the rows themselves name their session."""
    stubs = sorted(observations, key=lambda row: row.start_time)
    for part in _parts(_Wanted(key_of(row), _end(row), "", row.id) for row in stubs):
        ids = {each.key for each in part}
        its = [row for row in stubs if key_of(row) in ids]
        window = Window(its[0].start_time - _MARGIN, its[-1].start_time + _MARGIN)
        filters = wire.by_id([row.id for row in its])
        page, _size = await get(wire.query(fields=wire.DISCOVERY_FIELDS, limit=_PAGE, window=window, filters=filters))
        sessions = {key_of(row): row.session_id for row in page.observations if row.session_id}
        for row in its:
            session = sessions.get(key_of(row))
            yield _Wanted(key_of(row), _end(row), wire.SESSION if session else wire.TRACE, session or row.trace_id)


async def _next_of(get: Get, part: Sequence[_Wanted], reach: timedelta) -> dict[ObservationKey, Observation]:
    column = part[0].column
    window = Window(min(each.after for each in part), max(each.after for each in part) + reach)
    filters = wire.generations_of(column, sorted({each.home for each in part}))
    rows: list[Observation] = []
    cursor: str | None = None
    for _ in range(PAGES):
        query = wire.query(fields=wire.DISCOVERY_FIELDS, limit=_PAGE, window=window, filters=filters, cursor=cursor)
        page, _size = await get(query)
        rows += page.observations
        cursor = page.cursor
        if cursor is None:
            break
    # Newest first: where the pages ended too early, nothing is known of what lies before the last row.
    known_from = window.start if cursor is None or not rows else rows[-1].start_time
    homes: defaultdict[str, list[Observation]] = defaultdict(list)
    for row in sorted(merged(rows), key=lambda row: (row.start_time, row.trace_id, row.id)):
        homes[row.session_id if column == wire.SESSION else row.trace_id].append(row)
    found: dict[ObservationKey, Observation] = {}
    for each in part:
        following = next((row for row in homes[each.home] if row.start_time >= each.after and key_of(row) != each.key), None)
        if following is not None and each.after >= known_from:
            found[each.key] = following
    return found


async def trace_by_trace(http: Http, observations: Sequence[Observation]) -> dict[ObservationKey, Observation]:
    """Ask v1: the trace of each observation, then the next trace of the session; six small requests each at most."""
    sessions: dict[str, str] = {}
    found: dict[ObservationKey, Observation] = {}
    for row in observations:
        following = await _first_of_trace(http, row, row.trace_id)
        if following is None:
            if row.trace_id not in sessions:
                sessions[row.trace_id] = await _session_of(http, row.trace_id)
            if sessions[row.trace_id]:
                following = await _first_of_session(http, row, sessions[row.trace_id])
        if following is not None:
            found[key_of(row)] = following
    return found


async def _first_of_trace(http: Http, row: Observation, trace_id: str) -> Observation | None:
    """Return the first generation of a trace that began after an observation's end: it stands on the last of the pages."""
    window = Window(_end(row), _end(row) + REACHES[-1])
    number, following = 1, None
    while number:
        query = wire.query(limit=1, page=number, window=window, trace_id=trace_id, kind=wire.GENERATION)
        page = wire.observations((await http.get(OBSERVATIONS_V1, route=Route.OBSERVATIONS_V1, query=query)).content)
        following = next((each for each in merged(page.observations) if key_of(each) != key_of(row)), None)
        number = page.total_pages if page.total_pages > number == 1 else 0
    return following


async def _session_of(http: Http, trace_id: str) -> str:
    try:
        answer = await http.get(f"{TRACES_V1}/{quote(trace_id, safe='')}", route=Route.TRACES_V1, query=wire.trace_query())
    except Missing:
        return ""
    return wire.trace_of(answer.content).session_id


async def _first_of_session(http: Http, row: Observation, session: str) -> Observation | None:
    query = wire.trace_query(session, Window(_end(row), _end(row) + REACHES[-1]))
    traces = wire.trace_ids_of((await http.get(TRACES_V1, route=Route.TRACES_V1, query=query)).content)
    other = next((trace_id for trace_id in traces if trace_id != row.trace_id), None)
    return None if other is None else await _first_of_trace(http, row, other)


def _end(row: Observation) -> datetime:
    return max(row.start_time, row.end_time or row.start_time)


def _parts(wanted: Iterable[_Wanted]) -> Iterator[list[_Wanted]]:
    """Cut into questions, near ones together."""
    return parting.parts(sorted(wanted, key=lambda each: each.after), lambda each: each.home, most=_HOMES, room=_ROOM)

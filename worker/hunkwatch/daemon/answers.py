"""What became of calls whose own records do not tell: the next generation of their session is read for it, a few times, then no more.

The trace's due date is the whole memory of it: a question is put when its time lies between the date that was set and the present.
Reads only; ``upkeep`` holds the turn and commits what comes back.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from hunkwatch.core import answering, discover
from hunkwatch.core.model import Observation
from hunkwatch.errors import AskForLess, Refused
from hunkwatch.ports import ObservationKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from hunkwatch.core.model import GradedCall, Outcome
    from hunkwatch.daemon.project import Project
    from hunkwatch.ports import LedgerEntry

ASKED_AFTER = (timedelta(minutes=1), timedelta(minutes=9), timedelta(hours=1), timedelta(days=1))
"""When the answer to a call is looked for, after its observation was read. The second comes before a mere request is scored."""

MOST = 100
"""Observations that are asked about in one go."""

_DISTINCT_ID = 8
"""A shorter call id may be a mere number that each turn counts anew."""


@dataclass(frozen=True, slots=True)
class Question:
    """What became of the calls that one observation carries? To be asked ``at`` a time, past or future."""

    at: datetime
    key: ObservationKey
    calls: tuple[GradedCall, ...]

    @property
    def ended(self) -> datetime:
        """Return when the last of them had ended."""
        return max(map(answering.ended, self.calls))


def questions(unanswered: Iterable[GradedCall], entries: Iterable[LedgerEntry], *, since: datetime) -> list[Question]:
    """Return the next question about each observation, of those that were not put before ``since``."""
    seen = {entry.key: entry.seen_at for entry in entries}
    calls: defaultdict[ObservationKey, list[GradedCall]] = defaultdict(list)
    for call in unanswered:
        calls[ObservationKey(call.trace_id, call.observation_id)].append(call)
    found: list[Question] = []
    for key, its in calls.items():
        at = next((at for after in ASKED_AFTER if (at := seen[key] + after) >= since), None)
        if at is not None:
            found.append(Question(at, key, tuple(its)))
    return found


async def seek(project: Project, asked: Sequence[Question]) -> dict[ObservationKey, dict[str, Outcome]]:
    """Return what the next generations tell, by observation and call id. What cannot be read tells nothing."""
    told: dict[ObservationKey, dict[str, Outcome]] = {}
    for at in range(0, len(asked), MOST):
        some = asked[at : at + MOST]
        try:
            following = await project.source.following([_row(question) for question in some])
            told |= await _answered(project, some, following)
        except (AskForLess, Refused):
            continue
        finally:
            project.beat()
    return told


async def _answered(
    project: Project, asked: Sequence[Question], following: Mapping[ObservationKey, Observation]
) -> dict[ObservationKey, dict[str, Outcome]]:
    """Read the newest of the next generations in each session: it repeats what the earlier ones were told. Then those still needed."""
    told: dict[ObservationKey, dict[str, Outcome]] = {}
    sessions: defaultdict[str, list[Question]] = defaultdict(list)
    for question in sorted(asked, key=lambda question: question.ended, reverse=True):
        if question.key in following:
            row = following[question.key]
            sessions[row.session_id or row.trace_id].append(question)
    newest = [following[its[0].key] for its in sessions.values()]
    await _take(project, newest, sessions, following, told)
    left = {
        _key(following[question.key]): following[question.key]
        for its in sessions.values()
        for question in its[1:]
        if not _is_settled(question, told)
    }
    await _take(project, [row for row in left.values() if row not in newest], sessions, following, told)
    return told


async def _take(
    project: Project,
    rows: Sequence[Observation],
    sessions: Mapping[str, Sequence[Question]],
    following: Mapping[ObservationKey, Observation],
    told: dict[ObservationKey, dict[str, Outcome]],
) -> None:
    if not rows:
        return
    homes = {_key(row): row.session_id or row.trace_id for row in rows}
    page = await project.source.read(rows)
    for row in page.observations:
        its = [question for question in sessions[homes[_key(row)]] if question.ended <= row.start_time]
        patches = [answering.counts(question.calls) for question in its]
        outcomes = await asyncio.to_thread(discover.answers, row, reduce(or_, patches, Counter()))
        holders = Counter(call_id for each in patches for call_id in each)
        for question, each in zip(its, patches, strict=True):
            is_next = _key(following[question.key]) == _key(row)
            heard = told.setdefault(question.key, {})
            for call_id in each.keys() & outcomes.keys():
                if is_next or (call_id not in heard and holders[call_id] == 1 and len(call_id) >= _DISTINCT_ID):
                    heard[call_id] = outcomes[call_id]


def settled(entry: LedgerEntry, told: Mapping[str, Outcome]) -> LedgerEntry:
    """Return what is on record of an observation with the outcomes that its answers tell."""
    return replace(entry, calls=tuple(answering.answered(call, told) for call in entry.calls))


def _is_settled(question: Question, told: Mapping[ObservationKey, Mapping[str, Outcome]]) -> bool:
    heard = told.get(question.key, {})
    return all(not answering.is_open(answering.answered(call, heard)) for call in question.calls)


def _row(question: Question) -> Observation:
    call = min(question.calls, key=lambda call: call.start_time)
    return Observation(question.key.observation_id, question.key.trace_id, call.start_time, end_time=question.ended)


def _key(row: Observation) -> ObservationKey:
    return ObservationKey(row.trace_id, row.id)

"""The facade of the core: calls in, scores out. Same input, same output, whatever the order; time is passed in.

``grade`` turns a call into what the ledger keeps; ``trace`` turns all that the ledger keeps of a trace into its scores. An observation
without a number to give has no numeric score at all: abstaining is not zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hunkwatch.core import answering, grading, identity, merging, rewriting
from hunkwatch.core.basis import Basis
from hunkwatch.core.model import Score
from hunkwatch.core.scoring import SCORERS
from hunkwatch.core.scoring.tally import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.core.model import Call, GradedCall, Observation

SCORER = "1"
"""The scorer's version: it changes when, and only when, a number changes for some patch."""

_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The scores of a trace and of its observations.

    ``waits_until`` is the earliest time at which a call that is known only from a request becomes scorable, ``None`` when none
    waits. ``counted`` are the calls behind the scores, duplicates merged, in order; waiting ones are not among them. ``unanswered`` are
    the calls, waiting ones too, of which only a later message may tell what became of them.
    """

    scores: tuple[Score, ...]
    waits_until: datetime | None
    counted: tuple[GradedCall, ...]
    unanswered: tuple[GradedCall, ...] = ()


def grade(call: Call) -> GradedCall:
    """Read a call's patch and count everything that its scores need. Never raises."""
    graded = grading.grade(call)
    return graded if graded.graded_by == SCORER else replace(graded, graded_by=SCORER)


def grade_observation(observation: Observation) -> tuple[GradedCall, ...]:
    """Find the calls of an observation and grade them. Never raises."""
    from hunkwatch.core import discover  # noqa: PLC0415 - finding calls loads every quoting scanner; scoring one patch needs none

    return tuple(grade(call) for call in discover.calls(observation))


def trace(  # noqa: PLR0913 - the whole contract of the core in one call; all but two are by name
    project: str,
    calls: Sequence[GradedCall],
    *,
    now: datetime,
    request_grace: timedelta,
    also_in: frozenset[str] = frozenset(),
    paths: bool = True,
) -> Evaluation:
    """Score one trace from all calls on record of it, in any order.

    ``also_in`` holds the ids of calls that other traces have too. Without ``paths``, comments and metadata name no file.
    """
    ready: list[GradedCall] = []
    unanswered: list[GradedCall] = []
    waits_until: datetime | None = None
    for merged in merging.merge(calls):
        if answering.is_open(merged.call):
            unanswered.append(merged.call)
        if merged.settled_at is None or merged.settled_at <= now - request_grace:
            ready.append(merged.call)
        else:
            due = _later(merged.settled_at, request_grace)
            waits_until = due if waits_until is None else min(due, waits_until)
    counted = rewriting.across(ready)
    scores: list[Score] = []
    by_observation: dict[str, list[GradedCall]] = {}
    for call in counted:
        by_observation.setdefault(call.observation_id, []).append(call)
    for observation_id, its in by_observation.items():
        scores.extend(_scores(project, Basis.of(its, also_in, paths=paths), observation_id))
    if counted:
        scores.extend(_scores(project, Basis.of(counted, also_in, paths=paths), None))
    return Evaluation(tuple(scores), waits_until, counted, tuple(unanswered))


def finished_trace(project: str, calls: Sequence[GradedCall], *, also_in: frozenset[str] = frozenset()) -> Evaluation:
    """Score one trace of which nothing more is to come: a call that is known only from a request counts at once."""
    return trace(project, calls, now=_END_OF_TIME, request_grace=timedelta(0), also_in=also_in)


def _later(time: datetime, wait: timedelta) -> datetime:
    try:
        return time + wait
    except OverflowError:  # a trace may claim any year up to 9999
        return time


def _scores(project: str, basis: Basis, observation_id: str | None) -> list[Score]:
    subject = Subject.TRACE if observation_id is None else Subject.OBSERVATION
    first = basis.calls[0]
    facts: dict[str, object] | None = None
    scores: list[Score] = []
    for scorer in SCORERS:
        value = scorer.grade(basis.tally) if scorer.subject is subject else None
        if value is None:
            continue
        facts = facts or {"scorer": SCORER, **basis.metadata()}
        metadata = dict(facts)
        score = Score(
            id=identity.score_id(project, first.trace_id, observation_id, scorer.name),
            name=scorer.name,
            value=value,
            trace_id=first.trace_id,
            observation_id=observation_id,
            timestamp=first.start_time,
            environment=first.environment,
            comment=basis.comment(scorer.name),
            metadata=metadata,
        )
        metadata["fingerprint"] = identity.fingerprint(score)
        scores.append(score)
    return scores

"""Work out what some traces want written, and when they have to be looked at again.

Reads what is on record, lays the fresh entries over it, evaluates, and compares with the outbox. Writes nothing itself: the
caller commits the result, and holds ``project.turn`` from before the call until after the commit.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from hunkwatch import events
from hunkwatch.core import evaluate, identity
from hunkwatch.daemon import answers, moves
from hunkwatch.ports import Delivery, LedgerEntry, ObservationKey, OutboxRow, TraceState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from hunkwatch.core.evaluate import Evaluation
    from hunkwatch.daemon.answers import Question
    from hunkwatch.daemon.project import Project

MOST_SHARING = 20
"""A call id that more traces have is a mere number and names no call."""

_SOONEST = timedelta(seconds=1)
_TICK = timedelta(microseconds=1)
_POISON_PAUSE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to commit: changed outbox rows, and every trace's next date. ``questions``: what will be asked."""

    outbox: tuple[OutboxRow, ...] = ()
    traces: tuple[TraceState, ...] = ()
    questions: tuple[Question, ...] = ()

    @property
    def withdrawn(self) -> int:
        """Count the scores that no longer follow from the data."""
        return sum(row.state is Delivery.DOOMED for row in self.outbox)


@dataclass(frozen=True, slots=True)
class _Trace:
    """Everything known about one trace before it is evaluated."""

    id: str
    entries: Sequence[LedgerEntry]
    outbox: Sequence[OutboxRow]
    state: TraceState
    forgotten: frozenset[ObservationKey]
    """Observations with scores that the ledger no longer knows: nothing can be said against their scores."""
    also_in: frozenset[str]


async def work_out(
    project: Project,
    trace_ids: Iterable[str],
    *,
    fresh: Sequence[LedgerEntry] = (),
    now: datetime,
    asked_by: datetime | None = None,
) -> Outcome:
    """Return what the traces want written once ``fresh`` is on record.

    Traces of fresh entries count as touched now. Scores of observations are wanted at once, those of the trace when it has been
    quiet or went on for long enough. Traces that share a call with a fresh entry become due, since both say so. Questions that were
    due by ``asked_by`` have been put.
    """
    touched = {entry.key.trace_id for entry in fresh}
    ids = sorted({*trace_ids, *touched})
    if not ids:
        return Outcome()
    entries = _laid_over(await project.store.entries_of(project.id, ids), fresh)
    outbox = await project.store.outbox_of(project.id, ids)
    states = await project.store.traces(project.id, ids)
    elsewhere = await _elsewhere(project, entries)
    forgotten = await _forgotten(project, outbox, entries, fresh)
    traces = [
        _Trace(
            trace_id,
            entries[trace_id],
            outbox.get(trace_id, ()),
            _state(project, trace_id, states.get(trace_id), now=now, touched=trace_id in touched),
            forgotten,
            frozenset(call_id for call_id in _call_ids(entries[trace_id]) if elsewhere[call_id] - {trace_id}),
        )
        for trace_id in ids
    ]
    # Evaluating is pure and can be long: in a thread, so that the other loops live.
    results = await asyncio.to_thread(_evaluate_all, project, traces, now)
    rows: list[OutboxRow] = []
    new_states: list[TraceState] = []
    questions: list[Question] = []
    for trace, evaluation in zip(traces, results, strict=True):
        if isinstance(evaluation, Exception):
            project.emit(events.PoisonSkipped(project.id, trace.id, "", f"scoring failed: {type(evaluation).__name__}"))
            new_states.append(replace(trace.state, due_at=now + _POISON_PAUSE))
            continue
        roll_at = _roll_at(project, trace, evaluation, now=now)
        rows += _changed(project, trace, evaluation, trace_scores_too=roll_at <= now, now=now)
        since = trace.state.due_at or now
        asks = answers.questions(evaluation.unanswered, trace.entries, since=since if asked_by is None else asked_by + _TICK)
        questions += asks
        new_states.append(_next_state(trace, evaluation, asks, roll_at=roll_at, now=now))
    shared = _sharing(fresh, elsewhere) - set(ids)
    new_states += await _awakened(project, shared, now=now)
    return Outcome(tuple(rows), tuple(new_states), tuple(questions))


def _laid_over(recorded: Mapping[str, Sequence[LedgerEntry]], fresh: Sequence[LedgerEntry]) -> dict[str, list[LedgerEntry]]:
    by_key: dict[str, dict[ObservationKey, LedgerEntry]] = defaultdict(dict)
    for trace_id, entries in recorded.items():
        by_key[trace_id].update((entry.key, entry) for entry in entries)
    for entry in fresh:
        by_key[entry.key.trace_id][entry.key] = entry
    return defaultdict(list, {trace_id: [entry for entry in entries.values() if entry.calls] for trace_id, entries in by_key.items()})


def _call_ids(entries: Iterable[LedgerEntry]) -> set[str]:
    return {call.call_id for entry in entries for call in entry.calls if call.call_id}


async def _elsewhere(project: Project, entries: Mapping[str, Sequence[LedgerEntry]]) -> Mapping[str, set[str]]:
    """Return the traces of each call id; an id found in many traces is a mere number and names no call."""
    traces: dict[str, set[str]] = defaultdict(set)
    for trace_id, of_trace in entries.items():
        for call_id in _call_ids(of_trace):
            traces[call_id].add(trace_id)
    if traces:
        for call_id, recorded in (await project.store.traces_with_calls(project.id, sorted(traces))).items():
            traces[call_id] |= recorded
    return defaultdict(set, {call_id: found for call_id, found in traces.items() if len(found) <= MOST_SHARING})


def _sharing(fresh: Sequence[LedgerEntry], elsewhere: Mapping[str, set[str]]) -> set[str]:
    return {trace_id for call_id in _call_ids(fresh) for trace_id in elsewhere[call_id]}


async def _awakened(project: Project, trace_ids: set[str], *, now: datetime) -> list[TraceState]:
    if not trace_ids:
        return []
    states = await project.store.traces(project.id, sorted(trace_ids))
    return [replace(state, due_at=min(now, state.due_at or now)) for state in states.values()]


def _state(project: Project, trace_id: str, state: TraceState | None, *, now: datetime, touched: bool) -> TraceState:
    if state is None:
        return TraceState(project.id, trace_id, now, None, None)
    return replace(state, touched_at=now) if touched else state


def _evaluate_all(project: Project, traces: Sequence[_Trace], now: datetime) -> list[Evaluation | Exception]:
    return [_evaluated(project, trace, now) for trace in traces]


def _evaluated(project: Project, trace: _Trace, now: datetime) -> Evaluation | Exception:
    calls = [call for entry in trace.entries for call in entry.calls]
    try:
        return evaluate.trace(
            project.id,
            calls,
            now=now,
            request_grace=project.sweep.request_grace,
            also_in=trace.also_in,
            paths=project.scores.paths,
        )
    except Exception as error:  # noqa: BLE001 (whatever one trace does to us, the others go on)
        return error


def _roll_at(project: Project, trace: _Trace, evaluation: Evaluation, *, now: datetime) -> datetime:
    """Return when the trace's own scores may be written next."""
    state, sweep = trace.state, project.sweep
    rolled_at = state.rolled_at
    if rolled_at is None or state.touched_at > rolled_at:
        news = [entry.seen_at for entry in trace.entries if rolled_at is None or entry.seen_at > rolled_at]
        return min(state.touched_at + sweep.quiet, min(news, default=state.touched_at) + sweep.rollup_every)
    # Only a request ripened: the last one of the trace writes at once, the others as often as a trace that goes on.
    return now if evaluation.waits_until is None else rolled_at + sweep.rollup_every


def _next_state(trace: _Trace, evaluation: Evaluation, asks: Sequence[Question], *, roll_at: datetime, now: datetime) -> TraceState:
    rolled_at = now if roll_at <= now else trace.state.rolled_at
    waiting = [question.at for question in asks]
    if roll_at > now:
        waiting.append(roll_at)
    if evaluation.waits_until is not None:
        waiting.append(max(evaluation.waits_until, now + _SOONEST))
    return replace(trace.state, due_at=min(waiting, default=None), rolled_at=rolled_at)


def _changed(project: Project, trace: _Trace, evaluation: Evaluation, *, trace_scores_too: bool, now: datetime) -> list[OutboxRow]:
    """Compare what follows from the data with what is on its way, score by score."""
    rows = {row.score.id: row for row in trace.outbox}
    changed: list[OutboxRow | None] = []
    for score in evaluation.scores:
        row = rows.pop(score.id, None)
        if score.observation_id is None and not trace_scores_too:
            continue
        fingerprint = identity.fingerprint(score)
        if score.name in project.scores.write:
            if row is None:
                changed.append(moves.first(project.id, score, fingerprint, scorer=evaluate.SCORER, now=now))
            else:
                changed.append(moves.wanted(row, score, fingerprint, scorer=evaluate.SCORER, now=now))
        elif row is not None and row.fingerprint != fingerprint:
            changed.append(moves.unwanted(row, now=now))
    changed += [moves.unwanted(row, now=now) for row in rows.values() if _may_be_withdrawn(row, trace, trace_scores_too=trace_scores_too)]
    return [row for row in changed if row is not None]


def _may_be_withdrawn(row: OutboxRow, trace: _Trace, *, trace_scores_too: bool) -> bool:
    observation_id = row.score.observation_id
    if observation_id is None:
        return trace_scores_too and not trace.forgotten
    return ObservationKey(trace.id, observation_id) not in trace.forgotten


async def _forgotten(
    project: Project,
    outbox: Mapping[str, Sequence[OutboxRow]],
    entries: Mapping[str, Sequence[LedgerEntry]],
    fresh: Sequence[LedgerEntry],
) -> frozenset[ObservationKey]:
    scored = {
        ObservationKey(trace_id, row.score.observation_id)
        for trace_id, rows in outbox.items()
        for row in rows
        if row.score.observation_id is not None and row.state is not Delivery.GONE
    }
    present = {entry.key for of_trace in entries.values() for entry in of_trace} | {entry.key for entry in fresh}
    unclear = scored - present
    return frozenset(unclear - set(await project.store.known(project.id, list(unclear)))) if unclear else frozenset()

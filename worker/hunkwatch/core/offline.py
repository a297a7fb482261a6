"""The public interface in Python: scores of a patch text or of observations at hand, without Langfuse, without I/O."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core import answering, caveats, evaluate, grading
from hunkwatch.core.scoring import blind_rewrite

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hunkwatch.core.model import GradedCall, Observation, PatchFacts, Score


class PatchScore(NamedTuple):
    """The scores of one patch text, as an observation with this call alone would get them.

    ``blind_rewrite`` and ``retyped_lines`` are ``None`` where there is nothing to count: abstaining is not zero. ``facts`` holds what
    the numbers rest on: files, places, flags.
    """

    shape: str
    blind_rewrite: float | None
    retyped_lines: int | None
    hunks: int
    blind_hunks: int
    facts: PatchFacts


class TraceScore(NamedTuple):
    """The scores of one trace and of its observations, with the calls behind them, duplicates merged."""

    trace_id: str
    scores: tuple[Score, ...]
    calls: tuple[GradedCall, ...]


def score_patch(text: str) -> PatchScore:
    """Score a patch from its text alone. Never raises, whatever the text."""
    facts = grading.count(text)
    hunks, blind = facts.hunks, facts.blind_hunks
    if not hunks:
        return PatchScore(facts.shape, None, None, 0, 0, facts)
    return PatchScore(facts.shape, blind_rewrite.kept(blind, hunks, blind_rewrite.QUARTERS), facts.retyped_lines, hunks, blind, facts)


def score_observations(observations: Iterable[Observation], *, project: str = "") -> tuple[TraceScore, ...]:
    """Find and score every call of the observations, trace by trace, in the order in which the traces come.

    All observations of a trace belong in one call, so that duplicates merge. A call known only from a request counts at once;
    what became of it is taken from the next generation of the trace where that tells. With the
    ``project`` that Langfuse knows, scores carry the ids that the worker would give them.
    """
    calls: dict[str, list[GradedCall]] = {}
    conversations: dict[str, list[Observation]] = {}
    for observation in observations:
        if observation.type == "GENERATION":
            conversations.setdefault(observation.trace_id, []).append(observation)
        for call in evaluate.grade_observation(observation):
            calls.setdefault(call.trace_id, []).append(call)
    traces: list[TraceScore] = []
    for trace_id, found in calls.items():
        told = _answered(found, conversations.get(trace_id, ()))
        seen = evaluate.finished_trace(project, told)
        traces.append(TraceScore(trace_id, seen.scores, seen.counted))
    return tuple(traces)


def _answered(calls: Sequence[GradedCall], conversation: Sequence[Observation]) -> list[GradedCall]:
    """Give each call whose own records do not tell its outcome the one that the next generation of its trace tells."""
    from hunkwatch.core import discover  # noqa: PLC0415 - as in ``evaluate``: scoring one patch needs none of it

    in_order = sorted(conversation, key=lambda row: (row.start_time, row.id))
    starts = [row.start_time for row in in_order]
    asked: dict[int, list[GradedCall]] = {}
    told: list[GradedCall] = []
    for call in calls:
        at = bisect_left(starts, answering.ended(call)) if answering.is_open(call) else len(starts)
        if at < len(starts) and in_order[at].id == call.observation_id:
            at += 1
        (asked.setdefault(at, []) if at < len(starts) else told).append(call)
    for at, its in asked.items():
        outcomes = discover.answers(in_order[at], answering.counts(its))
        told += (answering.answered(call, outcomes) for call in its)
    return told


_OF_A_PATCH = ("blind_rewrite_patch", "retyped_lines_patch", "patch_shape")
_OF_A_TRACE = tuple(meaning.name for meaning in caveats.MEANINGS)

# The caveat travels with the number: whoever asks for help reads the same words as whoever looks at a score.
PatchScore.__doc__ = caveats.told(PatchScore.__doc__, _OF_A_PATCH)
score_patch.__doc__ = caveats.told(score_patch.__doc__, _OF_A_PATCH)
TraceScore.__doc__ = caveats.told(TraceScore.__doc__, _OF_A_TRACE)
score_observations.__doc__ = caveats.told(score_observations.__doc__, _OF_A_TRACE)

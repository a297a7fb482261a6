"""The scores of one observation on its own, for a code evaluator inside Langfuse, which sees nothing beside it.

The numbers are those that the worker gives the same observation; what only a trace can tell is missing: rollups, copies of a call in other
observations, calls that late data changes. Names of their own, because a server averages scores of one name.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core import caveats, evaluate
from hunkwatch.core.model import Observation

if TYPE_CHECKING:
    from collections.abc import Mapping

SUFFIX = "_eval"
NO_CALL = "no_call"
"""The label of an observation without a call: an evaluator has to give some score."""

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_SHAPE = f"patch_shape{SUFFIX}"


class Told(NamedTuple):
    """One score, in the words of Langfuse's evaluators."""

    name: str
    value: float | str
    data_type: str
    comment: str
    metadata: Mapping[str, object]


def scores(kind: str, name: str, given: object, answered: object, metadata: object) -> tuple[Told, ...]:
    """Score the observation of this type and name with this input, output and metadata; at least one score. Never raises."""
    plain = {str(key): value for key, value in metadata.items()} if isinstance(metadata, dict) else None
    row = Observation("", "", _NEVER, kind, name, input=given, output=answered, metadata=plain)
    graded = evaluate.grade_observation(row)
    if not graded:
        return (Told(_SHAPE, NO_CALL, "CATEGORICAL", "No apply_patch call was found in this observation.", {"scorer": evaluate.SCORER}),)
    seen = evaluate.trace("", graded, now=_NEVER, request_grace=timedelta())
    return tuple(
        Told(
            f"{score.name}{SUFFIX}",
            score.value,
            caveats.of(score.name).data_type,
            score.comment,
            {key: value for key, value in score.metadata.items() if key != "fingerprint"},
        )
        for score in seen.scores
        if score.observation_id is not None
    )

"""Scores as the v1 and v2 readings write them."""

from typing import Any

from hunkwatch.sandbox import answers, moments
from hunkwatch.sandbox.scores import Score
from hunkwatch.sandbox.state import Room

ORDER = (
    "id", "projectId", "environment", "name", "value", "source", "authorUserId", "comment", "metadata", "configId", "queueId",
    "executionTraceId", "createdAt", "updatedAt", "timestamp", "traceId", "observationId", "sessionId", "datasetRunId",
    "stringValue", "dataType",
)  # fmt: skip


def render(score: Score, room: Room) -> dict[str, Any]:
    """One score in the form of ``GET /v2/scores``, without its trace."""
    times = {key: moments.write(score[key]) for key in ("createdAt", "updatedAt", "timestamp")}
    written = {
        "projectId": room.project.id,
        "authorUserId": None,
        "executionTraceId": None,
        **score,
        **times,
        "value": answers.whole(score["value"]),
    }
    return {key: written[key] for key in ORDER}

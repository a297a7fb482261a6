"""Langfuse's own spelling, both ways: no file outside this folder knows a camelCase key.

``rows`` decodes observations, ``asking`` spells questions for them, ``scores`` spells and decodes scores, ``tables`` spells the filters
of the UI, ``answers`` reads everything else a server says. Nothing here raises on what a row holds. The forms are those of the recorded
exchanges and of the SDK 5's types.
"""

from hunkwatch.langfuse.wire.answers import Limit, Named, TraceContext, limit_of, message_of, project_of, trace_of, version_of, wants_single
from hunkwatch.langfuse.wire.asking import (
    DISCOVERY_FIELDS,
    LEAST_FIELDS,
    MARKER,
    TOOL,
    WHOLE_FIELDS,
    by_id,
    discovery,
    none_of,
    one_of,
    page_query,
    query,
    spelled,
)
from hunkwatch.langfuse.wire.rows import EPOCH, ObservationPage, observation, observation_of, observations, observations_v2
from hunkwatch.langfuse.wire.scores import (
    Config,
    EventAnswer,
    batch,
    configs_of,
    encoded,
    event_answers,
    ingestion_event,
    list_told,
    listed_score,
    score_body,
    scores_query,
    scores_query_v2,
    seen_scores,
)
from hunkwatch.langfuse.wire.tables import is_root, low_score, observation_query, table_query

__all__ = [
    "DISCOVERY_FIELDS",
    "EPOCH",
    "LEAST_FIELDS",
    "MARKER",
    "TOOL",
    "WHOLE_FIELDS",
    "Config",
    "EventAnswer",
    "Limit",
    "Named",
    "ObservationPage",
    "TraceContext",
    "batch",
    "by_id",
    "configs_of",
    "discovery",
    "encoded",
    "event_answers",
    "ingestion_event",
    "is_root",
    "limit_of",
    "list_told",
    "listed_score",
    "low_score",
    "message_of",
    "none_of",
    "observation",
    "observation_of",
    "observation_query",
    "observations",
    "observations_v2",
    "one_of",
    "page_query",
    "project_of",
    "query",
    "score_body",
    "scores_query",
    "scores_query_v2",
    "seen_scores",
    "spelled",
    "table_query",
    "trace_of",
    "version_of",
    "wants_single",
]

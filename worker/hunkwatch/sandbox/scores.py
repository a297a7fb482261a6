"""The scores of one project, with Langfuse's manners.

A write is accepted at once and takes effect after a delay; what breaks its config is then dropped without a word.
An id written again is merged into what is there: the last value wins, what is left out stays, metadata merges deeply, ``comment: null``
clears; trace, timestamp and environment stay as first written. What a score replaces is decided by (id, name, calendar day).
A delete removes what is there when it takes effect, so it loses against a write that takes effect after it.
"""

import copy
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from hunkwatch.sandbox import moments
from hunkwatch.sandbox.configs import Configs

CLEARS = ("comment", "stringValue")
STAYS = ("id", "traceId", "timestamp", "environment", "createdAt")
Score = dict[str, Any]


@dataclass(slots=True)
class Scores:
    """What is seen, what is under way, and the order in which it takes effect."""

    configs: Configs
    keeps_events: bool = False
    _seen: dict[str, dict[tuple[str, int], Score]] = field(default_factory=dict)
    _merged: dict[tuple[str, int], Score] = field(default_factory=dict)
    _by_trace: dict[str, set[str]] = field(default_factory=dict)
    _coming: list[tuple[int, int, str, Mapping[str, Any] | None]] = field(default_factory=list)
    _number: int = 0

    def write(self, body: Mapping[str, Any], *, timestamp: int, at: int) -> None:
        """Accept a score with an id; it takes effect at ``at``."""
        environment = normal_environment(body.get("environment"))
        self._plan(at, body["id"], {**body, "timestamp": timestamp, "environment": environment})

    def delete(self, id_: str, *, at: int) -> None:
        """Accept a deletion; it takes effect at ``at``."""
        self._plan(at, id_, None)

    def advance(self, now: int) -> None:
        """Let everything take effect that is due."""
        while self._coming and self._coming[0][0] <= now:
            at, _, id_, body = heappop(self._coming)
            if body is None:
                self._remove(id_)
            else:
                self._apply(body, at)

    def seen(self, now: int) -> list[Score]:
        """What a reader finds, the newest timestamp first, one row per id."""
        self.advance(now)
        return _newest_first(_latest(rows) for rows in self._seen.values())

    def of(self, ids: Iterable[str], now: int) -> list[Score]:
        """The same for these ids only."""
        self.advance(now)
        return _newest_first(_latest(self._seen[id_]) for id_ in set(ids) if id_ in self._seen)

    def of_traces(self, traces: Iterable[str], now: int) -> list[Score]:
        """The same for the scores of these traces and their observations."""
        self.advance(now)
        return self.of({id_ for trace in traces for id_ in self._by_trace.get(trace, ())}, now)

    def rows(self, now: int) -> list[Score]:
        """Every row that is kept, also those that another one of the same id covers."""
        self.advance(now)
        return _newest_first(score for rows in self._seen.values() for score in rows.values())

    def rows_at_last(self) -> list[Score]:
        """Every row that would be kept if nothing more came."""
        last = max((entry[0] for entry in self._coming), default=0)
        return copy.deepcopy(self).rows(last)

    def _plan(self, at: int, id_: str, body: Mapping[str, Any] | None) -> None:
        self._number += 1
        heappush(self._coming, (at, self._number, id_, body))

    def _remove(self, id_: str) -> None:
        for score in self._seen.pop(id_, {}).values():
            self._by_trace.get(score["traceId"] or "", set()).discard(id_)
        for key in [key for key in self._merged if key[0] == id_]:
            del self._merged[key]

    def _apply(self, body: Mapping[str, Any], at: int) -> None:
        fitted = self.configs.fit(body)
        if fitted is None:
            return
        place = (body["id"], 0 if self.keeps_events else moments.day(body["timestamp"]))
        score = merge(self._merged.get(place), fitted, at)
        self._merged[place] = score
        self._seen.setdefault(score["id"], {})[score["name"], moments.day(score["timestamp"])] = score
        if score["traceId"]:
            self._by_trace.setdefault(score["traceId"], set()).add(score["id"])


def normal_environment(name: str | None) -> str:
    """The environment as Langfuse keeps it; what it cannot keep becomes ``default``."""
    short = re.sub(r"^(?:langfuse[-_])+", "", (name or "default").lower())[:40]
    return short if re.fullmatch(r"[a-z0-9_-]+", short) else "default"


def merge(old: Score | None, new: Mapping[str, Any], at: int) -> Score:
    """The score that an accepted body makes of the one that was there."""
    sent = {key: value for key, value in new.items() if key in BLANK and (value is not None or key in CLEARS)}
    if old is None:
        score = {**BLANK, "createdAt": new["timestamp"] // 1000 * 1000} | sent
        score["metadata"] = dict(sent.get("metadata") or {})
    else:
        score = {**old, **{key: value for key, value in sent.items() if key not in STAYS}}
        score["metadata"] = _deep(old["metadata"], sent.get("metadata") or {})
    score["updatedAt"] = at
    return score


BLANK: Score = {
    "id": "", "name": "", "value": 0, "stringValue": None, "dataType": "NUMERIC", "source": "API", "environment": "default",
    "traceId": None, "observationId": None, "sessionId": None, "datasetRunId": None, "comment": None, "metadata": {},
    "configId": None, "queueId": None, "timestamp": 0, "createdAt": 0, "updatedAt": 0,
}  # fmt: skip


def _deep(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(old)
    for key, value in new.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _deep(merged[key], value) if both else value
    return merged


def _latest(rows: Mapping[tuple[str, int], Score]) -> Score:
    return max(rows.values(), key=lambda score: (score["timestamp"], score["updatedAt"]))


def _newest_first(scores: Iterable[Score]) -> list[Score]:
    return sorted(scores, key=lambda score: (score["timestamp"], score["id"]), reverse=True)

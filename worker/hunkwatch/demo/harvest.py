"""Read the scores back from the server over HTTP, as any user of Langfuse would, and lay them beside what was planted."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hunkwatch.demo.send import Sent


@dataclass(frozen=True, slots=True)
class Observed:
    """What the scores of one observation say."""

    observation_id: str
    shape: str
    comment: str
    calls: int
    producers: str
    outcomes: str
    flags: str
    numeric: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One trace: what was planted in it, and what its scores say; ``None`` where there is no such score."""

    sent: Sent
    blind_rewrite: float | None
    blind_hunks: float | None
    retyped_lines: float | None
    observed: tuple[Observed, ...]

    @property
    def planted(self) -> int:
        """How many calls were planted."""
        return sum(self.sent.planted.values())

    @property
    def found(self) -> int:
        """How many of them were found where they belong."""
        return sum(min(entry.calls, self.sent.planted.get(entry.observation_id, 0)) for entry in self.observed)

    @property
    def strays(self) -> int:
        """How many calls were found where none was planted."""
        return sum(max(0, entry.calls - self.sent.planted.get(entry.observation_id, 0)) for entry in self.observed)


def visible(*, base_url: str, public_key: str, secret_key: str) -> int:
    """Return how many observations the server shows, up to one page."""
    with httpx.Client(base_url=base_url, auth=(public_key, secret_key), trust_env=False, timeout=30) as client:
        answer = client.get("/api/public/v2/observations", params={"limit": "1000", "fields": "core"})
        return len(answer.raise_for_status().json()["data"])


def harvest(sent: Sequence[Sent], *, base_url: str, public_key: str, secret_key: str) -> tuple[Row, ...]:
    """Read every score of the project and sort them by trace; traces in the order they were sent, observations oldest first."""
    traces: dict[str, dict[str, float]] = defaultdict(dict)
    observations: dict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for score in _scores(base_url, public_key, secret_key):
        subject = score["subject"]
        if subject["kind"] == "observation":
            observations[subject["traceId"]][subject["id"]].append(score)
        else:
            traces[subject["id"]][score["name"]] = score["value"]
    return tuple(
        Row(
            sent=one,
            blind_rewrite=traces[one.trace_id].get("blind_rewrite"),
            blind_hunks=traces[one.trace_id].get("blind_hunks"),
            retyped_lines=traces[one.trace_id].get("retyped_lines"),
            observed=tuple(_observed(key, scores) for key, scores in reversed(observations[one.trace_id].items())),
        )
        for one in sent
    )


def _scores(base_url: str, public_key: str, secret_key: str) -> Iterator[Mapping[str, Any]]:
    asked = {"fields": "core,details,subject", "limit": "100"}
    with httpx.Client(base_url=base_url, auth=(public_key, secret_key), trust_env=False, timeout=30) as client:
        while True:
            answer = client.get("/api/public/v3/scores", params=asked).raise_for_status().json()
            yield from answer["data"]
            if not answer["meta"].get("cursor"):
                return
            asked["cursor"] = answer["meta"]["cursor"]


def _observed(observation_id: str, scores: Sequence[Mapping[str, Any]]) -> Observed:
    shape = next(score for score in scores if score["name"] == "patch_shape")
    facts = shape["metadata"]
    return Observed(
        observation_id=observation_id,
        shape=shape["value"],
        comment=shape["comment"] or "",
        calls=facts["calls"],
        producers=facts["producers"],
        outcomes=facts["outcomes"],
        flags=facts["flags"],
        numeric=any(score["name"] != "patch_shape" for score in scores),
    )

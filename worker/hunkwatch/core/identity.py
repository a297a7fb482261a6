"""Who a score is, and what a payload or an observation held: ids and fingerprints, the same for the same data for ever."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING
from uuid import NAMESPACE_OID, uuid5

if TYPE_CHECKING:
    from hunkwatch.core.model import Observation, Score

_SCORES = uuid5(NAMESPACE_OID, "hunkwatch:score:v1")
_SEPARATOR = "\x1f"
_PLACE_BYTES = 8
_PLACES = 1 << 8 * _PLACE_BYTES


def score_id(project: str, trace_id: str, observation_id: str | None, name: str) -> str:
    """Return the id of a score, so that a second run overwrites its own scores."""
    words = _SEPARATOR.join((project, trace_id, observation_id or "", name))
    return str(uuid5(_SCORES, words.encode("utf-8", "backslashreplace").decode()))


def fingerprint(score: Score) -> str:
    """Return the SHA-256 of what a score says; its id, timestamp and environment are no part of it."""
    said = {key: value for key, value in score.metadata.items() if key != "fingerprint"}
    return _hash([score.name, score.value, score.trace_id, score.observation_id, score.comment, said])


def content(observation: Observation) -> str:
    """Return the SHA-256 of what an observation holds that a score can depend on; its start time is no part of it."""
    end = None if observation.end_time is None else observation.end_time.isoformat()
    return _hash(
        [observation.input, observation.output, observation.level, observation.status_message, end, observation.name, observation.type]
    )


def sampled(trace_id: str, share: float) -> bool:
    """Say whether a trace is among this share of all traces: always the same ones, and a larger share contains the smaller."""
    if share >= 1:
        return True
    place = int.from_bytes(sha256(trace_id.encode("utf-8", "surrogatepass")).digest()[:_PLACE_BYTES])
    return place < share * _PLACES


def text_hash(text: str) -> str:
    """Return the SHA-256 of a patch with LF line ends."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _hash(value: object) -> str:
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)
    except (RecursionError, TypeError, ValueError):
        return _hash_of_deep(value)
    return sha256(text.encode()).hexdigest()


def _hash_of_deep(value: object) -> str:
    """Hash what ``json`` cannot write, such as ten thousand nested lists, without recursion."""
    digest = sha256(b"deep")
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            digest.update(b"{%d" % len(item))
            for key in sorted(item, key=repr):
                waiting.extend((item[key], repr(key)))
        elif isinstance(item, list | tuple):
            digest.update(b"[%d" % len(item))
            waiting.extend(reversed(item))
        else:
            digest.update(repr(item).encode("utf-8", "backslashreplace") + b"\x1f")
    return digest.hexdigest()

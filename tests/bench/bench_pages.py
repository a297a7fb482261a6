"""A page of Langfuse's v2 observations to our ``Observation``s, against the Langfuse SDK's own decoding of the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench_compare import Duel, duel
from bench_corpus import page, patches
from langfuse.api import ObservationsV2Response
from langfuse.api.core.pydantic_utilities import parse_obj_as

from hunkwatch.langfuse import wire


def measure() -> Iterator[Duel]:
    """Yield the duel on a page of candidates, as a sweep reads them, then on one with input, output and metadata."""
    texts = patches(1000)
    for name, whole in (("candidates", False), ("whole observations", True)):
        body = page(texts, whole=whole)
        yield duel(
            f"decode 1,000 {name} ({len(body) / 1e6:.1f} MB)",
            lambda body=body: wire.observations_v2(body),
            lambda body=body: parse_obj_as(ObservationsV2Response, json.loads(body)),
            turns=9,
            target=0.0 if whole else 75.0,
        )

"""Finds every apply_patch call in Langfuse traces and scores each patch from its text alone.

``score_patch(text)`` and ``score_observations(observations)`` give frozen results and do no I/O; ``Observation`` is what the latter takes.
They are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hunkwatch.core.model import Observation
    from hunkwatch.core.offline import PatchScore, TraceScore, score_observations, score_patch

__all__ = ["Observation", "PatchScore", "TraceScore", "score_observations", "score_patch"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'hunkwatch' has no attribute {name!r}")
    from hunkwatch.core import model, offline  # noqa: PLC0415 - the point of this function

    globals().update({public: getattr(model if public == "Observation" else offline, public) for public in __all__})
    found: object = globals()[name]
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

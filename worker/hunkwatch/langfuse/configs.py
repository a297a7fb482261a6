"""Which of the project's score configs fit our scores, so that Langfuse validates what we send.

A config that does not fit would make Langfuse drop the score without a word, so one of the right name but another shape is left alone.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from hunkwatch.core.model import Shape
from hunkwatch.errors import HunkwatchError
from hunkwatch.langfuse import wire
from hunkwatch.langfuse.http import Route

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hunkwatch.langfuse.http import Http

CONFIGS = "api/public/score-configs"
PAGE = 100
MOST_PAGES = 50

_RANGES = {
    "blind_rewrite": (0.0, 1.0),
    "blind_hunks": (0.0, inf),
    "retyped_lines": (0.0, inf),
    "blind_rewrite_patch": (0.0, 1.0),
    "retyped_lines_patch": (0.0, inf),
}
_LABELS = {"patch_shape": frozenset(shape.value for shape in Shape)}


async def fitting(http: Http) -> dict[str, str]:
    """Return config ids by score name; none where the configs cannot be read, since scores are as good without."""
    configs: list[wire.Config] = []
    number, pages = 1, 1
    try:
        while number <= min(pages, MOST_PAGES):
            content = (await http.get(CONFIGS, route=Route.CONFIGS, query=wire.page_query(number, PAGE))).content
            page, pages = wire.configs_of(content)
            configs += page
            number += 1
    except HunkwatchError:
        return {}
    return chosen(configs)


def chosen(configs: Iterable[wire.Config]) -> dict[str, str]:
    """Return the id of the config that fits each score; of several the last, since Langfuse lists the newest first."""
    return {config.name: config.id for config in configs if fits(config)}


def fits(config: wire.Config) -> bool:
    """Say whether every value of the score of that name is valid under the config."""
    if config.archived:
        return False
    if config.name in _RANGES and config.data_type == "NUMERIC":
        low, high = _RANGES[config.name]
        return (config.low is None or config.low <= low) and (config.high is None or config.high >= high)
    return config.name in _LABELS and config.data_type == "CATEGORICAL" and config.labels >= _LABELS[config.name]

"""One score config for each score, with its range or its labels, and the caveat in its description.

Langfuse neither deletes configs nor keeps their names apart. So one of ours that was archived is taken out again rather than made anew,
and one that people made is left as it is: where it fits, the writer uses it; where it does not, ours stands beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from hunkwatch.core import caveats
from hunkwatch.errors import Refused
from hunkwatch.langfuse import wire
from hunkwatch.langfuse.configs import CONFIGS, fits
from hunkwatch.langfuse.http import Route
from hunkwatch.langfuse.setup.steps import Did, Step, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.core.caveats import Meaning
    from hunkwatch.langfuse.http import Http
    from hunkwatch.langfuse.setup.steps import Hand
    from hunkwatch.langfuse.wire import Kept

KIND = "score config"


async def put_up(http: Http, hand: Hand) -> list[Step]:
    """Make or mend a config for each score."""
    there = await _everything(http)
    steps = [await _put_up(hand, meaning, [config for config in there if config.name == meaning.name]) for meaning in caveats.MEANINGS]
    return [*steps, *await _without_doubles(http, hand, steps)]


async def take_down(http: Http, hand: Hand) -> list[Step]:
    """Archive every config of ours that is not archived yet."""
    steps = []
    for config in await _everything(http):
        if wire.mark_of(config) is None or wire.config_of(config).archived:
            continue
        await hand.change(_path(config), wire.archiving(), route=Route.CONFIGS)
        steps.append(Step(Did.ARCHIVED, KIND, config.name, "Langfuse deletes no score configs"))
    return steps


async def _put_up(hand: Hand, meaning: Meaning, namesakes: Sequence[Kept]) -> Step:
    ours = next((config for config in namesakes if _is_ours(config, meaning)), None)
    if ours is not None:
        change = wire.config_change(ours, meaning, described(meaning))
        if not change:
            return Step(Did.UNCHANGED, KIND, meaning.name)
        await hand.change(_path(ours), change, route=Route.CONFIGS)
        return Step(Did.CHANGED, KIND, meaning.name, "taken out of the archive" if wire.config_of(ours).archived else "")
    if any(fits(wire.config_of(config)) for config in namesakes):
        return Step(Did.LEFT, KIND, meaning.name, "there is one that fits, made by somebody else; it is used")
    await hand.create(CONFIGS, wire.config_body(meaning, described(meaning)), route=Route.CONFIGS)
    narrow = [config for config in namesakes if not wire.config_of(config).archived]
    return Step(Did.CREATED, KIND, meaning.name, "beside one of the same name that does not fit and is not used" if narrow else "")


def described(meaning: Meaning) -> str:
    """Return the description of a score's config: what it says, what it does not, and whose it is."""
    return f"{meaning.description} {wire.MARK}"


async def _without_doubles(http: Http, hand: Hand, steps: Sequence[Step]) -> list[Step]:
    """Archive what a lost answer, or a setup at the same time, made twice."""
    if not any(step.did is Did.CREATED for step in steps):
        return []
    doubles = []
    there = await _everything(http)
    for meaning in caveats.MEANINGS:
        for config in [config for config in there if _is_ours(config, meaning) and not wire.config_of(config).archived][1:]:
            await hand.change(_path(config), wire.archiving(), route=Route.CONFIGS)
            doubles.append(Step(Did.ARCHIVED, KIND, config.name, "it was there twice"))
    return doubles


def _is_ours(config: Kept, meaning: Meaning) -> bool:
    """Say whether the config carries our mark and can be brought to the score's shape: a bound too many cannot be taken off."""
    shape = wire.config_of(config)
    return (
        config.name == meaning.name
        and wire.mark_of(config) is not None
        and shape.data_type == meaning.data_type
        and (shape.low is None or meaning.minimum is not None)
        and (shape.high is None or meaning.maximum is not None)
    )


async def _everything(http: Http) -> Sequence[Kept]:
    found = await listed(http, CONFIGS, route=Route.CONFIGS)
    if found is None:
        raise Refused("this server has no score configs")
    return found


def _path(config: Kept) -> str:
    return f"{CONFIGS}/{quote(config.id, safe='')}"

"""How a tracer is recognised: by signs in an observation's name, its metadata, its OTel attributes, its input and its output."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNKNOWN = "unknown"


class Sign(NamedTuple):
    """What must all be seen to name a producer. A key that ends in a dot or underscore stands for all keys that start so.

    ``names``: one of these starts the observation's name. ``metadata``, ``attributes``, ``given`` and ``answered``: all these keys are in
    the metadata, its attributes, the input object, the output object.
    """

    producer: str
    names: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()


def recognise(table: Sequence[Sign], name: str, metadata: Mapping[str, object], *, given: object, answered: object) -> str:
    """Return the producer of the first sign that is all there."""
    for sign in table:
        if sign.names and not name.startswith(sign.names):
            continue
        wanted = (
            (sign.metadata, metadata),
            (sign.attributes, metadata.get("attributes")),
            (sign.given, given),
            (sign.answered, answered),
        )
        if all(_has(place, keys) for keys, place in wanted if keys):
            return sign.producer
    return UNKNOWN


def _has(place: object, keys: tuple[str, ...]) -> bool:
    if not isinstance(place, dict):
        return False
    return all(key in place or (key[-1] in "._" and any(str(each).startswith(key) for each in place)) for key in keys)

"""Time spans as the configuration file spells them: ``"30s"``, ``"10m"``, ``"7d"``.

``parse`` takes any value and raises ValueError for what is none; ``render`` is its inverse.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer

_PART = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*(ms|s|m|h|d|w)", re.ASCII)
_MICROSECONDS = {"w": 604_800_000_000, "d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000}
_LONGEST = timedelta(days=3650)
_DURATION_FORM = 'a duration like "30s", "10m", "7d" or a number of seconds, up to 3650d'


def parse(value: object) -> timedelta:
    """Turn ``"1h30m"``, ``"30s"``, ``"250ms"`` or a number of seconds into a time span; raises ValueError for anything else."""
    match value:
        case timedelta():
            span = value
        case bool():
            raise ValueError(f"should be {_DURATION_FORM}")
        case int() | float():
            span = timedelta(seconds=value) if 0 <= value <= _LONGEST.total_seconds() else timedelta.max
        case str():
            span = _spelled(value.strip())
        case _:
            raise ValueError(f"should be {_DURATION_FORM}")
    if not timedelta(0) <= span <= _LONGEST:
        raise ValueError(f"should be {_DURATION_FORM}")
    return span


def _spelled(text: str) -> timedelta:
    if re.fullmatch(r"\d{1,12}(?:\.\d{1,6})?", text, re.ASCII):
        text += "s"
    if not text or _PART.sub("", text).strip():
        raise ValueError(f"should be {_DURATION_FORM}")
    microseconds = sum(round(float(number) * _MICROSECONDS[unit]) for number, unit in _PART.findall(text))
    return timedelta(microseconds=min(microseconds, 10 * _MICROSECONDS["d"] * _LONGEST.days))


def render(span: timedelta) -> str:
    """Spell a time span as the configuration file does: ``"7d"``, ``"1m30s"``, ``"0s"``."""
    left = span // timedelta(microseconds=1)
    parts = []
    for unit in ("d", "h", "m"):
        count, left = divmod(left, _MICROSECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    if left or not parts:
        seconds, fraction = divmod(left, _MICROSECONDS["s"])
        parts.append(f"{seconds}{f'.{fraction:06}'.rstrip('0') if fraction else ''}s")
    return "".join(parts)


def _longer_than_nothing(span: timedelta) -> timedelta:
    if not span:
        raise ValueError("should be longer than 0s")
    return span


Duration = Annotated[timedelta, BeforeValidator(parse), PlainSerializer(render)]
"""A time span that the file spells ``"30s"``."""

Pause = Annotated[Duration, AfterValidator(_longer_than_nothing)]
"""A time span that may not be zero."""

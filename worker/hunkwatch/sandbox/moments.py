"""Times as the wire writes them: milliseconds since 1970 inside, ISO 8601 with ``Z`` outside.

Langfuse keeps start times at millisecond precision and floors what is finer.
"""

import re
from datetime import UTC, datetime, timedelta

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def millis(moment: datetime) -> int:
    """Whole milliseconds since 1970."""
    return (moment - EPOCH) // _MILLISECOND


def parse(text: object) -> int | None:
    """Milliseconds of an ISO 8601 text with a time and an offset, or None for anything else."""
    if not isinstance(text, str) or ISO.fullmatch(text) is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return millis(moment)


def write(millis_: int) -> str:
    """The ISO text with three digits of the second, as JavaScript writes it."""
    return (EPOCH + timedelta(milliseconds=millis_)).isoformat(timespec="milliseconds")[:-6] + "Z"


def write_or_none(millis_: int | None) -> str | None:
    """The same, None for a moment that has not come."""
    return None if millis_ is None else write(millis_)


def write_script(millis_: int) -> str:
    """The text of ``String(new Date(...))``, which Langfuse sends as its reset header."""
    return f"{EPOCH + timedelta(milliseconds=millis_):%a %b %d %Y %H:%M:%S} GMT+0000 (Coordinated Universal Time)"


def day(millis_: int) -> int:
    """The UTC calendar day, counted from 1970."""
    return millis_ // 86_400_000

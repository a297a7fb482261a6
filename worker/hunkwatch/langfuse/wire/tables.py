"""The filters of the tables in Langfuse's UI, as they stand in an address.

One condition is ``column;type;key;operator;value``. Each value is percent-encoded by itself, the conditions are joined by commas, and the
whole is percent-encoded once more as a parameter, as a browser's ``encodeURIComponent`` does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from datetime import datetime

LATELY = "7d"
"""The stretch of time that a link shows unless told otherwise; without one a table shows what its reader looked at last."""


def low_score(name: str, below: float) -> str:
    """Return the condition of a row whose numeric score of that name is below."""
    return _condition("scores_avg", "numberObject", "<", f"{below:g}", key=name)


def is_root() -> str:
    """Return the condition of the one row that stands for a trace; a table that shows one row a trace anyway ignores it."""
    return _condition("isRootObservation", "boolean", "=", "true")


def table_query(*conditions: str, between: tuple[datetime, datetime] | None = None) -> str:
    """Return what follows the question mark of a table's address."""
    stretch = LATELY if between is None else "-".join(str(round(at.timestamp() * 1000)) for at in between)
    return f"filter={_component(','.join(conditions))}&dateRange={stretch}"


def observation_query(observation_id: str) -> str:
    """Return what follows the question mark of a trace's address to show one of its observations."""
    return f"observation={_component(observation_id)}"


def _condition(column: str, kind: str, operator: str, value: str, *, key: str = "") -> str:
    return ";".join((column, kind, key, operator, _component(value)))


def _component(text: str) -> str:
    return quote(text, safe="!'()*")

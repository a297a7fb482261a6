"""The outcome of a call from the later message that answers it, where the call's own records do not tell.

The message is the input of a generation that came after the call: ``discover.answers`` reads it. Evidence only, like every outcome.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from hunkwatch.core.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from hunkwatch.core.model import GradedCall

FLAG = "answered"
"""On a call whose outcome is that of a later message."""


def is_open(call: GradedCall) -> bool:
    """Say whether a later message may still tell what became of a call."""
    return call.outcome is Outcome.UNKNOWN and call.call_id is not None


def ended(call: GradedCall) -> datetime:
    """Return the time behind which a call's answer stands."""
    return max(call.start_time, call.end_time or call.start_time)


def counts(calls: Iterable[GradedCall]) -> Counter[str]:
    """Return how many patches each call id carries: one result answers them all."""
    return Counter(call.call_id for call in calls if call.call_id is not None)


def answered(call: GradedCall, told: Mapping[str, Outcome]) -> GradedCall:
    """Return the call with the outcome that its answer tells; the same call where there is none or nothing to tell."""
    outcome = told.get(call.call_id or "", Outcome.UNKNOWN)
    if not is_open(call) or outcome is Outcome.UNKNOWN:
        return call
    return replace(call, outcome=outcome, flags=tuple(sorted({*call.flags, FLAG})))


def kept(calls: Iterable[GradedCall], before: Iterable[GradedCall]) -> tuple[GradedCall, ...]:
    """Return calls that were read anew, with the answers that were known of them: an answer is not asked for twice."""
    known = {(call.call_id, call.index): call.outcome for call in before if FLAG in call.flags}
    if not known:
        return tuple(calls)
    return tuple(answered(call, {call.call_id or "": known.get((call.call_id, call.index), Outcome.UNKNOWN)}) for call in calls)

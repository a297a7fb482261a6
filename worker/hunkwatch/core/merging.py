"""One call, counted once: which records of a trace are the same call.

Records with the same call id and index are one. Without ids on both sides, request and execution records pair one to one by equal
text in start order, and two execution records without ids are one only if just one of them has an output. What ran beats what
was asked for, and that beats a copy in an agent's answer: the call stands where the tool ran. Nothing depends on the order in which
the records arrive.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core.model import Evidence, Outcome, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from hunkwatch.core.model import GradedCall

COPY = "copy"
"""The flag of a request that an agent's own answer repeats: the call stands there only where nothing else recorded it."""

_UNREAD = {Shape.UNRESOLVED, Shape.TRUNCATED}


class Merged(NamedTuple):
    """A call after its records were merged. ``settled_at`` is when a call known only from requests had ended, else ``None``."""

    call: GradedCall
    settled_at: datetime | None


class _Group(NamedTuple):
    """The records of one call, in order."""

    records: list[GradedCall]

    @property
    def ran(self) -> bool:
        return any(record.evidence is Evidence.EXECUTION for record in self.records)

    @property
    def asked(self) -> bool:
        return any(record.evidence is Evidence.REQUEST and COPY not in record.flags for record in self.records)

    @property
    def copied(self) -> bool:
        return any(COPY in record.flags for record in self.records)

    @property
    def has_id(self) -> bool:
        return any(record.call_id is not None for record in self.records)

    @property
    def has_output(self) -> bool:
        return any(record.has_output for record in self.records)

    @property
    def text_hash(self) -> str:
        return next((record.text_hash for record in self.records if record.text_hash), "")


def order(call: GradedCall) -> tuple[object, ...]:
    """Return the key by which calls of a trace are earlier or later: start time, then observation id, then index."""
    return (call.start_time, call.observation_id, call.index, call.call_id or "", call.evidence.value, call.text_hash)


def merge(calls: Iterable[GradedCall]) -> tuple[Merged, ...]:
    """Merge the records of one trace into calls, in order."""
    groups = _by_id(sorted(calls, key=order))
    groups = _executions_without_output(groups)
    groups = _requests_with_executions(groups)
    return tuple(sorted((_merged(group) for group in groups), key=lambda merged: order(merged.call)))


def _by_id(records: Sequence[GradedCall]) -> list[_Group]:
    groups: dict[tuple[object, ...], _Group] = {}
    seen: set[tuple[str, str | None, int]] = set()
    for record in records:
        place = (record.observation_id, record.call_id, record.index)
        if place in seen:
            continue
        seen.add(place)
        key = place if record.call_id is None else (record.call_id, record.index)
        groups.setdefault(key, _Group([])).records.append(record)
    return list(groups.values())


def _executions_without_output(groups: list[_Group]) -> list[_Group]:
    """Pair each id-less execution that lacks its output with one of the same text that has it."""
    silent: dict[str, deque[_Group]] = defaultdict(deque)
    for group in groups:
        if group.ran and not group.has_id and not group.has_output:
            silent[group.text_hash].append(group)
    if not silent:
        return groups
    gone: set[int] = set()
    for group in groups:
        if group.ran and not group.has_id and group.has_output and group.text_hash and silent.get(group.text_hash):
            other = silent[group.text_hash].popleft()
            group.records.extend(other.records)
            gone.add(id(other))
    return [group for group in groups if id(group) not in gone]


def _requests_with_executions(groups: list[_Group]) -> list[_Group]:
    """Pair each request with an execution of the same text, then each copy with what is left without one."""
    ran = [group for group in groups if group.ran]
    asked = [group for group in groups if not group.ran and group.asked]
    copies = [group for group in groups if not group.ran and not group.asked]
    kept = [*ran, *_unpaired(asked, [group for group in ran if not group.asked])]
    return [*kept, *_unpaired(copies, [group for group in kept if not group.copied])]


def _unpaired(records: Iterable[_Group], hosts: Iterable[_Group]) -> list[_Group]:
    """Give each group to a host of the same text, in start order, unless both have ids of their own; return those without one."""
    named: dict[str, deque[_Group]] = defaultdict(deque)
    nameless: dict[str, deque[_Group]] = defaultdict(deque)
    for host in sorted(hosts, key=lambda host: order(host.records[0])):
        if host.text_hash:
            (named if host.has_id else nameless)[host.text_hash].append(host)
    left: list[_Group] = []
    for group in records:
        lanes = [nameless] if group.has_id else [nameless, named]
        free = [lane[group.text_hash] for lane in lanes if lane.get(group.text_hash)]
        if free:
            min(free, key=lambda lane: order(lane[0].records[0])).popleft().records.extend(group.records)
        else:
            left.append(group)
    return left


def _merged(group: _Group) -> Merged:
    records = sorted(group.records, key=lambda record: (record.evidence is not Evidence.EXECUTION, COPY in record.flags, *order(record)))
    first = records[0]
    outcome = next((record.outcome for record in records if record.outcome is not Outcome.UNKNOWN), Outcome.UNKNOWN)
    call = first if len(records) == 1 else _pooled(first, records, outcome)
    if first.shape in _UNREAD:
        whole = next((record for record in records if record.shape not in _UNREAD and record.shape is not Shape.MALFORMED), None)
        if whole is not None:
            call = _with_text_of(call, whole)
    settled_at = None if first.evidence is Evidence.EXECUTION else first.end_time or first.start_time
    return Merged(call, settled_at)


def _pooled(call: GradedCall, records: Sequence[GradedCall], outcome: Outcome) -> GradedCall:
    """Return the call with what only its other records tell."""
    return replace(
        call,
        outcome=outcome,
        has_output=any(record.has_output for record in records),
        trace_name=next((record.trace_name for record in records if record.trace_name), ""),
        session_id=next((record.session_id for record in records if record.session_id), ""),
        model=next((record.model for record in records if record.model), ""),
    )


def _with_text_of(call: GradedCall, whole: GradedCall) -> GradedCall:
    """Return the call, standing where it stood, with what a copy says whose patch could be read to its end."""
    return replace(
        whole,
        observation_id=call.observation_id,
        start_time=call.start_time,
        end_time=call.end_time,
        call_id=call.call_id,
        index=call.index,
        producer=call.producer,
        evidence=call.evidence,
        outcome=call.outcome,
        has_output=call.has_output,
        environment=call.environment,
        trace_name=call.trace_name,
        session_id=call.session_id,
        model=call.model,
        flags=tuple(sorted({*whole.flags, "text_from_copy"})),
    )

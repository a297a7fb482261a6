"""What one window brings in: observations become ledger entries, one page after another.

Owns the decision what is known, what is read and what is graded. A row that spoils itself is put on record with a reason and
costs nothing else. Text is dropped as soon as it is graded, so that a haul stays small whatever passes through it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hunkwatch import events
from hunkwatch.core import answering, evaluate, identity
from hunkwatch.core.model import Observation
from hunkwatch.ports import LedgerEntry, ObservationKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, timedelta

    from hunkwatch.core.model import GradedCall
    from hunkwatch.core.window import Window
    from hunkwatch.daemon.project import Project
    from hunkwatch.ports import Page

READ_BATCH = 100
"""How many observations are read whole before they are graded and their text is let go."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """How a row looked when it was last seen: enough to tell that nothing changed."""

    version: str
    start: datetime


@dataclass(slots=True)
class Haul:
    """Everything a window brought in so far."""

    now: datetime
    began: float
    """On the clock that never jumps."""
    seen: dict[ObservationKey, Sighting] = field(default_factory=dict)
    """Rows that will be on record once the haul is committed."""
    entries: dict[ObservationKey, LedgerEntry] = field(default_factory=dict)
    touching: set[ObservationKey] = field(default_factory=set)
    """Entries whose calls changed, so that their traces have to be worked out again."""
    regraded: set[ObservationKey] = field(default_factory=set)
    lags: dict[str, timedelta] = field(default_factory=dict)
    """Largest lag between start and visibility, by producer."""
    rows: int = 0
    unseen: int = 0
    read: int = 0

    @property
    def fresh(self) -> list[LedgerEntry]:
        """Return the entries whose traces have to be worked out again."""
        return [self.entries[key] for key in self.touching]

    @property
    def calls(self) -> int:
        """Count the calls that were graded."""
        return sum(len(self.entries[key].calls) for key in self.regraded)

    def forget(self, key: ObservationKey) -> None:
        """Leave an entry out of the commit."""
        del self.entries[key]
        self.touching.discard(key)
        self.regraded.discard(key)


@dataclass(frozen=True, slots=True)
class _Graded:
    fingerprint: str
    calls: tuple[GradedCall, ...]
    reason: str = ""


def sampled(page: Page, share: float) -> Page:
    """Return what a page holds of the traces that are to be read."""
    if share >= 1:
        return page
    return replace(
        page,
        observations=[row for row in page.observations if identity.sampled(row.trace_id, share)],
        unreadable={key: reason for key, reason in page.unreadable.items() if identity.sampled(key.trace_id, share)},
    )


async def bring_in(project: Project, haul: Haul, page: Page, *, remembered: Mapping[ObservationKey, Sighting]) -> None:
    """Take one page of candidates: skip what is known, read the others, grade what changed."""
    haul.rows += len(page.observations)
    news = [row for row in page.observations if not _is_old_news(haul, row, remembered)]
    known = await project.store.known(project.id, [_key(row) for row in news]) if news else {}
    before = {**known, **{_key(row): haul.entries[_key(row)] for row in news if _key(row) in haul.entries}}
    changed = []
    for row in news:
        entry = before.get(_key(row))
        if entry is None or _version(row) > entry.version:
            haul.unseen += entry is None
            changed.append(row)
        else:
            _note_start(haul, entry, row)
    if page.complete:
        await _grade(project, haul, changed, before)
        await _note_unreadable(project, haul, page.unreadable, {})
    else:
        for at in range(0, len(changed), READ_BATCH):
            await _read(project, haul, changed[at : at + READ_BATCH], before)
        await _note_unreadable(project, haul, page.unreadable, {})
    project.beat()


async def look_after_missing(project: Project, haul: Haul, part: Window) -> None:
    """Read what is on record of the window and did not come up: it may have changed so that no filter finds it any more.

    One that Langfuse does not have any more was deleted; its entry stays, and nothing is said against its scores.
    """
    recorded = [entry for entry in await project.store.recorded(project.id, part) if entry.key not in haul.seen]
    missing = {entry.key: entry for entry in recorded if identity.sampled(entry.key.trace_id, project.sweep.sample)}
    wanted = [Observation(key.observation_id, key.trace_id, entry.first_start) for key, entry in missing.items()]
    for at in range(0, len(wanted), READ_BATCH):
        page = await project.source.read(wanted[at : at + READ_BATCH])
        await _grade(project, haul, [row for row in page.observations if _version(row) > missing[_key(row)].version], missing)
        project.beat()


async def read_anew(project: Project, haul: Haul, entries: Sequence[LedgerEntry]) -> None:
    """Read observations that are on record and grade them again although they did not change; one that is gone is left out."""
    before = {entry.key: replace(entry, fingerprint="") for entry in entries}
    wanted = [Observation(entry.key.observation_id, entry.key.trace_id, entry.first_start) for entry in entries]
    for at in range(0, len(wanted), READ_BATCH):
        page = await project.source.read(wanted[at : at + READ_BATCH])
        await _grade(project, haul, page.observations, before)
        project.beat()


async def restore_forgotten(project: Project, haul: Haul) -> None:
    """Read a trace whole that comes back after its entries were pruned: its own scores are about all of its calls."""
    touched = sorted({key.trace_id for key in haul.touching})
    known = await project.store.traces(project.id, touched)
    unknown = [trace_id for trace_id in touched if trace_id not in known]
    outbox = await project.store.outbox_of(project.id, unknown) if unknown else {}
    for trace_id in sorted(outbox):
        rows = [row for row in await project.source.fetch(trace_id=trace_id) if _key(row) not in haul.entries]
        await _grade(project, haul, rows, {})
        project.beat()


async def _read(project: Project, haul: Haul, rows: Sequence[Observation], before: Mapping[ObservationKey, LedgerEntry]) -> None:
    candidates = {_key(row): row for row in rows}
    page = await project.source.read(rows)
    whole = [_with_earliest(row, candidates.get(_key(row), row)) for row in page.observations]
    await _grade(project, haul, whole, before)
    await _note_unreadable(project, haul, page.unreadable, candidates)
    project.beat()


async def _grade(project: Project, haul: Haul, rows: Sequence[Observation], before: Mapping[ObservationKey, LedgerEntry]) -> None:
    if not rows:
        return
    haul.read += len(rows)
    # In a thread, so that a large text does not hold up the other loops.
    grades = await asyncio.to_thread(_grade_all, rows, {key: entry.fingerprint for key, entry in before.items() if not entry.reason})
    for row, graded in zip(rows, grades, strict=True):
        _record(project, haul, row, graded, before.get(_key(row)))


def _grade_all(rows: Iterable[Observation], fingerprints: Mapping[ObservationKey, str]) -> list[_Graded | None]:
    return [_graded(row, fingerprints.get(_key(row))) for row in rows]


def _graded(row: Observation, fingerprint: str | None) -> _Graded | None:
    """Grade one observation; None when its content is what it was."""
    try:
        content = identity.content(row)
        return None if content == fingerprint else _Graded(content, evaluate.grade_observation(row))
    except Exception as error:  # noqa: BLE001 (whatever one observation does to us, the others go on)
        return _Graded("", (), reason=f"grading failed: {type(error).__name__}")


def _record(project: Project, haul: Haul, row: Observation, graded: _Graded | None, before: LedgerEntry | None) -> None:
    key, start = _key(row), row.start_time if before is None else min(row.start_time, before.first_start)
    if graded is None:
        assert before is not None, "only a known row can be unchanged"
        entry = replace(before, version=max(before.version, _version(row)))
        _put(haul, row, _started(entry, start), touching=start != before.first_start)
        return
    # What cannot be read any more keeps the calls it had: that it changed is known, what it says now is not.
    calls = before.calls if graded.reason and before is not None else answering.kept(graded.calls, before.calls if before else ())
    entry = LedgerEntry(project.id, key, start, _version(row), graded.fingerprint, calls, haul.now, graded.reason)
    if graded.reason:
        project.emit(events.PoisonSkipped(project.id, key.trace_id, key.observation_id, graded.reason))
    else:
        haul.regraded.add(key)
        _measure_lag(haul, row, graded.calls, first_time=before is None)
    _put(haul, row, _started(entry, start), touching=bool(calls) or bool(before and before.calls))


def _put(haul: Haul, row: Observation, entry: LedgerEntry, *, touching: bool) -> None:
    haul.entries[entry.key] = entry
    haul.seen[entry.key] = Sighting(entry.version, row.start_time)
    if touching:
        haul.touching.add(entry.key)


def _note_start(haul: Haul, entry: LedgerEntry, row: Observation) -> None:
    """An old version of a known row can still show that it began earlier than we thought."""
    if row.start_time < entry.first_start:
        _put(haul, row, _started(entry, row.start_time), touching=bool(entry.calls))
    else:
        haul.seen[entry.key] = Sighting(entry.version, row.start_time)


async def _note_unreadable(
    project: Project, haul: Haul, unreadable: Mapping[ObservationKey, str], candidates: Mapping[ObservationKey, Observation]
) -> None:
    if not unreadable:
        return
    known = await project.store.known(project.id, list(unreadable))
    for key, reason in unreadable.items():
        row, before = candidates.get(key), known.get(key)
        if before is None or before.reason != reason:
            project.emit(events.PoisonSkipped(project.id, key.trace_id, key.observation_id, reason))
        if row is None:
            await project.store.note_poison(project.id, key, reason, now=haul.now)
            continue
        start = row.start_time if before is None else min(row.start_time, before.first_start)
        calls = () if before is None else before.calls
        _put(haul, row, LedgerEntry(project.id, key, start, _version(row), "", calls, haul.now, reason), touching=False)


def _is_old_news(haul: Haul, row: Observation, remembered: Mapping[ObservationKey, Sighting]) -> bool:
    """Say whether a look into the store can be spared; a remembered row stays remembered."""
    key = _key(row)
    sighting = haul.seen.get(key) or remembered.get(key)
    if sighting is None or sighting.start > row.start_time or sighting.version < _version(row):
        return False
    haul.seen[key] = sighting
    return True


def _measure_lag(haul: Haul, row: Observation, calls: Iterable[GradedCall], *, first_time: bool) -> None:
    if not first_time or row.created_at is None:
        return
    lag = row.created_at - row.start_time
    for call in calls:
        haul.lags[call.producer] = max(lag, haul.lags.get(call.producer, lag))


def _started(entry: LedgerEntry, start: datetime) -> LedgerEntry:
    """Every call carries the earliest start time that was ever seen of its observation."""
    return replace(entry, first_start=start, calls=tuple(replace(call, start_time=start) for call in entry.calls))


def _with_earliest(row: Observation, candidate: Observation) -> Observation:
    return row._replace(
        start_time=min(row.start_time, candidate.start_time),
        updated_at=row.updated_at or candidate.updated_at,
        created_at=row.created_at or candidate.created_at,
    )


def _key(row: Observation) -> ObservationKey:
    return ObservationKey(row.trace_id, row.id)


def _version(row: Observation) -> str:
    """Fixed width, so that text order is time order."""
    return "" if row.updated_at is None else row.updated_at.isoformat(timespec="microseconds")

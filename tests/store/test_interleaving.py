"""Every way in which a commit can fall between the steps of a delivery, on a real store with the daemon's own moves.

Each scenario is a trace with one score, and all of them run side by side: a deliverer claims, acts on a small Langfuse, and settles; a
committer looks at the outbox at one moment and commits what follows from that look at another. In the end, what was wanted last is there.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import product
from typing import TYPE_CHECKING, Any

from hunkwatch.daemon import moves
from hunkwatch.ports import Commit, Delivery, OutboxRow, SeenScore

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from hunkwatch.core.model import Score
    from hunkwatch.store import SqlStore

LOOK_AFTER = (timedelta(seconds=20), timedelta(minutes=1))
CYCLE = timedelta(seconds=30)
CLAIM = timedelta(seconds=45)
DELETION_TAKES = timedelta(seconds=10)
CYCLES = 24
NOTHING = ""
"""The payload of a score that is not wanted."""


@dataclass(frozen=True)
class Intent:
    """What the data says from a moment on: the payload, when the committer looked, and when it committed. Moments count up."""

    payload: str
    looked: int
    committed: int


@dataclass(frozen=True)
class Scenario:
    """A score's story. ``crashed`` is the moment at which the deliverer dies with it in hand: what it did is done, and never noted."""

    name: str
    intents: tuple[Intent, ...]
    crashed: int = -1


@dataclass
class Langfuse:
    """Shows at once what it is sent, and deletes a while after it is asked to, whatever it holds then."""

    shown: dict[str, SeenScore] = field(default_factory=dict)
    deletions: list[tuple[datetime, str]] = field(default_factory=list)

    def until(self, now: datetime) -> None:
        """Work off what is due."""
        for at, name in self.deletions:
            if at <= now:
                self.shown.pop(name, None)
        self.deletions = [(at, name) for at, name in self.deletions if at > now]

    def take(self, row: OutboxRow) -> None:
        """Take a score in the place of its predecessor."""
        self.shown[row.score.id] = SeenScore(row.score.id, row.score.name, row.score.value, row.score.timestamp, row.fingerprint)


def scenarios() -> list[Scenario]:
    """Wanted first, then two changes of mind, each from a look that may be old, at all distances that matter."""
    told = []
    grid = product(("a", "b", NOTHING), ("a", "b", NOTHING), (0, 4, 9), (0, 2), (0, 1, 3, 5, 8), (0, 1, 2, 3), (-1, 5))
    for number, (second, third, looked, late, wait, later, crashed) in enumerate(grid):
        again = looked + late + wait
        intents = (Intent("a", 0, 0), Intent(second, looked, looked + late), Intent(third, again, again + later))
        told.append(Scenario(f"s{number:05}", intents, crashed))
    return told


@dataclass
class Committers:
    """Those who look and commit, each at its moments."""

    store: SqlStore
    make: Any
    stories: Mapping[str, Scenario]
    moment: int = 0
    looks: dict[tuple[str, int], OutboxRow | None] = field(default_factory=dict)

    async def pass_by(self, now: datetime) -> None:
        """Look and commit where this is the moment to, in the order of the intents, then go on to the next moment."""
        for index in range(3):
            if looking := [name for name, story in self.stories.items() if story.intents[index].looked == self.moment]:
                present = await _present(self.store, looking)
                self.looks.update({(name, index): present.get(name) for name in looking})
            committing = [name for name, story in self.stories.items() if story.intents[index].committed == self.moment]
            wanted = [_follows(self.make, name, self.stories[name].intents[index], self.looks[name, index], now) for name in committing]
            await self.store.commit(Commit("project", outbox=[row for row in wanted if row]))
        self.moment += 1


async def test_what_is_wanted_last_is_there_in_the_end_however_commits_and_deliveries_interleave(store: SqlStore, make: Any) -> None:
    """Neither lost, nor left behind, nor taken for proven without being shown."""
    stories = {scenario.name: scenario for scenario in scenarios()}
    langfuse, committers, now = Langfuse(), Committers(store, make, stories), make.now

    async def settle(claimed: Sequence[OutboxRow], moved: Iterable[OutboxRow]) -> None:
        """Note what was done, where the deliverer still lives."""
        alive = {row.score.id for row in claimed if stories[row.score.id].crashed != committers.moment}
        await store.settle([row for row in moved if row.score.id in alive], now=now)

    for _ in range(CYCLES):
        langfuse.until(now)
        await committers.pass_by(now)
        claimed = await store.claim("project", moves.LOOKED_AT, now=now, until=now + CLAIM, limit=100_000)
        await committers.pass_by(now)
        moved = [moves.looked(row, langfuse.shown.get(row.score.id), look_after=LOOK_AFTER, sends=3, now=now) for row in claimed]
        for position, row in enumerate(moved):
            if row.state is Delivery.DOOMED and row.score.id in langfuse.shown:
                langfuse.deletions.append((now + DELETION_TAKES, row.score.id))
                moved[position] = moves.deletion_asked(row, now=now)
        await committers.pass_by(now)
        await settle(claimed, moved)
        claimed = await store.claim("project", [Delivery.DUE], now=now, until=now + CLAIM, limit=100_000)
        await committers.pass_by(now)
        for row in claimed:
            langfuse.take(row)
        await committers.pass_by(now)
        await settle(claimed, [moves.sent(row, look_after=LOOK_AFTER, now=now) for row in claimed])
        now += CYCLE

    present = await _present(store, list(stories))
    wrong = defaultdict(list)
    for name, story in stories.items():
        wanted, row, shown = story.intents[-1].payload, present[name], langfuse.shown.get(name)
        expected = (Delivery.SEEN, wanted, wanted) if wanted else (Delivery.GONE, row.fingerprint, NOTHING)
        if (found := (row.state, row.fingerprint, shown.fingerprint if shown else NOTHING)) != expected:
            wrong[expected, found].append(story)
    assert {} == {kinds: (len(found), found[0]) for kinds, found in wrong.items()}


def _follows(make: Any, name: str, intent: Intent, present: OutboxRow | None, now: datetime) -> OutboxRow | None:
    score: Score = make.score(name, trace_id=name, value=0.25 if intent.payload == "a" else 0.75)
    if not intent.payload:
        return None if present is None else moves.unwanted(present, now=now)
    if present is None:
        return moves.first("project", score, intent.payload, scorer="1", now=now)
    return moves.wanted(replace(present, claim=""), score, intent.payload, scorer="1", now=now)


async def _present(store: SqlStore, names: Sequence[str]) -> Mapping[str, OutboxRow]:
    return {name: rows[0] for name, rows in (await store.outbox_of("project", names)).items()}

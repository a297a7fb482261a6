"""What the server remembers: its projects and, per project, observations, traces, scores, configs and dashboards.

Also the two things every handler needs to know about a write: when it will be seen, and what the habits make of its rows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from hunkwatch.sandbox import moments
from hunkwatch.sandbox.configs import Configs
from hunkwatch.sandbox.habits import Habits
from hunkwatch.sandbox.media import Media
from hunkwatch.sandbox.rows import Row
from hunkwatch.sandbox.scores import Scores
from hunkwatch.sandbox.shelf import Shelf

SECOND = 1000


class Access(StrEnum):
    """What a pair of keys may do."""

    PROJECT = "project"
    READ_ONLY = "read-only"
    SCORES_ONLY = "scores-only"


@dataclass(frozen=True, slots=True)
class Project:
    """A project and its one pair of keys."""

    id: str = "project-1"
    public_key: str = "pk-lf-demo"
    secret_key: str = "sk-lf-demo"  # noqa: S105 - the key of a sandbox
    name: str = ""
    organization: str = "sandbox"
    access: Access = Access.PROJECT


@dataclass(slots=True)
class Room:
    """Everything of one project."""

    project: Project
    shelf: Shelf
    configs: Configs
    scores: Scores
    traces: dict[str, dict[str, Any]] = field(default_factory=dict)
    widgets: dict[str, dict[str, Any]] = field(default_factory=dict)
    dashboards: dict[str, dict[str, Any]] = field(default_factory=dict)
    media: Media = field(default_factory=Media)
    tries: Counter[str] = field(default_factory=Counter)
    """How often each score or event was sent, so that a habit need not strike it every time."""


def room_for(project: Project, habits: Habits) -> Room:
    """An empty room."""
    configs = Configs()
    return Room(project, Shelf(), configs, Scores(configs, habits.keeps_score_events))


@dataclass(slots=True)
class State:
    """The server's memory, its clock and its habits."""

    rooms: dict[str, Room]
    clock: Callable[[], datetime]
    version: str
    mode: str
    habits: Habits

    def now(self) -> int:
        """Milliseconds since 1970 on the sandbox's own clock."""
        return moments.millis(self.clock())

    @property
    def release(self) -> tuple[int, ...]:
        """The version as numbers."""
        return tuple(int(part) for part in self.version.split("-")[0].split("."))

    @property
    def is_v4(self) -> bool:
        """Whether there is an events table."""
        return self.release >= (4,)

    @property
    def reads_v1(self) -> bool:
        """Whether the old readings answer."""
        return not self.is_v4 or self.mode == "dual"

    @property
    def takes_lists(self) -> bool:
        """Whether ``POST /scores`` takes a list, with a timestamp per score."""
        return self.release >= (4, 59)

    def later(self, seconds: float) -> int:
        """The moment so many seconds from now."""
        return self.now() + round(seconds * SECOND)

    def strikes(self, habit: str, room: Room, key: str, share: float) -> bool:
        """Whether a habit strikes this sending of a thing; the next one has a chance of its own."""
        if not share:
            return False
        room.tries[f"{habit}:{key}"] += 1
        return self.habits.picks(habit, f"{key}:{room.tries[f'{habit}:{key}']}", share)

    def is_twice(self, row: Row) -> bool:
        """Whether a reader meets this row twice."""
        return self.habits.picks("twice", row.id, self.habits.duplicated_rows)

    def shelve(self, room: Room, rows: Iterable[Row]) -> None:
        """Put rows where readers find them, with what the habits make of them."""
        room.shelf.add(row for arrived in rows for row in self._habitual(room, arrived))

    def _habitual(self, room: Room, row: Row) -> Iterator[Row]:
        habits = self.habits
        if habits.overflow:
            room.media.relieve(row, habits.overflow, self.now())
        if habits.late_rows and habits.picks("late", row.id, habits.late_rows):
            row.seen += round(habits.late_by * SECOND)
            row.seen_v1 += round(habits.late_by * SECOND)
        yield row
        if habits.resent_rows and habits.picks("resent", row.id, habits.resent_rows):
            again = row.copy()
            again.start += round(habits.resent_by * SECOND)
            again.updated += SECOND
            yield again

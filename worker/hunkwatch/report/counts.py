"""Counts over calls, however they are grouped: additive, and every share says what it is a share of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hunkwatch.core.model import Outcome
from hunkwatch.core.scoring import blind_rewrite

RETYPED_STEPS = (0, 1, 2, 3, 5, 10, 20)
"""Where the groups of calls by their retyped lines begin."""


@dataclass(slots=True)
class Counts:
    """What some calls come to."""

    calls: int = 0
    traces: int = 0
    counted: int = 0
    """Calls with a hunk that changes something: those that have a number."""
    blind_calls: int = 0
    hunks: int = 0
    blind_hunks: int = 0
    retyped_lines: int = 0
    retyped_calls: int = 0
    abstained: Counter[str] = field(default_factory=Counter)
    """Calls without a number, by shape."""
    outcomes: Counter[str] = field(default_factory=Counter)

    def add(self, hunks: int, blind_hunks: int, retyped_lines: int | None, outcome: str, *, abstained: str = "") -> None:
        """Count one call."""
        self.calls += 1
        self.outcomes[outcome] += 1
        if abstained:
            self.abstained[abstained] += 1
        if hunks:
            self.counted += 1
            self.hunks += hunks
            self.blind_hunks += blind_hunks
            self.blind_calls += blind_hunks > 0
            if retyped_lines:
                self.retyped_lines += retyped_lines
                self.retyped_calls += 1

    @property
    def blind_share(self) -> float | None:
        """The share of counted calls that hold a blind rewrite."""
        return self.blind_calls / self.counted if self.counted else None

    @property
    def retyped_per_call(self) -> float | None:
        """Retyped lines a counted call."""
        return self.retyped_lines / self.counted if self.counted else None

    @property
    def blind_rewrite(self) -> float | None:
        """The score over all of these calls, as a trace has it."""
        return blind_rewrite.kept(self.blind_hunks, self.hunks, blind_rewrite.HUNDREDTHS)

    @property
    def failed(self) -> int:
        """Calls that the agent's tool tried to apply and could not."""
        return self.outcomes[Outcome.FAILED.value]

    @property
    def tried(self) -> int:
        """Calls of which it is known whether they applied; a rejected one was never tried."""
        return self.failed + self.outcomes[Outcome.APPLIED.value]

    @property
    def failed_share(self) -> float | None:
        """The share of tried calls that failed to apply."""
        return self.failed / self.tried if self.tried else None

    @property
    def without_number(self) -> int:
        """Calls that have no number."""
        return self.calls - self.counted

    def plain(self) -> dict[str, object]:
        """Return everything for machines; the same keys whatever was counted."""
        return {
            "calls": self.calls,
            "traces": self.traces,
            "counted_calls": self.counted,
            "blind_calls": self.blind_calls,
            "blind_share": rounded(self.blind_share),
            "hunks": self.hunks,
            "blind_hunks": self.blind_hunks,
            "retyped_lines": self.retyped_lines,
            "retyped_calls": self.retyped_calls,
            "without_number": self.without_number,
            "applied": self.outcomes[Outcome.APPLIED.value],
            "failed": self.failed,
            "failed_share": rounded(self.failed_share),
            "rejected": self.outcomes[Outcome.REJECTED.value],
            "outcome_unknown": self.outcomes[Outcome.UNKNOWN.value],
        }


def rounded(share: float | None) -> float | None:
    """Return a share with as many places as anybody reads."""
    return None if share is None else round(share, 4)


def retyped_step(lines: int) -> int:
    """Return where the group of a number of retyped lines begins."""
    return max(step for step in RETYPED_STEPS if step <= lines)


def step_name(step: int) -> str:
    """Name a group of calls by their retyped lines."""
    at = RETYPED_STEPS.index(step)
    if step == RETYPED_STEPS[-1]:
        return f"{step} or more"
    last = RETYPED_STEPS[at + 1] - 1
    return str(step) if last == step else f"{step} to {last}"

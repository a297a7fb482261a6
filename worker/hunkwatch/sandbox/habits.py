"""What the sandbox does besides answering well: delays, limits, faults and odd rows, each switchable and repeatable by a seed.

``Habits()`` is a server without bad habits and without delays; ``Habits.realistic(seed)`` has the delays that were measured.
The same seed and the same requests give the same faults.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Self
from zlib import crc32


class Plan(StrEnum):
    """Whose rate limits apply: none on a server of one's own, else those of a Cloud plan."""

    SELF_HOSTED = "self-hosted"
    HOBBY = "hobby"
    CORE = "core"
    PRO = "pro"


class Wrong(StrEnum):
    """One way in which a request goes wrong."""

    RATE_LIMITED = "429"
    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    TOO_HEAVY = "422"
    BROKEN = "500"
    BAD_GATEWAY = "502"
    UNAVAILABLE = "503"
    GATEWAY_PAGE = "html"
    SLOW = "slow"
    CUT = "cut"
    REFUSED = "refused"
    HANGING = "hanging"


@dataclass(frozen=True, slots=True)
class Fault:
    """Lets a share of the requests that match go wrong, after the first ``after`` of them and at most ``times`` often."""

    wrong: Wrong
    share: float = 1.0
    path: str = "/api/public"
    method: str = ""
    after: int = 0
    times: int | None = None
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Delays:
    """Seconds between a write and the moment a reader sees it, per way of writing."""

    direct: float = 0.0
    """OTLP with ingestion version 4, to both readings."""
    staged: float = 0.0
    """The events table's copy of what came by ``/ingestion`` or by OTLP without that version (``dual`` only)."""
    ingestion: float = 0.0
    """The v1 reading of what came by ``/ingestion``."""
    score: float = 0.0
    deletion: float = 0.0


MEASURED = Delays(direct=1.0, staged=600.0, ingestion=6.0, score=6.0, deletion=1.0)


@dataclass(frozen=True, slots=True)
class Habits:
    """Every habit, off by default. Shares run from 0 to 1; sizes are bytes; times are seconds."""

    seed: int = 0
    delays: Delays = field(default_factory=Delays)
    plan: Plan = Plan.SELF_HOSTED
    faults: tuple[Fault, ...] = ()
    dropped_scores: float = 0.0
    """This share of the accepted scores is never seen again."""
    partial_errors: float = 0.0
    """This share of a batch's events comes back as an error of its own in the 207."""
    duplicated_rows: float = 0.0
    """This share of the observations is returned twice."""
    resent_rows: float = 0.0
    """This share of the observations is there a second time with its start moved by ``resent_by``."""
    resent_by: float = 90.0
    late_rows: float = 0.0
    """This share of the observations is seen ``late_by`` later than the rest."""
    late_by: float = 1800.0
    answer_limit: int = 0
    """Larger answers are refused with 422; Cloud stops at 5 MB. 0 is no limit."""
    overflow: int = 0
    """Larger inputs and outputs are replaced by a media token. 0 is never."""
    keeps_score_events: bool = False
    """A score id sent for another day joins the first day's score instead of starting a second one."""
    changes_version_after: int = 0
    """After so many requests the server answers as ``changes_version_to``. 0 is never."""
    changes_version_to: str = ""

    @classmethod
    def realistic(cls, seed: int = 0) -> Self:
        """A patient server: nothing fails, everything is seen as late as measured."""
        return cls(seed=seed, delays=MEASURED)

    def picks(self, habit: str, key: str, share: float) -> bool:
        """Whether this habit strikes this thing; the same seed and thing always give the same answer."""
        return share > 0 and crc32(f"{self.seed}:{habit}:{key}".encode("utf-8", "surrogatepass")) < share * 2**32


@dataclass(slots=True)
class Streak:
    """How often a fault's requests came by and how often it struck."""

    random: Random
    met: int = 0
    struck: int = 0


class FaultDice:
    """Decides, request by request, which fault strikes."""

    def __init__(self, habits: Habits) -> None:
        """Give every fault a stream of its own, so that switching one off leaves the others as they were."""
        self._streaks = [(fault, Streak(Random(f"{habits.seed}:{number}"))) for number, fault in enumerate(habits.faults)]  # noqa: S311 - not a secret

    def strike(self, method: str, path: str) -> Fault | None:
        """The first fault that strikes this request, if any."""
        struck = None
        for fault, streak in self._streaks:
            if not path.startswith(fault.path) or fault.method not in {"", method}:
                continue
            streak.met += 1
            hit = streak.random.random() < fault.share
            if struck is None and hit and streak.met > fault.after and (fault.times is None or streak.struck < fault.times):
                streak.struck += 1
                struck = fault
        return struck

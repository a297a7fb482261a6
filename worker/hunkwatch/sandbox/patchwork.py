"""Patches as agents write them, made from a number: sizes, hunks per patch, shares of blind and retyped hunks follow 9,330 real ones.

The same number always gives the same patch. The texts are made up; only their measures are real.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

LINES = ((0.0, 4), (0.1, 7), (0.5, 23), (0.9, 93), (0.99, 249), (1.0, 1740))
"""Quantiles of lines per patch."""
HUNKS = ((0.0, 1), (0.25, 1), (0.5, 2), (0.75, 3), (0.9, 4), (0.95, 6), (0.99, 10), (1.0, 34))
"""Quantiles of hunks per patch with an Update."""
RETYPED = ((0.0, 1), (0.25, 1), (0.5, 2), (0.75, 3), (0.9, 7), (0.95, 13), (0.99, 35), (1.0, 185))
"""Quantiles of retyped lines per hunk that has any."""
CALLS = ((0.0, 1), (0.25, 5), (0.5, 12), (0.75, 24), (0.9, 45), (1.0, 140))
"""Quantiles of calls per session; the median is measured."""
UPDATES = 0.843
BLIND_PATCHES = 0.3
ANOTHER_BLIND = 0.25
LEAD, TRAIL = 0.54, 0.43
"""Shares of hunks with context before and after their changes."""
CONTEXT_ONLY, ONLY_ADDED, ONLY_DELETED = 0.0875, 0.273, 0.027
RETYPED_IF_BLIND = 0.753
RETYPED_IF_NOT = 0.2
"""Of the hunks that delete and add without being blind."""
ABSOLUTE, CRLF, NON_ASCII, SEVERAL_FILES, HEADLINED = 0.42, 0.0018, 0.22, 0.01, 0.0027
BLIND = 0.172
"""Share of blind hunks, which the others make room for."""
FLOOR = 3

_WORDS = (
    "parse", "render", "field", "cache", "token", "batch", "window", "order", "index", "result", "client", "schema", "config", "handler",
    "buffer",
)  # fmt: skip
_KINDS = (
    "    {0}_{1} = {2}({3}, {4})", "        return self.{0}.{1}({4})", "    if {0} and not {1}[{4}]:", "        {0}.append({1}[{4}])",
    "def {0}_{1}_{4}({2}, {3}):", '    log.info("{0} {1} {4}")', "        raise ValueError({0}, {4})", "    for {0} in {1}[{4}:]:",
)  # fmt: skip
_ACCENTS = "äöüßéèñçø→“”…漢字"


def _pool() -> list[str]:
    random = Random(20)  # noqa: S311 - not a secret
    return [random.choice(_KINDS).format(*random.choices(_WORDS, k=4), number) for number in range(8192)]


POOL = _pool()


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch and what is known about it without reading it."""

    text: str
    hunks: int
    blind: int
    retyped: int
    updates: bool


def between(quantiles: Sequence[tuple[float, int]], share: float) -> int:
    """The value at a share of a distribution given by some of its quantiles, growing evenly by ratio between them."""
    at = min(bisect_right(quantiles, share, key=lambda point: point[0]), len(quantiles) - 1)
    (low, least), (high, most) = quantiles[at - 1], quantiles[at]
    ratio: float = (most / least) ** ((share - low) / (high - low))
    return round(least * ratio)


def write(number: int) -> Patch:
    """The patch of this number."""
    return Writer(Random(number)).patch()  # noqa: S311 - not a secret


class Writer:
    """Writes one patch with its own stream of chances."""

    def __init__(self, random: Random) -> None:
        """Begin with this stream."""
        self._random = random
        self._hunks = self._blind = self._retyped = 0
        self._serial = random.randrange(len(POOL))
        self._accents = random.random() < NON_ASCII

    def patch(self) -> Patch:
        """The whole patch."""
        random = self._random
        lines, updates = between(LINES, random.random()), random.random() < UPDATES
        body = ["*** Begin Patch"]
        files = 1 + (random.random() < SEVERAL_FILES)
        for _ in range(files):
            body += self._update(lines // files) if updates else self._other(lines // files)
        body.append("*** End Patch")
        ending = "\r\n" if random.random() < CRLF else "\n"
        return Patch(ending.join(body), self._hunks, self._blind, self._retyped, updates)

    def _path(self) -> str:
        root = "/srv/app/" if self._random.random() < ABSOLUTE else ""
        return f"{root}src/{self._random.choice(_WORDS)}/{self._random.choice(_WORDS)}_{self._random.randrange(40)}.py"

    def _other(self, lines: int) -> list[str]:
        if self._random.random() < ONLY_DELETED:
            return [f"*** Delete File: {self._path()}"]
        return [f"*** Add File: {self._path()}", *(f"+{line}" for line in self._fresh(max(1, lines - 3)))]

    def _update(self, lines: int) -> list[str]:
        random = self._random
        count = between(HUNKS, random.random())
        room = max(2, (lines - 3) // count - 1)
        is_blind = random.random() < BLIND_PATCHES
        blind = {random.randrange(count)} | {at for at in range(count) if random.random() < ANOTHER_BLIND} if is_blind else set()
        body = [f"*** Update File: {self._path()}"]
        for at in range(count):
            body.append(f"@@ def {random.choice(_WORDS)}():" if random.random() < HEADLINED else "@@")
            body += self._hunk(room, is_blind=at in blind)
        return body

    def _hunk(self, room: int, *, is_blind: bool) -> list[str]:
        random = self._random
        lead = min(3, room // 2) if random.random() < LEAD else 0
        trail = min(3, room // 2) if random.random() < TRAIL else 0
        room = max(1, room - lead - trail)
        if is_blind:
            changes = self._rewrite(max(FLOOR, room // 2), max(FLOOR, room - room // 2), RETYPED_IF_BLIND)
            self._blind += 1
        elif (changes := self._small(room)) == []:
            lead = max(lead, 1)
            self._hunks -= 1
        self._hunks += 1
        return [*(f" {line}" for line in self._fresh(lead)), *changes, *(f" {line}" for line in self._fresh(trail))]

    def _small(self, room: int) -> list[str]:
        """What a hunk changes that is not blind; nothing, for a hunk of context alone."""
        chance = self._random.random()
        if chance < CONTEXT_ONLY:
            return []
        if chance < CONTEXT_ONLY + ONLY_DELETED:
            return [f"-{line}" for line in self._fresh(room)]
        if chance < CONTEXT_ONLY + ONLY_DELETED + ONLY_ADDED / (1 - BLIND):
            return [f"+{line}" for line in self._fresh(room)]
        few = self._random.randint(1, FLOOR - 1)
        return self._rewrite(few, max(1, room - few), RETYPED_IF_NOT)

    def _rewrite(self, deleted: int, added: int, share: float) -> list[str]:
        """Deleted lines directly followed by added ones, some of them the same."""
        random = self._random
        kept = min(between(RETYPED, random.random()), deleted, added) if random.random() < share else 0
        self._retyped += kept
        same = self._fresh(kept)
        return [*(f"-{line}" for line in self._among(same, deleted)), *(f"+{line}" for line in self._among(same, added))]

    def _among(self, same: Sequence[str], count: int) -> list[str]:
        """So many lines, the given ones in their order among new ones."""
        lines = self._fresh(count)
        for place, line in zip(sorted(self._random.sample(range(count), len(same))), same, strict=True):
            lines[place] = line
        return lines

    def _fresh(self, count: int) -> list[str]:
        """So many lines that the patch does not hold yet."""
        lines = []
        for _ in range(count):
            self._serial += 1
            turn, at = divmod(self._serial * 7, len(POOL))
            accent = f"  # {_ACCENTS[turn % len(_ACCENTS)]}" if self._accents and self._serial % 5 == 0 else ""
            lines.append(f"{POOL[at]}{accent}")
        return lines

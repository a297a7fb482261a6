"""Generated patches that are distributed as real ones are, and pages of observations that carry them; the same for the same seed.

Aims, measured on 9,330 real patches: characters p50 955, p90 3,645, p99 13,105; hunks of an update p50 2, p75 3, p90 4, p95 6, p99 10,
at most 34; 16% of the patches have no Update section; of the hunks 61% delete and add, 27% only add, 9% change nothing, 3% only
delete; 17% are blind; a quarter hold retyped lines, three in four of the blind ones.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

WORDS = (  # noqa: SIM905 - a hundred quoted words read worse
    "account amount answer batch body bucket buffer build cache call chunk client clock color config context count cursor data date "
    "default "
    "delta depth drop edge email entry error event field file filter flag format frame graph group handler header height host image index "
    "input item job key label layer length level limit line list lock log map mark match message metric mode model name node note number "
    "offset option order output owner page panel parent part patch path pattern phase point pool port price query queue range rate reader "
    "record region reply report request result retry role root route row rule sample scale score section seed server session shape share "
    "signal size slot source span stage start state status step store stream style sum table tag target task team text theme ticket time "
    "token topic total trace tree type unit update user value view weight width window worker zone"
).split()
FORMS = (
    "{a} = {b}.{c}({d})",
    "return {a}.{b}",
    "if ({a} !== {b}) {{",
    "}}",
    "",
    "const {a} = await {b}.{c}({d}, {a});",
    'log.info("{a} %s took %d", {b}, {c})',
    "- [ ] {a} the {b} before the {c}, then {d}",
    "self.{a}.{b}[{c}] += {d}",
    "# {a} {b} {c}",
    '  <{a} className="{b}" onClick={{() => set{c}({d})}} />',
    "export type {a} = {{ {b}: string; {c}?: number }};",
    "assert expected.{a} == actual.{b}",
    "}} else {{ // {a}",
    "{a}: {b}_{c},",
    "The {a} holds a {b} for every {c}; without it the {d} is empty. Naïve → exact.",
)
FILES = ("src/app/{a}.ts", "pkg/{a}/{b}.go", "{a}/{b}.py", "docs/{a}.md", "web/components/{a}/{b}.tsx", "/home/dev/{a}/src/{b}.rs")


@dataclass(slots=True)
class Corpus:
    """A generator of patches; every draw comes from one seeded source."""

    seed: int
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Start the source."""
        self.chance = random.Random(self.seed)  # noqa: S311 - a repeatable benchmark, not a secret

    def patches(self, count: int) -> list[str]:
        """Return that many patches."""
        return [self.patch() for _ in range(count)]

    def patch(self) -> str:
        """Return one patch."""
        chance = self.chance
        kind = chance.random()
        if kind < 0.14:
            body = self._added_file(self._size(3.0, 1.15, 1700))
        elif kind < 0.16:
            body = [f"*** Delete File: {self._path()}"]
        else:
            body = [f"*** Update File: {self._path()}"]
            for _ in range(self._hunk_count()):
                body += self._hunk()
        return "\n".join(["*** Begin Patch", *body, "*** End Patch"])

    def lines(self, count: int) -> list[str]:
        """Return that many lines of something like code."""
        return [self._line() for _ in range(count)]

    def _hunk_count(self) -> int:
        weights = ((0.44, 1), (0.68, 2), (0.82, 3), (0.91, 4), (0.96, 6), (0.992, 9))
        drawn = self.chance.random()
        return next((count for limit, count in weights if drawn < limit), self.chance.randint(10, 34))

    def _hunk(self) -> list[str]:
        chance = self.chance
        kind = chance.random()
        lead, trail = self._context(), self._context()
        if kind < 0.0875:
            return ["@@", *lead, *(trail or [" " + self._line()])]
        if kind < 0.36:
            changed = ["+" + line for line in self.lines(self._size(1.55, 1.35, 600))]
        elif kind < 0.387:
            changed = ["-" + line for line in self.lines(self._size(1.2, 1.2, 200))]
        elif kind < 0.56:
            changed = self._blind()
        else:
            changed = self._small()
        return ["@@", *lead, *changed, *trail]

    def _blind(self) -> list[str]:
        old = self.lines(3 + self._size(1.5, 1.15, 400))
        new = list(old) if self.chance.random() < 0.75 else self.lines(max(3, len(old) + self.chance.randint(-2, 6)))
        if new == old:
            for at in range(len(new)):
                if self.chance.random() < 0.45:
                    new[at] = self._line()
            new += self.lines(self.chance.randint(0, 3))
        return ["-" + line for line in old] + ["+" + line for line in new]

    def _small(self) -> list[str]:
        changed: list[str] = []
        for _ in range(self.chance.choice((1, 1, 1, 2))):
            old = self.lines(self.chance.choice((1, 1, 1, 2)))
            new = self.lines(self.chance.choice((1, 1, 2, 3, 6)))
            if self.chance.random() < 0.2:
                new[0] = old[0]
            changed += ["-" + line for line in old] + ["+" + line for line in new] + [" " + self._line()]
        return changed[:-1]

    def _context(self) -> list[str]:
        return [" " + line for line in self.lines(self.chance.choice((0, 0, 0, 1, 2, 3, 3, 5)))]

    def _added_file(self, size: int) -> list[str]:
        return [f"*** Add File: {self._path()}", *("+" + line for line in self.lines(size))]

    def _line(self) -> str:
        chance = self.chance
        form = FORMS[chance.randrange(len(FORMS))]
        if not form:
            return form
        pick = chance.choices(WORDS, k=4)
        made = form.format(a=pick[0], b=pick[1], c=pick[2], d=pick[3])
        return "    " * chance.randrange(4) + made

    def _path(self) -> str:
        a, b = self.chance.choices(WORDS, k=2)
        return self.chance.choice(FILES).format(a=a, b=b)

    def _size(self, middle: float, spread: float, most: int) -> int:
        return min(most, max(1, round(self.chance.lognormvariate(middle, spread))))


def page(patches: list[str], *, whole: bool) -> bytes:
    """Return a page of Langfuse's v2 observations, one row a patch; ``whole`` rows also carry input, output and metadata."""
    first = datetime(2026, 3, 1, 12, tzinfo=UTC)
    rows = [_row(number, patch, first - timedelta(seconds=number), whole=whole) for number, patch in enumerate(patches)]
    return json.dumps({"data": rows, "meta": {"cursor": "bm90IHRoZSBsYXN0IHBhZ2U="}}, ensure_ascii=False).encode()


def _row(number: int, patch: str, start: datetime, *, whole: bool) -> dict[str, object]:
    row: dict[str, object] = {
        "id": f"{number:016x}",
        "traceId": f"{number // 7:032x}",
        "startTime": _moment(start),
        "endTime": _moment(start + timedelta(seconds=1.5)),
        "projectId": "benchmark",
        "parentObservationId": f"{number + 1:016x}",
        "type": "TOOL",
        "name": "apply_patch",
        "level": "DEFAULT",
        "statusMessage": "",
        "version": "",
        "environment": "default",
        "bookmarked": False,
        "public": False,
        "userId": "user-1",
        "sessionId": f"session-{number // 40}",
        "completionStartTime": None,
        "createdAt": _moment(start + timedelta(seconds=2.1)),
        "updatedAt": _moment(start + timedelta(seconds=2.1)),
        "isRootObservation": False,
        "traceName": "Codex Turn",
        "release": "",
        "tags": ["nightly"],
    }
    if whole:
        row["input"] = json.dumps({"input": patch})
        row["output"] = "Success. Updated the following files:\nM src/app.ts\n"
        row["metadata"] = {"codex.call_id": f"call_{number}", "codex.tool_name": "apply_patch", "scope.name": "langfuse-sdk"}
    return row


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"

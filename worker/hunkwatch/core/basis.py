"""What stands beside a number: the comment that a person reads and the metadata that a filter or a chart reads.

Metadata always has the same keys, and every value is a text, a number or null: Langfuse merges the metadata of a score sent twice,
key by key, and the items of a shorter list over those of a longer one. Both are bounded, and hold counts and paths, never a line of code.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hunkwatch.core import caveats
from hunkwatch.core.model import Shape
from hunkwatch.core.scoring import tally as pooled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hunkwatch.core.model import GradedCall, Place
    from hunkwatch.core.scoring.tally import Tally

MOST_FILES = 20
MOST_PLACES = 5
MOST_WORDS = 12
LONGEST_PATH = 80
LONGEST_WORD = 40

_NOT_COUNTED = {Shape.UNRESOLVED, Shape.MALFORMED, Shape.TRUNCATED}


@dataclass(frozen=True, slots=True)
class Basis:
    """The calls behind some scores, at least one, their pooled counts, and how much may be told of them."""

    calls: Sequence[GradedCall]
    tally: Tally
    also_in: frozenset[str]
    paths: bool

    @classmethod
    def of(cls, calls: Sequence[GradedCall], also_in: frozenset[str], *, paths: bool) -> Basis:
        """Pool the calls."""
        return cls(calls, pooled.of(calls), also_in, paths)

    def metadata(self) -> dict[str, object]:
        """Return the facts behind the number; the caller adds what is not about the calls."""
        calls, tally = self.calls, self.tally
        files = [file for call in calls for file in call.files]
        added, deleted, context = (sum(getattr(call, name) for call in calls) for name in ("added_lines", "deleted_lines", "context_lines"))
        lines = added + deleted + context
        elsewhere = sum(call.call_id in self.also_in for call in calls)
        flags = Counter(flag for call in calls for flag in call.flags)
        if elsewhere:
            flags["also_in"] = elsewhere
        returned = [call.returned_lines for call in calls if call.returned_lines is not None]
        return {
            "calls": len(calls),
            "calls_not_counted": sum(call.shape in _NOT_COUNTED for call in calls),
            "call_ids": _listed((call.call_id for call in calls if call.call_id), MOST_WORDS, LONGEST_WORD),
            "hunks": tally.hunks,
            "blind_hunks": tally.blind_hunks,
            "blind_at": self._places(place for call in calls for place in call.blind_at),
            "retyped_lines": tally.retyped_lines,
            "retyped_at": self._places(place for call in calls for place in call.retyped_at),
            "added_lines": added,
            "deleted_lines": deleted,
            "context_lines": context,
            "context_density": round(context / lines, 3) if lines else None,
            "file_count": sum(call.file_count for call in calls),
            "files": _listed(dict.fromkeys(file.path for file in files), MOST_FILES, LONGEST_PATH) if self.paths else "",
            "file_rewrites": sum(call.shape is Shape.FILE_REWRITE for call in calls),
            "returned_lines": sum(returned) if returned else None,
            "shape": tally.shape.value,
            "shapes": _counted(Counter(call.shape.value for call in calls)),
            "outcomes": _counted(Counter(call.outcome.value for call in calls)),
            "evidence": _counted(Counter(call.evidence.value for call in calls)),
            "producers": _counted(Counter(call.producer for call in calls)),
            "dialects": _counted(Counter(call.dialect for call in calls if call.dialect)),
            "flags": _counted(flags),
            "also_in": elsewhere,
        }

    def comment(self, name: str) -> str:
        """Return one or two plain sentences for a score: what was counted and where, then the caveat."""
        if name == "patch_shape":
            told = self._about_shape()
        elif name.startswith("retyped_lines"):
            told = self._about_retyped()
        else:
            told = self._about_blind()
        return f"{told}. {caveats.of(name).caveat}"

    def _about_blind(self) -> str:
        blind, hunks = self.tally.blind_hunks, self.tally.hunks
        if not blind:
            return f"{_many(hunks, 'hunk')}, no blind rewrite"
        told = f"{blind} of {_many(hunks, 'hunk')} {'is a blind rewrite' if blind == 1 else 'are blind rewrites'}"
        worst = max((place for call in self.calls for place in call.blind_at), key=lambda place: place.deleted + place.added, default=None)
        if worst is None:
            return told
        which = ":" if blind == 1 else ", the largest of them in"
        return f"{told}{which} {self._where(worst)}, {_many(worst.deleted, 'deleted line')} against {worst.added} added"

    def _about_retyped(self) -> str:
        lines = self.tally.retyped_lines
        if not lines:
            return "No line was deleted and added again unchanged"
        told = f"{_many(lines, 'line')} {'was' if lines == 1 else 'were'} deleted and added again unchanged"
        worst = max((place for call in self.calls for place in call.retyped_at), key=lambda place: place.retyped, default=None)
        if worst is None:
            return told
        return f"{told}, {'' if worst.retyped == lines else f'{worst.retyped} of them '}in {self._where(worst)}"

    def _about_shape(self) -> str:
        shape = self.tally.shape
        told = caveats.SHAPES[shape]
        calls = [call for call in self.calls if call.shape is shape]
        if shape is Shape.BLIND_REWRITE:
            return self._about_blind()
        if shape in _NOT_COUNTED and calls[0].why:
            told += f": {calls[0].why}"
        returned = [call.returned_lines for call in calls if call.returned_lines is not None]
        if returned:
            told += f"; {_many(sum(returned), 'line')} came back unchanged"
        others = len(self.calls) - len(calls)
        return f"{told} ({len(calls)} of {len(self.calls)} calls)" if others else told

    def _places(self, places: Iterable[Place]) -> str:
        return _listed((self._where(place) for place in places), MOST_PLACES, LONGEST_PATH + LONGEST_WORD, "; ")

    def _where(self, place: Place) -> str:
        file = f"{_cut(place.path, LONGEST_PATH)} " if self.paths and place.path else ""
        return f"{file}hunk {place.hunk} (lines {place.first_line} to {place.last_line} of the patch)"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _cut(text: str, longest: int) -> str:
    if not text.isprintable():
        text = "".join([char if char.isprintable() else "\ufffd" for char in text[-longest:]])
    return text if len(text) <= longest else f"...{text[3 - longest :]}"


def _listed(texts: Iterable[str], most: int, longest: int, between: str = ", ") -> str:
    told = list(texts)
    more = f"{between}and {len(told) - most} more" if len(told) > most else ""
    return between.join(_cut(text, longest) for text in told[:most]) + more


def _counted(counts: Counter[str]) -> str:
    return _listed(
        (f"{_cut(name, LONGEST_WORD)} {count}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        MOST_WORDS,
        LONGEST_PATH,
    )

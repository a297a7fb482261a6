"""A patch with what was counted in it, and how its scores come about: the same lines for a terminal and for a page.

Every line of the patch has its number and, where it counts, letters. The marks come from the same functions of the core that the scores
come from. Plain values; whoever shows them chooses colours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core import caveats, discover, grammar
from hunkwatch.core.model import Action, Malformed
from hunkwatch.core.scoring import blind_rewrite, retyped_lines, tally
from hunkwatch.report.judging import judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hunkwatch.core.model import FileEdit, Hunk, Observation, Patch
    from hunkwatch.report.judging import Judged

MOST_CALLS = 20
MOST_LINES = 400
MOST_SIGNS = 500
"""Calls of one trace, lines and hunks of each, and characters of a line, that a page shows."""

BLIND, RETYPED, KEPT = "B", "R", "="
MARKS = {
    BLIND: "part of a blind rewrite",
    RETYPED: "deleted and added again unchanged",
    KEPT: "kept line that anchors a change",
}
LEGEND = "   ".join(f"{mark} {says}" for mark, says in MARKS.items())
CAVEATS = tuple(f"{name}: {caveats.of(name).caveat}" for name in ("blind_rewrite_patch", "retyped_lines_patch", "patch_shape"))


class Line(NamedTuple):
    """One line of a patch: its number from 1, its marks, its kind (``-``, ``+``, ``" "`` or none), its text."""

    number: int
    marks: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Explained:
    """One call: its title, its flags, the lines of its patch, what its hunks hold, and the arithmetic of its scores."""

    title: str
    flags: tuple[str, ...]
    lines: tuple[Line, ...]
    hunks: tuple[str, ...]
    verdict: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Patches:
    """The explained calls of one trace, how its scores come about, and what is not shown, if anything."""

    calls: tuple[Explained, ...]
    together: tuple[str, ...] = ()
    note: str = ""


def of_trace(trace_id: str, observations: Iterable[Observation]) -> Patches:
    """Explain the calls of a trace, up to a bound on calls and on the lines of each: a page is no place to read a thousand."""
    judged = judge([call for observation in observations for call in discover.calls(observation)], keep_patches=True)
    calls = [explain(number, one) for number, one in enumerate(judged[:MOST_CALLS], start=1)]
    cut = [_cut(call) for call in calls]
    note = "" if len(judged) <= MOST_CALLS and cut == calls else f"Not everything is shown; hunkwatch explain {trace_id} prints it whole."
    return Patches(tuple(cut), tuple(together(judged)) if len(judged) > 1 else (), note)


def _cut(call: Explained) -> Explained:
    lines = tuple(line._replace(text=line.text[:MOST_SIGNS]) for line in call.lines[:MOST_LINES])
    return replace(call, lines=lines, hunks=tuple(hunk[:MOST_SIGNS] for hunk in call.hunks[:MOST_LINES]))


def explain(number: int, judged: Judged) -> Explained:
    """Explain one call."""
    call = judged.call
    read = None if judged.patch is None else grammar.parse(judged.patch)
    patch = None if read is None or isinstance(read, Malformed) else read
    return Explained(
        title=_title(number, judged),
        flags=tuple(f"flag {flag}: {grammar.FLAGS[flag]}" if flag in grammar.FLAGS else f"flag {flag}" for flag in call.flags),
        lines=() if judged.patch is None else tuple(marked(judged.patch, patch)),
        hunks=() if patch is None else tuple(_hunks(patch)),
        verdict=tuple(_verdict(judged)),
    )


def together(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield how the scores of a trace come about from those of its calls."""
    counts = tally.of([one.call for one in judged])
    if not counts.hunks:
        yield "no hunk is counted in any of them, so there is no number"
        return
    yield _arithmetic("blind_rewrite", counts.blind_hunks, counts.hunks, blind_rewrite.HUNDREDTHS, "hundredths")
    yield f"blind_hunks = {' + '.join(str(one.call.blind_hunks) for one in judged)} = {counts.blind_hunks}"
    terms = " + ".join("?" if one.call.retyped_lines is None else str(one.call.retyped_lines) for one in judged)
    yield f"retyped_lines = {terms} = {'no number' if counts.retyped_lines is None else counts.retyped_lines}"


def marked(text: str, patch: Patch | None) -> Iterator[Line]:
    """Yield every line of the patch with its number, its marks and its kind."""
    marks: dict[int, str] = {}
    kinds: dict[int, str] = {}
    for edit in () if patch is None else patch.files:
        _mark(edit, marks, kinds)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        yield Line(number, marks.get(number, ""), kinds.get(number, ""), line.removesuffix("\r").expandtabs(4))


def _title(number: int, judged: Judged) -> str:
    call = judged.call
    names = [
        f"{label} {value}"
        for label, value in (("trace", call.trace_id), ("observation", call.observation_id), ("call", call.call_id))
        if value
    ]
    written = [f"written by {call.producer}"] if names else []
    return ", ".join((f"patch {number}", *names, *written, f"outcome {call.outcome.value}"))


def _verdict(judged: Judged) -> Iterator[str]:
    call = judged.call
    yield f"patch_shape = {call.shape.value}: {caveats.SHAPES[call.shape]}{f' ({call.why})' if call.why else ''}"
    if not call.hunks:
        yield "no hunk is counted, so there is no number: abstaining is not zero"
        return
    yield _arithmetic("blind_rewrite_patch", call.blind_hunks, call.hunks, blind_rewrite.QUARTERS, "quarters")
    lines = "more pairs of lines than the bound allows: no number" if call.retyped_lines is None else str(call.retyped_lines)
    yield f"retyped_lines_patch = {lines}"


def _arithmetic(name: str, blind: int, hunks: int, steps: int, grid: str) -> str:
    value = blind_rewrite.kept(blind, hunks, steps)
    return f"{name} = 1 - {blind} blind / {hunks} hunk{'' if hunks == 1 else 's'} = {1 - blind / hunks:.4g}, floored to {grid}: {value:g}"


def _hunks(patch: Patch) -> Iterator[str]:
    for edit in patch.files:
        moved = f" -> {edit.moved_to}" if edit.moved_to else ""
        yield f"{edit.action.value} {edit.path}{moved}"
        if edit.action is not Action.UPDATE:
            continue
        for number, hunk in enumerate(edit.hunks, start=1):
            yield f"  hunk {number}, {_hunk(hunk)}"


def _hunk(hunk: Hunk) -> str:
    deleted, added = hunk.kinds.count("-"), hunk.kinds.count("+")
    if not deleted and not added:
        return "only context: not counted"
    where = f"lines {hunk.numbers[0]}-{hunk.numbers[-1]}: {deleted} deleted, {added} added, {len(hunk.kinds) - deleted - added} kept"
    blocks = blind_rewrite.blocks(hunk)
    blind = "; ".join(f"{block.deleted} deleted next to {block.added} added, at least {blind_rewrite.FLOOR} each" for block in blocks)
    found = retyped_lines.count(hunk)[0]
    retyped = "too much to compare" if found is None else f"{found} retyped"
    return f"{where}; {f'blind ({blind})' if blocks else 'not blind'}; {retyped}"


def _mark(edit: FileEdit, marks: dict[int, str], kinds: dict[int, str]) -> None:
    for hunk in edit.hunks:
        kinds.update(zip(hunk.numbers, hunk.kinds, strict=True))
        if edit.action is not Action.UPDATE or not hunk.kinds.strip():
            continue
        for number, kind in zip(hunk.numbers, hunk.kinds, strict=True):
            if kind == " ":
                marks[number] = KEPT
        for block in blind_rewrite.blocks(hunk):
            marks.update(dict.fromkeys(hunk.numbers[block.start : block.stop], BLIND))
        for retyped in retyped_lines.numbers(hunk):
            for number in retyped:
                marks[number] = marks.get(number, "") + RETYPED

"""``explain``: a patch with its marks, and the arithmetic that leads from them to each number.

Every line of the patch is printed with its number and, where it counts, a letter: what colour shows on a terminal, the letter says
anywhere. The marks come from the same functions of the core that the scores come from.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from hunkwatch import app, settings
from hunkwatch.cli import intake, judging, options, printing
from hunkwatch.core import caveats, dialects, discover, grammar
from hunkwatch.core.model import Action, Malformed
from hunkwatch.core.scoring import blind_rewrite, retyped_lines, tally
from hunkwatch.errors import Exit, Halt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hunkwatch.core.model import Call, FileEdit, Hunk, Patch
    from hunkwatch.langfuse.links import Links

BLIND, RETYPED, KEPT = "B", "R", "="
LEGEND = f"{BLIND} part of a blind rewrite   {RETYPED} deleted and added again unchanged   {KEPT} kept line that anchors a change"

_STYLES = {"-": "red", "+": "green"}


def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="FILE|OBSERVATION_ID|TRACE_ID", help="A file as for `score`, or an id to read from Langfuse; - reads stdin."
        ),
    ],
    *,
    config: options.Config = None,
    base_url: options.BaseUrl = None,
    assigned: options.Set = None,
    parsers: Annotated[bool, typer.Option("--parsers", help="Say what the parsers of five agents would make of the text.")] = False,
) -> None:
    """Show a patch with what was counted in it, and how its scores come about.

    A file needs no Langfuse. An id is read with the configured keys; nothing is written.
    """
    links: Links | None = None
    if subject == "-" or Path(subject).exists():
        items = _from_file(subject)
        calls = [call for item in items if not isinstance(item, intake.Unreadable) for call in item]
    else:
        loaded = options.load(config, {"langfuse.base_url": base_url}, assigned, required=settings.CREDENTIALS)
        observations, links = asyncio.run(app.fetch(loaded.settings, subject))
        if not observations:
            raise Halt(
                f"there is no file, observation or trace {printing.printable(subject)}",
                mend="Give a file, or an id of the project that the key belongs to.",
                exit_code=Exit.USAGE,
            )
        calls = [call for observation in observations for call in discover.calls(observation)]
    if not calls:
        printing.remark("no apply_patch call in it")
        raise typer.Exit(Exit.USAGE)
    _show(calls, _verdicts if parsers else _no_verdicts, links)


def _from_file(subject: str) -> list[intake.Item]:
    with intake.open_file(subject) as stream:
        return list(intake.read(stream, app.observation))


def _show(calls: Sequence[Call], verdicts: Callable[[str], Iterator[str]], links: Links | None) -> None:
    judged = judging.judge(calls, keep_patches=True)
    for number, call in enumerate(judged, start=1):
        link = links.observation(call.call.trace_id, call.call.observation_id) if links else ""
        printing.show(*_lines(number, call, link), *(verdicts(call.patch) if call.patch is not None else ()), "")
    if len(judged) > 1 and judged[0].call.trace_id and len({one.call.trace_id for one in judged}) == 1:
        printing.show(*_together(judged, links.trace(judged[0].call.trace_id) if links else ""), "")
    printing.show(LEGEND, *(f"{name}: {caveats.of(name).caveat}" for name in ("blind_rewrite_patch", "retyped_lines_patch", "patch_shape")))


def _no_verdicts(_text: str) -> Iterator[str]:
    yield from ()


def _verdicts(text: str) -> Iterator[str]:
    yield "  of the text alone, as far as it is known (whether the lines are found in the file is not):"
    for judgement in dialects.judge(text):
        because = f" ({', '.join(judgement.because)})" if judgement.because else ""
        yield f"    {judgement.parser.value} {judgement.verdict.value}{because}"


def _lines(number: int, judged: judging.Judged, link: str) -> Iterator[Text | str]:
    call = judged.call
    names = [
        f"{label} {value}"
        for label, value in (("trace", call.trace_id), ("observation", call.observation_id), ("call", call.call_id))
        if value
    ]
    title = ", ".join((f"patch {number}", *names, f"written by {call.producer}" if names else "", f"outcome {call.outcome.value}"))
    yield Text(printing.printable(title.replace(", ,", ",")), style="bold")
    if link:
        yield f"  {link}"
    for flag in call.flags:
        yield f"  flag {flag}: {grammar.FLAGS[flag]}" if flag in grammar.FLAGS else f"  flag {flag}"
    if judged.patch is not None:
        read = grammar.parse(judged.patch)
        yield from marked(judged.patch, () if isinstance(read, Malformed) else read)
        if not isinstance(read, Malformed):
            yield from _hunks(read)
    yield f"  patch_shape = {call.shape.value}: {caveats.SHAPES[call.shape]}{f' ({call.why})' if call.why else ''}"
    if not call.hunks:
        yield "  no hunk is counted, so there is no number: abstaining is not zero"
        return
    yield "  " + _arithmetic("blind_rewrite_patch", call.blind_hunks, call.hunks, blind_rewrite.QUARTERS, "quarters")
    lines = "more pairs of lines than the bound allows: no number" if call.retyped_lines is None else str(call.retyped_lines)
    yield f"  retyped_lines_patch = {lines}"


def _together(judged: Sequence[judging.Judged], link: str) -> Iterator[Text | str]:
    counts = tally.of([one.call for one in judged])
    yield Text(f"the trace: {len(judged)} calls", style="bold")
    if link:
        yield f"  {link}"
    if not counts.hunks:
        yield "  no hunk is counted in any of them, so there is no number"
        return
    yield "  " + _arithmetic("blind_rewrite", counts.blind_hunks, counts.hunks, blind_rewrite.HUNDREDTHS, "hundredths")
    yield f"  blind_hunks = {' + '.join(str(one.call.blind_hunks) for one in judged)} = {counts.blind_hunks}"
    terms = " + ".join("?" if one.call.retyped_lines is None else str(one.call.retyped_lines) for one in judged)
    yield f"  retyped_lines = {terms} = {'no number' if counts.retyped_lines is None else counts.retyped_lines}"


def _arithmetic(name: str, blind: int, hunks: int, steps: int, grid: str) -> str:
    value = blind_rewrite.kept(blind, hunks, steps)
    return f"{name} = 1 - {blind} blind / {hunks} hunk{'' if hunks == 1 else 's'} = {1 - blind / hunks:.4g}, floored to {grid}: {value:g}"


def _hunks(patch: Patch) -> Iterator[str]:
    for edit in patch.files:
        moved = f" -> {edit.moved_to}" if edit.moved_to else ""
        yield printing.printable(f"  {edit.action.value} {edit.path}{moved}")
        if edit.action is not Action.UPDATE:
            continue
        for number, hunk in enumerate(edit.hunks, start=1):
            yield f"    hunk {number}, {_hunk(hunk)}"


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


def marked(text: str, patch: Patch | tuple[()]) -> Iterator[Text]:
    """Yield every line of the patch with its number, its marks and its colour."""
    marks: dict[int, str] = {}
    kinds: dict[int, str] = {}
    for edit in patch.files if patch else ():
        _mark(edit, marks, kinds)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    width = len(str(len(lines)))
    for number, line in enumerate(lines, start=1):
        mark = marks.get(number, "")
        style = _STYLES.get(kinds.get(number, ""), "")
        if BLIND in mark:
            style += " bold reverse" if RETYPED in mark else " bold"
        elif RETYPED in mark:
            style += " reverse"
        elif mark == KEPT:
            style = "cyan"
        yield Text.assemble(
            (f"  {number:>{width}} {mark:<2} ", "dim"), (printing.printable(line.removesuffix("\r").expandtabs(4)), style.strip())
        )


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

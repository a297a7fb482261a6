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

from hunkwatch import app
from hunkwatch.cli import intake, options, pages, printing
from hunkwatch.core import dialects, discover
from hunkwatch.errors import Exit, Halt
from hunkwatch.report import explained, judging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hunkwatch.core.model import Call
    from hunkwatch.langfuse.links import Links
    from hunkwatch.report.explained import Explained, Line

_STYLES = {"-": "red", "+": "green"}


def explain(  # noqa: PLR0913 - each is a flag
    subject: Annotated[
        str,
        typer.Argument(
            metavar="FILE|OBSERVATION_ID|TRACE_ID", help="A file as for `score`, or an id to read from Langfuse; - reads stdin."
        ),
    ],
    *,
    config: options.Config = None,
    project: options.Project = None,
    base_url: options.BaseUrl = None,
    assigned: options.Set = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page that shows the same.")] = None,
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
        loaded = options.load_one(config, {"langfuse.base_url": base_url}, assigned, project=project)
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
    if html is not None:
        pages.write(html, _page(subject, calls))
        return
    _show(calls, _verdicts if parsers else _no_verdicts, links)


def _from_file(subject: str) -> list[intake.Item]:
    with intake.open_file(subject) as stream:
        return list(intake.read(stream, app.observation))


def _page(subject: str, calls: Sequence[Call]) -> str:
    judged = judging.judge(calls, keep_patches=True)
    told = [explained.explain(number, call) for number, call in enumerate(judged, start=1)]
    return pages.of_patches(subject, told, [*explained.together(judged)] if _is_one_trace(judged) else ())


def _is_one_trace(judged: Sequence[judging.Judged]) -> bool:
    return len(judged) > 1 and bool(judged[0].call.trace_id) and len({one.call.trace_id for one in judged}) == 1


def _show(calls: Sequence[Call], verdicts: Callable[[judging.Judged], Iterator[str]], links: Links | None) -> None:
    judged = judging.judge(calls, keep_patches=True)
    for number, call in enumerate(judged, start=1):
        link = links.observation(call.call.trace_id, call.call.observation_id) if links else ""
        printing.show(*_lines(explained.explain(number, call), link), *(verdicts(call) if call.patch is not None else ()), "")
    if _is_one_trace(judged):
        link = links.trace(judged[0].call.trace_id) if links else ""
        title = Text(f"the trace: {len(judged)} calls", style="bold")
        printing.show(title, *([f"  {link}"] if link else []), *(f"  {line}" for line in explained.together(judged)), "")
    printing.show(explained.LEGEND, *explained.CAVEATS)


def _no_verdicts(_call: judging.Judged) -> Iterator[str]:
    yield from ()


def _verdicts(call: judging.Judged) -> Iterator[str]:
    yield "  of the text alone, as far as it is known (whether the lines are found in the file is not):"
    for judgement in dialects.judge(call.patch or "", call.call.flags):
        because = f" ({', '.join(judgement.because)})" if judgement.because else ""
        yield f"    {judgement.parser.value} {judgement.verdict.value}{because}"


def _lines(call: Explained, link: str) -> Iterator[Text | str]:
    yield Text(printing.printable(call.title), style="bold")
    if link:
        yield f"  {link}"
    yield from (f"  {flag}" for flag in call.flags)
    yield from coloured(call.lines)
    yield from (f"  {printing.printable(hunk)}" for hunk in call.hunks)
    yield from (f"  {sentence}" for sentence in call.verdict)


def coloured(lines: Sequence[Line]) -> Iterator[Text]:
    """Yield the lines of a patch with their numbers, marks and colours."""
    width = len(str(len(lines)))
    for number, mark, kind, text in lines:
        style = _STYLES.get(kind, "")
        if explained.BLIND in mark:
            style += " bold reverse" if explained.RETYPED in mark else " bold"
        elif explained.RETYPED in mark:
            style += " reverse"
        elif mark == explained.KEPT:
            style = "cyan"
        yield Text.assemble((f"  {number:>{width}} {mark:<2} ", "dim"), (printing.printable(text), style.strip()))

"""``score``: the numbers of patches that are already here, without Langfuse and without state; and a gate for CI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from hunkwatch import app
from hunkwatch.cli import intake, printing
from hunkwatch.core import caveats
from hunkwatch.errors import Exit
from hunkwatch.report import judging

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hunkwatch.core.model import Call

_MOST_REMARKS = 5
_SHORT = 12


def score(  # noqa: PLR0913 - each is a flag
    files: Annotated[
        list[str], typer.Argument(metavar="FILE|-...", help="Patch text, one observation, or JSON or JSONL of observations; - reads stdin.")
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a call, one a line.")] = False,
    with_text: Annotated[bool, typer.Option("--text", help="With --json: add the patch that was found.")] = False,
    fail_under: Annotated[
        float | None, typer.Option(min=0, max=1, help="Gate: fail when a call's blind_rewrite is less. 1 allows no blind rewrite.")
    ] = None,
    max_retyped: Annotated[int | None, typer.Option(min=0, help="Gate: fail when a call retypes more lines than this.")] = None,
    allow_nothing: Annotated[bool, typer.Option("--allow-nothing", help="Gate: pass when nothing could be judged.")] = False,
) -> None:
    """Score patches offline: what is in files or comes in on stdin.

    Observations may be in the form of Langfuse's v1 or v2 API. Each call is printed once, however often it was recorded.
    With a gate the exit code is 1 when a call of any file does not pass, and 2 when nothing could be judged in any of them.
    """
    gate, several = judging.Gate(fail_under, max_retyped), len(files) > 1
    # Each file by itself: the same patch in two files is two calls.
    scored = [_score_one(file, gate, named=several, as_json=as_json, with_text=with_text) for file in files]
    codes = {code for code, _ in scored}
    if not as_json and any(calls for _, calls in scored):
        printing.show(f"{caveats.of('blind_rewrite_patch').caveat}\n{caveats.of('retyped_lines_patch').caveat}")
    if gate.is_set and (allow_nothing or len(codes) > 1):
        codes.discard(Exit.USAGE)
    code = next((code for code in (Exit.FINDING, Exit.USAGE) if code in codes), Exit.OK)
    if code is not Exit.OK:
        raise typer.Exit(code)


def _score_one(file: str, gate: judging.Gate, *, named: bool, as_json: bool, with_text: bool) -> tuple[Exit, int]:
    given, before = _Given(file), f"{printing.printable(file)}: " if named else ""
    calls = judging.judge(given, keep_patches=with_text)
    if as_json:
        for call in calls:
            printing.show_json(({"file": file} if named else {}) | call.as_json(with_patch=with_text))
    elif calls:
        printing.show(*([before] if named else []), _table(calls))
    given.remark(len(calls))
    return _verdict(gate, calls, given.unreadable, before) if gate.is_set else given.exit, len(calls)


class _Given:
    """The calls of the input, once; afterwards it knows what could not be read."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.unreadable: list[intake.Unreadable] = []
        self._readable = 0

    def __iter__(self) -> Iterator[Call]:
        with intake.open_file(self._file) as stream:
            for item in intake.read(stream, app.observation):
                if isinstance(item, intake.Unreadable):
                    self.unreadable.append(item)
                else:
                    self._readable += 1
                    yield from item

    @property
    def exit(self) -> Exit:
        return Exit.USAGE if self.unreadable and not self._readable else Exit.OK

    def remark(self, calls: int) -> None:
        for bad in self.unreadable[:_MOST_REMARKS]:
            printing.remark(f"{bad.where}: {bad.why}; left out")
        if len(self.unreadable) > _MOST_REMARKS:
            printing.remark(f"{len(self.unreadable) - _MOST_REMARKS} more could not be read")
        if not calls:
            printing.remark(f"no apply_patch call found in {self._readable} observation{'' if self._readable == 1 else 's'}")


def _verdict(gate: judging.Gate, calls: list[judging.Judged], unreadable: Sequence[intake.Unreadable], before: str) -> Exit:
    judged = [call for call in calls if gate.judges(call)]
    if not judged:
        printing.remark(f"{before}nothing could be judged")
        return Exit.USAGE
    failed = [(call, reason) for call in judged for reason in gate.reasons(call)]
    for call, reason in failed:
        printing.remark(f"{before}{_name(call)}: {reason}")
    missed = sum(map(gate.misses, calls))
    if missed:
        told = f"{missed} call{'' if missed == 1 else 's'} could not be counted (unreadable, malformed, truncated or past the bound)"
        printing.remark(f"{before}{told}, so not everything was judged")
    if unreadable:
        printing.remark(f"{before}{len(unreadable)} could not be read, so not everything was judged")
    return Exit.FINDING if failed or unreadable else Exit.OK


def _name(judged: judging.Judged) -> str:
    call = judged.call
    names = (
        call.trace_id,
        call.observation_id,
        call.call_id or "",
        f"patch {call.index + 1}" if call.index or not call.observation_id else "",
    )
    return " ".join(name for name in names if name)


def _table(calls: list[judging.Judged]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    traced = any(judged.call.trace_id for judged in calls)
    for column in ("trace", "observation") if traced else ("patch",):
        table.add_column(column)
    for column in ("producer", "outcome", "shape"):
        table.add_column(column)
    for column in ("blind_rewrite", "blind/hunks", "retyped_lines"):
        table.add_column(column, justify="right")
    table.add_column("flags")
    for number, judged in enumerate(calls, start=1):
        call = judged.call
        names = (call.trace_id[:_SHORT], call.observation_id[:_SHORT]) if traced else (str(number),)
        value = judged.blind_rewrite
        table.add_row(
            *(Text(printing.printable(name)) for name in names),
            Text(call.producer),
            Text(call.outcome.value),
            Text(call.shape.value, style=_STYLES.get(call.shape.value, "")),
            Text("-" if value is None else f"{value:g}", style="" if value in {None, 1.0} else "yellow"),
            Text(f"{call.blind_hunks}/{call.hunks}"),
            Text("-" if judged.retyped_lines is None else str(judged.retyped_lines), style="yellow" if judged.retyped_lines else ""),
            Text(printing.printable(", ".join(call.flags) or call.why)),
        )
    return table


_STYLES = {"unresolved": "dim", "malformed": "red", "truncated": "red", "file_rewrite": "yellow", "blind_rewrite": "yellow"}

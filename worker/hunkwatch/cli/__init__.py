"""The verbs of the command line: parse, ask ``app``, print, exit with a documented code.

Data goes to stdout, logs and remarks to stderr. Verbs are loaded when they are called, so that help and offline scoring need
neither a database nor Langfuse.
"""

from __future__ import annotations

import sys
from importlib import metadata
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch.cli import (
    backfill,
    bulk,
    dead_letters,
    explain,
    export_evaluator,
    failures,
    inspect,
    moving,
    play,
    printing,
    purge,
    report,
    rescore,
    run,
    score,
    setup,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_EPILOG = (
    "Exit codes: 0 fine; 1 a check or a gate failed; 2 wrong words, or nothing to judge; 69 Langfuse not reachable; 70 a fault of ours; "
    "74 state file; 75 not finished, run again; 77 wrong key or no permission; 78 configuration."
)

app = typer.Typer(
    name="hunkwatch",
    help="Finds every apply_patch call in Langfuse traces, scores each patch from its text alone, and writes the scores back.",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_DAILY, _LONG, _LOOK, _TRY = "Work", "Long work", "Look", "Try"

app.command(rich_help_panel=_DAILY)(run.run)
app.command(rich_help_panel=_DAILY)(inspect.check)
app.command(rich_help_panel=_DAILY)(inspect.status)
app.command(rich_help_panel=_DAILY)(setup.setup)
app.add_typer(dead_letters.verbs, name="dead-letters", rich_help_panel=_DAILY)
app.command(rich_help_panel=_LONG)(backfill.backfill)
app.command(rich_help_panel=_LONG)(rescore.rescore)
app.command(rich_help_panel=_LONG)(purge.purge)
app.command(rich_help_panel=_LONG)(moving.migrate_store)
app.command(rich_help_panel=_LONG)(bulk.bulk)
app.command(rich_help_panel=_LOOK)(score.score)
app.command(rich_help_panel=_LOOK)(explain.explain)
app.command(rich_help_panel=_LOOK)(export_evaluator.export_evaluator)
app.command(rich_help_panel=_LOOK)(report.report)
app.command(rich_help_panel=_TRY)(play.demo)
app.command(rich_help_panel=_TRY)(play.seed)
app.command(rich_help_panel=_TRY)(play.sandbox)


def _show_version(asked: bool) -> None:  # noqa: FBT001 - typer calls it with the flag's value
    if asked:
        printing.show(f"hunkwatch {metadata.version('hunkwatch')}")
        raise typer.Exit


@app.callback()
def _everywhere(
    *,
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="On an unexpected error, print the calls that led to it.")] = False,
) -> None:
    """Take what stands before any verb; both are acted on elsewhere."""
    del version, debug


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code. Never raises."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    printing.begin()
    try:
        code = _run(words)
        printing.finish()
    except SystemExit as leaving:
        return _code(leaving)
    return code


def _run(words: list[str]) -> int:
    try:
        app(words, prog_name="hunkwatch")
    except SystemExit as leaving:
        return _code(leaving)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last place where an error can become one line
        lines, code = failures.explain(error)
        if lines:
            printing.remark(*lines)
        if "--debug" in words:
            printing.remark(failures.trace_of(error))
        return code
    return 0


def _code(leaving: SystemExit) -> int:
    return leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1

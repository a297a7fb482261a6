"""``bulk``: whole exports, without a server: files in, Parquet out."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from hunkwatch import errands, settings
from hunkwatch.cli import options, printing, waiting
from hunkwatch.daemon.progress import Progress
from hunkwatch.errors import Exit, Halt

if TYPE_CHECKING:
    from hunkwatch.bulk.run import Step, Summary
    from hunkwatch.daemon.handover import HandedOver

_MOST_REMARKS = 5


def bulk(  # noqa: PLR0913 - each is a flag
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Files, folders or patterns, local or s3://.")],
    *,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Where results go; also what was read, to go on after an interruption.")],
    workers: Annotated[int, typer.Option("--workers", min=1, help="Files that are read at once.")] = 1,
    ray: Annotated[bool, typer.Option("--ray", help="Run on Ray on this machine, with as many workers (extra ray).")] = False,
    ray_address: Annotated[
        str | None, typer.Option("--ray-address", metavar="ADDRESS", help="Run on this Ray cluster; DIR has to be reachable from it.")
    ] = None,
    project: Annotated[str, typer.Option("--project", metavar="ID", help="The project, for exports that do not name it.")] = "",
    sample: Annotated[float, typer.Option("--sample", min=0, max=1, help="Share of the traces that is read, chosen by trace id.")] = 1.0,
    deliver: Annotated[
        bool, typer.Option("--deliver", help="Then take the calls on record and send their scores to Langfuse, like `run --once`.")
    ] = False,
    as_json: options.AsJson = False,
    config: options.Config = None,
    base_url: options.BaseUrl = None,
    state: options.State = None,
    log_level: options.LogLevel = None,
    assigned: options.Set = None,
) -> None:
    """Score Langfuse exports: blob storage (JSON, JSONL, CSV, Parquet; gzip), exports from the UI, pages of the API.

    DIR gets calls/ (one row a call), traces/ (one row a trace), rejects.jsonl (rows that are none, with reasons) and summary.json. Run it
    again over a growing export: only files that are new or changed are read. Exits with 75 when a file could not be read to its end, or
    when --deliver sent scores that were not yet seen: run it again.
    """
    try:
        from hunkwatch.bulk import run as work  # noqa: PLC0415 - needs an extra
        from hunkwatch.bulk.engines import LOCAL, Engine  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        mend = 'Install it with pip install "hunkwatch[bulk]".'
        raise Halt(f"bulk needs {missing.name}, which is not installed", mend=mend, exit_code=Exit.USAGE) from missing
    engine = Engine(workers, ray_address or (LOCAL if ray else None))
    flags = {"langfuse.base_url": base_url, "store.url": options.address(state), "log.level": log_level, "sweep.sample": sample}
    loaded = _for_one_project(options.load(config, flags, assigned, required=settings.CREDENTIALS)) if deliver else None
    with waiting.shown("bulk", rate=_rate) as tell:
        summary = work.run(sources, out, engine, project=project, sample=sample, tell=lambda step: tell(_progress(step)))
    handed = None
    if loaded is not None:
        with waiting.shown("handover", rate=lambda step, seconds: waiting.per_minute(step.observations, seconds)) as tell:
            handed = asyncio.run(errands.hand_over(loaded.settings, out, tell=tell, notices=loaded.deprecated))
    _show(summary, out, handed, as_json=as_json)
    if summary.failed or (handed is not None and not handed.finished):
        raise typer.Exit(Exit.TEMPORARY)


def _for_one_project(loaded: settings.Loaded) -> settings.Loaded:
    match list(settings.each(loaded.settings).values()):
        case [only]:
            return replace(loaded, settings=only)
        case _:
            raise typer.BadParameter("--deliver hands over to one project: name a file that has that one alone", param_hint="--config")


def _progress(step: Step) -> Progress:
    """Reading is nearly all of the work; scoring is the rest."""
    share = step.done / step.total
    return Progress(share * 0.9 if step.stage == "reading" else 0.9 + share * 0.1, 1.0, step.rows, step.calls)


def _rate(step: Progress, seconds: float) -> str:
    return f"{step.observations} rows, {step.calls} calls, {waiting.per_minute(step.observations, seconds)}"


def _show(summary: Summary, out: str, handed: HandedOver | None, *, as_json: bool) -> None:
    for failed in summary.failed[:_MOST_REMARKS]:
        printing.remark(f"not read to its end: {failed}")
    if as_json:
        told = {} if handed is None else {"taken": handed.entries, "sent": handed.delivered.sent, "seen": handed.delivered.seen}
        printing.show_json({**asdict(summary), **told})
        return
    printing.show(
        f"{summary.files} files, {summary.kept} of them read before: {summary.rows} rows, {summary.rejected} rejected.",
        f"{summary.calls} calls in {summary.traces} traces: {summary.blind} with a blind rewrite, {summary.unresolved} unresolved.",
        f"Written to {out}.",
    )
    if handed is not None:
        taken = f"{handed.entries} observations with calls taken on record"
        printing.show(f"{taken}, {handed.delivered.sent} scores sent, {handed.delivered.seen} seen in Langfuse.")
        if not handed.finished:
            printing.show("Some scores are still on their way; run it again.")

"""``check`` and ``status``: is everything in place, and where does the work stand?"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import typer
from rich.table import Table
from rich.text import Text

from hunkwatch import app, errands, settings
from hunkwatch.cli import options, printing
from hunkwatch.errors import Exit
from hunkwatch.settings import duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hunkwatch.ports import Status


_UNHEARD = {Exit.UNAVAILABLE, Exit.PERMISSION}
"""What a finding ends with where asking Langfuse for more is of no use."""


def check(  # noqa: PLR0913 - each is a flag
    *,
    as_json: options.AsJson = False,
    config: options.Config = None,
    project: options.Project = None,
    base_url: options.BaseUrl = None,
    state: options.State = None,
    log_level: options.LogLevel = None,
    assigned: options.Set = None,
) -> None:
    """Look at everything a run needs and name every problem with its mend; writes nothing anywhere.

    Configuration, credentials, server version, the reader and writer that fit it, permission to read and to write, clock skew.
    """
    try:
        flags = {"langfuse.base_url": base_url, "store.url": options.address(state), "log.level": log_level}
        loaded = options.load(config, flags, assigned, required=settings.CREDENTIALS, project=project)
    except settings.BadSettings as bad:
        findings: list[app.Finding] = [
            app.Finding(
                "configuration", ok=False, message=str(problem), mend="config.example.toml explains every setting.", exit=Exit.CONFIG
            )
            for problem in bad.problems
        ]
        given: dict[str, object] = {}
    else:
        place = str(loaded.config_file) if loaded.config_file else "no file"
        findings = [app.Finding("configuration", ok=True, message=f"{place}; {len(loaded.origins)} settings given")]
        findings += [app.Finding("configuration", ok=True, message=f"{old.old} is the old name of {old.new}") for old in loaded.deprecated]
        for name, its in settings.each(loaded.settings).items():
            findings += _of_project(name, its)
        values = settings.redacted(loaded.settings)
        given = {key: {"value": values[key], "from": origin} for key, origin in sorted(loaded.origins.items())}
    if as_json:
        printing.show_json(
            {"ok": all(finding.ok for finding in findings), "findings": [asdict(finding) for finding in findings], "given": given}
        )
    else:
        printing.show(
            _findings(findings),
            *(f"  {key} = {value['value']}  ({value['from']})" for key, value in given.items() if isinstance(value, dict)),
        )
    failed = [finding for finding in findings if not finding.ok]
    if failed:
        raise typer.Exit(next((finding.exit for finding in failed if finding.exit is not Exit.OK), Exit.FINDING))


def _of_project(name: str, its: settings.Settings) -> Sequence[app.Finding]:
    found = list(asyncio.run(app.check(its)))
    if not any(finding.exit in _UNHEARD for finding in found):
        found.append(app.Finding("cost", ok=True, message=asyncio.run(errands.cost(its))))
    return [replace(finding, subject=f"{name}: {finding.subject}") for finding in found] if name else found


def status(
    *,
    as_json: options.AsJson = False,
    config: options.Config = None,
    state: options.State = None,
    log_level: options.LogLevel = None,
    assigned: options.Set = None,
) -> None:
    """Say where the work stands, from the state alone; works while a worker runs and asks Langfuse nothing."""
    loaded = options.load(config, {"store.url": options.address(state), "log.level": log_level}, assigned)
    report = asyncio.run(app.status(loaded.settings))
    now = datetime.now(UTC)
    if as_json:
        printing.show_json(
            {
                "store": report.store,
                "scorer": report.scorer,
                "projects": {name: {**status_json(one), "links": _links(report, name)} for name, one in report.projects.items()},
            }
        )
        return
    printing.show(f"state {report.store}, scorer {report.scorer}")
    if not report.projects:
        printing.show("No project is on record yet; `hunkwatch run` makes the first sweep.")
    for name, one in report.projects.items():
        printing.show("", _status(name, one, now), *(f"low {what}: {link}" for what, link in _links(report, name).items()))


def _links(report: app.StatusReport, project: str) -> dict[str, str]:
    links = report.links.get(project)
    return {"traces": links.traces(), "observations": links.observations()} if links else {}


def status_json(one: Status) -> dict[str, object]:
    """Return a project's counts as JSON values."""
    return {
        "watermarks": {lane: at.isoformat() for lane, at in one.watermarks.items()},
        "outbox": {state.value: count for state, count in one.outbox.items()},
        "oldest_undelivered": one.oldest_undelivered.isoformat() if one.oldest_undelivered else None,
        "observations": one.observations,
        "calls_by_producer": dict(one.calls_by_producer),
        "unresolved_by_producer": dict(one.unresolved_by_producer),
        "shapes": dict(one.shapes),
        "outcomes": dict(one.outcomes),
        "sent_per_day": [{"day": day, "name": name, "sends": sends} for day, name, sends in one.sent_per_day],
        "older_scorer": one.older_scorer,
        "traces_waiting": one.traces_waiting,
        "poison": one.poison,
        "lag_seconds": dict(one.lag_seconds),
    }


def _status(name: str, one: Status, now: datetime) -> Table:
    table = Table(title=f"project {name}", box=None, show_header=False, title_justify="left", pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    oldest = one.oldest_undelivered
    rows: Iterable[tuple[str, str]] = (
        *((f"read up to ({lane})", f"{at:%Y-%m-%d %H:%M:%S} UTC, {_ago(now, at)}") for lane, at in one.watermarks.items()),
        ("observations", str(one.observations)),
        ("records by producer", _pairs(one.calls_by_producer.items())),
        ("unresolved by producer", _pairs(one.unresolved_by_producer.items())),
        ("records by shape", _pairs(one.shapes.items())),
        ("records by outcome", _pairs(one.outcomes.items())),
        ("outbox", _pairs((state.value, count) for state, count in one.outbox.items())),
        ("oldest undelivered", _ago(now, oldest) if oldest else "none"),
        ("traces waiting", str(one.traces_waiting)),
        ("unreadable observations", str(one.poison)),
        ("scores of an older scorer", str(one.older_scorer)),
        ("lag, largest lately", ", ".join(f"{producer} {seconds:.0f} s" for producer, seconds in one.lag_seconds.items()) or "-"),
        *((f"sent {day}", f"{count} {score}") for day, score, count in one.sent_per_day),
    )
    for label, value in rows:
        table.add_row(Text(label), Text(value))
    return table


def _pairs(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts if count) or "-"


def _ago(now: datetime, at: datetime) -> str:
    return f"{duration.render(timedelta(seconds=max(int((now - at).total_seconds()), 0)))} ago"


def _findings(findings: Sequence[app.Finding]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for finding in findings:
        mark = Text("ok", style="green") if finding.ok else Text("FAIL", style="bold red")
        table.add_row(mark, Text(finding.subject), Text(f"{finding.message}\n{finding.mend}".rstrip()))
    return table

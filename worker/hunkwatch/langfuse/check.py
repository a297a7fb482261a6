"""Look at everything that a worker needs of a server, in one pass, without writing anything.

Each question is asked even when an earlier one failed, so that everything wrong is known at once. May the key write? A body that
no server accepts tells: a key that may write is told that the body is wrong, one that may not is told that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hunkwatch.errors import Exit, Halt, HunkwatchError, Refused, RetryLater
from hunkwatch.langfuse import wire
from hunkwatch.langfuse.faults import Forbidden, Right, forbidden
from hunkwatch.langfuse.http import Route
from hunkwatch.langfuse.probe import HEALTH, OBSERVATIONS_V1, OBSERVATIONS_V2, Reader, Writer, probe, writer_for
from hunkwatch.langfuse.writer import INGESTION, SCORES

if TYPE_CHECKING:
    from datetime import datetime

    from hunkwatch.langfuse.http import Http
    from hunkwatch.langfuse.probe import Abilities
    from hunkwatch.ports import Clock

MOST_SKEW = 120
"""Seconds that the two clocks may differ before it is said: scores carry their own times, so nothing breaks at once."""


@dataclass(frozen=True, slots=True)
class Found:
    """One answer. ``mend`` is one sentence, ``""`` where all is well; ``exit`` what a process should end with."""

    subject: str
    ok: bool
    message: str
    mend: str = ""
    exit: Exit = Exit.OK


async def look(http: Http, clock: Clock, *, base_url: str) -> list[Found]:
    """Return every finding, in the order of a talk with the server."""
    found: list[Found] = []
    date: datetime | None = None
    version = ""
    try:
        health = await http.get(HEALTH, route=Route.HEALTH)
        date = health.date
        version = wire.version_of(health.content)
        found.append(_ok("server", f"Langfuse {version}") if version else _not_langfuse())
    except HunkwatchError as error:
        found.append(_wrong("server", error))
    if not found[0].ok:
        return found
    try:
        abilities = await probe(http, base_url=base_url, now=clock.now())
    except Forbidden as error:
        # A key that may do something shows by what it may do, asked one by one.
        found.append(_wrong("credentials", error))
        await _may_read(http, found, Reader.V2)
        await _may_write(http, found, writer_for(version, base_url=base_url))
    except HunkwatchError as error:
        found.append(_wrong("credentials", error))
    else:
        _tell_abilities(found, abilities)
        await _may_read(http, found, abilities.reader)
        await _may_write(http, found, abilities.writer)
    if date is not None:
        _compare_clocks(found, date, clock.now())
    return found


def _tell_abilities(found: list[Found], abilities: Abilities) -> None:
    found.append(_ok("credentials", f"project {abilities.project_name or abilities.project_id}"))
    found.append(_ok("reader", f"{abilities.reader}, since {abilities.why}"))
    found.append(_ok("writer", f"{abilities.writer}, since {abilities.why}"))


async def _may_read(http: Http, found: list[Found], reader: Reader) -> None:
    try:
        if reader is Reader.V2:
            await http.get(OBSERVATIONS_V2, route=Route.OBSERVATIONS_V2, query=wire.query(fields=wire.LEAST_FIELDS, limit=1))
        else:
            await http.get(OBSERVATIONS_V1, route=Route.OBSERVATIONS_V1, query=wire.query(limit=1))
    except HunkwatchError as error:
        found.append(_wrong("may read observations", error))
    else:
        found.append(_ok("may read observations", "yes"))


async def _may_write(http: Http, found: list[Found], writer: Writer) -> None:
    subject = "may write scores"
    if writer is Writer.LIST:
        path, route, body = SCORES, Route.SCORES_WRITE, b"[{}]"
    else:
        path, route, body = INGESTION, Route.INGESTION, b'{"batch":[{"type":"score-create"}]}'
    try:
        answer = await http.post(path, body, route=route)
    except Refused:
        found.append(_ok(subject, "yes (an invalid body was refused as invalid, nothing was written)"))
    except HunkwatchError as error:
        found.append(_wrong(subject, error))
    else:
        told = [event.status for event in wire.event_answers(answer.content)]
        if any(status in {401, 403} for status in told):
            found.append(_wrong(subject, forbidden("Langfuse refused the event", Right.WRITE)))
        else:
            found.append(_ok(subject, "yes (an invalid body was refused as invalid, nothing was written)"))


def _compare_clocks(found: list[Found], theirs: datetime, ours: datetime) -> None:
    skew = round((ours - theirs).total_seconds())
    if abs(skew) <= MOST_SKEW:
        found.append(_ok("clocks", f"{abs(skew)} s apart"))
        return
    direction = "ahead of" if skew > 0 else "behind"
    mend = "Set this machine's clock (NTP): windows and read-backs follow it."
    found.append(Found("clocks", ok=False, message=f"this machine is {abs(skew)} s {direction} the server", mend=mend, exit=Exit.FINDING))


def _ok(subject: str, message: str) -> Found:
    return Found(subject, ok=True, message=message)


def _not_langfuse() -> Found:
    return Found(
        "server",
        ok=False,
        message="the address answers, but not as Langfuse does",
        mend="Check LANGFUSE_BASE_URL: scheme, host and base path, without /api or /project.",
        exit=Exit.UNAVAILABLE,
    )


def _wrong(subject: str, error: HunkwatchError) -> Found:
    match error:
        case Halt():
            return Found(subject, ok=False, message=str(error), mend=error.mend, exit=error.exit_code)
        case RetryLater():
            mend = "Check LANGFUSE_BASE_URL, the network and the server; then try again."
            return Found(subject, ok=False, message=str(error), mend=mend, exit=Exit.UNAVAILABLE)
        case _:
            mend = "Check that the server is a supported version of Langfuse."
            return Found(subject, ok=False, message=str(error), mend=mend, exit=Exit.UNAVAILABLE)

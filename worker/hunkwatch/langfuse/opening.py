"""Open a conversation with one Langfuse project and choose how it is read and written."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

import httpx

from hunkwatch.core import discover
from hunkwatch.langfuse import check
from hunkwatch.langfuse.http import ATTEMPTS, Http
from hunkwatch.langfuse.probe import Reader, Writer, probe
from hunkwatch.langfuse.reader import ReaderV2
from hunkwatch.langfuse.reader_v1 import ReaderV1
from hunkwatch.langfuse.writer import IngestionOffer, ListOffer, Sink

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from hunkwatch.events import Emit
    from hunkwatch.langfuse.probe import Abilities
    from hunkwatch.ports import Clock, ObservationSource, ScoreSink
    from hunkwatch.settings import LangfuseSection

_CONNECTIONS = httpx.Limits(max_connections=8, max_keepalive_connections=4)


@dataclass(frozen=True, slots=True)
class Langfuse:
    """One project, opened: who answers, where observations come from, where scores go."""

    abilities: Abilities
    source: ObservationSource
    sink: ScoreSink


@asynccontextmanager
async def open_langfuse(section: LangfuseSection, *, clock: Clock, emit: Emit) -> AsyncIterator[Langfuse]:
    """Probe the server and open its project; raises Halt when going on makes no sense, RetryLater when the server is away."""
    async with _conversation(section, clock=clock, emit=emit) as http:
        abilities = await probe(http, base_url=section.base_url)
        reader = ReaderV2 if abilities.reader is Reader.V2 else ReaderV1
        offer = ListOffer if abilities.writer is Writer.LIST else IngestionOffer
        yield Langfuse(
            abilities,
            reader(http, names=discover.NAMES),
            Sink(http, offer(http, {}), reads_v3=abilities.reader is Reader.V2),
        )


async def check_langfuse(section: LangfuseSection, *, clock: Clock, emit: Emit) -> Sequence[check.Found]:
    """Look at everything that a worker needs of the server, in one pass, without writing anything."""
    async with _conversation(section, clock=clock, emit=emit, attempts=2) as http:
        return await check.look(http, clock, base_url=section.base_url)


@asynccontextmanager
async def _conversation(section: LangfuseSection, *, clock: Clock, emit: Emit, attempts: int = ATTEMPTS) -> AsyncIterator[Http]:
    async with httpx.AsyncClient(
        base_url=f"{section.base_url}/",
        auth=httpx.BasicAuth(section.public_key, section.secret_key.get_secret_value()),
        timeout=httpx.Timeout(section.timeout.total_seconds(), connect=min(10.0, section.timeout.total_seconds())),
        limits=_CONNECTIONS,
        headers={"User-Agent": f"hunkwatch/{version('hunkwatch')}", "Accept": "application/json"},
    ) as client:
        yield Http(client, clock=clock, emit=emit, per_minute=section.requests_per_minute, attempts=attempts)

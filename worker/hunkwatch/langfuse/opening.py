"""Open a conversation with one Langfuse project, choose how it is read and written, and choose anew when the server changes.

Opening probes: whoever gets a ``Langfuse`` knows who answers. A server that is upgraded underneath shows it by an answer that does not
fit any more, or by the version in its health, which is asked for every quarter of an hour; then reader and writer are chosen again.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from hunkwatch import events
from hunkwatch.core import discover
from hunkwatch.errors import Exit, Halt, HunkwatchError, RetryLater
from hunkwatch.langfuse import check, configs, setup, wire
from hunkwatch.langfuse.faults import Missing, SingleWanted
from hunkwatch.langfuse.http import ATTEMPTS, Http, Route
from hunkwatch.langfuse.media import Media
from hunkwatch.langfuse.probe import HEALTH, Abilities, Reader, Writer, probe
from hunkwatch.langfuse.reader import ReaderV2
from hunkwatch.langfuse.reader_v1 import ReaderV1
from hunkwatch.langfuse.selection import Selection
from hunkwatch.langfuse.writer import IngestionOffer, ListOffer, Sink
from hunkwatch.settings import DiscoverSection, SelectSection

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from typing import TypeVar

    from hunkwatch.core.model import Observation
    from hunkwatch.core.window import Window
    from hunkwatch.events import Emit
    from hunkwatch.langfuse.setup import Hand, NoDashboards, Step
    from hunkwatch.ports import Clock, ObservationKey, ObservationSource, Page, Parcel, Receipt, ScoreSink, SeenScore
    from hunkwatch.settings import LangfuseSection

    T = TypeVar("T")

LOOK_AGAIN = 900.0
"""Seconds between looks at the server's version."""

_CONNECTIONS = httpx.Limits(max_connections=8, max_keepalive_connections=4)
FEW_ATTEMPTS = 2
"""For somebody who waits."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What of a project is read, and what is asked for to find it."""

    select: SelectSection = field(default_factory=SelectSection)
    discover: DiscoverSection = field(default_factory=DiscoverSection)


class Langfuse:
    """One project, opened: who answers, where observations come from, where scores go.

    It is its own source and sink, and hands every question to the reader and the writer that fit the server now.
    """

    def __init__(  # noqa: PLR0913 - what an opened project is made of
        self,
        http: Http,
        abilities: Abilities,
        configs_of: Mapping[str, str],
        *,
        base_url: str,
        reading: Reading,
        media: Media | None,
        clock: Clock,
        emit: Emit,
    ) -> None:
        """``configs_of`` are ids of score configs by score name."""
        self._http = http
        self._reading = reading
        self._media = media
        self._base_url = base_url
        self._clock = clock
        self._emit = emit
        self._without_lists = ""
        """The version that refused a list of scores although it should take them."""
        self._fit(abilities, configs_of)

    @property
    def abilities(self) -> Abilities:
        """Return who answered last."""
        return self._abilities

    @property
    def source(self) -> ObservationSource:
        """Return where observations come from."""
        return self

    @property
    def sink(self) -> ScoreSink:
        """Return where scores go."""
        return self

    async def candidates(self, window: Window, *, complete: bool) -> AsyncIterator[Page]:
        """Page through what may carry a call; see ``ports.ObservationSource``."""
        await self._look_again()
        try:
            async for page in self._reader.candidates(window, complete=complete):
                yield await self._filled(page) if page.complete else page
        except Missing as error:
            raise await self._altered(error) from error

    async def read(self, observations: Sequence[Observation]) -> Page:
        """Return the same observations whole; see ``ports.ObservationSource``."""
        return await self._filled(await self._noticing(lambda: self._reader.read(observations)))

    async def following(self, observations: Sequence[Observation]) -> Mapping[ObservationKey, Observation]:
        """Return the next generation of each one's session; see ``ports.ObservationSource``."""
        return await self._noticing(lambda: self._reader.following(observations))

    async def fetch(self, *, trace_id: str | None = None, observation_id: str | None = None) -> Sequence[Observation]:
        """Return whole observations by trace or by id; see ``ports.ObservationSource``."""
        rows = await self._noticing(lambda: self._reader.fetch(trace_id=trace_id, observation_id=observation_id))
        return rows if self._media is None else await self._media.filled(rows)

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Offer each score once; see ``ports.ScoreSink``."""
        return await self._noticing(lambda: self._sink.send(parcels))

    async def look_up(self, ids: Sequence[str]) -> Mapping[str, SeenScore]:
        """Return those of the scores that Langfuse shows now; see ``ports.ScoreSink``."""
        return await self._noticing(lambda: self._sink.look_up(ids))

    async def withdraw(self, score_id: str) -> None:
        """Ask for the deletion of one score; see ``ports.ScoreSink``."""
        await self._noticing(lambda: self._sink.withdraw(score_id))

    async def put_up(self, hand: Callable[[Http], Hand]) -> tuple[Sequence[Step], str | NoDashboards]:
        """Put up score configs and a dashboard, or rehearse it; see ``setup``."""
        return await setup.put_up(self._http, hand(self._http))

    async def take_down(self, hand: Callable[[Http], Hand]) -> Sequence[Step]:
        """Take them down, or rehearse it; see ``setup``."""
        return await setup.take_down(self._http, hand(self._http))

    async def probe(self) -> Abilities:
        """Find out anew who answers, and say so where that changed."""
        before = self._abilities
        now = await probe(self._http, base_url=self._base_url, now=self._clock.now())
        if now.project_id != before.project_id:
            raise Halt(
                "the key belongs to another project now", mend="Start again: every project has its own state.", exit_code=Exit.CONFIG
            )
        if now.server == self._without_lists and now.writer is Writer.LIST:
            now = replace(now, writer=Writer.INGESTION, why=f"{now.why}; but it refused one, so scores go as ingestion events")
        self._fit(now, await configs.fitting(self._http))
        if (now.server, now.reader, now.writer) != (before.server, before.reader, before.writer):
            self._emit(events.ServerChanged(now.project_id, now.server, now.reader.value, now.writer.value, now.why))
        return now

    async def _filled(self, page: Page) -> Page:
        """Return a complete page with the arguments that are kept elsewhere."""
        return page if self._media is None else replace(page, observations=await self._media.filled(page.observations))

    def _fit(self, abilities: Abilities, configs_of: Mapping[str, str]) -> None:
        reading, selection = self._reading, Selection(self._reading.select)
        names = (*discover.NAMES, *reading.discover.names)
        offer = ListOffer if abilities.writer is Writer.LIST else IngestionOffer
        self._abilities = abilities
        self._reader: ObservationSource
        if abilities.reader is Reader.V2:
            self._reader = ReaderV2(self._http, names=names, selection=selection, more=wire.overflowed() if self._media else ())
        else:
            names = (*names, *discover.SCRIPTS)
            self._reader = ReaderV1(self._http, names=names, types=reading.discover.types, selection=selection)
        self._sink = Sink(self._http, offer(self._http), reads_v3=abilities.shows_v3_scores, configs=configs_of)
        self._looked = self._clock.monotonic()

    async def _noticing(self, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            return await ask()
        except (Missing, SingleWanted) as error:
            raise await self._altered(error) from error

    async def _altered(self, error: Missing | SingleWanted) -> HunkwatchError:
        """Choose anew after an answer that does not fit the server as it was; the question is asked again by whoever asked it."""
        try:
            now = await self.probe()
            if isinstance(error, SingleWanted) and now.writer is Writer.LIST:
                self._without_lists = now.server
                await self.probe()
        except Halt as halt:
            if halt.exit_code is not Exit.UNAVAILABLE:
                return halt
        except RetryLater as later:
            return later
        return RetryLater(f"the server has changed: {error}")

    async def _look_again(self) -> None:
        if self._clock.monotonic() - self._looked < LOOK_AGAIN:
            return
        self._looked = self._clock.monotonic()
        try:
            health = await self._http.get(HEALTH, route=Route.HEALTH)
            if not self._abilities.settled or wire.version_of(health.content) not in {"", self._abilities.server}:
                await self.probe()
        except Halt as halt:
            if halt.exit_code is not Exit.UNAVAILABLE:
                raise
        except HunkwatchError:
            # The question that follows meets the same server, and says what it makes of it.
            return


@asynccontextmanager
async def open_langfuse(
    section: LangfuseSection, *, clock: Clock, emit: Emit, reading: Reading | None = None, attempts: int = ATTEMPTS
) -> AsyncIterator[Langfuse]:
    """Probe the server and open its project; raises Halt when going on makes no sense, RetryLater when the server is away."""
    reading = reading or Reading()
    async with _conversation(section, clock=clock, emit=emit, attempts=attempts) as http, _client(section, auth=None) as keyless:
        if section.accept_any_certificate:
            emit(events.CertificateUnchecked(urlsplit(section.base_url).netloc))
        abilities = await probe(http, base_url=section.base_url, now=clock.now())
        fitting = await configs.fitting(http)
        media = Media(http, keyless, base_url=section.base_url, emit=emit) if reading.discover.media else None
        yield Langfuse(http, abilities, fitting, base_url=section.base_url, reading=reading, media=media, clock=clock, emit=emit)


async def check_langfuse(section: LangfuseSection, *, clock: Clock, emit: Emit) -> Sequence[check.Found]:
    """Look at everything that a worker needs of the server, in one pass, without writing anything."""
    async with _conversation(section, clock=clock, emit=emit, attempts=FEW_ATTEMPTS) as http:
        return [*_unchecked(section), *await check.look(http, clock, base_url=section.base_url)]


def _unchecked(section: LangfuseSection) -> Sequence[check.Found]:
    told = "not looked at, since langfuse.accept_any_certificate is set: anybody in between can read the keys"
    return [check.Found("certificate", ok=True, message=told)] if section.accept_any_certificate else []


@asynccontextmanager
async def _conversation(section: LangfuseSection, *, clock: Clock, emit: Emit, attempts: int = ATTEMPTS) -> AsyncIterator[Http]:
    async with _client(section, auth=httpx.BasicAuth(section.public_key, section.secret_key.get_secret_value())) as client:
        yield Http(client, clock=clock, emit=emit, per_minute=section.requests_per_minute, attempts=attempts)


def _client(section: LangfuseSection, *, auth: httpx.BasicAuth | None) -> httpx.AsyncClient:
    """Return a client that obeys the environment's proxies and certificates; raises Halt when these are of no use."""
    try:
        return httpx.AsyncClient(
            base_url=f"{section.base_url}/",
            auth=auth,
            timeout=httpx.Timeout(section.timeout.total_seconds(), connect=min(10.0, section.timeout.total_seconds())),
            limits=_CONNECTIONS,
            headers={"User-Agent": f"hunkwatch/{version('hunkwatch')}", "Accept": "application/json"},
            verify=_trust(section),
        )
    except (ValueError, httpx.InvalidURL) as error:
        mend = "Correct HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or NO_PROXY: addresses like http://proxy.example:3128."
        raise Halt("the proxy of the environment cannot be used", mend=mend) from error


def _trust(section: LangfuseSection) -> ssl.SSLContext:
    """Return whose certificates are trusted: the usual ones or those of the environment, and those of the bundle beside them."""
    try:
        context = httpx.create_ssl_context(verify=not section.accept_any_certificate)
    except OSError as error:
        mend = "Correct SSL_CERT_FILE or SSL_CERT_DIR: a file or folder of certificates in PEM form."
        raise Halt("the certificates to trust cannot be read", mend=mend) from error
    if section.ca_bundle and not section.accept_any_certificate:
        try:
            context.load_verify_locations(cafile=section.ca_bundle)
        except OSError as error:
            mend = "Correct langfuse.ca_bundle (HUNKWATCH_LANGFUSE__CA_BUNDLE): a file of certificates in PEM form."
            raise Halt("the certificates to trust cannot be read", mend=mend) from error
    return context

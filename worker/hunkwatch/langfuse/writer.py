"""Write scores, read them back, withdraw them.

A 2xx means queued, not stored: the read-back is what proves a score. Both ways of writing send each score with its id, its unchanging
time and its whole payload, so that sending it again changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import quote

from hunkwatch.errors import AskForLess, Halt, Refused, RetryLater
from hunkwatch.langfuse import wire
from hunkwatch.langfuse.faults import Missing, Right, SingleWanted, refusal
from hunkwatch.langfuse.http import Route
from hunkwatch.ports import Parcel, Receipt, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hunkwatch.core.model import Score
    from hunkwatch.langfuse.http import Http
    from hunkwatch.ports import SeenScore

SCORES = "api/public/scores"
SCORES_V2 = "api/public/v2/scores"
SCORES_V3 = "api/public/v3/scores"
INGESTION = "api/public/ingestion"

LIST_ROOM = 950_000
"""Bytes of a list: the server's own limit is one million."""

BATCH_ROOM = 3_200_000
"""Bytes of an ingestion batch: documented as 3.5 MB."""

LOOK_BATCH = 100
_MULTI_STATUS = 207
_FORBIDDEN = {401, 403}
_LONGEST_REASON = 200


class Load(NamedTuple):
    """A score, ready to go. ``token`` is what the answer calls it, where answers name anything."""

    parcel: Parcel
    token: str
    body: bytes


class Offer(Protocol):
    """One way to offer scores. ``room`` is how many bytes it takes at once."""

    room: int

    def load(self, parcel: Parcel, config_id: str | None) -> Load:
        """Spell a score; raises ValueError for one that JSON cannot carry."""
        ...

    async def offer(self, loads: Sequence[Load]) -> list[Receipt]:
        """Make one request; one receipt a load, in order. Raises AskForLess or Refused when the server takes none of them."""
        ...


class IngestionOffer:
    """``POST /ingestion``: every event is answered by its own id."""

    room = BATCH_ROOM

    def __init__(self, http: Http) -> None:
        """Take the conversation."""
        self._http = http

    def load(self, parcel: Parcel, config_id: str | None) -> Load:
        """Spell an event."""
        event = wire.ingestion_event(parcel.score, config_id=config_id)
        return Load(parcel, str(event["id"]), wire.encoded(event))

    async def offer(self, loads: Sequence[Load]) -> list[Receipt]:
        """Send one batch."""
        answer = await self._http.post(INGESTION, wire.batch([load.body for load in loads]), route=Route.INGESTION)
        told = {event.id: event for event in wire.event_answers(answer.content)}
        forbidden = next((event for event in told.values() if event.status in _FORBIDDEN), None)
        if forbidden is not None:
            raise refusal(forbidden.status, forbidden.message, is_json=True, right=Right.WRITE)
        return [_receipt(load.parcel, told.get(load.token)) for load in loads]


class ListOffer:
    """``POST /scores`` with a list: accepted as a whole, or in part without saying which."""

    room = LIST_ROOM

    def __init__(self, http: Http) -> None:
        """Take the conversation."""
        self._http = http

    def load(self, parcel: Parcel, config_id: str | None) -> Load:
        """Spell an element."""
        return Load(parcel, "", wire.encoded(wire.listed_score(parcel.score, config_id=config_id)))

    async def offer(self, loads: Sequence[Load]) -> list[Receipt]:
        """Send one list."""
        answer = await self._http.post(SCORES, b"[" + b",".join(load.body for load in loads) + b"]", route=Route.SCORES_WRITE)
        if answer.status != _MULTI_STATUS:
            return [Receipt(load.parcel.score.id, Verdict.ACCEPTED) for load in loads]
        told = wire.list_told(answer.content)
        verdict = Verdict.ACCEPTED if told.rejected == 0 else Verdict.UNCERTAIN
        return [Receipt(load.parcel.score.id, verdict, told.message) for load in loads]


class Sink:
    """The port: one way to offer, one way to look, one way to withdraw."""

    def __init__(self, http: Http, offer: Offer, *, reads_v3: bool, configs: Mapping[str, str]) -> None:
        """``reads_v3``: the server shows scores through v3; older ones through v2. ``configs``: ids of score configs by score name."""
        self._http = http
        self._offer = offer
        self._configs = configs
        self._look = (SCORES_V3, wire.scores_query) if reads_v3 else (SCORES_V2, wire.scores_query_v2)

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Offer each score once; one receipt a score, in order. See ``ports.ScoreSink``."""
        receipts: dict[int, Receipt] = {}
        loads: list[tuple[int, Load]] = []
        for position, parcel in enumerate(parcels):
            try:
                loads.append((position, self._offer.load(parcel, self._config_of(parcel.score) if parcel.with_config else None)))
            except (ValueError, TypeError) as error:
                receipts[position] = _refused(parcel, f"JSON cannot carry it: {type(error).__name__}")
        answered = False
        try:
            for part in _parts(loads, self._offer.room):
                await self._through(part, receipts)
                answered = True
        except (RetryLater, Halt) as error:
            if not answered:
                raise
            # What came before is answered; of the others only a read-back tells.
            for position, load in loads:
                receipts.setdefault(position, Receipt(load.parcel.score.id, Verdict.UNCERTAIN, str(error)[:_LONGEST_REASON]))
        return [receipts[position] for position in range(len(parcels))]

    async def look_up(self, ids: Sequence[str]) -> Mapping[str, SeenScore]:
        """Return those of the scores that Langfuse shows now."""
        path, query = self._look
        found: dict[str, SeenScore] = {}
        for at in range(0, len(ids), LOOK_BATCH):
            answer = await self._http.get(path, route=Route.SCORES_READ, query=query(ids[at : at + LOOK_BATCH]))
            found.update(wire.seen_scores(answer.content))
        return found

    async def withdraw(self, score_id: str) -> None:
        """Ask for the deletion of one score; one that is not there is as good as deleted."""
        await self._http.delete(f"{SCORES}/{quote(score_id, safe='')}", route=Route.SCORE_DELETE, allow=frozenset({404}))

    async def _through(self, loads: Sequence[tuple[int, Load]], receipts: dict[int, Receipt]) -> None:
        """Offer a batch; one that is refused as a whole is offered in halves, which find the one at fault and spoil nobody else."""
        try:
            answered = await self._offer.offer([load for _, load in loads])
        except (Missing, SingleWanted):
            raise
        except (AskForLess, Refused) as error:
            if len(loads) == 1:
                position, load = loads[0]
                told = _refused(load.parcel, str(error))
                # "Too much" said of a single score may be the server's bad moment: it is tried again like one that was never seen.
                receipts[position] = replace(told, verdict=Verdict.UNCERTAIN) if isinstance(error, AskForLess) else told
                return
            half = len(loads) // 2
            await self._through(loads[:half], receipts)
            await self._through(loads[half:], receipts)
        else:
            receipts.update(zip((position for position, _ in loads), answered, strict=True))

    def _config_of(self, score: Score) -> str | None:
        return self._configs.get(score.name)


def _parts(loads: Sequence[tuple[int, Load]], room: int) -> Iterator[Sequence[tuple[int, Load]]]:
    start, size = 0, 0
    for at, (_, load) in enumerate(loads):
        if at > start and size + len(load.body) > room:
            yield loads[start:at]
            start, size = at, 0
        size += len(load.body) + 1
    if start < len(loads):
        yield loads[start:]


def _receipt(parcel: Parcel, told: wire.EventAnswer | None) -> Receipt:
    if told is None or told.status >= 500 or told.status in {0, 408, 409, 429}:  # noqa: PLR2004 - the class of server errors
        return Receipt(parcel.score.id, Verdict.UNCERTAIN, "" if told is None else told.message[:_LONGEST_REASON])
    if told.status >= 400:  # noqa: PLR2004 - the class of client errors
        return _refused(parcel, f"{told.status}: {told.message}")
    return Receipt(parcel.score.id, Verdict.ACCEPTED)


def _refused(parcel: Parcel, reason: str) -> Receipt:
    line = " ".join(reason.split())
    return Receipt(parcel.score.id, Verdict.REFUSED, line[:_LONGEST_REASON])

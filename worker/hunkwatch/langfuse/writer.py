"""Write scores, read them back, withdraw them.

A 2xx means queued, not stored: the read-back is what proves a score. Both writers send each score with its id, its unchanging time
and its whole payload, so that sending it again changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from hunkwatch.errors import AskForLess, Refused
from hunkwatch.langfuse import wire
from hunkwatch.langfuse.faults import Right, refusal
from hunkwatch.langfuse.http import Route
from hunkwatch.ports import Parcel, Receipt, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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


class Offer(Protocol):
    """Offers parcels to the server, each exactly once; one receipt a parcel, in order."""

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Send."""
        ...


class IngestionOffer:
    """``POST /ingestion``: every event is answered by its own id."""

    def __init__(self, http: Http, configs: Mapping[str, str]) -> None:
        """``configs`` are ids of score configs by score name."""
        self._http = http
        self._configs = configs

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Send, in as many batches as the server's size takes."""
        events = [wire.ingestion_event(parcel.score, config_id=_config(self._configs, parcel)) for parcel in parcels]
        receipts: list[Receipt] = []
        for part in _parts([wire.encoded(event) for event in events], BATCH_ROOM):
            receipts += await self._offer(parcels[part], [str(event["id"]) for event in events[part]], events[part])
        return receipts

    async def _offer(self, parcels: Sequence[Parcel], ids: Sequence[str], events: Sequence[Mapping[str, object]]) -> list[Receipt]:
        try:
            answer = await self._http.post(INGESTION, wire.encoded({"batch": list(events)}), route=Route.INGESTION)
        except (AskForLess, Refused) as error:
            if len(parcels) == 1:
                return [_refused(parcels[0], str(error))]
            half = len(parcels) // 2
            first = await self._offer(parcels[:half], ids[:half], events[:half])
            return first + await self._offer(parcels[half:], ids[half:], events[half:])
        told = {event.id: event for event in wire.event_answers(answer.content)}
        forbidden = next((event for event in told.values() if event.status in _FORBIDDEN), None)
        if forbidden is not None:
            raise refusal(forbidden.status, forbidden.message, is_json=True, right=Right.WRITE)
        return [_receipt(parcel, told.get(event_id)) for parcel, event_id in zip(parcels, ids, strict=True)]


class ListOffer:
    """``POST /scores`` with a list: accepted as a whole, or in part without saying which."""

    def __init__(self, http: Http, configs: Mapping[str, str]) -> None:
        """``configs`` are ids of score configs by score name."""
        self._http = http
        self._configs = configs

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Send, in as many lists as the server's size takes."""
        bodies = [wire.encoded(wire.listed_score(parcel.score, config_id=_config(self._configs, parcel))) for parcel in parcels]
        receipts: list[Receipt] = []
        for part in _parts(bodies, LIST_ROOM):
            receipts += await self._offer(parcels[part], bodies[part])
        return receipts

    async def _offer(self, parcels: Sequence[Parcel], bodies: Sequence[bytes]) -> list[Receipt]:
        try:
            answer = await self._http.post(SCORES, b"[" + b",".join(bodies) + b"]", route=Route.SCORES_WRITE)
        except (AskForLess, Refused) as error:
            # The list is refused as a whole for one of its scores: halves find it, and spoil nobody else.
            if len(parcels) == 1:
                return [_refused(parcels[0], str(error))]
            half = len(parcels) // 2
            return await self._offer(parcels[:half], bodies[:half]) + await self._offer(parcels[half:], bodies[half:])
        verdict = Verdict.UNCERTAIN if answer.status == _MULTI_STATUS else Verdict.ACCEPTED
        return [Receipt(parcel.score.id, verdict) for parcel in parcels]


class Sink:
    """The port: one way to offer, one way to look, one way to withdraw."""

    def __init__(self, http: Http, offer: Offer, *, reads_v3: bool) -> None:
        """``reads_v3`` says that the server shows scores through v3; older ones through v2."""
        self._http = http
        self._offer = offer
        self._look = (SCORES_V3, wire.scores_query) if reads_v3 else (SCORES_V2, wire.scores_query_v2)

    async def send(self, parcels: Sequence[Parcel]) -> Sequence[Receipt]:
        """Offer each score once; one receipt a score, in order."""
        return await self._offer.send(parcels) if parcels else []

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


def _config(configs: Mapping[str, str], parcel: Parcel) -> str | None:
    return configs.get(parcel.score.name) if parcel.with_config else None


def _parts(bodies: Sequence[bytes], room: int) -> Iterator[slice]:
    start, size = 0, 0
    for at, body in enumerate(bodies):
        if at > start and size + len(body) > room:
            yield slice(start, at)
            start, size = at, 0
        size += len(body) + 1
    if start < len(bodies):
        yield slice(start, len(bodies))


def _receipt(parcel: Parcel, told: wire.EventAnswer | None) -> Receipt:
    if told is None or told.status >= 500 or told.status == 0:  # noqa: PLR2004 - the class of server errors
        return Receipt(parcel.score.id, Verdict.UNCERTAIN, "" if told is None else told.message[:_LONGEST_REASON])
    if told.status >= 400:  # noqa: PLR2004 - the class of client errors
        return _refused(parcel, f"{told.status}: {told.message}")
    return Receipt(parcel.score.id, Verdict.ACCEPTED)


def _refused(parcel: Parcel, reason: str) -> Receipt:
    line = " ".join(reason.split())
    return Receipt(parcel.score.id, Verdict.REFUSED, line[:_LONGEST_REASON])

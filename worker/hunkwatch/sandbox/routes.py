"""The handlers of the endpoints that every version has, and of the v2 observations.

A handler gets the state, the room of the key's project and the request with its body read; it returns a response or raises an Answer.
"""

import gzip
import json
import secrets
import uuid
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from hunkwatch.sandbox import answers, ingestion, moments, observations, otlp, readscores, scorebody, spans
from hunkwatch.sandbox.state import Room, State

NEWEST_INGESTION = 4
SLOW_ONES = {"python": 4, "javascript": 5}
V2_MISSING = (
    "The observations v2 API is only available in a Langfuse v4 write mode. Learn more about Langfuse v4 at: https://langfuse.com/docs/v4"
)


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a handler."""

    state: State
    room: Room
    request: Request

    @property
    def project(self) -> str:
        """The id of the key's project."""
        return self.room.project.id

    async def json(self) -> Any:
        """The body, or the 400 that is no JSON."""
        try:
            return json.loads(await self.request.body())
        except ValueError:
            raise Unparsable from None


class Unparsable(Exception):
    """The body of a request is no JSON."""


Handler = Callable[[Call], Awaitable[Response]]
INVALID_JSON = "Invalid JSON"


async def projects(call: Call) -> Response:
    """``GET /projects``: the key's own project."""
    project = call.room.project
    organization = {"id": project.organization, "name": project.organization}
    named = {"id": project.id, "name": project.name or project.id, "organization": organization, "metadata": {}}
    return answers.answer({"data": [named]})


async def read_observations(call: Call) -> Response:
    """``GET /v2/observations``."""
    if not call.state.is_v4:
        raise answers.missing(V2_MISSING)
    query = observations.parse(call.request.query_params)
    rows, more = observations.select(call.room.shelf, query, call.state.now(), twice=call.state.is_twice)
    return answers.answer(observations.page(rows, query, call.project, more=more))


async def take_spans(call: Call) -> Response:
    """``POST /otel/v1/traces``."""
    headers = call.request.headers
    version = headers.get("x-langfuse-ingestion-version", "")
    if version and not (version.isdecimal() and int(version) <= NEWEST_INGESTION):
        message = f'Unsupported x-langfuse-ingestion-version: "{version}". Maximum supported: "{NEWEST_INGESTION}".'
        raise answers.Answer(400, {"error": message})
    body = await call.request.body()
    try:
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        found = otlp.decode(body, content_type=headers.get("content-type", ""))
    except (otlp.Unreadable, OSError, EOFError, zlib.error):
        raise answers.Answer(400, {"error": "Failed to parse OTel Trace"}) from None
    state, room = call.state, call.room
    rows = [spans.to_row(span, now=state.now(), share=room.shelf.share) for span in found]
    direct = not state.reads_v1 or version == str(NEWEST_INGESTION) or _is_recent(headers)
    for row in rows:
        row.seen = row.seen_v1 = state.later(state.habits.delays.direct)
    if not direct:
        rows = spans.staged(rows, at=state.later(state.habits.delays.staged))
    state.shelve(room, rows)
    return answers.answer(_job(call, version))


def _is_recent(headers: Any) -> bool:
    name, version = headers.get("x-langfuse-sdk-name", ""), headers.get("x-langfuse-sdk-version", "")
    major = version.split(".")[0]
    return name in SLOW_ONES and major.isdecimal() and int(major) >= SLOW_ONES[name]


def _job(call: Call, version: str) -> dict[str, Any]:
    """The queue's job, which Langfuse returns as it is."""
    now, headers, project = call.state.now(), call.request.headers, call.room.project
    moment = moments.write(now)
    file = f"events/otel/{project.id}/{moment[:16].replace('-', '/').replace('T', '/').replace(':', '/')}/{uuid.uuid4()}.json"
    scope = {"projectId": project.id, "accessLevel": "project", "orgId": project.organization}
    payload = {
        "data": {"fileKey": file, "publicKey": project.public_key},
        "authCheck": {"validKey": True, "scope": scope},
        "sdkName": headers.get("x-langfuse-sdk-name", "unknown"),
        "sdkVersion": headers.get("x-langfuse-sdk-version", "unknown"),
        "ingestionVersion": version,
    }
    options = {"attempts": 6, "removeOnComplete": True, "removeOnFail": 100000, "backoff": {"type": "exponential", "delay": 5000}}
    trace = {"traceparent": f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01", "baggage": f"langfuse.project.id={project.id}"}
    return {
        "name": "otel-ingestion-job",
        "data": {"id": str(uuid.uuid4()), "timestamp": moment, "name": "otel-ingestion-job", "payload": payload},
        "opts": options | trace,
        "id": str(secrets.randbelow(10**6)),
        "progress": 0,
        "returnvalue": None,
        "stacktrace": None,
        "priority": 0,
        "attemptsStarted": 0,
        "attemptsMade": 0,
        "stalledCounter": 0,
        "timestamp": now,
        "queueQualifiedName": "bull:otel-ingestion-queue",
    }


async def take_batch(call: Call) -> Response:
    """``POST /ingestion``."""
    return answers.answer(ingestion.take(call.state, call.room, await call.json()), 207)


async def post_scores(call: Call) -> Response:
    """``POST /scores``: one object, or from 4.59 on a list."""
    body = await call.json()
    if isinstance(body, list) and call.state.takes_lists:
        return _post_list(call, body)
    if found := scorebody.issues(body):
        raise answers.invalid(found)
    timestamp = moments.parse(body.get("timestamp")) if call.state.takes_lists else None
    return answers.answer({"id": ingestion.accept_score(call.state, call.room, body, timestamp=timestamp)})


def _post_list(call: Call, bodies: list[Any]) -> Response:
    errors = []
    for body in bodies:
        found = scorebody.issues(body)
        if found:
            errors.append({"message": found[0]["message"]})
        elif call.state.strikes("partial", call.room, str(body.get("id")), call.state.habits.partial_errors):
            errors.append({"message": "Internal Server Error"})
        else:
            ingestion.accept_score(call.state, call.room, body, timestamp=moments.parse(body.get("timestamp")))
    if errors:
        return answers.answer({"accepted": len(bodies) - len(errors), "rejected": len(errors), "errors": errors}, 207)
    return answers.answer({"message": "Accepted"}, 202)


async def read_scores(call: Call) -> Response:
    """``GET /v3/scores``."""
    return answers.answer(readscores.read(call.room.scores, call.request.query_params, call.project, call.state.now()))


async def delete_score(call: Call) -> Response:
    """``DELETE /scores/{id}``: always accepted, done later."""
    at = call.state.later(call.state.habits.delays.deletion)
    call.room.scores.delete(call.request.path_params["id"], at=at)
    call.room.scores.advance(call.state.now())
    return answers.answer({"message": "Score deletion queued successfully"}, 202)


def health(state: State) -> Response:
    """``GET /health``: open to everybody."""
    return answers.answer({"status": "OK", "version": state.version})


def invalid_json() -> Response:
    """The plain 400 of a body that is no JSON."""
    return Response(INVALID_JSON, 400)


async def stored(state: State, request: Request, id_: str) -> Response:
    """The content behind a media token, open to whoever knows its address, as a signed one is."""
    room = next((room for room in state.rooms.values() if id_ in room.media), None)
    if room is None:
        return Response(status_code=404)
    if request.method == "PUT":
        room.media.put(id_, await request.body(), state.now())
        return Response()
    kind, content = room.media.content(id_)
    return Response(content, media_type=kind)

"""What a server says of itself, of its project and of what went wrong.

Of an error's body only a short, cleaned ``message`` gets through, and the place of the first complaint where it names a field.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from hunkwatch.langfuse.wire import salvage

_LONGEST_MESSAGE = 200
_KEY = re.compile(r"\b([sp]k-lf-)[\w-]+")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_PLACE = re.compile(r"[A-Za-z0-9_.]{1,60}")


class Named(NamedTuple):
    """A project as the server names it."""

    id: str
    name: str


class Limit(NamedTuple):
    """What a 429 tells of itself."""

    limit: int
    wait: float | None


class TraceContext(NamedTuple):
    """What a trace is called, and whose it is."""

    name: str
    user_id: str
    session_id: str
    tags: tuple[str, ...]


class MediaPlace(NamedTuple):
    """Where the content of a media file is, and how many bytes it has; 0 when that is not said."""

    url: str
    size: int


def media_of(content: bytes) -> MediaPlace | None:
    """Return where a media file is; None where the answer does not say."""
    said = json_object(content)
    url, size = said.get("url"), said.get("contentLength")
    return MediaPlace(url, size if isinstance(size, int) else 0) if isinstance(url, str) else None


def trace_of(content: bytes) -> TraceContext:
    """Return what a trace says of itself; what it does not say is empty."""
    said = json_object(content)
    name, user, session = (value if isinstance(value := said.get(key), str) else "" for key in ("name", "userId", "sessionId"))
    tags = said.get("tags")
    return TraceContext(name, user, session, tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ())


def version_of(content: bytes) -> str:
    """Return the version of a health answer, ``""`` when it tells none."""
    version = json_object(content).get("version")
    return version if isinstance(version, str) else ""


def project_of(content: bytes) -> Named | None:
    """Return the project of a key."""
    rows = json_rows(content)
    if not rows or not isinstance(rows[0].get("id"), str):
        return None
    name = rows[0].get("name")
    return Named(rows[0]["id"], name if isinstance(name, str) else "")


def trace_ids_of(content: bytes) -> list[str]:
    """Return the ids of a page of traces, in the server's order."""
    return [id_ for row in json_rows(content) if isinstance(id_ := row.get("id"), str) and id_]


def message_of(content: bytes) -> str:
    """Return the short message of an error answer: one clean line without keys, and where the first complaint stands."""
    said = json_object(content)
    line = short(said.get("message"))
    issues = said.get("error")
    path = issues[0].get("path") if isinstance(issues, list) and issues and isinstance(issues[0], dict) else None
    place = ".".join(str(step) for step in path) if isinstance(path, list) else ""
    return short(f"{line} (at {place})") if line and _PLACE.fullmatch(place) else line


def short(message: object) -> str:
    """Make one short line of a server's message; ``""`` of anything that is no text."""
    if not isinstance(message, str):
        return ""
    line = _KEY.sub(r"\1...", _BLANK.sub(" ", message[: 4 * _LONGEST_MESSAGE])).strip()
    line = "".join(character for character in line if character.isprintable())
    return line if len(line) <= _LONGEST_MESSAGE else line[: _LONGEST_MESSAGE - 1] + "…"


def limit_of(content: bytes) -> Limit:
    """Return the limit and the wait of a 429's body."""
    details = json_object(content).get("details")
    limit, wait = (details.get("limit"), details.get("retryAfterSeconds")) if isinstance(details, dict) else (None, None)
    return Limit(limit if isinstance(limit, int) else 0, float(wait) if isinstance(wait, int | float) and wait >= 0 else None)


def wants_single(content: bytes) -> bool:
    """Say whether a 400 complains of a list where it takes one thing."""
    issues = json_object(content).get("error")
    first = issues[0] if isinstance(issues, list) and issues else None
    return isinstance(first, dict) and first.get("expected") == "object" and first.get("path") == []


def json_object(content: bytes) -> dict[str, Any]:
    """Return the JSON object of an answer, empty when it is none."""
    found = salvage.value(content)
    return found if isinstance(found, dict) else {}


def json_rows(content: bytes) -> list[dict[str, Any]]:
    """Return the objects in an answer's ``data``."""
    rows = json_object(content).get("data")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

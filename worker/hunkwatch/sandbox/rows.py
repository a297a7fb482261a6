"""One observation as the sandbox keeps it, small enough that a million of them fit.

Input and output are text, as the events table stores them: a text stays as it is, any other JSON value becomes its compact JSON.
A ``Written`` stands for a text that is only made when somebody reads it. ``Context`` is what a trace's rows share.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from hunkwatch.sandbox import moments, xxhash

MARK = "begin patch"
IN_INPUT, IN_OUTPUT = 1, 2


@dataclass(frozen=True, slots=True)
class Context:
    """What the rows of a trace have in common; its metadata is JSON text, so that equal ones can be shared."""

    name: str = ""
    user: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    release: str = ""
    public: bool = False
    bookmarked: bool = False
    metadata: str = ""


NO_CONTEXT = Context()


class Written(Protocol):
    """A text made on demand that already knows whether it holds the patch marker."""

    marked: bool

    def text(self) -> str:
        """The text itself, the same at every call."""
        ...


Body = str | Written | None


class Row:
    """An observation. Times are milliseconds since 1970; ``seen`` and ``seen_v1`` are when each reading begins to show it."""

    __slots__ = (
        "bodies", "context", "created", "end", "environment", "extras", "id", "input", "level", "metadata", "model",
        "name", "output", "parent", "root", "seen", "seen_v1", "start", "status", "trace", "type", "updated", "version",
    )  # fmt: skip

    def __init__(self, id_: str, trace: str, start: int) -> None:
        """Make a bare span, seen at once."""
        self.id, self.trace, self.start = id_, trace, start
        self.end: int | None = None
        self.parent: str | None = None
        self.type, self.name, self.level, self.environment = "SPAN", "", "DEFAULT", "default"
        self.status = self.version = self.model = ""
        self.input: Body = None
        self.output: Body = None
        self.metadata: Mapping[str, Any] | None = None
        self.extras: Mapping[str, Any] | None = None
        self.context = NO_CONTEXT
        self.created = self.updated = self.seen = self.seen_v1 = start
        self.bodies = 0
        self.root = False

    @property
    def key(self) -> tuple[int, int, str]:
        """The place in the order of the events table."""
        return self.start, xxhash.digest(self.trace), self.id

    def mark(self) -> None:
        """Note which of the two texts holds the patch marker, so that looking for it needs no reading."""
        self.bodies = (IN_INPUT if marked(self.input) else 0) | (IN_OUTPUT if marked(self.output) else 0)

    def copy(self) -> "Row":
        """A second row with the same content."""
        twin = Row(self.id, self.trace, self.start)
        for slot in Row.__slots__:
            setattr(twin, slot, getattr(self, slot))
        return twin


def marked(body: Body) -> bool:
    """Whether the text holds the patch marker in any case."""
    if body is None:
        return False
    return MARK in body.lower() if isinstance(body, str) else body.marked


def text_of(body: Body) -> str | None:
    """The text, made now if it was not."""
    return body if body is None or isinstance(body, str) else body.text()


def stored(value: object) -> str | None:
    """A JSON value as the events table keeps it."""
    return value if value is None or isinstance(value, str) else compact(value)


def compact(value: object) -> str:
    """JSON text without spaces, as JavaScript writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


KNOWN = {
    "id", "traceId", "startTime", "endTime", "parentObservationId", "type", "name", "level", "statusMessage", "version", "environment",
    "input", "output", "metadata", "model", "createdAt", "updatedAt", "traceName", "userId", "sessionId", "tags", "release",
    "bookmarked", "isRootObservation", "projectId", "latency", "traceMetadata", "timestamp", "public",
}  # fmt: skip


def from_wire(wire: Mapping[str, Any], *, now: int, share: Callable[[Context], Context]) -> Row:
    """A row from an observation in the form of the v1 reading, with the trace's fields of the v2 reading allowed beside."""
    start = moments.parse(wire.get("startTime"))
    if start is None:
        raise ValueError("an observation needs id, traceId and startTime, an ISO 8601 text with an offset")
    row = Row(str(wire["id"]), str(wire["traceId"]), start)
    row.end = moments.parse(wire.get("endTime"))
    row.parent = wire.get("parentObservationId") or None
    row.type = wire.get("type") or "SPAN"
    row.name = wire.get("name") or ""
    row.level = wire.get("level") or "DEFAULT"
    row.status = wire.get("statusMessage") or ""
    row.version = wire.get("version") or ""
    row.environment = wire.get("environment") or "default"
    row.model = wire.get("model") or ""
    row.input, row.output = stored(wire.get("input")), stored(wire.get("output"))
    row.metadata = wire.get("metadata") or None
    row.extras = {key: value for key, value in wire.items() if key not in KNOWN} or None
    row.root = bool(wire.get("isRootObservation"))
    row.context = share(context_from(wire))
    row.created = _or(moments.parse(wire.get("createdAt")), now)
    row.updated = _or(moments.parse(wire.get("updatedAt")), row.created)
    row.seen = row.seen_v1 = now
    row.mark()
    return row


def context_from(wire: Mapping[str, Any]) -> Context:
    """The trace's part of an observation in wire form."""
    return Context(
        name=wire.get("traceName") or "",
        user=wire.get("userId") or "",
        session=wire.get("sessionId") or "",
        tags=tuple(wire.get("tags") or ()),
        release=wire.get("release") or "",
        public=bool(wire.get("public")),
        bookmarked=bool(wire.get("bookmarked")),
        metadata=compact(wire["traceMetadata"]) if wire.get("traceMetadata") else "",
    )


def merged(old: Row, new: Row, wire: Mapping[str, Any]) -> Row:
    """A row that came in parts: what the new part leaves out stays as it was."""
    row = new.copy()
    for key, slot in SLOTS.items():
        if wire.get(key) is None:
            setattr(row, slot, getattr(old, slot))
    row.metadata = {**(old.metadata or {}), **(new.metadata or {})} or None
    row.extras = {**(old.extras or {}), **(new.extras or {})} or None
    row.context, row.created = old.context, old.created
    row.mark()
    return row


SLOTS = {
    "endTime": "end", "parentObservationId": "parent", "name": "name", "type": "type", "level": "level", "statusMessage": "status",
    "version": "version", "environment": "environment", "model": "model", "input": "input", "output": "output",
}  # fmt: skip


def metadata_of(row: Row) -> dict[str, str]:
    """A row's metadata in the events table, its trace's included."""
    trace = json.loads(row.context.metadata) if row.context.metadata else {}
    return flat(trace) | flat(row.metadata or {})


def flat(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Metadata as the events table keeps it: dotted paths to texts."""
    leaves: dict[str, str] = {}
    for key, value in metadata.items():
        if isinstance(value, Mapping) and value:
            leaves.update((f"{key}.{below}", text) for below, text in flat(value).items())
        else:
            leaves[key] = value if isinstance(value, str) else compact(value)
    return leaves


def _or(moment: int | None, otherwise: int) -> int:
    return otherwise if moment is None else moment

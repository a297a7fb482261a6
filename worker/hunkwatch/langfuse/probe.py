"""Find out which Langfuse answers, and so which reader and which writer fit it.

Never a setting: the server's own answers decide. A 404 on the v2 observations means a server that only has the older reads; the
list form of ``POST /scores`` exists on Langfuse Cloud and from 4.59 on, everything else takes scores through ``/ingestion``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hunkwatch.errors import Exit, Halt
from hunkwatch.langfuse import wire
from hunkwatch.langfuse.http import Route

if TYPE_CHECKING:
    from hunkwatch.langfuse.http import Http

HEALTH = "api/public/health"
PROJECTS = "api/public/projects"
OBSERVATIONS_V2 = "api/public/v2/observations"
NOT_FOUND = 404

LISTS_FROM = (4, 59)
"""The first self-hosted version whose ``POST /scores`` takes a list."""

_CLOUD = re.compile(r"(^|\.)cloud\.langfuse\.com$")


class Reader(StrEnum):
    """Which API observations are read through."""

    V2 = "v2"
    V1 = "v1"


class Writer(StrEnum):
    """Which API scores are written through."""

    LIST = "list"
    INGESTION = "ingestion"


@dataclass(frozen=True, slots=True)
class Abilities:
    """Who answers, and how it is talked to. ``why`` is one sentence for the first log line."""

    server: str
    project_id: str
    project_name: str
    reader: Reader
    writer: Writer
    why: str


async def probe(http: Http, *, base_url: str) -> Abilities:
    """Ask three short questions; raises Halt when this is no Langfuse or the key is wrong, RetryLater when it is away."""
    health = await http.get(HEALTH, route=Route.HEALTH, allow=frozenset({NOT_FOUND}))
    version = wire.version_of(health.content)
    if not version:
        raise Halt(
            "this address does not answer as Langfuse does (no version in its health)",
            mend="Check LANGFUSE_BASE_URL: scheme, host and base path, without /api or /project.",
            exit_code=Exit.UNAVAILABLE,
        )
    project = wire.project_of((await http.get(PROJECTS, route=Route.PROJECTS)).content)
    if project is None:
        raise Halt("the key belongs to no project", mend="Use a project API key, not one of an organisation.", exit_code=Exit.PERMISSION)
    http.project = project.id
    first = await http.get(
        OBSERVATIONS_V2, route=Route.OBSERVATIONS_V2, query=wire.query(fields=wire.LEAST_FIELDS, limit=1), allow=frozenset({NOT_FOUND})
    )
    reader = Reader.V1 if first.status == NOT_FOUND else Reader.V2
    on_cloud = is_cloud(base_url)
    writer = Writer.LIST if on_cloud or numbers(version) >= LISTS_FROM else Writer.INGESTION
    return Abilities(version, project.id, project.name, reader, writer, _why(version, reader, writer, on_cloud=on_cloud))


def is_cloud(base_url: str) -> bool:
    """Say whether the address is Langfuse's own cloud, in any region."""
    return _CLOUD.search(urlsplit(base_url).hostname or "") is not None


def numbers(version: str) -> tuple[int, int]:
    """Return major and minor of a version, zeros where they cannot be told."""
    found = re.match(r"v?(\d{1,6})\.(\d{1,6})", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _why(version: str, reader: Reader, writer: Writer, *, on_cloud: bool) -> str:
    who = "Langfuse Cloud" if on_cloud else f"a self-hosted {version}"
    read = "has the v2 observations" if reader is Reader.V2 else "has only the v1 observations"
    wrote = "takes lists of scores" if writer is Writer.LIST else "takes scores as ingestion events"
    return f"{who} {read} and {wrote}"

"""Find out which Langfuse answers, and so which reader and which writer fit it.

Never a setting: the server's own answers decide. A 404 on the v2 observations means a server that only has the older reads; the
list form of ``POST /scores`` exists on Langfuse Cloud and from 4.59 on, everything else takes scores through ``/ingestion``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hunkwatch.core.window import AHEAD, Window
from hunkwatch.errors import Exit, Halt
from hunkwatch.langfuse import faults, wire
from hunkwatch.langfuse.http import Route

if TYPE_CHECKING:
    from datetime import datetime

    from hunkwatch.langfuse.http import Http

HEALTH = "api/public/health"
PROJECTS = "api/public/projects"
OBSERVATIONS_V2 = "api/public/v2/observations"
OBSERVATIONS_V1 = "api/public/observations"
NOT_FOUND = 404

LISTS_FROM = (4, 59)
"""The first self-hosted version whose ``POST /scores`` takes a list."""

V3_SCORES_FROM = (4, 0)
"""The first version that surely shows scores through v3."""

LATELY = timedelta(days=7)
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
    """Who answers, and how it is talked to. ``why`` is one sentence for the first log line.

    ``settled`` is False where the choice rests on what happened to be in the project, and is to be looked at again.
    """

    server: str
    project_id: str
    project_name: str
    reader: Reader
    writer: Writer
    why: str
    settled: bool = True

    @property
    def shows_v3_scores(self) -> bool:
        """Say whether scores are read back through v3."""
        return self.writer is Writer.LIST or numbers(self.server) >= V3_SCORES_FROM


async def probe(http: Http, *, base_url: str, now: datetime) -> Abilities:
    """Ask a few short questions; raises Halt when this is no Langfuse or the key is wrong, RetryLater when it is away."""
    health = await http.get(HEALTH, route=Route.HEALTH, allow=frozenset({NOT_FOUND}))
    version = wire.version_of(health.content)
    if not version:
        raise Halt(
            "this address does not answer as Langfuse does (no version in its health)",
            mend=faults.MEND_ADDRESS,
            exit_code=Exit.UNAVAILABLE,
        )
    project = wire.project_of((await http.get(PROJECTS, route=Route.PROJECTS)).content)
    if project is None:
        raise Halt("the key belongs to no project", mend="Use a project API key, not one of an organisation.", exit_code=Exit.PERMISSION)
    http.project = project.id
    on_cloud = is_cloud(base_url)
    writer = writer_for(version, base_url=base_url)
    lately = Window(now - LATELY, now + AHEAD)
    in_v2 = await _newest(http, OBSERVATIONS_V2, Route.OBSERVATIONS_V2, wire.query(fields=wire.LEAST_FIELDS, limit=1, window=lately))
    if in_v2 or on_cloud:
        reader, settled, why = Reader.V2, True, "has the v2 observations"
    else:
        in_v1 = await _newest(http, OBSERVATIONS_V1, Route.OBSERVATIONS_V1, wire.query(limit=1, page=1, window=lately))
        reader, settled, why = _older_reader(in_v2, in_v1)
    who = "Langfuse Cloud" if on_cloud else f"a self-hosted {version}"
    wrote = "takes lists of scores" if writer is Writer.LIST else "takes scores as ingestion events"
    return Abilities(version, project.id, project.name, reader, writer, f"{who} {why} and {wrote}", settled)


def writer_for(version: str, *, base_url: str) -> Writer:
    """Return the way of writing that a server of this version takes."""
    return Writer.LIST if is_cloud(base_url) or numbers(version) >= LISTS_FROM else Writer.INGESTION


def is_cloud(base_url: str) -> bool:
    """Say whether the address is Langfuse's own cloud, in any region."""
    return _CLOUD.search(urlsplit(base_url).hostname or "") is not None


def numbers(version: str) -> tuple[int, int]:
    """Return major and minor of a version, zeros where they cannot be told."""
    found = re.match(r"v?(\d{1,6})\.(\d{1,6})", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


async def _newest(http: Http, path: str, route: Route, query: dict[str, str]) -> bool | None:
    """Say whether the route shows any row lately; None when the server has no such route."""
    answer = await http.get(path, route=route, query=query, allow=frozenset({NOT_FOUND}))
    if answer.status == NOT_FOUND:
        return None
    page = wire.observations(answer.content)
    return bool(page.observations or page.unreadable)


def _older_reader(in_v2: bool | None, in_v1: bool | None) -> tuple[Reader, bool, str]:  # noqa: FBT001 - three answers each
    if in_v2 is None and in_v1 is None:
        raise Halt(
            "this server shows observations neither through v2 nor through v1",
            mend="Use Langfuse 3 or later; on 4, let LANGFUSE_MIGRATION_V4_ALLOW_PREVIEW_OPT_IN be true.",
            exit_code=Exit.UNAVAILABLE,
        )
    if in_v2 is None:
        return Reader.V1, True, "has only the v1 observations"
    if in_v1:
        return Reader.V1, False, "has v2 observations without a row so far, while v1 has some,"
    return Reader.V2, True, "has the v2 observations"

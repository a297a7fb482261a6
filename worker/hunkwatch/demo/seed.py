"""Send the sample sessions to a Langfuse of yours, and wait until it shows them all: something to score and to click on.

Needs nothing beyond what the worker needs. Sending twice makes the traces twice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import httpx

from hunkwatch.demo import send, sessions
from hunkwatch.errors import Exit, Halt

if TYPE_CHECKING:
    from collections.abc import Collection

    from hunkwatch.settings import LangfuseSection

PATIENCE = timedelta(minutes=5)

_LOOK_EVERY = 2.0
_REACH = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Seeded:
    """How much was sent, and that it can be seen."""

    traces: int
    observations: int


def seed(server: LangfuseSection, *, patience: timedelta = PATIENCE) -> Seeded:
    """Send every sample session; raises Halt when the server cannot be asked, or does not show them in time."""
    until = datetime.now(UTC)
    secret = server.secret_key.get_secret_value()
    with httpx.Client(base_url=server.base_url, auth=(server.public_key, secret), timeout=server.timeout.total_seconds()) as client:
        _visible(client, (), until)
        sent = send.send(sessions.load(), base_url=server.base_url, public_key=server.public_key, secret_key=secret, until=until)
        traces, spans = {one.trace_id for one in sent}, sum(one.observations for one in sent)
        deadline = time.monotonic() + patience.total_seconds()
        while (seen := _visible(client, traces, until)) < spans:
            if time.monotonic() > deadline:
                raise Halt(
                    f"the server shows {seen} of {spans} sample observations after {patience.total_seconds():.0f} seconds",
                    mend="Look at the log of Langfuse's own worker; what was sent may still come.",
                    exit_code=Exit.TEMPORARY,
                )
            time.sleep(min(_LOOK_EVERY, patience.total_seconds() / 10))
    return Seeded(len(traces), spans)


def _visible(client: httpx.Client, traces: Collection[str], until: datetime) -> int:
    """Return how many observations of these traces the server shows; raises Halt when it cannot be asked."""
    window = {"fromStartTime": (until - _REACH).isoformat(), "toStartTime": until.isoformat()}
    try:
        answer = client.get("/api/public/v2/observations", params={"limit": "1000", "fields": "core", **window})
        rows = answer.raise_for_status().json()["data"]
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        mend, code = "Run hunkwatch check: it names the cause.", Exit.PERMISSION if status in {401, 403} else Exit.UNAVAILABLE
        raise Halt(f"the server answers {status}", mend=mend, exit_code=code) from None
    except (httpx.HTTPError, ValueError, KeyError) as error:
        mend = "Run hunkwatch check: it names the cause."
        raise Halt(f"the server cannot be asked: {type(error).__name__}", mend=mend, exit_code=Exit.UNAVAILABLE) from None
    return sum(row["traceId"] in traces for row in rows)

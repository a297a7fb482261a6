"""Hand the sessions to a Langfuse server through the real Langfuse SDK, as agents do.

The SDK has no parameter for a start time, so each span is started on the SDK's own tracer provider and wrapped in the SDK's own classes.
Returns what was planted where, once the server has taken everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from hunkwatch.demo import producers
from langfuse import (
    Langfuse,
    LangfuseAgent,
    LangfuseGeneration,
    LangfuseTool,
    __version__,
    propagate_attributes,
)

if TYPE_CHECKING:
    from hunkwatch.demo.producers import Recorded
    from hunkwatch.demo.sessions import Session

_WRAPPERS = {"agent": LangfuseAgent, "generation": LangfuseGeneration, "tool": LangfuseTool}


@dataclass(frozen=True, slots=True)
class Sent:
    """One trace as it was sent. ``planted`` says how many calls must be found on which observation."""

    trace_id: str
    session: Session
    observations: int
    planted: dict[str, int]


def send(  # noqa: PLR0913 - where to, as whom, when
    sessions: Sequence[Session],
    *,
    base_url: str,
    public_key: str,
    secret_key: str,
    until: datetime,
    every: timedelta = timedelta(minutes=8),
) -> tuple[Sent, ...]:
    """Send the sessions, ``every`` so often before ``until``; the last ends twenty minutes before it."""
    provider = TracerProvider(shutdown_on_exit=False)
    client = Langfuse(public_key=public_key, secret_key=secret_key, base_url=base_url, timeout=30, tracer_provider=provider)
    tracer = provider.get_tracer("langfuse-sdk", __version__, attributes={"public_key": public_key})
    try:
        sent = tuple(
            _send_one(client, tracer, session, start=until - timedelta(minutes=20) - every * (len(sessions) - number))
            for number, session in enumerate(sessions)
        )
        client.flush()
    finally:
        client.shutdown()
        provider.shutdown()
    return sent


def _send_one(client: Langfuse, tracer: trace.Tracer, session: Session, *, start: datetime) -> Sent:
    root, *rest = producers.record(session)
    planted: dict[str, int] = {}
    with propagate_attributes(trace_name=session.title, session_id=f"{session.agent}-session", tags=[session.agent]):
        span = tracer.start_span(root.name, start_time=_nanoseconds(start))
        wrapper = _wrap(client, span, root)
        inside = trace.set_span_in_context(span)
        at = start
        for entry in rest:
            child = tracer.start_span(entry.name, context=inside, start_time=_nanoseconds(at := at + timedelta(seconds=2)))
            done = _wrap(client, child, entry)
            done.end(end_time=_nanoseconds(at := at + timedelta(seconds=4)))
            if entry.planted:
                planted[done.id] = entry.planted
        wrapper.end(end_time=_nanoseconds(at + timedelta(seconds=1)))
    return Sent(trace_id=wrapper.trace_id, session=session, observations=1 + len(rest), planted=planted)


def _wrap(client: Langfuse, span: trace.Span, entry: Recorded) -> LangfuseAgent | LangfuseGeneration | LangfuseTool:
    wrapped = _WRAPPERS[entry.kind](
        otel_span=span,
        langfuse_client=client,
        input=entry.input,
        output=entry.output,
        metadata=dict(entry.metadata) or None,
        level="ERROR" if entry.failed else None,
        status_message=entry.failed or None,
        **({"model": entry.model} if entry.model else {}),
    )
    assert isinstance(wrapped, LangfuseAgent | LangfuseGeneration | LangfuseTool)
    return wrapped


def _nanoseconds(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000) * 1000

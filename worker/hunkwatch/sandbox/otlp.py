"""OTLP trace requests, protobuf or JSON, as plain spans. Knows nothing of Langfuse's attributes; see ``spans``."""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # ships no types
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan

Attributes = dict[str, Any]
FAILED = 2


@dataclass(frozen=True, slots=True)
class Span:
    """A finished span; times are nanoseconds, ids are hexadecimal."""

    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    attributes: Attributes
    events: tuple[tuple[str, Attributes], ...] = ()
    failed: bool = False
    status: str = ""
    resource: Attributes = field(default_factory=dict)
    scope: Attributes = field(default_factory=dict)


class Unreadable(Exception):
    """The body is no OTLP trace request."""


def decode(body: bytes, *, content_type: str) -> list[Span]:
    """The spans of a request body."""
    if "json" in content_type:
        try:
            return list(_from_json(json.loads(body)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unreadable from error
    try:
        return list(_from_protobuf(ExportTraceServiceRequest.FromString(body)))
    except DecodeError as error:
        raise Unreadable from error


def _from_protobuf(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for per_resource in request.resource_spans:
        resource = _attributes(per_resource.resource.attributes)
        for per_scope in per_resource.scope_spans:
            scope = _scope(per_scope.scope.name, per_scope.scope.version, _attributes(per_scope.scope.attributes))
            for span in per_scope.spans:
                yield _span(span, resource, scope)


def _span(span: ProtoSpan, resource: Attributes, scope: Attributes) -> Span:
    return Span(
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        name=span.name,
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        attributes=_attributes(span.attributes),
        events=tuple((event.name, _attributes(event.attributes)) for event in span.events),
        failed=span.status.code == FAILED,
        status=span.status.message,
        resource=resource,
        scope=scope,
    )


def _attributes(pairs: "Any") -> Attributes:
    return {pair.key: _value(pair.value) for pair in pairs if isinstance(pair, KeyValue)}


def _value(value: AnyValue) -> Any:
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "int_value":
            return value.int_value
        case "double_value":
            return value.double_value
        case "array_value":
            return [_value(item) for item in value.array_value.values]
        case "kvlist_value":
            return _attributes(value.kvlist_value.values)
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
    return None


def _from_json(request: Mapping[str, Any]) -> Iterator[Span]:
    for per_resource in request.get("resourceSpans", ()):
        resource = _json_attributes((per_resource.get("resource") or {}).get("attributes"))
        for per_scope in per_resource.get("scopeSpans", ()):
            named = per_scope.get("scope") or {}
            scope = _scope(named.get("name", ""), named.get("version", ""), _json_attributes(named.get("attributes")))
            for span in per_scope.get("spans", ()):
                status = span.get("status") or {}
                yield Span(
                    trace=span["traceId"],
                    id=span["spanId"],
                    parent=span.get("parentSpanId") or "",
                    name=span.get("name", ""),
                    start=int(span["startTimeUnixNano"]),
                    end=int(span.get("endTimeUnixNano") or 0),
                    attributes=_json_attributes(span.get("attributes")),
                    events=tuple((event.get("name", ""), _json_attributes(event.get("attributes"))) for event in span.get("events") or ()),
                    failed=status.get("code") in {FAILED, "STATUS_CODE_ERROR"},
                    status=status.get("message", ""),
                    resource=resource,
                    scope=scope,
                )


def _json_attributes(pairs: Any) -> Attributes:
    return {pair["key"]: _json_value(pair.get("value") or {}) for pair in pairs or ()}


def _json_value(value: Mapping[str, Any]) -> Any:
    for kind, content in value.items():
        match kind:
            case "intValue":
                return int(content)
            case "arrayValue":
                return [_json_value(item) for item in content.get("values") or ()]
            case "kvlistValue":
                return _json_attributes(content.get("values"))
            case _:
                return content
    return None


def _scope(name: str, version: str, attributes: Attributes) -> Attributes:
    return {"name": name, **({"version": version} if version else {}), "attributes": attributes}

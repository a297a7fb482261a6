"""Spans of many tracers become the observations that Langfuse makes of them; batches of old SDKs too."""

import gzip
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList

Make = Callable[..., Any]
URL = "/api/public/otel/v1/traces"
ALL = {"fields": "core,basic,time,io,metadata,model,usage,prompt,trace_context"}


def attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """OTLP JSON's form of attributes; texts only, lists of texts, numbers."""

    def value(one: Any) -> dict[str, Any]:
        if isinstance(one, list):
            return {"arrayValue": {"values": [value(item) for item in one]}}
        return {"intValue": str(one)} if isinstance(one, int) else {"stringValue": one}

    return [{"key": key, "value": value(one)} for key, one in values.items()]


TYPES: dict[str, tuple[dict[str, str], str]] = {
    "langfuse": ({"langfuse.observation.type": "tool"}, "TOOL"),
    "langfuse beats the others": ({"langfuse.observation.type": "span", "gen_ai.tool.name": "x"}, "SPAN"),
    "an unknown type falls through": ({"langfuse.observation.type": "odd", "openinference.span.kind": "TOOL"}, "TOOL"),
    "openinference": ({"openinference.span.kind": "LLM"}, "GENERATION"),
    "gen_ai operation": ({"gen_ai.operation.name": "execute_tool"}, "TOOL"),
    "gen_ai agent": ({"gen_ai.operation.name": "invoke_agent"}, "AGENT"),
    "ai sdk tool": ({"ai.operationId": "ai.toolCall"}, "TOOL"),
    "ai sdk model": ({"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "gpt"}, "GENERATION"),
    "a tool's call id": ({"gen_ai.tool.call.id": "c1"}, "TOOL"),
    "a model": ({"gen_ai.request.model": "gpt"}, "GENERATION"),
    "nothing": ({}, "SPAN"),
}


@pytest.mark.parametrize(("about", "kind"), TYPES.values(), ids=TYPES)
async def test_the_type_is_the_first_that_an_attribute_names(about: dict[str, str], kind: str, serve: Make) -> None:
    """In Langfuse's order of attributes."""
    served = await serve()
    await served.export({"attributes": attributes(about)})
    assert [kind] == [row["type"] for row in await served.rows()]


NAMES: dict[str, tuple[dict[str, str], str]] = {
    "gen_ai": ({"gen_ai.tool.name": "apply_patch", "logfire.msg": "x"}, "apply_patch"),
    "logfire": ({"logfire.msg": "running tool: apply_patch"}, "running tool: apply_patch"),
    "ai sdk": ({"ai.toolCall.name": "apply_patch", "ai.operationId": "ai.toolCall"}, "apply_patch"),
    "the span's own": ({}, "execute_tool apply_patch"),
}


@pytest.mark.parametrize(("about", "name"), NAMES.values(), ids=NAMES)
async def test_the_name_is_the_first_that_an_attribute_gives(about: dict[str, str], name: str, serve: Make) -> None:
    """Or else the span's."""
    served = await serve()
    await served.export({"name": "execute_tool apply_patch", "attributes": attributes(about)})
    assert [name] == [row["name"] for row in await served.rows()]


TEXTS: dict[str, tuple[dict[str, str], tuple[Any, Any]]] = {
    "langfuse": ({"langfuse.observation.input": "i", "langfuse.observation.output": "o", "input.value": "x"}, ("i", "o")),
    "openinference": ({"input.value": '{"a":1}', "output.value": "done"}, ('{"a":1}', "done")),
    "traceloop": ({"traceloop.entity.input": "i", "traceloop.entity.output": "o"}, ("i", "o")),
    "gen_ai tool": ({"gen_ai.tool.call.arguments": "i", "gen_ai.tool.call.result": "o"}, ("i", "o")),
    "rebuilt from parts": (
        {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi", "gen_ai.completion.0.content": "yo"},
        ('[{"role":"user","content":"hi"}]', '[{"content":"yo"}]'),
    ),
    "nowhere that is known": ({"lmnr.span.input": "i"}, (None, None)),
}


@pytest.mark.parametrize(("about", "texts"), TEXTS.values(), ids=TEXTS)
async def test_input_and_output_are_the_first_that_are_there(about: dict[str, str], texts: tuple[Any, Any], serve: Make) -> None:
    """Texts as they are, anything else as compact JSON."""
    served = await serve()
    await served.export({"attributes": attributes(about)})
    assert [texts] == [(row["input"], row["output"]) for row in await served.rows(**ALL)]


async def test_the_ai_sdks_scope_has_keys_of_its_own(serve: Make) -> None:
    """Its tool arguments come before other keys."""
    served = await serve()
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "ai.toolCall", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    span["attributes"] = attributes({"ai.toolCall.args": "i", "ai.toolCall.result": "o", "input.value": "x"})
    await served.client.post(URL, json={"resourceSpans": [{"scopeSpans": [{"scope": {"name": "ai"}, "spans": [span]}]}]})
    assert [("i", "o")] == [(row["input"], row["output"]) for row in await served.rows(**ALL)]


async def test_events_of_a_span_are_its_messages(serve: Make) -> None:
    """In the old form of the GenAI conventions."""
    served = await serve()
    events = [
        {"name": "gen_ai.user.message", "attributes": attributes({"content": "hi"})},
        {"name": "gen_ai.choice", "attributes": attributes({"m": "yo"})},
    ]
    await served.export({"events": events})
    (row,) = await served.rows(**ALL)
    assert ([{"role": "user", "content": "hi"}], {"role": "choice", "m": "yo"}) == (json.loads(row["input"]), json.loads(row["output"]))


async def test_level_status_and_the_traces_fields_come_from_their_attributes(serve: Make) -> None:
    """An error of the span is an error of the observation unless it says otherwise."""
    served = await serve()
    about = {
        "user.id": "u",
        "session.id": "s",
        "langfuse.trace.name": "t",
        "langfuse.trace.tags": ["a", "b"],
        "langfuse.environment": "prod",
    }
    await served.export({"attributes": attributes(about), "status": {"code": 2, "message": "oops"}})
    (row,) = await served.rows(**ALL)
    found = [row[key] for key in ("level", "statusMessage", "userId", "sessionId", "traceName", "tags", "environment")]
    assert ["ERROR", "oops", "u", "s", "t", ["a", "b"], "prod"] == found


async def test_what_is_left_of_a_foreign_span_is_in_its_metadata(serve: Make) -> None:
    """Under ``attributes``, flat in v2, nested in v1."""
    served = await serve(mode="dual")
    await served.export({"attributes": attributes({"gen_ai.tool.call.id": "c1"})}, **{"x-langfuse-ingestion-version": "4"})
    (flat,), (nested,) = await served.rows(**ALL), (await served.get("/observations"))["data"]
    assert ("c1", "c1") == (flat["metadata"]["attributes.gen_ai.tool.call.id"], nested["metadata"]["attributes"]["gen_ai.tool.call.id"])


def protobuf() -> bytes:
    """A request with every kind of value."""
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add(trace_id=b"\1" * 16, span_id=b"\2" * 8, name="x")
    span.start_time_unix_nano, span.end_time_unix_nano = 1_796_000_000_000_000_000, 1_796_000_001_500_000_000
    values = {
        "langfuse.observation.input": AnyValue(string_value="i"),
        "langfuse.observation.type": AnyValue(string_value="tool"),
        "flag": AnyValue(bool_value=True),
        "count": AnyValue(int_value=7),
        "share": AnyValue(double_value=0.5),
        "list": AnyValue(array_value=ArrayValue(values=[AnyValue(int_value=1)])),
        "map": AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key="k", value=AnyValue(string_value="v"))])),
        "raw": AnyValue(bytes_value=b"\0"),
        "none": AnyValue(),
    }
    span.attributes.extend(KeyValue(key=key, value=value) for key, value in values.items())
    return request.SerializeToString()


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
async def test_protobuf_is_read_packed_or_not(packed: bool, serve: Make) -> None:  # noqa: FBT001 - a parameter of pytest
    """Ids as hexadecimal, times at millisecond precision, values of every kind."""
    served = await serve()
    headers = {"content-type": "application/x-protobuf", **({"content-encoding": "gzip"} if packed else {})}
    content = gzip.compress(protobuf()) if packed else protobuf()
    answer = await served.client.post(URL, content=content, headers=headers)
    (row,) = await served.rows(**ALL)
    assert (200, "01" * 16, "02" * 8, "i", "TOOL", 1.5) == (
        answer.status_code,
        *(row[k] for k in ("traceId", "id", "input", "type", "latency")),
    )
    kinds = {"flag": "true", "count": "7", "share": "0.5", "list": "[1]", "map": '{"k":"v"}', "raw": "AA==", "none": "null"}
    assert kinds == {key: row["metadata"][f"attributes.{key}"] for key in kinds}


UNREADABLE: dict[str, tuple[bytes, dict[str, str]]] = {
    "no protobuf": (b"\xff\xff", {"content-type": "application/x-protobuf"}),
    "no gzip": (b"\0", {"content-type": "application/x-protobuf", "content-encoding": "gzip"}),
    "no json": (b"{", {"content-type": "application/json"}),
    "no ids": (b'{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}', {"content-type": "application/json"}),
}


@pytest.mark.parametrize(("content", "headers"), UNREADABLE.values(), ids=UNREADABLE)
async def test_what_cannot_be_read_is_a_400(content: bytes, headers: dict[str, str], serve: Make) -> None:
    """Never a 500."""
    served = await serve()
    assert (await served.client.post(URL, content=content, headers=headers)).status_code == 400


async def test_an_observation_that_comes_in_parts_is_merged(serve: Make) -> None:
    """The update has the output, the first part everything else; both readings show one row."""
    served = await serve(mode="dual")
    first = {"id": "o1", "traceId": "t1", "name": "apply_patch", "startTime": "2026-11-30T11:00:00Z", "input": "i", "metadata": {"a": 1}}
    await served.ingest("tool-create", first, id_="e1")
    await served.ingest("tool-update", {"id": "o1", "traceId": "t1", "output": "o", "metadata": {"b": 2}}, id_="e2")
    (row,) = (await served.get("/observations"))["data"]
    assert ("TOOL", "apply_patch", "i", "o", {"a": 1, "b": 2}) == tuple(row[key] for key in ("type", "name", "input", "output", "metadata"))
    assert ["o1"] == [row["id"] for row in await served.rows()]


async def test_a_trace_event_names_the_trace_of_earlier_and_later_rows(serve: Make) -> None:
    """Whatever came first."""
    served = await serve(mode="dual")
    await served.ingest("span-create", {"id": "o1", "traceId": "t1"}, id_="e1")
    await served.ingest("trace-create", {"id": "t1", "name": "codex", "sessionId": "s1", "tags": ["x"]}, id_="e2")
    await served.ingest("span-create", {"id": "o2", "traceId": "t1"}, id_="e3")
    rows = await served.rows(**ALL)
    assert {("codex", "s1", ("x",))} == {(row["traceName"], row["sessionId"], tuple(row["tags"])) for row in rows}
    assert {"o1", "o2", "t-t1"} == {row["id"] for row in rows}


BAD_EVENTS: list[Any] = [
    7,
    {"type": "score-create"},
    {"id": "e1", "type": "odd"},
    {"id": "e1", "type": "score-create", "timestamp": "now"},
    {"id": "e1", "type": "span-create", "timestamp": "2026-11-30T11:00:00Z", "body": 7},
]


@pytest.mark.parametrize("event", BAD_EVENTS, ids=range(len(BAD_EVENTS)))
async def test_a_bad_event_is_an_error_of_its_own(event: Any, serve: Make) -> None:
    """The good one beside it is taken."""
    served = await serve(mode="dual")
    good = {"id": "e9", "type": "score-create", "timestamp": "2026-11-30T11:00:00Z", "body": {"traceId": "t1", "name": "q", "value": 1}}
    answer = await served.client.post("/api/public/ingestion", json={"batch": [event, good]})
    assert (207, ["e9"], [400]) == (
        answer.status_code,
        [one["id"] for one in answer.json()["successes"]],
        [one["status"] for one in answer.json()["errors"]],
    )


@pytest.mark.parametrize("body", ["[]", '{"batch":{}}', "{}"])
async def test_a_batch_that_is_none_is_a_400(body: str, serve: Make) -> None:
    """With ``errors``, as this endpoint has it."""
    served = await serve()
    answer = await served.client.post("/api/public/ingestion", content=body)
    assert (400, True) == (answer.status_code, "errors" in answer.json())

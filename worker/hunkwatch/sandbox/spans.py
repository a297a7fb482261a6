"""An OTLP span as the observation that Langfuse makes of it: type, name, input and output, level, metadata, trace.

Each is the first of several attributes that is there; the order is Langfuse's.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hunkwatch.sandbox.otlp import Attributes, Span
from hunkwatch.sandbox.rows import Context, Row, compact, stored

TYPES = {"span", "event", "generation", "agent", "tool", "chain", "retriever", "evaluator", "embedding", "guardrail"}
OPENINFERENCE = {
    "TOOL": "TOOL", "LLM": "GENERATION", "AGENT": "AGENT", "CHAIN": "CHAIN", "RETRIEVER": "RETRIEVER", "EMBEDDING": "EMBEDDING",
    "GUARDRAIL": "GUARDRAIL", "EVALUATOR": "EVALUATOR",
}  # fmt: skip
GEN_AI = {
    "chat": "GENERATION", "completion": "GENERATION", "text_completion": "GENERATION", "generate_content": "GENERATION",
    "generate": "GENERATION", "embeddings": "EMBEDDING", "invoke_agent": "AGENT", "create_agent": "AGENT", "execute_tool": "TOOL",
}  # fmt: skip
MODELS = ("langfuse.observation.model.name", "gen_ai.response.model", "gen_ai.request.model", "ai.model.id", "llm.model_name", "model")
NAMES = ("gen_ai.tool.name", "genkit:name", "logfire.msg", "ai.toolCall.name", "ai.operationId")
AI_INPUTS = ("ai.prompt.messages", "ai.prompt", "ai.toolCall.args")
AI_OUTPUTS = (
    "ai.response.text",
    "ai.result.text",
    "ai.toolCall.result",
    "ai.response.object",
    "ai.response.toolCalls",
    "ai.result.toolCalls",
)
INPUTS = (
    "gcp.vertex.agent.llm_request", "gcp.vertex.agent.tool_call_args", "prompt", "mlflow.spanInputs", "traceloop.entity.input",
    "input.value", "input", "pydantic_ai.all_messages", "tool_arguments", "gen_ai.prompt.*", "llm.input_messages.*",
    "gen_ai.input.messages", "gen_ai.tool.call.arguments",
)  # fmt: skip
OUTPUTS = (
    "gcp.vertex.agent.llm_response", "gcp.vertex.agent.tool_response", "all_messages_events", "mlflow.spanOutputs",
    "traceloop.entity.output", "output.value", "output", "final_result", "tool_response", "gen_ai.completion.*",
    "llm.output_messages.*", "gen_ai.output.messages", "gen_ai.tool.call.result",
)  # fmt: skip
SDK_SCOPE = "langfuse-sdk"
NANOS = 1_000_000
NEVER = 1 << 62


def to_row(span: Span, *, now: int, share: Callable[[Context], Context]) -> Row:
    """The observation of a span."""
    about = span.attributes
    row = Row(span.id, span.trace, span.start // NANOS)
    row.end = span.end // NANOS if span.end else None
    row.parent = span.parent or None
    row.root = about.get("langfuse.internal.is_app_root") in {True, "true"}
    row.type, row.name = _type(span), str(_first(about, NAMES) or span.name)
    row.level = str(about.get("langfuse.observation.level") or ("ERROR" if span.failed else "DEFAULT"))
    row.status = str(about.get("langfuse.observation.status_message") or span.status)
    row.version = str(_first(about, ("langfuse.version", "service.version")) or "")
    row.environment = _environment(span)
    row.model = str(_first(about, MODELS) or "")
    row.input, row.output = stored(_input(span)), stored(_output(span))
    row.metadata, row.extras = _metadata(span), _extras(about) or None
    if row.type not in {"SPAN", "EVENT"}:
        row.extras = {"modelParameters": {}, **(row.extras or {})}
    row.context = share(_context(span))
    row.created = row.updated = row.seen = row.seen_v1 = now
    row.mark()
    return row


def _type(span: Span) -> str:
    about = span.attributes
    if str(about.get("langfuse.observation.type", "")).lower() in TYPES:
        return str(about["langfuse.observation.type"]).upper()
    if kind := OPENINFERENCE.get(str(about.get("openinference.span.kind", "")).upper()):
        return kind
    if kind := GEN_AI.get(str(about.get("gen_ai.operation.name", ""))):
        return kind
    operation = str(about.get("ai.operationId") or about.get("operation.name") or "")
    if operation.startswith("ai.toolCall"):
        return "TOOL"
    if operation.split(" ", maxsplit=1)[0].endswith((".doGenerate", ".doStream")) and _first(about, MODELS):
        return "GENERATION"
    if "gen_ai.tool.name" in about or "gen_ai.tool.call.id" in about or about.get("lk.function_tool"):
        return "TOOL"
    return "GENERATION" if _first(about, MODELS) else "SPAN"


def _environment(span: Span) -> str:
    for key in ("langfuse.environment", "deployment.environment.name", "deployment.environment"):
        for attributes in (span.attributes, span.resource):
            if attributes.get(key):
                return str(attributes[key])
    return "default"


def _input(span: Span) -> Any:
    about = span.attributes
    if "langfuse.observation.input" in about:
        return about["langfuse.observation.input"]
    if span.scope["name"] == "ai" and (found := _first(about, AI_INPUTS)) is not None:
        return found
    messages = [_message(name, content) for name, content in span.events if name.startswith("gen_ai.") and name != "gen_ai.choice"]
    return messages or _first(about, INPUTS)


def _output(span: Span) -> Any:
    about = span.attributes
    if "langfuse.observation.output" in about:
        return about["langfuse.observation.output"]
    if span.scope["name"] == "ai" and (found := _first(about, AI_OUTPUTS)) is not None:
        return found
    choices = [_message(name, content) for name, content in span.events if name == "gen_ai.choice"]
    return (choices[0] if len(choices) == 1 else choices) or _first(about, OUTPUTS)


def _message(name: str, content: Attributes) -> dict[str, Any]:
    return {"role": name.removeprefix("gen_ai.").removesuffix(".message"), **content}


def _metadata(span: Span) -> dict[str, Any]:
    about = span.attributes
    metadata: dict[str, Any] = _below(about, "langfuse.observation.metadata")
    if span.scope["name"] != SDK_SCOPE:
        metadata["attributes"] = {key: value if isinstance(value, str) else compact(value) for key, value in about.items()}
    return {**metadata, "resourceAttributes": span.resource, "scope": span.scope}


def _extras(about: Attributes) -> dict[str, Any]:
    found = {
        "modelParameters": _json(about.get("langfuse.observation.model.parameters")),
        "usageDetails": _json(about.get("langfuse.observation.usage_details")),
        "costDetails": _json(about.get("langfuse.observation.cost_details")),
        "completionStartTime": _json(about.get("langfuse.observation.completion_start_time")),
        "promptName": about.get("langfuse.observation.prompt.name"),
        "promptVersion": about.get("langfuse.observation.prompt.version"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _context(span: Span) -> Context:
    about = span.attributes
    tags = _json(about.get("langfuse.trace.tags", about.get("tag.tags")))
    metadata = _below(about, "langfuse.trace.metadata")
    return Context(
        name=str(about.get("langfuse.trace.name") or ""),
        user=str(_first(about, ("langfuse.user.id", "user.id")) or ""),
        session=str(_first(about, ("langfuse.session.id", "session.id")) or ""),
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        release=str(about.get("langfuse.release") or ""),
        public=about.get("langfuse.trace.public") in {True, "true"},
        metadata=compact(metadata) if metadata else "",
    )


def _below(about: Attributes, prefix: str) -> dict[str, Any]:
    whole = _json(about.get(prefix))
    below = dict(whole) if isinstance(whole, Mapping) else {}
    below.update({key[len(prefix) + 1 :]: value for key, value in about.items() if key.startswith(f"{prefix}.")})
    return below


def _first(about: Attributes, keys: Sequence[str]) -> Any:
    for key in keys:
        found = _nested(about, key[:-2]) if key.endswith(".*") else about.get(key)
        if found not in (None, ""):
            return found
    return None


def _nested(about: Attributes, prefix: str) -> Any:
    """Rebuild ``prefix.0.role``, ``prefix.0.content`` and so on as a list of objects."""
    tree: dict[str, Any] = {}
    for key, value in about.items():
        if key.startswith(f"{prefix}."):
            *path, leaf = key[len(prefix) + 1 :].split(".")
            branch = tree
            for step in path:
                below = branch.setdefault(step, {})
                branch = below if isinstance(below, dict) else branch
            branch[leaf] = value
    return _listed(tree) if tree else None


def _listed(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    branches = {key: _listed(branch) for key, branch in tree.items()}
    return list(branches.values()) if all(key.isdecimal() for key in branches) else branches


def _json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def staged(rows: Sequence[Row], *, at: int) -> list[Row]:
    """What becomes of spans without ingestion version 4: seen in the events table ten minutes late, under a root made up for the trace."""
    under: dict[str, Row] = {}
    for row in rows:
        row.seen = at
        if row.parent is None:
            top = under.setdefault(row.trace, _synthetic(row, at))
            row.parent = top.id
    return [*rows, *under.values()]


def _synthetic(first: Row, at: int) -> Row:
    root = first.copy()
    root.id, root.type, root.end, root.parent = f"t-{first.trace}", "SPAN", None, None
    root.name, root.level, root.status, root.metadata, root.extras = first.context.name or first.name, "DEFAULT", "", None, None
    root.seen, root.seen_v1 = at, NEVER
    return root

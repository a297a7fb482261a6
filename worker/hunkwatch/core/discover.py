"""Which calls an observation carries: who recorded it, where its arguments sit, and what became of them.

A TOOL or SPAN holds the arguments of one call in its input (execution); a GENERATION holds the calls that the model asks for in its
output (request), and so does an AGENT, as a copy. Nothing else is an argument: not the input of a GENERATION or AGENT, no prompt, text,
transcript, tool definition or result, and no copy in the metadata. A new tracer needs a line in ``PRODUCERS`` and a golden file.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from hunkwatch.core import cuts, layers, merging, outcome, producers, requests, results, tools, unwrap
from hunkwatch.core.model import Call, Evidence, Outcome
from hunkwatch.core.producers import Sign
from hunkwatch.core.tools import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hunkwatch.core.model import Observation
    from hunkwatch.core.requests import Request
    from hunkwatch.core.unwrap import Found

MARKER = "Begin Patch"
"""The words that Langfuse is asked to find in inputs and outputs."""

NAMES: tuple[str, ...] = (
    "apply_patch", "Tool: apply_patch", "tool:apply_patch", "tool-apply_patch", "execute_tool apply_patch", "apply_patch.tool",
    "Function: apply_patch", "running tool: apply_patch", "codex tool apply_patch", "codex.tool.file_change", "functions.apply_patch",
    "patch", "Tool: patch", "tool:patch", "tool-patch", "ApplyPatch", "Tool: ApplyPatch", "ApplyPatchAction", "applypatch",
    "copilot_applyPatch", "apply_patch_call",
)  # fmt: skip
"""Names to ask for, because no text search sees a headerless, hidden, redacted or empty argument."""

SCRIPTS: tuple[str, ...] = (
    "shell", "shell_command", "exec_command", "local_shell", "exec", "bash", "Bash", "python", "Tool: Bash", "Tool: bash", "tool:bash",
    "tool-bash", "execute_tool bash", "execute_tool shell", "execute_tool exec", "tool:shell", "execute_bash", "run_shell_command",
    "run_in_terminal", "codex.tool.generic", "codex.tool.command", "CmdRunAction", "TerminalAction", "ExecuteBashAction",
)  # fmt: skip
"""Names of tools that run commands, to ask for where no text search can tell which of them run the patch command."""

PRODUCERS: tuple[Sign, ...] = (
    Sign("codex-plugin", metadata=("codex.",)),
    Sign("codex-tracer", names=("codex.tool.",)),
    Sign("codex-logfire", attributes=("codex.",)),
    Sign("hermes", names=("Tool: ",), metadata=("tool_call_id",)),
    Sign("opencode-hook", names=("Tool: ",), metadata=("callID",)),
    Sign("claude-hook", names=("Tool: ",), metadata=("tool_id",)),
    Sign("otel-hooks", names=("Tool: ",)),
    Sign("opencode-plugin", metadata=("callID",)),
    Sign("opencode-plugin", names=("opencode.",)),
    Sign("opencode-exporter", names=("tool-",)),
    Sign("pi", names=("tool:",)),
    Sign("cline", metadata=("clientName",)),
    Sign("cline", metadata=("sessionId", "iteration")),
    Sign("openhands", attributes=("lmnr.",)),
    Sign("copilot", attributes=("copilot_chat.",)),
    Sign("copilot", attributes=("github.copilot.",)),
    Sign("copilot", given=("explanation", "input")),
    Sign("openai-agents", names=("Function: ", "response", "Responses API with", "openai.response")),
    Sign("openinference", attributes=("openinference.",)),
    Sign("traceloop", attributes=("traceloop.",)),
    Sign("pydantic-ai", attributes=("logfire.", "gen_ai.tool.call.id")),
    Sign("pydantic-ai", attributes=("pydantic_ai.",)),
    Sign("ai-sdk", attributes=("ai.",)),
    Sign("ai-sdk", names=("ai.",)),
    Sign("ai-sdk", given=("callId", "operation")),
    Sign("haystack", names=("tool_invoker",)),
    Sign("langchain", answered=("tool_call_id", "type")),
    Sign("langchain", metadata=("ls_",)),
    Sign("langchain", metadata=("langgraph_",)),
    Sign("langchain", names=("Chat",)),
    Sign("litellm", names=("litellm-",)),
    Sign("langfuse-openai", names=("OpenAI-generation",)),
    Sign("langfuse-sdk", given=("args", "kwargs")),
    Sign("otel", attributes=("gen_ai.",)),
    Sign("otel", names=("chat ", "execute_tool ")),
)
"""Every producer that is told apart, most telling sign first. A call of none of these is of ``unknown``."""

_HALVES = frozenset({"opencode-exporter"})
"""Producers that record the start and the end of a call as two observations: one without input is no call."""
_MODEL = frozenset({"GENERATION"})
_COPIES = frozenset({"AGENT"})
_NEVER = frozenset({"EMBEDDING", "RETRIEVER", "EVALUATOR", "GUARDRAIL"})
_TRANSCRIPTS = frozenset({"codex.terminal", "codex.transcript"})
_NODES = ("tool_invoker", "ToolInvoker")
_NODE_ITEMS = 1000
_NOTHING: tuple[object, ...] = (None, "", {}, "{}", [])
_LONG_METADATA = 10_000
_OBJECTS = frozenset({"attributes", "input_meta", "output_meta"})
"""Keys of the metadata that hold an object, whose own keys may have dots."""
_TOOL_KEYS = ("codex.tool_name", "tool_name", "toolName", "tool")
_TOOL_ATTRIBUTES = ("gen_ai.tool.name", "ai.toolCall.name", "tool.name", "tool_name")
_ID_KEYS = ("codex.call_id", "call_id", "callID", "callId", "tool_call_id", "toolCallId", "tool_id", "tool_use_id")
_ID_ATTRIBUTES = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.call_id", "call_id")
_ID_RESULTS = ("tool_call_id", "toolCallId", "call_id", "callId", "tool_use_id")
_HIDDEN_INPUT = ("lmnr.span.input",)
_HIDDEN_OUTPUT = ("lmnr.span.output",)
CALLS = 1000
"""How many calls of one observation are taken; more than a person would ever look at."""


def calls(observation: Observation) -> tuple[Call, ...]:
    """Return every call that the observation carries. Total: whatever is in it, this returns."""
    if observation.type in _NEVER or observation.name in _TRANSCRIPTS:
        return ()
    if observation.type in _MODEL or observation.type in _COPIES:
        return () if _says_nothing(observation.output) else _requested(observation)
    return _executed(observation)


def _says_nothing(io: object) -> bool:
    """Say cheaply whether a raw text cannot hold a call: every marker and every name of a patch tool has these letters."""
    return isinstance(io, str) and "atch" not in io


def answers(observation: Observation, patches: Mapping[str, int] | None = None) -> dict[str, Outcome]:
    """Return the outcomes of earlier calls that the input of a generation tells: the conversation so far.

    ``patches`` names the calls that are asked for, by call id, and how many patches each carries; without it, every result counts as one's.
    """
    if observation.type not in _MODEL:
        return {}
    history, _ = _value(observation.input)
    told = results.told(history)
    asked = dict.fromkeys(told, 1) if patches is None else patches
    return {call_id: outcome.of_result(told[call_id], calls=count) for call_id, count in asked.items() if call_id in told}


# ---------------------------------------------------------------- what a model asked for


def _requested(observation: Observation) -> tuple[Call, ...]:
    answer, whole = _value(observation.output)
    found = _found(requests.made(answer, cut=not whole))
    if observation.type in _COPIES:
        found = [(call_id, each._replace(flags=each.flags | {merging.COPY})) for call_id, each in found if call_id is not None]
    metadata = _metadata(observation)
    producer = producers.recognise(PRODUCERS, observation.name, metadata, given=None, answered=answer)
    return tuple(_numbered(observation, producer, Evidence.REQUEST, found))


def _found(asked: Iterable[Request]) -> list[tuple[str | None, Found]]:
    """Return the patches that are asked for, each once, however often one answer repeats a call in its several places.

    Under one call id the first place whose patch can be read counts. Without ids, a patch that another place holds already is a copy.
    """
    places: dict[str | None, dict[str, list[Found]]] = {}
    holders: dict[str | None, str] = {}
    for request in _begun(asked):
        patches = _of(request.argument, tools.kind(request.name), cut=request.cut)
        if request.call_id is None:
            patches = [each for each in patches if holders.get(each.text, request.place) == request.place]
        holders.update((each.text, request.place) for each in patches if each.text is not None and each.text not in holders)
        if patches:
            places.setdefault(request.call_id, {}).setdefault(request.place, []).extend(patches)
    found: list[tuple[str | None, Found]] = []
    for call_id, by_place in places.items():
        if call_id is None:
            found.extend((None, each) for patches in by_place.values() for each in patches)
            continue
        patches = next((each for each in by_place.values() if any(one.text is not None for one in each)), next(iter(by_place.values())))
        found.extend((call_id, each) for each in dict.fromkeys(patches))
    return found


def _begun(asked: Iterable[Request]) -> Iterator[Request]:
    """Yield the requests without those that only announce a call whose argument comes later under the same id."""
    given = list(asked)
    filled = {(request.call_id, request.name) for request in given if request.call_id is not None and request.argument not in _NOTHING}
    return (request for request in given if request.argument not in _NOTHING or (request.call_id, request.name) not in filled)


# ---------------------------------------------------------------- what a tool was given


def _executed(observation: Observation) -> tuple[Call, ...]:
    metadata = _metadata(observation)
    attributes = _mapping(metadata.get("attributes"))
    name = _first(metadata, _TOOL_KEYS) or _first(attributes, _TOOL_ATTRIBUTES)
    kind = tools.kind(observation.name)
    if kind is Kind.OTHER and name:
        kind = tools.kind(name)
    given = observation.input
    if kind is not Kind.PATCH and _says_nothing(given):
        return ()
    if given in (None, "") and kind is Kind.PATCH:
        given = next((attributes[key] for key in _HIDDEN_INPUT if key in attributes), given)
    argument, whole = _value(given)
    answer, _ = _value(observation.output)
    if kind is Kind.OTHER and (node := _of_node(observation, metadata, argument, answer)) is not None:
        return node
    if kind is Kind.OTHER and observation.type != "TOOL":
        return ()
    inner = requests.item(_mapping(argument).get("params", argument), "tool_call") if kind is Kind.OTHER else None
    if inner is not None:
        kind, argument = tools.kind(inner.name), inner.argument
    producer = producers.recognise(PRODUCERS, observation.name, metadata, given=argument, answered=answer)
    if given in (None, "") and (producer in _HALVES or (observation.type != "TOOL" and tools.bare(observation.name) == "patch")):
        return ()
    found = _of(argument, kind, cut=not whole or _is_cut(metadata))
    if not found:
        return ()
    if answer in (None, ""):
        answer, _ = _value(next((attributes[key] for key in _HIDDEN_OUTPUT if key in attributes), answer))
    call_id = (
        _first(metadata, _ID_KEYS) or _first(attributes, _ID_ATTRIBUTES) or _id_in(argument, _ID_RESULTS) or _id_in(answer, _ID_RESULTS)
    )
    became = outcome.of(observation.level, observation.status_message or "", answer, metadata, calls=len(found))
    made = _numbered(observation, producer, Evidence.EXECUTION, [(call_id or None, each) for each in found])
    return tuple(replace(call, outcome=became, has_output=answer not in (None, "")) for call in made)


def _of_node(observation: Observation, metadata: Mapping[str, object], argument: object, answer: object) -> tuple[Call, ...] | None:
    """Return the calls of a node that runs whatever tools a model asked for; None when it is no such node.

    It gets the calls themselves, or the whole conversation: then only the calls that its output answers are its own.
    """
    told = results.told(answer)
    given = argument if isinstance(argument, list) else [argument]
    asked = [request for each in given[:_NODE_ITEMS] if (request := requests.item(each)) is not None and request.call_id is not None]
    if len(asked) != len(given) and (observation.type == "TOOL" or observation.name.startswith(_NODES)):
        asked = [request for request in requests.made(argument, whole_history=True) if request.call_id in told]
    elif len(asked) != len(given):
        return None
    found = _found(asked)
    if not found:
        return None
    producer = producers.recognise(PRODUCERS, observation.name, metadata, given=argument, answered=answer)
    return tuple(
        replace(call, outcome=outcome.of_result(told.get(call.call_id or "", answer)), has_output=answer not in (None, ""))
        for call in _numbered(observation, producer, Evidence.EXECUTION, found)
    )


def _is_cut(metadata: Mapping[str, object]) -> bool:
    """Say whether the metadata tells of a cut that left no mark in the text."""
    meta = _mapping(metadata.get("input_meta"))
    return meta.get("truncated") in (True, "true", "True")


# ---------------------------------------------------------------- both


def _of(argument: object, kind: Kind, *, cut: bool) -> list[Found]:
    if kind is Kind.PARALLEL:
        inner = requests.made([{"name": "multi_tool_use.parallel", "type": "function", "input": argument}], cut=cut)
        return [
            each
            for request in inner
            if request.name != "multi_tool_use.parallel"
            for each in unwrap.find(request.argument, tools.kind(request.name))
        ]
    return list(unwrap.find(argument, kind, cut=cut))


def _numbered(observation: Observation, producer: str, evidence: Evidence, found: Iterable[tuple[str | None, Found]]) -> Iterator[Call]:
    """Yield the calls, counted under each call id."""
    counts: dict[str | None, int] = {}
    for call_id, each in islice(found, CALLS):
        index = counts.get(call_id, 0)
        counts[call_id] = index + 1
        yield Call(
            trace_id=observation.trace_id,
            observation_id=observation.id,
            start_time=observation.start_time,
            end_time=observation.end_time,
            call_id=call_id,
            index=index,
            producer=producer,
            evidence=evidence,
            text=each.text,
            why=each.why,
            flags=tuple(sorted(each.flags)),
            environment=observation.environment,
            trace_name=observation.trace_name,
            session_id=observation.session_id,
            model=observation.model,
        )


def _value(io: object) -> tuple[object, bool]:
    """Return an input or output as a value, and whether it is whole; raw text that is not JSON stays text."""
    if not isinstance(io, str) or io.lstrip()[:1] not in {"{", "[", '"'} or cuts.is_placeholder(io):
        return io, True
    return layers.decode(io)


def _metadata(observation: Observation) -> Mapping[str, object]:
    """Return the metadata as it was written: v2 hands it over as dotted paths to texts, some servers quote strings, or objects."""
    metadata = observation.metadata
    if not isinstance(metadata, dict):
        return {}
    told: dict[str, object] = {}
    for path, value in metadata.items():
        key, _, below = str(path).partition(".")
        if key in _OBJECTS and below:
            place = told.setdefault(key, {})
            if isinstance(place, dict):
                place[below] = _plain(below, value)
        else:
            plain = _plain(str(path), value)
            before = told.get(str(path))
            told[str(path)] = {**before, **plain} if isinstance(before, dict) and isinstance(plain, dict) else plain
    return told


def _plain(key: str, value: object) -> object:
    if isinstance(value, str) and value[:1] in {'"', "{"} and (key == "attributes" or len(value) < _LONG_METADATA):
        return layers.decode(value)[0]
    return value


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _first(place: Mapping[str, object], keys: tuple[str, ...]) -> str:
    return next((text for key in keys if isinstance(text := place.get(key), str) and text), "")


def _id_in(value: object, keys: tuple[str, ...]) -> str:
    """Return the call id that an argument or a result carries itself."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    place = _mapping(value)
    return _first(place, keys) or _first(_mapping(place.get("kwargs")), keys)

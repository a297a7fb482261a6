"""How each agent's tracer writes a session down: the observations of one trace, before they have ids.

Pure. The first observation is the root of the others. ``planted`` is the number of calls whose scores belong on an observation:
on the tool that ran, or on the model's answer where no tool was recorded. Everything else repeats calls, and must not be scored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from uuid import NAMESPACE_URL, uuid5

from hunkwatch.core.model import Outcome

if TYPE_CHECKING:
    from hunkwatch.demo.sessions import Planted, Session

Kind = Literal["agent", "generation", "tool"]

EXAMPLE = "Edit files with apply_patch. Example:\n*** Begin Patch\n*** Add File: hello.txt\n+Hello\n*** End Patch"
"""What tool descriptions say; a description is not a call."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One observation as its tracer hands it to Langfuse."""

    kind: Kind
    name: str
    input: object
    output: object
    metadata: Mapping[str, object] = field(default_factory=dict)
    failed: str = ""
    model: str = ""
    planted: int = 0


def record(session: Session) -> tuple[Recorded, ...]:
    """Return the observations of a session, in the order they happened."""
    return _WRITERS[session.agent](session)


def call_id(session: Session, position: int) -> str:
    """Return the id that the model gave to a call: random for a reader, the same on every run."""
    return f"call_{uuid5(NAMESPACE_URL, f'{session.agent}/{session.title}/{position}').hex[:24]}"


def _result(call: Planted, *, applied: str) -> str:
    if call.output:
        return call.output
    if call.outcome is Outcome.APPLIED:
        return applied
    return "apply_patch verification failed: Failed to find expected lines in the file"


def _paths(call: Planted) -> list[str]:
    lines = [line.rstrip("\r") for patch in call.patches for line in patch.split("\n")]
    marks = {"*** Add File: ": "A", "*** Update File: ": "M", "*** Delete File: ": "D"}
    return [f"{marks[mark]} {line.removeprefix(mark)}" for line in lines for mark in marks if line.startswith(mark)]


def _success(call: Planted) -> str:
    return "\n".join(["Success. Updated the following files:", *_paths(call)]) + "\n"


# ---------------------------------------------------------------- Codex


def _codex(session: Session) -> tuple[Recorded, ...]:
    return _codex_turn(session, lambda call, _: ("apply_patch", call.raw or call.patches[0]))


def _json_tool(session: Session) -> tuple[Recorded, ...]:
    return _codex_turn(session, lambda call, _: ("apply_patch", {"input": call.raw or call.patches[0]}))


def _codex_shell(session: Session) -> tuple[Recorded, ...]:
    return _codex_turn(session, lambda call, _: _shell(call))


def _shell(call: Planted) -> tuple[str, object]:
    match call.form:
        case "heredoc":
            return "shell", {"command": ["bash", "-lc", f"cd /repo && apply_patch <<'EOF'\n{call.patches[0]}\nEOF\n"], "timeout_ms": 120000}
        case "argv":
            return "shell", {"command": ["apply_patch", call.patches[0]], "workdir": "/repo"}
        case "script":
            return "exec_command", {"cmd": f"mkdir -p web\ncd /repo\napply_patch <<'PATCH'\n{call.patches[0]}\nPATCH\ngit diff --stat\n"}
        case "two_heredocs":
            script = "".join(f"apply_patch <<'EOF'\n{patch}\nEOF\n" for patch in call.patches)
            return "shell", {"command": ["bash", "-lc", script]}
        case "code_mode_constant":
            return "exec", f"const patch = {json.dumps(call.patches[0])};\ntext(await tools.apply_patch(patch));\n"
        case _:
            return "exec", call.raw


def _codex_turn(session: Session, write: Callable[[Planted, int], tuple[str, object]]) -> tuple[Recorded, ...]:
    turn: list[Recorded] = [Recorded("agent", "Codex Turn", session.task, "Done.", {"codex.turn_id": call_id(session, -1)})]
    heard: object = session.task
    for position, call in enumerate(session.calls):
        key = call_id(session, position)
        name, arguments = write(call, position)
        output = _result(call, applied=_success(call))
        asked = {"tool_calls": [{"id": key, "name": name, "arguments": arguments}]}
        turn.append(Recorded("generation", "LLM", heard, asked, {"codex.step_index": position}, model="gpt-5.1-codex"))
        failed = output.split("\n")[0] if call.outcome is not Outcome.APPLIED else ""
        turn.append(
            Recorded("tool", name, arguments, output, {"codex.call_id": key, "codex.tool_name": name}, failed=failed, planted=call.calls)
        )
        heard = [{"name": name, "output": output}]
    turn.append(Recorded("generation", "LLM", heard, {"content": "Done."}, {"codex.step_index": len(session.calls)}, model="gpt-5.1-codex"))
    return tuple(turn)


# ---------------------------------------------------------------- Cline


def _cline(session: Session) -> tuple[Recorded, ...]:
    history: list[object] = [{"role": "user", "parts": [{"type": "text", "content": session.task}]}]
    turn: list[Recorded] = [Recorded("agent", "invoke_agent gpt-5.1-codex", session.task, "Done.", {"sessionId": call_id(session, -1)})]
    rounds = [list(enumerate(session.calls))] if session.together else [[pair] for pair in enumerate(session.calls)]
    for number, asked in enumerate(rounds):
        parts = [
            {"type": "tool_call", "id": call_id(session, position), "name": "apply_patch", "arguments": {"input": call.patches[0]}}
            for position, call in asked
        ]
        answer = {"role": "assistant", "parts": parts}
        planted = sum(call.calls for _, call in asked)
        turn.append(_cline_generation(session, history, [{**answer, "finish_reason": "tool_call"}], number, planted))
        history = [*history, answer, {"role": "tool", "parts": [_cline_response(session, position, call) for position, call in asked]}]
    last = [{"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}]
    turn.append(_cline_generation(session, history, last, len(rounds), 0))
    return tuple(turn)


def _cline_generation(session: Session, history: list[object], output: object, iteration: int, planted: int) -> Recorded:
    asked = {"messages": history, "tools": [{"type": "function", "name": "apply_patch", "description": EXAMPLE}]}
    name, about = "chat gpt-5.1-codex", {"sessionId": call_id(session, -1), "iteration": str(iteration)}
    return Recorded("generation", name, asked, output, about, model="gpt-5.1-codex", planted=planted)


def _cline_response(session: Session, position: int, call: Planted) -> dict[str, object]:
    applied = "Successfully applied patch to the following files:\n" + "\n".join(path[2:] for path in _paths(call))
    text = _result(call, applied=applied)
    good = call.outcome is Outcome.APPLIED
    response = {"query": "apply_patch", "result" if good else "error": text, "success": good}
    return {"type": "tool_call_response", "id": call_id(session, position), "response": response}


# ---------------------------------------------------------------- OpenAI Agents SDK


def _openai_agents(session: Session) -> tuple[Recorded, ...]:
    turn: list[Recorded] = [Recorded("agent", "Agent workflow", session.task, "Done.")]
    items: list[object] = [{"role": "user", "content": session.task}]
    for position, call in enumerate(session.calls):
        step = call.operations[0]
        operation = {"type": step.type, "path": step.path, "diff": step.diff or None}
        asked = {"type": "apply_patch_call", "call_id": call_id(session, position), "status": "completed", "operation": operation}
        turn.append(_response(items, asked))
        done = {"update_file": "Updated", "create_file": "Created", "delete_file": "Deleted"}[step.type]
        output = _result(call, applied=f"{done} {step.path}")
        about = {"attributes": {"openinference.span.kind": "TOOL", "tool.name": "apply_patch"}}
        failed = output if call.outcome is not Outcome.APPLIED else ""
        turn.append(Recorded("tool", "apply_patch", [operation], output, about, failed=failed, planted=call.calls))
        items = [*items, asked, {"type": "apply_patch_call_output", "call_id": call_id(session, position), "output": output}]
    turn.append(_response(items, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}))
    return tuple(turn)


def _response(items: list[object], item: object) -> Recorded:
    tools = [{"type": "custom", "name": "apply_patch", "description": EXAMPLE}]
    return Recorded("generation", "response", items, {"instructions": EXAMPLE, "tools": tools, "output": [item]}, model="gpt-5.1")


# ---------------------------------------------------------------- opencode


def _opencode(session: Session) -> tuple[Recorded, ...]:
    turn: list[Recorded] = [Recorded("agent", "opencode.turn", session.task, "Done.")]
    heard: list[object] = [{"role": "user", "content": session.task}]
    for position, call in enumerate(session.calls):
        key = call_id(session, position)
        arguments: object = call.raw or {"patchText": call.patches[0]}
        asked = {"role": "assistant", "tool_calls": [{"id": key, "name": "apply_patch", "arguments": json.dumps(arguments)}]}
        turn.append(Recorded("generation", "opencode.generation", heard, [asked], model="claude-sonnet-4.5"))
        text = _result(call, applied=_success(call))
        good = call.outcome is Outcome.APPLIED
        output: object = {"title": text.split("\n")[0], "output": text} if good else {"error": text}
        about = {"callID": key, "tool": "apply_patch"}
        turn.append(Recorded("tool", "apply_patch", arguments, output, about, failed="" if good else text, planted=call.calls))
        heard = [*heard, asked, {"role": "tool", "content": text}]
    turn.append(
        Recorded("generation", "opencode.generation", heard, [{"role": "assistant", "content": "Done."}], model="claude-sonnet-4.5")
    )
    return tuple(turn)


# ---------------------------------------------------------------- GitHub Copilot


def _copilot(session: Session) -> tuple[Recorded, ...]:
    turn: list[Recorded] = [Recorded("agent", "invoke_agent GitHub Copilot Chat", session.task, "Done.")]
    history: list[object] = [{"role": "user", "parts": [{"type": "text", "content": session.task}]}]
    for position, call in enumerate(session.calls):
        key = call_id(session, position)
        arguments = {"explanation": session.task, "input": call.patches[0]}
        part = {"type": "tool_call", "id": key, "name": "apply_patch", "arguments": json.dumps(arguments)}
        turn.append(Recorded("generation", "chat gpt-5.1", history, [{"role": "assistant", "parts": [part]}], model="gpt-5.1"))
        applied = "The following files were successfully edited:\n" + "\n".join(path[2:] for path in _paths(call))
        output = _result(call, applied=applied)
        about = {"attributes": {"gen_ai.tool.name": "apply_patch", "gen_ai.tool.call.id": key, "gen_ai.operation.name": "execute_tool"}}
        failed = output if call.outcome is not Outcome.APPLIED else ""
        turn.append(Recorded("tool", "apply_patch", arguments, output, about, failed=failed, planted=call.calls))
        history = [
            *history,
            {"role": "assistant", "parts": [{**part, "arguments": arguments}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": key, "response": output}]},
        ]
    return tuple(turn)


# ---------------------------------------------------------------- talk without a call


def _talk(session: Session) -> tuple[Recorded, ...]:
    text = "\n\n".join(session.mentions)
    return (
        Recorded("agent", "assistant", session.task, text),
        Recorded("tool", "read_file", {"path": "CONTRIBUTING.md"}, text),
        Recorded(
            "generation", "chat", [{"role": "user", "content": session.task}], {"role": "assistant", "content": text}, model="gpt-5.1"
        ),
    )


_WRITERS: Mapping[str, Callable[[Session], tuple[Recorded, ...]]] = {
    "codex": _codex,
    "codex_shell": _codex_shell,
    "json_tool": _json_tool,
    "cline": _cline,
    "openai_agents": _openai_agents,
    "opencode": _opencode,
    "copilot": _copilot,
    "talk": _talk,
}

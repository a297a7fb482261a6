"""Any number of observations of coding agents, the same for the same seed, without HTTP and without keeping their texts.

A session is a trace: an agent, and per step a model's answer and a tool that ran; some of the tools are ``apply_patch`` in one of the
forms that agents use, the others look at files. A row knows whether a text holds a patch; the text is written when somebody reads it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from hunkwatch.sandbox import moments, patchwork
from hunkwatch.sandbox.patchwork import Patch, between
from hunkwatch.sandbox.rows import Context, Row, compact

FORMS = (("freeform", "argv", "heredoc", "json", "code"), (6835, 1653, 709, 97, 9))
"""The forms in which 9,303 real calls were recorded."""
OTHERS_PER_CALL = 2.6
"""Other steps between two patches, so that an observation in eight is a patch call as it ran."""
FAILED = ((0, 0.045), (1, 0.088), (2, 0.102), (3, 0.114), (5, 0.144), (10, 0.18), (20, 0.262))
"""How often a patch with at least so many retyped lines does not apply."""
STEP = 4000
AGENTS = ("codex-session", "cline-task", "copilot-edit", "nightly-refactor")
METADATA = {"scope": {"name": "langfuse-sdk", "version": "5.0.4"}, "resourceAttributes": {"service.name": "agent"}}
HISTORY = 3


@dataclass(frozen=True, slots=True)
class Call:
    """One patch call: its patch's number and the form it is recorded in."""

    number: int
    form: str

    def patch(self) -> Patch:
        """The patch, written anew at every call."""
        return patchwork.write(self.number)

    def arguments(self) -> str:
        """The tool's input as it is stored."""
        text = self.patch().text
        match self.form:
            case "argv":
                return compact({"command": ["apply_patch", text]})
            case "heredoc":
                return compact({"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{text}\nEOF\n"]})
            case "json":
                return compact({"input": text})
            case "code":
                return f"const result = await tools.apply_patch({json.dumps(text)});\ntext(result);"
            case _:
                return text

    @property
    def tool(self) -> str:
        """The name of the tool that is called."""
        return {"argv": "shell", "heredoc": "shell", "code": "exec"}.get(self.form, "apply_patch")

    @property
    def fails(self) -> bool:
        """Whether the tool said no."""
        patch = self.patch()
        share = [failed for least, failed in FAILED if patch.retyped >= least][-1]
        return (self.number * 2654435761 % 2**32) / 2**32 < share


class Arguments:
    """The input of a call as it ran."""

    __slots__ = ("call", "marked")

    def __init__(self, call: Call) -> None:
        """Stand for the arguments of this call."""
        self.call, self.marked = call, True

    def text(self) -> str:
        """The arguments."""
        return self.call.arguments()


class Request:
    """The answer of a model that asks for a call."""

    __slots__ = ("_id", "call", "marked")

    def __init__(self, call: Call, id_: str) -> None:
        """Stand for the request of this call."""
        self.call, self._id, self.marked = call, id_, True

    def text(self) -> str:
        """The assistant's message with its tool call."""
        arguments: Any = self.call.arguments()
        kind = "custom_tool_call" if self.call.form in {"freeform", "code"} else "function_call"
        said = {"type": kind, "call_id": self._id, "name": self.call.tool}
        return compact([{**said, "input" if kind == "custom_tool_call" else "arguments": arguments}])


class History:
    """The input of a model: what was said before, earlier patches included."""

    __slots__ = ("_calls", "marked")

    def __init__(self, calls: tuple[Call, ...]) -> None:
        """Stand for a conversation with these calls."""
        self._calls, self.marked = calls, bool(calls)

    def text(self) -> str:
        """The messages."""
        said = [{"role": "assistant", "tool": call.tool, "content": call.arguments()} for call in self._calls]
        return compact([{"role": "user", "content": "Make the tests pass."}, *said])


def rows(seed: int, count: int, *, until: datetime, over: timedelta = timedelta(days=7)) -> Iterator[Row]:
    """``count`` observations of sessions that began in the time ``over`` before ``until``, session by session."""
    made = session = 0
    first, spread = moments.millis(until - over), over // timedelta(milliseconds=1)
    while made < count:
        for row in Session(seed, session, first, spread).rows():
            if made == count:
                return
            made += 1
            yield row
        session += 1


class Session:
    """One trace."""

    def __init__(self, seed: int, number: int, first: int, spread: int) -> None:
        """Choose what happens in it."""
        self._random = Random(seed * 1_000_003 + number)  # noqa: S311 - not a secret
        self._trace = f"{self._random.getrandbits(128):032x}"
        self._start = first + int(self._random.random() * spread)
        agent = self._random.choice(AGENTS)
        self._context = Context(name=agent, session=f"session-{number // 3}", user=f"user-{number % 50}", tags=("agent", agent))

    def rows(self) -> Iterator[Row]:
        """Its observations."""
        random = self._random
        calls = between(patchwork.CALLS, random.random())
        steps = calls + round(calls * OTHERS_PER_CALL * 2 * random.random())
        patching = set(random.sample(range(steps), calls))
        root = self._row("AGENT", self._context.name, None, self._start, STEP * steps)
        root.input, root.output = "Make the tests pass.", "Done."
        yield root
        earlier: list[Call] = []
        for step in range(steps):
            call = Call(random.getrandbits(32), random.choices(*FORMS)[0]) if step in patching else None
            yield from self._step(root.id, self._start + STEP * step, call, tuple(earlier[-HISTORY:]))
            if call is not None:
                earlier.append(call)

    def _step(self, parent: str, start: int, call: Call | None, earlier: tuple[Call, ...]) -> Iterator[Row]:
        model = self._row("GENERATION", "model", parent, start, STEP // 2)
        model.model, model.input = "gpt-5-codex", History(earlier)
        name = "shell" if call is None else call.tool
        tool = self._row("TOOL", name, parent, start + STEP // 2, STEP // 4)
        if call is None:
            model.output = '[{"type":"function_call","name":"shell","arguments":"{\\"command\\":[\\"cat\\",\\"src/app.py\\"]}"}]'
            tool.input, tool.output = '{"command":["cat","src/app.py"]}', "def main():\n    run()\n"
        else:
            model.output, tool.input = Request(call, f"call_{tool.id}"), Arguments(call)
            tool.output = Result(call)
            tool.metadata = {**METADATA, "call_id": f'"call_{tool.id}"'}
        for row in (model, tool):
            row.mark()
            yield row

    def _row(self, kind: str, name: str, parent: str | None, start: int, took: int) -> Row:
        row = Row(f"{self._random.getrandbits(64):016x}", self._trace, start)
        row.type, row.name, row.parent, row.end = kind, name, parent, start + took
        row.context, row.metadata = self._context, METADATA
        row.created = row.updated = row.seen = row.seen_v1 = row.end
        return row


class Result:
    """What the tool said."""

    __slots__ = ("call", "marked")

    def __init__(self, call: Call) -> None:
        """Stand for the result of this call."""
        self.call, self.marked = call, False

    def text(self) -> str:
        """Codex's words for success or failure."""
        if self.call.fails:
            return '{"output":"apply_patch verification failed: Failed to find expected lines in src/app.py","metadata":{"exit_code":1}}'
        return '{"output":"Success. Updated the following files:\\nM src/app.py\\n","metadata":{"exit_code":0}}'

"""From an argument to the patches in it: through JSON in JSON, Python and Go literals, shell, PowerShell and source code.

``find`` takes the argument of one call as it was recorded, a JSON value or a text, and what kind of tool it was given to. Only whole
strings are decoded, at most ``layers.LAYERS`` deep, and a text whose markers stand on lines of their own is never unescaped. Total, and
linear in the length of the text; a text without a marker costs one search.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core import cuts, grammar, layers, operations, scripts, trimmings
from hunkwatch.core.model import Action, Malformed
from hunkwatch.core.operations import Operation
from hunkwatch.core.quoting import loose
from hunkwatch.core.tools import Kind, kind

if TYPE_CHECKING:
    from collections.abc import Sequence

CALLS = 1000
"""How many patches of one argument are taken; more than a person would ever read."""
_NESTED = 12
_ITEMS = 1000
_WORD_LENGTH = 300

_PATCH_KEYS = (
    "input",
    "patch",
    "patchText",
    "patch_text",
    "patchContent",
    "patch_content",
    "diff",
    "__arg1",
    "text",
    "content",
    "patches",
    "diffs",
)
_SURE_KEYS = frozenset({"input", "patch", "patchText", "patch_text", "__arg1"})
_SCRIPT_KEYS = (
    "command", "cmd", "commands", "script", "code", "source", "input", "action", "cmds", "shell_command", "bash", "chars", "keys", "__arg1",
)  # fmt: skip
_WRAPPERS = (
    "arguments", "args", "kwargs", "parameters", "params", "tool_input", "toolInput", "tool_args", "toolArgs", "tool_arguments",
    "payload", "request", "operation", "operations", "body", "data", "value", "function", "custom", "tool_call", "command", "cmd",
    "script", "code", "raw",
)  # fmt: skip
_PROSE = frozenset({
    "explanation", "description", "reason", "reasoning", "thought", "thinking", "context", "history", "messages", "prompt", "system",
    "instructions", "metadata", "meta", "schema", "parameters_schema", "inputSchema", "tools", "result", "output", "response", "error",
    "example", "examples", "old", "old_str", "old_string", "before", "comment", "note", "notes", "title", "plan", "summary",
})  # fmt: skip
"""Keys under which a patch is told about, not given."""
_FILE_ENDINGS = ("path", "file", "filename", "file_name")
_BARE = ("***", "{", "[", '"', "<<", "apply_patch", "applypatch", "```")
_MODES = frozenset({"", "patch", "apply", "apply_patch", "v4a", "default"})
_FIELDS = re.compile(r"(?:[A-Za-z_]\w*+\()?+[A-Za-z_]\w*+=['\"]")
_NO_MARKERS = frozenset({"no_begin", "no_end"})
_QUOTES = frozenset("{[\"'(")


class Found(NamedTuple):
    """A patch, or (``text`` is None) the news that there was one and ``why`` it cannot be read."""

    text: str | None
    why: str = ""
    flags: frozenset[str] = frozenset()


def find(argument: object, of: Kind, *, cut: bool = False) -> tuple[Found, ...]:
    """Return every patch in the argument of a call to a tool of this kind, in order. ``cut`` says that its end is known to be lost."""
    search = _Search(of, cut=cut)
    search.value(argument, 0)
    return tuple(search.found)


class _Search:
    """One search through one argument."""

    def __init__(self, of: Kind, *, cut: bool) -> None:
        self.kind = of
        self.cut = cut
        self.path = ""
        self.bom = False
        self.found: list[Found] = []

    def value(self, value: object, depth: int) -> None:
        if depth > _NESTED:
            return
        if isinstance(value, str):
            self.text(value, depth)
        elif isinstance(value, dict):
            self.fields(value, depth)
        elif isinstance(value, list):
            self.items(value, depth)
        elif value is None and not depth and self.kind is Kind.PATCH:
            self.miss("empty")

    def miss(self, why: str) -> None:
        self.add(Found(None, why))

    def add(self, found: Found) -> None:
        if len(self.found) < CALLS:
            self.found.append(found)

    # ------------------------------------------------------------ texts

    def text(self, text: str, depth: int) -> None:
        body = text.strip()
        if body[:1] == "\ufeff":
            self.bom = True
            body = body.lstrip("\ufeff")
        why = _missing(body)
        if why:
            if self.kind is Kind.PATCH:
                self.miss(why)
        elif (self.kind is not Kind.SCRIPT or scripts.mentions(body)) and not self._decoded(body, depth):
            self._plain(body)

    def _decoded(self, body: str, depth: int) -> bool:
        """Go one layer down, if there is one; say whether there was."""
        if body[0] in _QUOTES or (self.kind is Kind.PATCH and _FIELDS.match(body)):
            value, whole = layers.decode(body)
            if not (isinstance(value, str) and value == body) and self._goes_on(value, body, depth):
                self.cut = self.cut or not whole
                self.value(value, depth + 1)
                return True
        if depth <= layers.LAYERS and self.kind is not Kind.SCRIPT and layers.is_escaped(body):
            self.text(layers.unescaped(body), depth + 1)
            return True
        return False

    def _plain(self, body: str) -> None:
        """Take a text that nothing is wrapped around any more."""
        if self.kind is Kind.SCRIPT:
            self.script(body)
        elif self.kind is Kind.PATCH:
            self.patch_text(body)
        elif self.kind is Kind.EDIT and body.startswith("***") and grammar.envelopes(body):
            self.patch(body)

    def _goes_on(self, value: object, body: str, depth: int) -> bool:
        """Say whether a decoded text is looked into: a shell script may start like a list or an object."""
        if isinstance(value, str):
            return depth <= layers.LAYERS
        if self.kind is Kind.SCRIPT:
            return (isinstance(value, dict) and any(key in value for key in (*_SCRIPT_KEYS, *_WRAPPERS))) or loose.load(
                body
            ) is not loose.NOT_JSON
        return True

    def script(self, body: str, *, in_powershell: bool = False, arguments: Sequence[str] = ()) -> None:
        for run in scripts.runs(body, shell_is_powershell=in_powershell, arguments=arguments):
            if isinstance(run, scripts.Nested):
                inner = _Search(kind(run.tool), cut=self.cut)
                inner.value(run.argument, 1)
                for each in inner.found:
                    self.add(each)
            elif run.text is None:
                self.miss("dynamic")
            else:
                self.handed(run.text, expanded=run.expanded)

    def patch_text(self, body: str) -> None:
        """Take a text that a patch tool got: a patch, or a script that runs the patch command as a patch tool would understand it."""
        if scripts.wraps(body):
            first = len(self.found)
            self.script(body)
            ran = self.found[first:]
            if any(each.text is not None for each in ran) or (ran and not grammar.looks_like_patch(body)):
                return
            del self.found[first:]
        self.patch(body)

    def handed(self, text: str, *, expanded: bool = False) -> None:
        """Take a text that reached the patch command itself."""
        first = len(self.found)
        if not text.strip():
            self.miss("empty")
        elif layers.is_escaped(text):
            self.patch(layers.unescaped(text.strip()))
        else:
            self.patch(text.strip())
        if expanded:
            self.found[first:] = [each._replace(flags=each.flags | {"expanded"}) for each in self.found[first:]]

    def patch(self, body: str) -> None:
        """Take a decoded text as one or more patches, whatever it looks like; what an executor would have seen around them is flagged."""
        flags = ({"redacted"} if cuts.has_placeholder(body) else set()) | ({"bom"} if self.bom else set())
        bare = trimmings.untagged(body)
        found = grammar.envelopes(bare)
        if found:
            flags |= trimmings.around(body, bare, found[0])
            for at, each in enumerate(found):
                self.add(self._trimmed(each, flags, last=at == len(found) - 1))
            return
        body, was_cut = self._uncut(body)
        flags |= {"truncated"} if was_cut else set()
        inside = trimmings.unfenced(body)
        if inside != body:
            flags.add("fenced")
        text, how = _without_markers(trimmings.untagged(inside), self.path, whole=not was_cut)
        if not how and _is_word(text):
            return
        self.add(Found(text, flags=frozenset(flags | how)))

    def _trimmed(self, text: str, flags: set[str], *, last: bool) -> Found:
        """Return a patch; the last one of a text may have lost its end."""
        if last and not _has_end(text):
            text, _ = self._uncut(text)
            flags = flags | {"truncated"}
        return Found(text, flags=frozenset(flags))

    def _uncut(self, text: str) -> tuple[str, bool]:
        marked = cuts.uncut(text)
        if marked is None:
            marked = cuts.unellipsed(text)
        return (text, self.cut) if marked is None else (marked, True)

    # ------------------------------------------------------------ objects and lists

    def fields(self, value: dict[str, object], depth: int) -> None:
        if self.kind is Kind.SCRIPT:
            self._script_fields(value, depth)
        elif self.kind is Kind.EDIT:
            self._first_of(value, (*_PATCH_KEYS[:6], *_WRAPPERS[:12]), depth)
        elif self.kind is Kind.PATCH:
            self._patch_fields(value, depth)
        elif self.kind is Kind.OTHER:
            self._other_fields(value, depth)

    def _patch_fields(self, value: dict[str, object], depth: int) -> None:
        mode = value.get("mode")
        if isinstance(mode, str) and mode.lower() not in _MODES:
            return
        operation = operations.operation(value)
        if operation is not None:
            self._operations([operation])
            return
        if not value and depth <= 1:
            self.miss("empty")
        if "tools" in value and (moved := value.get("prompt", value.get("messages"))):  # the server moved definitions of tools beside it
            self.value(moved, depth + 1)
            return
        if value.get("args") and value.get("kwargs") == {}:
            value = {key: each for key, each in value.items() if key != "kwargs"}
        self.path = operations.path_of(value)
        if self._first_of(value, _PATCH_KEYS, depth) or self._first_of(value, _WRAPPERS, depth):
            return
        for key, other in value.items():
            if key not in _PROSE and self._is_bare(other):
                before = len(self.found)
                self.value(other, depth + 1)
                if len(self.found) > before:
                    return

    def _is_bare(self, value: object) -> bool:
        """Say whether a value under a key that nobody knows is a patch by itself, in whatever it may be wrapped."""
        if isinstance(value, str):
            return "Begin Patch" in value and value.lstrip().startswith(_BARE)
        return isinstance(value, dict)

    def _script_fields(self, value: dict[str, object], depth: int) -> None:
        """Look for a script; a command may have its arguments or its standard input beside it."""
        command = value.get("command", value.get("cmd"))
        rest = value.get("args", value.get("arguments"))
        stdin = value.get("stdin", value.get("input"))
        if isinstance(command, str) and isinstance(rest, list) and rest and all(isinstance(each, str) for each in rest):
            self._words([command.strip(), *rest], depth)
        elif isinstance(stdin, str) and scripts.is_patch_command(
            command[0] if isinstance(command, list) and len(command) == 1 else command
        ):
            self.handed(stdin)
        else:
            self._first_of(value, (*_SCRIPT_KEYS, *_WRAPPERS), depth)

    def _first_of(self, value: dict[str, object], keys: tuple[str, ...], depth: int) -> bool:
        """Look under the keys in order until one gives a patch; news of a patch that cannot be read waits for a better key."""
        first, cut = len(self.found), self.cut
        waiting: list[Found] = []
        for key in keys:
            if key not in value:
                continue
            self.cut = cut
            self._under(key, value[key], depth)
            got = self.found[first:]
            if any(each.text is not None for each in got):
                return True
            waiting = waiting or got
            del self.found[first:]
        self.found.extend(waiting)
        return bool(waiting)

    def _under(self, key: str, value: object, depth: int) -> None:
        if self.kind is not Kind.PATCH or not isinstance(value, str):
            if self.kind is Kind.SCRIPT and key == "commands" and isinstance(value, list):
                for each in value[:_ITEMS]:
                    self.value(each, depth + 1)
            else:
                self.value(value, depth + 1)
        elif key == "diff" and value.strip() and not grammar.envelopes(value):
            if grammar.looks_like_patch(value):
                self.patch(value)
            elif self._is_bare(value):
                self.value(value, depth + 1)
        elif key in _SURE_KEYS or _may_be_patch(value):
            self.value(value, depth + 1)

    def _other_fields(self, value: dict[str, object], depth: int) -> None:
        """Look for a script under the keys that hold one in every tool; a patch by itself, or source beside a path, is kept, not run."""
        keys = _SCRIPT_KEYS[:3] if any(key.lower().endswith(_FILE_ENDINGS) for key in value) else _SCRIPT_KEYS[:6]
        self.kind = Kind.SCRIPT
        self._first_of({key: each for key, each in value.items() if not _begins_as_patch(each)}, keys, depth)
        self.kind = Kind.OTHER
        self.found = [each for each in self.found if each.text is not None]

    def _operations(self, given: list[Operation]) -> None:
        if len(given) == 1 and grammar.envelopes(given[0].body):
            self.patch(given[0].body)
            return
        last, was_cut = self._uncut(given[-1].body) if self.cut or cuts.uncut(given[-1].body) is not None else (given[-1].body, False)
        given = [*given[:-1], given[-1]._replace(body=last)]
        flags = {"headerless", "synthesized"} | ({"truncated"} if was_cut else set())
        self.add(Found(operations.envelope(given, whole=not was_cut), flags=frozenset(flags)))

    def items(self, value: list[object], depth: int) -> None:
        value = value[:_ITEMS]
        given = [operation for each in value if (operation := operations.operation(each)) is not None]
        if given and self.kind is Kind.PATCH:
            self._operations(given)
        elif value and all(isinstance(each, str) for each in value):
            self._words([str(each) for each in value], depth)
        elif self.kind in {Kind.PATCH, Kind.SCRIPT}:
            for each in value:
                if isinstance(each, (dict, list)) or (isinstance(each, str) and _may_be_patch(each)):
                    self.value(each, depth + 1)

    def _words(self, words: list[str], depth: int) -> None:
        """Take a list of strings: an argument vector, or the only argument of a function."""
        vector = scripts.vector(words)
        if vector is not None:
            if isinstance(vector, scripts.Script):
                self.script(vector.text, in_powershell=vector.powershell, arguments=vector.arguments)
            elif vector.text is None:
                self.miss("empty")
            else:
                self.handed(vector.text)
        elif len(words) == 1:
            if self.kind is not Kind.PATCH or not words[0].strip() or _may_be_patch(words[0]):
                self.value(words[0], depth + 1)
        elif self.kind is Kind.PATCH and not any("\n" in each for each in words) and grammar.envelopes("\n".join(words)):
            self.patch("\n".join(words))
        elif self.kind is Kind.PATCH:
            for each in words:
                if _may_be_patch(each):
                    self.value(each, depth + 1)


def _missing(body: str) -> str:
    """Say why there is no patch in a text that stands where one should be; ``""`` when there may be one."""
    if not body or body in {"{}", "[]", "null", "None", '""', "''"}:
        return "empty"
    return "redacted" if cuts.is_placeholder(body) else "overflow" if cuts.is_overflow(body) else ""


def _has_end(text: str) -> bool:
    return "End Patch" in text.rstrip().rpartition("\n")[2]


def _without_markers(body: str, path: str, *, whole: bool) -> tuple[str, set[str]]:
    """Return a body that has neither marker as it is to be read, and the flags for that."""
    patch = grammar.parse(body)
    if isinstance(patch, Malformed):
        return body, set()
    if "unified" in patch.flags:
        return body, {"unified"}
    if "no_header" not in patch.flags:
        text = grammar.enclose(body.rstrip("\n"))
        ends = "no_end" not in patch.flags
        return (text if whole and not ends else text.rpartition("\n")[0]), {"synthesized"} | _NO_MARKERS.intersection(patch.flags)
    if not path:
        return body, {"headerless"}
    return operations.envelope([Operation(Action.UPDATE, path, body)], whole=whole), {"headerless", "synthesized"}


def _is_word(text: str) -> bool:
    """Say whether a text is a name or a path: the argument of another tool of the same name."""
    return not any(map(str.isspace, text[:_WORD_LENGTH])) and len(text) < _WORD_LENGTH and text[:1] != "*"


def _begins_as_patch(value: object) -> bool:
    return isinstance(value, str) and value.lstrip().startswith("***")


def _may_be_patch(text: str) -> bool:
    return (
        "***" in text
        or "@@" in text
        or "apply_patch" in text
        or "applypatch" in text
        or cuts.is_placeholder(text)
        or cuts.is_overflow(text)
    )

"""What a tool's name says about its argument, however a tracer decorates the name."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache


class Kind(StrEnum):
    """Which argument a tool takes."""

    PATCH = "patch"
    """A patch, and nothing else: anything that is given to it is a call."""
    EDIT = "edit"
    """Perhaps a patch: only a text that is one counts."""
    SCRIPT = "script"
    """A shell command, or source code, that may run the patch command."""
    PARALLEL = "parallel"
    """Several calls of other tools."""
    OTHER = "other"
    """Nothing that is known."""


_PREFIXES = (
    "execute_tool ", "tools/call ", "running tool: ", "running tool ", "codex tool ", "call_tool ", "tool call: ", "tool: ", "tool:",
    "tool-", "function: ", "function:", "functions.", "tool ", "tool/",
)  # fmt: skip
_PATCH = frozenset({"patch", "patchfile", "patchfiles", "filepatch", "codextoolfilechange"})
_NOT_A_RUN = (
    "approval",
    "output",
    "result",
    "verif",
    "valid",
    "preview",
    "grammar",
    "prompt",
    "instruction",
    "schema",
    "test",
    "eval",
    "score",
)
_EDIT = frozenset({
    "edit", "editfile", "editfiles", "applydiff", "applyedit", "applyedits", "applychanges", "applyv4a", "v4a", "v4apatch", "updatefile",
    "updatefiles", "multiedit", "codeedit", "modifyfile", "fileedit",
})  # fmt: skip
_SCRIPT = frozenset({
    "shell", "shellcommand", "shellcall", "shelltool", "shellexec", "execcommand", "localshell", "localshellcall", "bash", "bashtool",
    "bashcommand", "sh", "zsh", "terminal", "terminaltool", "terminalaction", "runcommand", "runcommands", "runshellcommand", "runshell",
    "runbash", "runterminalcmd", "runterminalcommand", "runinterminal", "executecommand", "executecommands", "executebash",
    "executebashaction", "executeshell", "executeshellcommand", "cmdrunaction", "exec", "containerexec", "command", "cmd", "powershell",
    "pwsh", "console", "subprocess", "execute", "executescript", "runscript", "script", "code", "runcode", "executecode", "javascript",
    "js", "jsrepl", "node", "repl", "python", "python3", "ipython", "codeinterpreter", "codeinterpretercall", "executepython",
    "runpython", "pythonrepl", "ipythoncell", "jupyter", "codextoolcommand", "sandboxexec", "tooluseexec", "processexec",
    "writestdin", "sendkeys", "sendinput",
})  # fmt: skip


@lru_cache(maxsize=4096)
def kind(name: str) -> Kind:
    """Return what a tool of this name takes."""
    if len(name) > 200:  # noqa: PLR2004 - longer ones are sentences, not names
        return Kind.OTHER
    name = name.partition("[")[0]
    plain = bare(name)
    if "paralleltoolcalls" in plain or plain.endswith("multitooluseparallel") or plain == "parallel":
        return Kind.PARALLEL
    whole, last = _squash(name), _squash(plain)
    for word in (whole, last):
        if word in _PATCH and name != "PATCH":
            return Kind.PATCH
        if (word.startswith("applypatch") or word.endswith("applypatch")) and not any(part in word for part in _NOT_A_RUN):
            return Kind.PATCH
    for word in (whole, last):
        if word in _SCRIPT:
            return Kind.SCRIPT
        if word in _EDIT:
            return Kind.EDIT
    return Kind.OTHER


def bare(name: str) -> str:
    """Return the name without what a tracer or a tool server puts around it: ``Tool: mcp__x__shell`` is ``shell``."""
    plain = name.strip()
    lowered = plain.lower()
    for prefix in _PREFIXES:
        if lowered.startswith(prefix):
            plain = plain[len(prefix) :].strip()
            lowered = plain.lower()
    plain = plain.removesuffix(".tool")
    for separator in ("__", ".", "/", ":"):
        plain = plain.rpartition(separator)[2] or plain
    return plain


def _squash(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()

"""Scripts and argument vectors: which language a text is in, and what it hands to the patch command.

A script that only mentions the command (a search for its name, a help page written to a file) runs nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core import tools
from hunkwatch.core.quoting import Fed, javascript, powershell, program, python, shell
from hunkwatch.core.tools import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hunkwatch.core.quoting.program import Made

_MENTIONS = ("apply_patch", "applypatch", "Begin Patch")
_FENCES = ("```", "~~~")
_LEADING_WORDS = 6
_REPEATS = 4
_HEREDOC = "<<"
_TOOLS = re.compile(r"\btools(?:\.[A-Za-z_]\w*+|\[[^\]\n]{1,60}+\])\s*+\(")
_HERE_STRING = re.compile(r"@['\"][ \t]*+\r?+\n")
_POWERSHELL = ("Set-Content", "Out-File", "Get-Content", "$ErrorActionPreference", "Write-Output", "Set-Location")
_JAVASCRIPT = ("const ", "let ", "var ", "await ", "=>", "function ", "require(", "// @exec", "String.raw")
_PYTHON = ('"""', "'''", "import ", "subprocess", "os.system", "print(", "def ", '= "', "= '", "apply_patch(")
_RUNS = ("apply_patch(", "subprocess.")
_PROCESSES = frozenset({
    "run", "call", "check_call", "check_output", "Popen", "system", "popen", "execSync", "spawnSync", "execFileSync", "exec", "spawn",
    "execFile", "create_subprocess_shell", "getoutput", "getstatusoutput",
})  # fmt: skip
_PROCESS_HOMES = frozenset({"subprocess", "os", "sp", "child_process", "cp", "asyncio", "childProcess"})
_PATCH_KEYS = ("input", "patch", "patchText", "patch_text", "diff", "operation")


class Nested(NamedTuple):
    """A call of a tool that source code makes."""

    tool: str
    argument: object


class Script(NamedTuple):
    """The script that an argument vector runs."""

    text: str
    powershell: bool = False
    arguments: Sequence[str] = ()
    """What stands behind it: ``$0``, ``$1`` and so on."""


def mentions(text: str) -> bool:
    """Say cheaply whether a script may run the patch command."""
    return any(word in text for word in _MENTIONS)


def is_patch_command(command: object) -> bool:
    """Say whether a command is the patch command alone."""
    return isinstance(command, str) and shell.is_patch_command(command.strip())


def wraps(text: str) -> bool:
    """Say whether the patch in a text is wrapped in a command or in source code, rather than standing there by itself."""
    at = text.find("Begin Patch")
    head = text if at < 0 else text[:at]
    return any(word in head for word in _MENTIONS)


def runs(text: str, *, shell_is_powershell: bool = False, arguments: Sequence[str] = ()) -> Sequence[Fed | Nested]:
    """Return what a script with these arguments hands to each run of the patch command."""
    if shell_is_powershell:
        return powershell.feeds(text)
    body = _unfenced(text)
    at = body.find("Begin Patch")
    head = body if at < 0 else body[:at]
    if at >= 0 and head.strip() == "***":
        return [Fed(body)]
    is_javascript = "apply_patch(" in body and _HEREDOC not in head and any(word in head for word in _JAVASCRIPT)
    if is_javascript or _TOOLS.search(head) is not None:
        return _program(javascript.made(body), len(body))
    if _HERE_STRING.search(head) is not None or any(word in head for word in _POWERSHELL):
        found: Sequence[Fed | Nested] = powershell.feeds(body)
        if found:
            return found
    fed = shell.feeds(body, arguments)
    found = _followed(fed)
    if not found and _HEREDOC not in head and (any(word in head for word in _PYTHON) or any(word in body for word in _RUNS)):
        found = _program(python.made(body), len(body))
    return found or [Fed(None) for each in fed if each.language == shell.UNREAD]


def _followed(fed_by_script: Iterable[Fed]) -> list[Fed | Nested]:
    found: list[Fed | Nested] = []
    for fed in fed_by_script:
        if not fed.language:
            found.append(fed)
        elif fed.text is not None:  # a program in the script
            found.extend(_program((python if fed.language == "python" else javascript).made(fed.text), len(fed.text)))
    return found


def _program(made: Iterable[Made], length: int) -> list[Fed | Nested]:
    """Return what the calls of a program hand to the patch command; repeats are bounded by the length of the program."""
    found: list[Fed | Nested] = []
    left = _REPEATS * length
    for call in made:
        for each in _called(call):
            left -= 10 + _size(each.text if isinstance(each, Fed) else each.argument)
            if left < 0:
                return found
            found.append(each)
    return found


def _size(value: object) -> int:
    if isinstance(value, dict):
        return sum(_size(each) for each in value.values())
    return sum(len(each) for each in value) if isinstance(value, list) else len(value) if isinstance(value, str) else 0


def _called(call: Made) -> Iterator[Fed | Nested]:
    root, _, last = call.name.rpartition(".")
    of = tools.kind(last)
    runs_process = last in _PROCESSES and (not root or root.rpartition(".")[2] in _PROCESS_HOMES)
    if of is not Kind.PATCH and not runs_process and not (of is Kind.SCRIPT and (not root or root == "tools")):
        return
    for argument in _each(call):
        if runs_process:
            yield from _process(argument, call)
        elif of is Kind.PATCH and _is_dynamic(argument):
            yield Fed(None)
        elif not isinstance(argument, program.Dynamic):
            yield Nested(last, _static(argument))


def _process(argument: object, call: Made) -> Iterator[Fed | Nested]:
    """Follow the start of a process: of a shell with a script, or of the patch command with its argument or its input."""
    rest = call.arguments[1:]
    if isinstance(argument, str) and rest and isinstance(rest[0], list):
        argument = [argument, *rest[0]]
    options = rest[-1] if rest and isinstance(rest[-1], dict) else {}
    stdin = call.keywords.get("input", options.get("input"))
    if isinstance(argument, list) and argument and isinstance(argument[0], str) and shell.is_patch_command(argument[0]):
        text = argument[1] if len(argument) > 1 else stdin
        yield Fed(text if isinstance(text, str) else None)
    elif isinstance(argument, str) and shell.is_patch_command(argument.strip()):
        yield Fed(stdin if isinstance(stdin, str) else None)
    elif isinstance(argument, (str, list)):
        yield Nested("shell", {"command": _static(argument)})


def _each(call: Made) -> Iterator[object]:
    """Yield the argument of a call, once for each round of a loop that it is in."""
    argument = call.arguments[0] if call.arguments else (dict(call.keywords) or program.DYNAMIC)
    if isinstance(argument, program.Each):
        yield from argument.values
        return
    loops = [key for key, value in argument.items() if isinstance(value, program.Each)] if isinstance(argument, dict) else []
    if not loops or not isinstance(argument, dict):
        yield argument
        return
    for value in argument[loops[0]].values:
        yield {**argument, loops[0]: value}


def _is_dynamic(argument: object) -> bool:
    if isinstance(argument, dict):
        values = [argument[key] for key in _PATCH_KEYS if key in argument] or list(argument.values())
        return any(isinstance(value, program.Dynamic) for value in values)
    return not isinstance(argument, (str, list))


def _static(value: object) -> object:
    """Return what is known of a value, two levels deep."""
    if isinstance(value, dict):
        return {key: _static_list(each) for key, each in value.items() if isinstance(each, (str, list, dict))}
    return _static_list(value)


def _static_list(value: object) -> object:
    if isinstance(value, list):
        return [each for each in value if isinstance(each, str)]
    if isinstance(value, dict):
        return {key: each for key, each in value.items() if isinstance(each, str)}
    return value


def vector(words: Sequence[str]) -> Script | Fed | None:
    """Return what a list of words runs: a script, or the patch command itself (its text is None without an argument)."""
    for at, word in enumerate(words[:_LEADING_WORDS]):
        if shell.is_patch_command(word):
            return Fed(words[at + 1] if at + 1 < len(words) else None)
        if powershell.is_powershell(word):
            rest = [each for each in words[at + 1 :] if not each.startswith("-")]
            return Script("\n".join(rest), powershell=True) if rest else None
        if word.lower() in {"cmd", "cmd.exe"}:
            return Script(" ".join(each for each in words[at + 1 :] if each.lower() not in {"/c", "/d", "/s"}))
        if shell.is_shell(word):
            behind = next((i + 1 for i in range(at + 1, len(words) - 1) if shell.is_script_flag(words[i])), None)
            arguments = words[behind + 1 :] if behind is not None and shell.takes_arguments(word) else ()
            return None if behind is None else Script(words[behind], arguments=arguments)
        if not (shell.is_leader(word) or word.startswith("-") or (at and ("=" in word or word[:1].isdigit()))):
            return None
    return None


def _unfenced(text: str) -> str:
    body = text.strip()
    if not body.startswith(_FENCES):
        return text
    first = body.find("\n")
    last = body.rfind("\n" + body[:3])
    return body[first + 1 : last] if 0 <= first < last else body

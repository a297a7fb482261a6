"""POSIX shell scripts: what each run of the patch command gets, as an argument or on its standard input.

A script is read once from left to right into simple commands with their words, heredocs and pipes. Followed on the way: plain
assignments, files written by ``cat``, ``tee``, ``printf`` or ``echo``, command substitutions of those, and scripts inside scripts
(``bash -lc '...'``) with their arguments (``$1``). Nothing else is run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core.quoting import DEPTH, Fed, Steps, escapes
from hunkwatch.core.quoting.shellwords import Command, Reader, Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COMMANDS = frozenset({"apply_patch", "applypatch"})
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash", "fish"})
_LEADERS = frozenset({
    "sudo", "command", "exec", "time", "env", "nohup", "builtin", "then", "do", "else", "elif", "if", "while", "until", "!", "{", "(",
    "timeout", "nice", "stdbuf", "xargs", "codex", "%%bash", "%%sh", "uv", "run", "poetry", "npx", "bunx",
    "wsl", "busybox", "doas", "setsid",
})  # fmt: skip
_TAKES_A_WORD = frozenset({"-u", "-g", "-n", "-k", "-s", "-o", "-e", "-C", "-I", "--user", "--signal"})
_PROGRAMS = (".py", ".sh", ".js", ".ts", ".rb")
_ASKS = frozenset({"--help", "-h", "--version", "-V", "help"})
_REMOTES = frozenset({"docker", "podman", "kubectl", "ssh", "nsenter", "chroot", "su", "devcontainer", "docker-compose"})
_INTERPRETERS = {"python": "python", "python3": "python", "node": "javascript", "bun": "javascript"}
_WRITERS = frozenset({"cat", "tee", "printf", "echo"})
_DEAF = frozenset({"cd", "pushd", "set", "export", "umask", "true", ":", "mkdir", "source", "."})
"""Commands that leave what a group was piped to the command behind them."""
_READERS = _WRITERS | frozenset({
    "grep", "egrep", "fgrep", "rg", "ag", "ack", "awk", "sed", "wc", "head", "tail", "less", "more", "diff", "cmp", "patch", "git",
    "man", "which", "type", "whereis", "find", "ls", "sort", "read", "vim", "test", "[", "curl", "gh", "rm", "chmod", "cp", "mv",
    "install",
})  # fmt: skip
"""Commands to which the name of the patch command is a word like any other."""
_SCRIPT_FLAGS = ("-c", "-lc", "-ic", "-cl", "-lic", "-ec", "-exc", "-euc", "-xc", "-elc", "-leic")
_PLACES = "0123456789"
_MOVED = re.compile(r"\(\s*+\)|\b(?:function|shift)\b|\bset\s++(?:[^-+\s]|[^;&|\n]*?--(?:\s|$))")
"""What makes ``$1`` another argument than the script's own: a function, ``shift``, ``set -- ...``. Where it occurs nobody knows which."""
STEPS = 300_000
"""How many words and pieces of words of a script are looked at, with the scripts inside it."""
REUSE = 8
"""How often one variable or file may be handed over: a loop of them must not multiply the text."""


class _Held(NamedTuple):
    """What a variable or a file holds."""

    text: Text
    uses: list[None]


class _State:
    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.variables: dict[str, _Held] = {}
        self.files: dict[str, _Held] = {}
        self.fed: list[Fed] = []


UNREAD = "unread"
"""The language of what follows the last step: whether it is a script at all is not known."""


def feeds(script: str, arguments: Sequence[str] = ()) -> tuple[Fed, ...]:
    """Return what the script hands to each run of the patch command, in order. ``arguments`` are those behind it, ``$0`` first."""
    state = _State(Steps(STEPS))
    state.variables.update(_places(script, [Text(argument) for argument in arguments[: len(_PLACES)]]))
    _run(script, state, 0)
    return tuple(state.fed)


def is_patch_command(word: str) -> bool:
    """Say whether a command word runs the patch command, wherever it is installed."""
    if "patch" not in (lowered := word.lower()):
        return False
    base = lowered.replace("\\", "/").rpartition("/")[2].removeprefix("!")
    for suffix in (*_PROGRAMS, ".exe", ".bat", ".cmd"):
        base = base.removesuffix(suffix)
    return base in COMMANDS


def is_shell(word: str) -> bool:
    """Say whether a command word is a shell that takes a script."""
    return word.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe") in SHELLS


def takes_arguments(word: str) -> bool:
    """Say whether a shell calls the words behind its script ``$0``, ``$1`` and so on."""
    return is_shell(word) and "fish" not in word.lower()


def is_script_flag(word: str) -> bool:
    """Say whether a shell's option is followed by a script."""
    return word in _SCRIPT_FLAGS


def _run(script: str, state: _State, depth: int) -> Text | None:
    """Follow a script; return what its last command writes, where that is known."""
    piped: Text | None = None
    has_pipe = False
    reader = Reader(script, state.steps)
    for command in reader.commands():
        if not (command.assignments or command.redirections) and all(word.text == "}" for word in command.words):
            has_pipe = has_pipe or command.then == "|"
            continue
        stdin = _stdin(command, state, depth) or (piped if has_pipe else None)
        written = _follow(command, stdin, state, depth, fed_by_pipe=has_pipe)
        if has_pipe and command.then != "|" and command.words and command.words[0].text in _DEAF:
            continue
        has_pipe = command.then == "|"
        piped = written
    if depth == 0 and reader.text.find("apply_patch", reader.at) >= 0:  # it stands behind the last step
        state.fed.append(Fed(None, language=UNREAD))
    return piped


def _stdin(command: Command, state: _State, depth: int) -> Text | None:
    given: Text | None = None
    for redirection in command.redirections:
        if redirection.sign in {"<<", "<<<"}:
            word = redirection.text if redirection.sign == "<<<" else _only_word(redirection.text, state)
            given = redirection.text if word is None else _value(word, state, depth)
            if word is not None and given.text is not None:
                given = Text(given.text + "\n", expanded=given.expanded)
        elif redirection.sign == "<":
            name = redirection.text
            inner = _inner(name, "<(")
            if inner is None:
                given = _take(state.files, _target(name, state))
            elif depth < DEPTH:
                given = _run(inner, _State(state.steps), depth + 1)
            given = given or Text(None)
    return given


def _only_word(body: Text, state: _State) -> Text | None:
    """Return the variable or the substitution that is all of a heredoc's body, if there is one."""
    text = (body.text or "").strip("\n")
    if not body.expanded or text[:1] not in {"$", "`"}:
        return None
    reader = Reader(text, state.steps)
    word = reader.expansion()
    return word if reader.at == len(text) and word.text is None else None


def _target(word: Text, state: _State) -> str | None:
    """Return the file that a word names, perhaps through a variable."""
    if not word.name:
        return word.text
    held = state.variables.get(word.name)
    return None if held is None else held.text.text


def _follow(command: Command, stdin: Text | None, state: _State, depth: int, *, fed_by_pipe: bool) -> Text | None:
    """Follow one command; return what it writes to its output, where that is known."""
    words = command.words
    for name, value in command.assignments:
        state.variables[name] = _Held(_value(value, state, depth), [])
    at = _command_word(words)
    if at is None:
        return stdin if not command.assignments and not words else None
    name = words[at].text or ""
    rest = words[at + 1 :]
    if is_patch_command(name):
        _feed(words[at:], stdin, state, depth, fed_by_pipe=fed_by_pipe)
        return None
    if name == "read" and stdin is not None and rest and rest[-1].text:
        state.variables[rest[-1].text] = _Held(stdin, [])
    written = _output(name.rpartition("/")[2], rest, stdin, state, depth)
    if written is not None:
        for target in _targets(name, rest, command, state):
            state.files[target] = _Held(written, [])
    if depth < DEPTH:
        _descend(name, words[at:], stdin, state, depth)
    return written


def _command_word(words: list[Text]) -> int | None:
    """Return where the command stands behind ``sudo``, ``env A=b``, ``then`` and the like; None when nothing is run."""
    led = False
    for at, word in enumerate(words):
        text = word.text
        if text is None:
            return None
        if is_patch_command(text):
            return at
        if is_leader(text):
            led = True
            if text == "command" and at + 1 < len(words) and words[at + 1].text in {"-v", "-V"}:
                return None
        elif not (led and (text.startswith("-") or "=" in text or text[:1].isdigit() or words[at - 1].text in _TAKES_A_WORD)):
            return at
    return None


def is_leader(word: str) -> bool:
    """Say whether a command word runs the command behind it."""
    return word in _LEADERS or (word.startswith("/") and word.rpartition("/")[2] in _LEADERS)


def _feed(words: list[Text], stdin: Text | None, state: _State, depth: int, *, fed_by_pipe: bool) -> None:
    """Note what one run of the patch command gets. A program of a project that has its name counts only with a patch."""
    fed = _given(words[1:], stdin, state, depth, fed_by_pipe=fed_by_pipe)
    if fed is not None and not ((words[0].text or "").endswith(_PROGRAMS) and "***" not in (fed.text or "")):
        state.fed.append(fed)


def _given(rest: list[Text], stdin: Text | None, state: _State, depth: int, *, fed_by_pipe: bool) -> Fed | None:
    """Return the patch that a run of the command gets, or None when it gets nothing at all."""
    if any(word.text in _ASKS for word in rest):
        return None
    arguments = [word for word in rest if word.text is None or not word.text.startswith("-") or "\n" in word.text]
    value = _value(arguments[0], state, depth) if arguments else None
    if value is None or (stdin is not None and "\n" not in (value.text or "")):
        value = stdin
    elif value.text is not None and "\n" not in value.text:
        held = _take(state.files, value.text)
        value = held or (Text(None) if _is_path(value.text) else value)
    if value is None:
        return Fed(None) if fed_by_pipe else None
    return Fed(value.text, value.expanded)


def _is_path(text: str) -> bool:
    return "***" not in text and "\\n" not in text and " " not in text.strip()


def _value(word: Text, state: _State, depth: int) -> Text:
    """Return what a word stands for: itself, a variable, or what a substituted command writes."""
    if word.name:
        return _take(state.variables, word.name) or Text(None)
    if word.inner is not None:
        if depth >= DEPTH:
            return Text(None)
        return _chomp(_run(word.inner, state, depth + 1)) or Text(None)
    return word


def _chomp(written: Text | None) -> Text | None:
    return None if written is None or written.text is None else Text(written.text.rstrip("\n"), expanded=written.expanded)


def _inner(word: Text, sign: str) -> str | None:
    return word.inner if word.inner is not None and word.sign == sign else None


def _take(held: dict[str, _Held], name: str | None) -> Text | None:
    """Return what a variable or file holds, a bounded number of times."""
    found = held.get(name or "")
    if found is None or len(found.uses) >= REUSE:
        return None
    found.uses.append(None)
    return found.text


def _output(name: str, rest: list[Text], stdin: Text | None, state: _State, depth: int) -> Text | None:
    """Return what a command that copies its input or its arguments writes."""
    if name == "tee":
        return stdin
    if name == "cat":
        sources = [
            source for word in rest if (source := _target(word, state)) is not None and (not source.startswith("-") or source == "-")
        ]
        if not sources:
            return stdin
        return stdin if sources[0] == "-" else _take(state.files, sources[0])
    if name == "echo":
        flags = [word for word in rest[:1] if word.text in {"-e", "-n", "-ne", "-en", "-E"}]
        values = [_value(word, state, depth) for word in rest[len(flags) :]]
        if any(value.text is None for value in values) or not values:
            return None
        text = " ".join(value.text or "" for value in values)
        if flags and "e" in (flags[0].text or ""):
            text = escapes.undo(text, escapes.ECHO)
        return Text(text + "\n", expanded=any(value.expanded for value in values))
    if name == "printf":
        return _printf([word for word in rest if word.text != "--"], state, depth)
    return None


def _printf(rest: list[Text], state: _State, depth: int) -> Text | None:
    if not rest or rest[0].text is None:
        return _value(rest[0], state, depth) if len(rest) == 1 else None
    form = rest[0].text
    if len(rest) == 1:
        return Text(escapes.undo(form.replace("%%", "%"), escapes.ECHO), expanded=rest[0].expanded)
    values = [_value(word, state, depth) for word in rest[1:]]
    if form.strip("\n") not in {"%s", "%s\\n", "%b", "%b\\n", "%s\\n\\n"} or any(value.text is None for value in values):
        return None
    end = "\n" if form != form.rstrip("n") or "\n" in form else ""
    text = "".join((value.text or "") + end for value in values)
    return Text(escapes.undo(text, escapes.ECHO) if "%b" in form else text, expanded=any(value.expanded for value in values))


def _targets(name: str, rest: list[Text], command: Command, state: _State) -> list[str]:
    """Return the files that a command's output goes to."""
    if name.rpartition("/")[2] not in _WRITERS:
        return []
    targets = [_target(redirection.text, state) for redirection in command.redirections if redirection.sign in {">", ">|"}]
    if name == "tee":
        targets += [_target(word, state) for word in rest]
    return [target for target in targets if target]


def _descend(name: str, words: list[Text], stdin: Text | None, state: _State, depth: int) -> None:
    """Follow a script that a command takes as its argument or on its standard input."""
    language = _INTERPRETERS.get(name.rpartition("/")[2])
    if language is not None:
        _interpret(language, words[1:], stdin, state, depth)
        return
    at = next((at for at, word in enumerate(words) if is_patch_command(word.text or "")), None)
    if at is not None and (name in _REMOTES or (name.rpartition("/")[2] not in _READERS and "***" in ((stdin and stdin.text) or ""))):
        _feed(words[at:], stdin, state, depth, fed_by_pipe=False)
        return
    if name in {"ssh", "su"} and stdin is None:
        _run_apart(_value(words[-1], state, depth), (), state, depth)
    elif name == "eval" and len(words) > 1:
        script = _value(words[1], state, depth)
        if script.text is not None and "patch" in script.text:
            _run(script.text, state, depth + 1)
    else:
        _nest(words, stdin, state, depth)


def _nest(words: list[Text], stdin: Text | None, state: _State, depth: int) -> None:
    """Follow the script that the first shell among the words gets, behind its flag or on its standard input, with its own arguments."""
    at = next((at for at, word in enumerate(words) if word.text is not None and is_shell(word.text)), None)
    if at is None or (words[0].text or "").rpartition("/")[2] in _READERS:
        return
    flag = next((i for i in range(at + 1, min(len(words), at + 6)) if is_script_flag(words[i].text or "")), None)
    if flag is not None and flag + 1 < len(words):
        behind = words[flag + 2 :] if takes_arguments(words[at].text or "") else ()
        _run_apart(_value(words[flag + 1], state, depth), behind, state, depth)
    elif flag is None and all((word.text or "").startswith("-") for word in words[at + 1 :]):
        _run_apart(stdin, (), state, depth)


def _run_apart(script: Text | None, arguments: Sequence[Text], state: _State, depth: int) -> None:
    """Follow a script that a shell of its own runs: ``$1`` is one of its own arguments there, never one of the script around it."""
    if script is None or script.text is None or "patch" not in script.text:
        return
    known = [_value(word, state, depth) for word in arguments[: len(_PLACES)]] if "$" in script.text else []
    places = dict(_places(script.text, known))
    outer = {name: state.variables.pop(name) for name in (*_PLACES, "@", "*") if name in state.variables}
    state.variables.update(places)
    _run(script.text, state, depth + 1)
    for name in places:
        state.variables.pop(name, None)
    state.variables.update(outer)


def _places(script: str, arguments: Sequence[Text]) -> Iterator[tuple[str, _Held]]:
    """Yield what ``$0`` to ``$9`` of a script hold, and ``$@`` where that is one argument; nothing where they may move."""
    if _MOVED.search(script):
        return
    for place, argument in zip(_PLACES, arguments, strict=False):
        yield place, _Held(argument, [])
    if len(arguments) == len("01"):
        yield "@", _Held(arguments[1], [])
        yield "*", _Held(arguments[1], [])


def _interpret(language: str, words: list[Text], stdin: Text | None, state: _State, depth: int) -> None:
    """Follow an interpreter: of the patch command itself, of a program in its arguments, or of one on its standard input."""
    plain = [word for word in words if word.text is None or not word.text.startswith("-")]
    flag = next((at for at, word in enumerate(words[:-1]) if word.text in {"-c", "-e", "--eval"}), None)
    if flag is not None:
        source: Text | None = _value(words[flag + 1], state, depth)
    elif plain and is_patch_command(plain[0].text or ""):
        _feed(plain, stdin, state, depth, fed_by_pipe=False)
        return
    else:
        source = None if plain else stdin
    if source is not None and source.text is not None and "patch" in source.text:
        state.fed.append(Fed(source.text, expanded=source.expanded, language=language))

"""PowerShell scripts: what each run of the patch command gets, from here-strings, quotes, variables, files and pipes.

Read once from left to right. Lenient: a string that is not closed reaches to the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core.quoting import Fed, Steps
from hunkwatch.core.quoting.shell import REUSE, is_patch_command

if TYPE_CHECKING:
    from collections.abc import Iterator

STEPS = 200_000
_BLANK = re.compile(r"[ \t\r]++|`\r?+\n")
_HERE_HEAD = re.compile(r"[ \t]*+\n")
_WORD = re.compile(r"[^\s;|&(){}'\"`$=#,<>]++|[=#,<>]")
_VARIABLE = re.compile(r"\$\{?+([A-Za-z_:][\w:]*+)\}?+")
_DOUBLE_STOP = re.compile(r"[\"`$]")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "\n": ""}
_WRITES = frozenset({"set-content", "out-file", "add-content", "new-item", "sc"})
_READS = frozenset({"get-content", "gc", "cat", "type"})
_ECHOES = frozenset({"write-output", "echo", "write-host"})
_HERE = {"@'": "'@", '@"': '"@'}


class _Piece(NamedTuple):
    """A token: ``text`` (quoted, or None when not known), ``word``, ``variable`` or ``sign``."""

    kind: str
    text: str | None
    expanded: bool = False


class _Held:
    """What a variable or a file holds, to be handed over a bounded number of times."""

    def __init__(self) -> None:
        self.pieces: dict[str, _Piece] = {}
        self.uses: dict[str, int] = {}

    def put(self, name: str, piece: _Piece) -> None:
        self.pieces[name.lower()] = piece
        self.uses[name.lower()] = 0

    def take(self, name: str) -> _Piece | None:
        name = name.lower()
        self.uses[name] = self.uses.get(name, 0) + 1
        return self.pieces.get(name) if self.uses[name] <= REUSE else None


def feeds(script: str) -> tuple[Fed, ...]:
    """Return what the script hands to each run of the patch command, in order."""
    return _Runner().run(_pieces(script.replace("\r\n", "\n")))


def is_powershell(word: str) -> bool:
    """Say whether a command word is PowerShell."""
    return word.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe") in {"pwsh", "powershell"}


class _Runner:
    def __init__(self) -> None:
        self.variables = _Held()
        self.files = _Held()
        self.fed: list[Fed] = []

    def run(self, pieces: Iterator[_Piece]) -> tuple[Fed, ...]:
        command: list[_Piece] = []
        piped: _Piece | None = None
        has_pipe = False
        for piece in pieces:
            if piece.kind == "sign" and piece.text in {"\n", ";", "|", "&&", "||", "{", "}"}:
                if not command and piece.text == "\n" and has_pipe:
                    continue
                piped = self._command(command, piped if has_pipe else None, has_pipe=has_pipe)
                has_pipe = piece.text == "|"
                command = []
            else:
                command.append(piece)
        self._command(command, piped if has_pipe else None, has_pipe=has_pipe)
        return tuple(self.fed)

    def _command(self, command: list[_Piece], piped: _Piece | None, *, has_pipe: bool) -> _Piece | None:
        """Follow one command; return what it writes, where that is known."""
        command = [piece for piece in command if piece != ("sign", "&", False)]
        if len(command) > 1 and command[0].kind == "variable" and command[1] == ("word", "=", False):
            self.variables.put(command[0].text or "", self._value(command[2:]) or _Piece("text", None))
            return None
        words = [piece for piece in command if piece.kind != "sign"]
        if not words:
            return piped
        at = next((at for at, piece in enumerate(words[:2]) if piece.kind in {"word", "text"} and is_patch_command(piece.text or "")), None)
        if at is not None and (at == 0 or words[0].text in {"codex", "call"}):
            self._feed(words[at + 1 :], piped, has_pipe=has_pipe)
            return None
        return self._output(words, piped)

    def _feed(self, rest: list[_Piece], piped: _Piece | None, *, has_pipe: bool) -> None:
        given = [piece for piece in rest if piece.kind != "word" or not (piece.text or "").startswith("-")]
        if any(piece.text in {"--help", "-h", "--version"} for piece in rest):
            return
        value = self._value(given) if given else piped
        if value is not None and value.kind == "word" and value.text is not None:
            value = self.files.take(value.text) or _Piece("text", None)
        if value is not None:
            self.fed.append(Fed(value.text, value.expanded))
        elif given or has_pipe:
            self.fed.append(Fed(None))

    def _output(self, words: list[_Piece], piped: _Piece | None) -> _Piece | None:
        name = (words[0].text or "").lower() if words[0].kind == "word" else ""
        if name in _READS:
            path = next((piece.text for piece in words[1:] if not (piece.text or "-").startswith("-")), None)
            return None if path is None else self.files.take(path)
        if name in _WRITES:
            self._write(words[1:], piped)
            return None
        if name in _ECHOES:
            return self._value(words[1:])
        if len(words) == 1 and words[0].kind in {"text", "variable"}:
            return self._value(words)
        return None

    def _write(self, rest: list[_Piece], piped: _Piece | None) -> None:
        plain = [piece for piece in rest if piece.kind != "word" or not (piece.text or "").startswith("-")]
        texts = [value for piece in plain if (value := self._value([piece])) is not None]
        content = piped or next((value for value in texts if "\n" in (value.text or "")), None)
        path = next((value.text for value in texts if value.text and "\n" not in value.text), None)
        if content is not None and path is not None:
            self.files.put(path, content)

    def _value(self, pieces: list[_Piece]) -> _Piece | None:
        """Return what the first operand stands for."""
        pieces = [piece for piece in pieces if piece.kind != "sign"]
        if not pieces:
            return None
        first = pieces[0]
        if first.kind == "variable":
            return self.variables.take(first.text or "")
        if first.kind == "word" and (first.text or "").lower() in _READS and len(pieces) > 1:
            return self._output(pieces, None)
        return first


def _pieces(script: str) -> Iterator[_Piece]:
    at = 0
    steps = Steps(STEPS)
    while at < len(script) and steps.take():
        blank = _BLANK.match(script, at)
        if blank is not None:
            at = blank.end()
            continue
        sign = script[at]
        closing = _HERE.get(script[at : at + 2])
        body = _HERE_HEAD.match(script, at + 2) if closing is not None else None
        if closing is not None and body is not None:
            piece, at = _here_string(script, body.end(), closing)
            yield piece
        elif sign == "'":
            piece, at = _single(script, at + 1)
            yield piece
        elif sign == '"':
            piece, at = _double(script, at + 1)
            yield piece
        elif sign == "#":
            end = script.find("\n", at)
            at = len(script) if end < 0 else end
        elif script.startswith("<#", at):
            close = script.find("#>", at)
            at = len(script) if close < 0 else close + 2
        elif (variable := _VARIABLE.match(script, at)) is not None:
            at = variable.end()
            yield _Piece("variable", variable.group(1))
        elif (word := _WORD.match(script, at)) is not None:
            at = word.end()
            yield _Piece("word", word.group())
        else:
            length = 2 if script[at : at + 2] in {"&&", "||"} else 1
            yield _Piece("sign", script[at : at + length])
            at += length


def _here_string(script: str, first: int, closing: str) -> tuple[_Piece, int]:
    """Read a here-string: it ends where a line starts with its closing sign, or (as people write it) where one is indented."""
    end = first - 1 if script.startswith(closing, first) else script.find("\n" + closing, first)
    behind = end + 1 + len(closing)
    if end < 0:
        end = script.find(closing, first)
        behind = end + len(closing)
    if end < 0:
        end = behind = len(script)
    text = script[first : max(first, end)]
    if closing == '"@':
        text, expanded = _unescaped(text)
        return _Piece("text", text, expanded), behind
    return _Piece("text", text), behind


def _single(script: str, first: int) -> tuple[_Piece, int]:
    at = first
    while (close := script.find("'", at)) >= 0 and script.startswith("''", close):
        at = close + 2
    end = len(script) if close < 0 else close
    return _Piece("text", script[first:end].replace("''", "'")), end + 1


def _double(script: str, first: int) -> tuple[_Piece, int]:
    at = first
    end = len(script)
    while (found := _DOUBLE_STOP.search(script, at)) is not None:
        at = found.end()
        if found.group() == "`":
            at += 1
        elif found.group() == '"':
            if not script.startswith('"', at):
                end = found.start()
                break
            at += 1
    variable = _VARIABLE.fullmatch(script, first, end)
    if variable is not None:
        return _Piece("variable", variable.group(1)), end + 1
    text, expanded = _unescaped(script[first:end].replace('""', '"'))
    return _Piece("text", text, expanded), end + 1


def _unescaped(text: str) -> tuple[str, bool]:
    """Return the text with its backticks undone, and whether PowerShell replaced variables in it."""
    pieces: list[str] = []
    expanded, done = False, 0
    at = text.find("`")
    while at >= 0:
        pieces.append(text[done:at])
        expanded = expanded or "$" in pieces[-1]
        letter = text[at + 1 : at + 2]
        pieces.append(_LETTERS.get(letter, letter))
        done = at + 2
        at = text.find("`", done)
    pieces.append(text[done:])
    return "".join(pieces), expanded or "$" in pieces[-1]

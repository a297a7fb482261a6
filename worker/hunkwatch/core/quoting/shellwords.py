"""The words of a shell script: one pass from text to simple commands, with their quotes, heredocs and redirections undone.

Lenient where a shell would refuse: quotes and heredocs may lack their end, brackets may be out of balance. Never raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core.quoting import escapes
from hunkwatch.core.quoting.shellbrackets import SEARCHES, Brackets, find_delimiter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hunkwatch.core.quoting import Steps


class Text(NamedTuple):
    """A word or the body of a heredoc.

    ``text`` is ``None`` when only a shell could tell. ``name`` is set when the whole word is one variable, ``inner`` (the script) with
    its opening ``sign`` when it is one substitution. ``quoted`` says that any of it stood in quotes.
    """

    text: str | None
    expanded: bool = False
    name: str = ""
    inner: str | None = None
    sign: str = ""
    quoted: bool = False


class Redirection(NamedTuple):
    """``<``, ``>`` and their kin with their target, or a heredoc (``<<``) with its body."""

    sign: str
    text: Text


@dataclass(slots=True)
class Command:
    """A simple command. ``then`` is the operator behind it."""

    assignments: list[tuple[str, Text]] = field(default_factory=list)
    words: list[Text] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)
    then: str = ""


class _Pending(NamedTuple):
    command: Command
    at: int
    delimiter: str
    raw: bool
    tabs: bool


_PLAIN = re.compile(r"[^\s;&|<>()'\"\\$`#]++")
_IN_QUOTES = re.compile(r"[^\"\\$`]++")
_BLANKS = re.compile(r"[ \t\r]++")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
_ACTIVE = re.compile(r"[$`]")
_HEREDOC_ESCAPE = re.compile(r"\\([$`\\\n])")
_ENDS = frozenset(";&|\n()")
_PLACES = frozenset("0123456789@*")
_DECLARES = frozenset({"export", "local", "readonly", "declare", "typeset"})


class Reader:
    """Reads one script. ``commands`` may be used once."""

    def __init__(self, script: str, steps: Steps) -> None:
        """Take the script; CR LF is read as LF. ``steps`` is shared with the scripts around and inside."""
        self.steps = steps
        self.text = script.replace("\r\n", "\n") if "\r\n" in script else script
        self.at = 0
        self.pending: list[_Pending] = []
        self.searches = SEARCHES

    def commands(self) -> Iterator[Command]:
        """Yield the simple commands in order; the heredocs of a line are read before its commands are given out."""
        line: list[Command] = []
        command = Command()
        while self.at < len(self.text) and self.steps.take():
            sign = self.text[self.at]
            if sign in " \t\r":
                self._skip_blanks()
            elif sign == "\\" and self.text.startswith("\\\n", self.at):
                self.at += 2
            elif sign == "#":
                self._skip_comment()
            elif sign in _ENDS:
                command.then = self._operator()
                line.append(command)
                command = Command()
                if sign == "\n":
                    self._read_heredocs()
                    yield from line
                    line = []
            elif sign in "<>" or (sign.isdigit() and self._is_redirection()):
                self._redirection(command)
            else:
                self._take_word(command)
        self._read_heredocs()
        yield from line
        yield command

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _operator(self) -> str:
        two = self.text[self.at : self.at + 2]
        length = 2 if two in {"&&", "||", ";;", "|&"} else 1
        sign = self.text[self.at : self.at + length]
        self.at += length
        return "|" if sign == "|&" else sign

    def _is_redirection(self) -> bool:
        end = self.at
        while end < self.at + 3 and self.text[end : end + 1].isdigit():
            end += 1
        return self.text[end : end + 1] in {"<", ">"}

    def _redirection(self, command: Command) -> None:
        number = ""
        while self.text[self.at].isdigit():
            number += self.text[self.at]
            self.at += 1
        for sign in ("<<<", "<<-", "<<", "<(", ">(", "<>", "<&", ">>", ">&", ">|", "<", ">"):
            if self.text.startswith(sign, self.at):
                break
        if sign in {"<(", ">("}:
            word = self._word()
            command.words.append(word)
            return
        self.at += len(sign)
        self._skip_blanks()
        first = self.at
        word = self._word()
        if sign in {"<<", "<<-"}:
            spelled = self.text[first : self.at]
            raw = any(quote in spelled for quote in "'\"\\")
            delimiter = word.text if word.text is not None and raw else spelled
            self.pending.append(_Pending(command, len(command.redirections), delimiter, raw, tabs=sign == "<<-"))
            command.redirections.append(Redirection("<<", Text(None)))
        elif number in {"", "0", "1"}:
            command.redirections.append(Redirection(sign, word))

    def _skip_blanks(self) -> None:
        found = _BLANKS.match(self.text, self.at)
        self.at = self.at if found is None else found.end()

    def _take_word(self, command: Command) -> None:
        first = self.at
        if not command.words or command.words[0].text in _DECLARES:
            name = _NAME.match(self.text, first)
            if name is not None and self.text.startswith("=", name.end()):
                self.at = name.end() + 1
                command.assignments.append((name.group(), self._word()))
                return
        word = self._word()
        if self.at == first:
            self.at += 1
        elif word.text != "" or word.quoted:
            command.words.append(word)

    # ------------------------------------------------------------ words

    def _word(self) -> Text:
        """Read one word from here on: everything up to a blank or an operator that is not quoted."""
        pieces: list[Text] = []
        while self.at < len(self.text) and self.steps.take():
            piece = self._piece(first=not pieces)
            if piece is None:
                break
            pieces.append(piece)
        if len(pieces) == 1:
            return pieces[0]
        if not pieces:
            return Text("")
        if any(piece.text is None and not piece.name and piece.inner is None for piece in pieces):
            return Text(None)
        if any(piece.text is None for piece in pieces):
            return _one_of(pieces)
        return Text(
            "".join(piece.text or "" for piece in pieces),
            expanded=any(piece.expanded for piece in pieces),
            quoted=any(piece.quoted for piece in pieces),
        )

    def _piece(self, *, first: bool) -> Text | None:
        text, at = self.text, self.at
        plain = _PLAIN.match(text, at)
        if plain is not None:
            self.at = plain.end()
            return Text(plain.group())
        sign = text[at]
        if sign == "#" and not first:
            self.at += 1
            return Text("#")
        if sign == "\\":
            self.at = min(at + 2, len(text))
            return Text("" if text.startswith("\n", at + 1) else text[at + 1 : at + 2], quoted=True)
        if sign == "'":
            return self._single_quoted()
        if sign == '"':
            self.at += 1
            return self._double_quoted()
        if sign in "$`":
            return self.expansion()
        if sign in "<>" and text.startswith("(", at + 1) and first:
            self.at += 2
            return Text(None, inner=self._inside(")"), sign=sign + "(")
        return None

    def _single_quoted(self) -> Text:
        close = self.text.find("'", self.at + 1)
        end = len(self.text) if close < 0 else close
        content = self.text[self.at + 1 : end]
        self.at = min(end + 1, len(self.text))
        return Text(content, quoted=True)

    def _double_quoted(self) -> Text:
        """Read up to the closing quote. A text that is all one substitution keeps it; others around text are left as written."""
        pieces: list[Text] = []
        text = self.text
        while self.at < len(text) and self.steps.take():
            plain = _IN_QUOTES.match(text, self.at)
            if plain is not None:
                self.at = plain.end()
                pieces.append(Text(plain.group()))
                continue
            sign = text[self.at]
            if sign == '"':
                self.at += 1
                break
            if sign == "\\":
                behind = text[self.at + 1 : self.at + 2]
                pieces.append(Text("" if behind == "\n" else behind if behind and behind in '$`"\\' else "\\" + behind))
                self.at = min(self.at + 2, len(text))
                continue
            first = self.at
            if text.startswith(("$'", '$"'), first):
                self.at += 1
                pieces.append(Text("$"))
                continue
            piece = self.expansion()
            if piece.text is None:
                piece = piece._replace(text=text[first : self.at])
            pieces.append(piece)
        if len(pieces) == 1 and (pieces[0].name or pieces[0].inner is not None):
            return pieces[0]._replace(text=None, quoted=True)
        expanded = any(piece.expanded or piece.name or piece.inner is not None for piece in pieces)
        return Text("".join(piece.text or "" for piece in pieces), expanded=expanded, quoted=True)

    def expansion(self) -> Text:
        """Read what begins with a dollar sign or a backtick here, and go behind it."""
        text, at = self.text, self.at
        if text[at] == "`":
            close = escapes.closing(text, at + 1, "`")
            end = len(text) if close < 0 else close
            self.at = min(end + 1, len(text))
            return Text(None, inner=_HEREDOC_ESCAPE.sub(r"\1", text[at + 1 : end]), sign="`")
        if text.startswith("$'", at):
            close = escapes.closing(text, at + 2, "'")
            end = len(text) if close < 0 else close
            self.at = min(end + 1, len(text))
            return Text(escapes.undo(text[at + 2 : end], escapes.ANSI_C), quoted=True)
        if text.startswith('$"', at):
            self.at += 2
            return self._double_quoted()
        if text.startswith("$(", at):
            self.at += 2
            return Text(None, inner=self._inside(")"), sign="$(")
        if text.startswith("${", at):
            self.at += 2
            inner = self._inside("}")
            named = _NAME.fullmatch(inner) is not None or inner in _PLACES
            return Text(None, name=inner if named else "", inner=None if named else "", sign="${")
        name = _NAME.match(text, at + 1)
        if name is not None:
            self.at = name.end()
            return Text(None, name=name.group())
        self.at += 1
        if text[at + 1 : at + 2] and text[at + 1] in "?!#@*$-0123456789":
            self.at += 1
            return Text(None, name=text[at + 1])
        return Text("$")

    def _inside(self, close: str) -> str:
        """Return what stands before the bracket that closes what was just opened, and go behind it."""
        first = self.at
        end = Brackets(self.text, self.steps).matching(first, close)
        self.at = min(end + 1, len(self.text))
        return self.text[first:end]

    # ------------------------------------------------------------ heredocs

    def _read_heredocs(self) -> None:
        for pending in self.pending:
            body = self._heredoc(pending.delimiter, tabs=pending.tabs)
            expanded = False
            if not pending.raw:
                expanded = _ACTIVE.search(_HEREDOC_ESCAPE.sub("", body)) is not None
                body = _HEREDOC_ESCAPE.sub(_unescape, body)
            pending.command.redirections[pending.at] = Redirection("<<", Text(body, expanded=expanded))
        self.pending.clear()

    def _heredoc(self, delimiter: str, *, tabs: bool) -> str:
        """Return the body that starts here and go behind its delimiter; without one it reaches to the end."""
        first = self.at
        stop, end = find_delimiter(self.text, first, delimiter, tabs=tabs)
        if stop < 0 and self.searches:
            self.searches -= 1
            stop, end = find_delimiter(self.text, first, delimiter, tabs=True, lenient=True)
            if stop < 0 and self.text.find("***", first) < 0:
                return ""
        if stop < 0:
            stop = end = len(self.text)
        self.at = end
        body = self.text[first:stop]
        return "\n".join(line.lstrip("\t") for line in body.split("\n")) if tabs else body


def _unescape(found: re.Match[str]) -> str:
    return "" if found.group(1) == "\n" else found.group(1)


def _one_of(pieces: list[Text]) -> Text:
    """Return the only piece that is not empty, when there is just one; else nobody can tell."""
    told = [piece for piece in pieces if piece.text != ""]
    return told[0] if len(told) == 1 else Text(None)

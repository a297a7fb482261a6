"""JavaScript source: its tokens, with strings and templates decoded. Lenient: what is not closed reaches to the end."""

from __future__ import annotations

import re

from hunkwatch.core.quoting import escapes
from hunkwatch.core.quoting.program import TOKENS, Made, Token, calls, unread

_BLANK = re.compile(r"\s++")
_NAME = re.compile(r"[A-Za-z_$\u0080-\uffff#][\w$\u0080-\uffff]*+")
_NUMBER = re.compile(r"\d[\w.]*+")
_SIGNS = ("...", "===", "!==", "=>", "==", "!=", "+=", "-=", "?.", "&&", "||", "??", "++", "--", "<=", ">=", "**")
_TEMPLATE_STOP = re.compile(r"[`\\$]")
_REGEX_STOP = re.compile(r"[/\\\[\]\n]")
_VALUE_ENDS = frozenset({")", "]", "}"})
_HEADS = frozenset({"if", "while", "for", "with"})
_BEFORE_REGEX = frozenset({"return", "typeof", "case", "in", "of", "await", "void", "else"})


def made(source: str) -> list[Made]:
    """Return every call in the source with what is known of its arguments."""
    scanner = _Scanner(source)
    return [*calls(scanner.run(), length=len(source)), *unread(source, scanner.at)]


def tokens(source: str) -> list[Token]:
    """Return the tokens of the source."""
    return _Scanner(source).run()


class _Scanner:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.out: list[Token] = []
        self.braces: list[str] = []
        self.heads: list[bool] = []
        self.behind_head = False

    def run(self) -> list[Token]:
        while self.at < len(self.source) and len(self.out) < TOKENS:
            self._token()
        return self.out

    def _token(self) -> None:
        source, at = self.source, self.at
        blank = _BLANK.match(source, at)
        if blank is not None:
            self.at = blank.end()
            return
        sign = source[at]
        if source.startswith("//", at) or source.startswith("/*", at) or (source.startswith("#!", at) and not at):
            self._comment()
        elif sign in "\"'":
            self._string(sign)
        elif sign == "`":
            self.at += 1
            self.out.append(Token("open", ""))
            self._template()
        elif sign == "/" and self._may_be_regex():
            self._regex()
        elif (name := _NAME.match(source, at)) is not None:
            self.at = name.end()
            self.out.append(Token("name", name.group()))
        elif (number := _NUMBER.match(source, at)) is not None:
            self.at = number.end()
            self.out.append(Token("number", number.group()))
        else:
            self._sign(sign)

    def _comment(self) -> None:
        if self.source.startswith("/*", self.at):
            end = self.source.find("*/", self.at + 2)
            self.at = len(self.source) if end < 0 else end + 2
        else:
            end = self.source.find("\n", self.at)
            self.at = len(self.source) if end < 0 else end

    def _string(self, quote: str) -> None:
        close = escapes.closing(self.source, self.at + 1, quote)
        end = len(self.source) if close < 0 else close
        self.out.append(Token("text", escapes.undo(self.source[self.at + 1 : end], escapes.JAVASCRIPT)))
        self.at = min(end + 1, len(self.source))

    def _template(self) -> None:
        """Read template text up to its end or its next substitution."""
        source, first = self.source, self.at
        raw = bool(self.out[-2:-1]) and self.out[-2] == ("name", "raw")
        at = first
        while (found := _TEMPLATE_STOP.search(source, at)) is not None:
            sign, at = found.group(), found.end()
            if sign == "\\":
                at += 1
            elif sign == "`" or source.startswith("{", at):
                self._chunk(source[first : found.start()], raw=raw)
                if sign == "`":
                    self.out.append(Token("close", ""))
                    self.at = at
                else:
                    self.out.append(Token("sign", "${"))
                    self.braces.append("${")
                    self.at = at + 1
                return
        self._chunk(source[first:], raw=raw)
        self.out.append(Token("close", ""))
        self.at = len(source)

    def _chunk(self, text: str, *, raw: bool) -> None:
        text = text.replace("\r\n", "\n")
        self.out.append(Token("text", text if raw else escapes.undo(text, escapes.JAVASCRIPT)))

    def _may_be_regex(self) -> bool:
        last = self.out[-1] if self.out else Token("sign", "")
        if last.kind in {"text", "number", "close"}:
            return False
        if last == ("sign", ")"):
            return self.behind_head
        return last.value in _BEFORE_REGEX if last.kind == "name" else last.value not in _VALUE_ENDS

    def _regex(self) -> None:
        at, in_class = self.at + 1, False
        while (found := _REGEX_STOP.search(self.source, at)) is not None:
            sign, at = found.group(), found.end()
            if sign == "\n":
                break
            if sign == "\\":
                at += 1
            elif sign in "[]":
                in_class = sign == "["
            elif not in_class:
                self.at = at
                self.out.append(Token("number", ""))
                return
        self.out.append(Token("sign", "/"))
        self.at += 1

    def _sign(self, sign: str) -> None:
        if sign == "(":
            self.heads.append(bool(self.out) and self.out[-1].kind == "name" and self.out[-1].value in _HEADS)
        elif sign == ")" and self.heads:
            self.behind_head = self.heads.pop()
        elif sign == "{":
            self.braces.append("{")
        elif sign == "}" and self.braces and self.braces.pop() == "${":
            self.out.append(Token("sign", "}$"))
            self.at += 1
            self._template()
            return
        for long in _SIGNS:
            if self.source.startswith(long, self.at):
                self.at += len(long)
                self.out.append(Token("sign", "." if long == "?." else long))
                return
        self.at += 1
        self.out.append(Token("sign", sign))

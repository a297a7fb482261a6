"""Python source: its tokens, with string literals decoded. Lenient: what is not closed reaches to the end."""

from __future__ import annotations

import re

from hunkwatch.core.quoting import escapes
from hunkwatch.core.quoting.program import TOKENS, Made, Token, calls, unread

_BLANK = re.compile(r"[ \t\r\f]++|\\\r?+\n")
_NAME = re.compile(r"[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*+")
_NUMBER = re.compile(r"\d[\w.]*+")
_SIGNS = frozenset({"**", "==", "!=", "+=", "-=", ":=", "->", "<=", ">=", "//"})
_PREFIXES = frozenset("rRbBuUfF")
_STOPS = {quote: re.compile(rf"\\|{quote}") for quote in ('"""', "'''")}
_STOPS |= {quote: re.compile(rf"[\\\n{quote}]") for quote in ('"', "'")}


def made(source: str) -> list[Made]:
    """Return every call in the source with what is known of its arguments."""
    scanner = _Scanner(source)
    return [*calls(scanner.run(), length=len(source)), *unread(source, scanner.at)]


def tokens(source: str) -> list[Token]:
    """Return the tokens of the source; a line end outside brackets is a semicolon."""
    return _Scanner(source).run()


class _Scanner:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.open = 0
        self.out: list[Token] = []

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
        if sign == "\n":
            self.at += 1
            if not self.open:
                self.out.append(Token("sign", ";"))
        elif sign == "#":
            end = source.find("\n", at)
            self.at = len(source) if end < 0 else end
        elif sign in "\"'":
            self._string("")
        elif (name := _NAME.match(source, at)) is not None:
            self.at = name.end()
            word, following = name.group(), source[name.end() : name.end() + 1]
            if following and following in "\"'" and len(word) <= 2 and _PREFIXES.issuperset(word):  # noqa: PLR2004 - the longest prefix is "rb"
                self._string(word.lower())
            else:
                self.out.append(Token("name", word))
        elif (number := _NUMBER.match(source, at)) is not None:
            self.at = number.end()
            self.out.append(Token("number", number.group()))
        else:
            self._sign(sign)

    def _string(self, prefix: str) -> None:
        quote = self.source[self.at]
        if self.source.startswith(quote * 3, self.at):
            quote *= 3
        first = self.at + len(quote)
        close = self._close(first, quote)
        end = len(self.source) if close < 0 else close
        text = self.source[first:end]
        behind = end if close >= 0 and self.source[end] == "\n" else end + len(quote)
        self.at = min(behind, len(self.source))
        if "r" not in prefix:
            text = escapes.undo(text, escapes.PYTHON)
        if "f" in prefix and ("{" in text or "}" in text):
            text = text.replace("{{", "\0").replace("}}", "\1")
            if "{" in text or "}" in text:
                self.out.append(Token("number", ""))
                return
            text = text.replace("\0", "{").replace("\1", "}")
        self.out.append(Token("text", text))

    def _close(self, at: int, quote: str) -> int:
        """Return where a literal ends: at its quotes, or at the end of the line for a short one that is never closed."""
        while (found := _STOPS[quote].search(self.source, at)) is not None:
            if found.group() != "\\":
                return found.start()
            at = found.end() + 1
        return -1

    def _sign(self, sign: str) -> None:
        if sign in "([{":
            self.open += 1
        elif sign in ")]}":
            self.open = max(0, self.open - 1)
        two = self.source[self.at : self.at + 2]
        found = two if two in _SIGNS else sign
        self.at += len(found)
        self.out.append(Token("sign", found))

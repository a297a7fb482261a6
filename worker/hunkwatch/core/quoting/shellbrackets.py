"""Where brackets and heredocs of a shell script end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hunkwatch.core.quoting import DEPTH

if TYPE_CHECKING:
    from hunkwatch.core.quoting import Steps

SEARCHES = 16
"""How often a heredoc without its delimiter is looked for in a second way: each look may reach to the end of the script."""
_BLANKS = re.compile(r"[ \t]++")
_BRACKET_STOP = re.compile(r"\\|'|\"|\$\(|\$\{|<<|[(){}#\n`]")
_OPENERS = {'"': '"', "$(": ")", "${": "}", "(": ")"}
_ARITHMETIC = 200
_LONGEST = 200
_DELIMITER = re.compile(r"[^\s;&|<>()]++")


def find_delimiter(text: str, first: int, delimiter: str, *, tabs: bool, lenient: bool = False) -> tuple[int, int]:
    """Return where the body ends and where the line behind the delimiter starts, or -1 twice.

    Leniently, blanks around the delimiter and an operator behind it do not matter; the rest of that line is then read on.
    """
    if not 0 < len(delimiter) <= _LONGEST:
        return -1, -1
    blanks = r"[ \t]*+" if lenient else r"\t*+" if tabs else ""
    behind = r"(?=[ \t\r;&|)]|$)" if lenient else "$"
    found = re.compile(f"^{blanks}{re.escape(delimiter)}{behind}", re.MULTILINE).search(text, first)
    if found is None:
        return -1, -1
    return found.start(), found.end() + text.startswith("\n", found.end())


class Brackets:
    """Finds the bracket that closes another in a script, past quotes, comments and heredocs."""

    def __init__(self, text: str, steps: Steps) -> None:
        """Take the script and the steps that are left for it."""
        self.text = text
        self.steps = steps
        self.searches = SEARCHES
        self.heredocs: list[tuple[str, bool]] = []

    def matching(self, at: int, close: str) -> int:
        """Return where ``close`` closes what was opened before ``at``; the length of the text when it never does."""
        text = self.text
        closers = [close]
        while len(closers) <= DEPTH and self.steps.take():
            found = _BRACKET_STOP.search(text, at)
            if found is None:
                return len(text)
            at, sign = found.start(), found.group()
            if sign == closers[-1]:
                closers.pop()
                if not closers:
                    return at
                at += 1
            elif sign in _OPENERS and (sign != "(" or closers[-1] == ")") and not self._is_arithmetic(at):
                closers.append(_OPENERS[sign])
                at += len(sign)
            else:
                at = self._past(at, sign, in_quotes=closers[-1] == '"')
        return len(text)

    def _is_arithmetic(self, at: int) -> bool:
        return self.text.startswith("$((", at) and self.text.find("))", at, at + _ARITHMETIC) >= 0

    def _past(self, at: int, sign: str, *, in_quotes: bool) -> int:
        """Return where to look on behind a sign that opens no bracket."""
        text = self.text
        if sign == "\\":
            return at + 2
        if sign == "$(":
            return text.find("))", at) + 2
        if in_quotes:
            return at + len(sign)
        if sign == "'":
            end = text.find("'", at + 1)
            return len(text) if end < 0 else end + 1
        if sign == "\n":
            return self._past_heredocs(at + 1)
        if sign == "<<":
            return at + 3 if text.startswith("<<<", at) else self._note_heredoc(at + 2)
        if sign == "#" and text[at - 1 : at] in {"", " ", "\t", "\n", ";"}:
            end = text.find("\n", at)
            return len(text) if end < 0 else end
        return at + len(sign)

    def _note_heredoc(self, at: int) -> int:
        tabs = self.text.startswith("-", at)
        blanks = _BLANKS.match(self.text, at + tabs)
        first = at + tabs if blanks is None else blanks.end()
        found = _DELIMITER.match(self.text, first)
        if found is None:
            return first
        self.heredocs.append((found.group().replace("'", "").replace('"', "").replace("\\", ""), tabs))
        return found.end()

    def _past_heredocs(self, at: int) -> int:
        for delimiter, tabs in self.heredocs:
            stop, end = find_delimiter(self.text, at, delimiter, tabs=tabs)
            if stop < 0:
                stop, end = find_delimiter(self.text, at, delimiter, tabs=True, lenient=True)
            if stop >= 0:
                at = end
                continue
            self.searches -= 1
            if self.searches < 0:
                return len(self.text)
        self.heredocs.clear()
        return at

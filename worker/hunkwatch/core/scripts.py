"""Scripts and argument vectors: which language a text is in, and what it hands to the patch command.

A script that only mentions the command (a search for its name, a help page written to a file) runs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core import grammar
from hunkwatch.core.quoting import Fed, shell

if TYPE_CHECKING:
    from collections.abc import Sequence

_MENTIONS = ("apply_patch", "applypatch", "Begin Patch")
_FENCES = ("```", "~~~")
_LEADING_WORDS = 6


class Nested(NamedTuple):
    """A call of a tool that source code makes."""

    tool: str
    argument: object


class Script(NamedTuple):
    """The script that an argument vector runs."""

    text: str


def mentions(text: str) -> bool:
    """Say cheaply whether a script may run the patch command."""
    return any(word in text for word in _MENTIONS)


def wraps(text: str) -> bool:
    """Say whether the patch in a text is wrapped in a command or in source code, rather than standing there by itself."""
    at = text.find("Begin Patch")
    head = text if at < 0 else text[:at]
    return any(word in head for word in _MENTIONS)


def runs(text: str) -> Sequence[Fed | Nested]:
    """Return what a script hands to each run of the patch command."""
    body = _unfenced(text)
    if grammar.envelopes(body) and not wraps(body) and body.lstrip()[:3] == "***":
        return [Fed(body)]
    return shell.feeds(body)


def vector(words: Sequence[str]) -> Script | Fed | None:
    """Return what a list of words runs: a script, or the patch command itself (its text is None without an argument)."""
    for at, word in enumerate(words[:_LEADING_WORDS]):
        if shell.is_patch_command(word):
            return Fed(words[at + 1] if at + 1 < len(words) else None)
        if shell.is_shell(word):
            script = next((words[i + 1] for i in range(at + 1, len(words) - 1) if shell.is_script_flag(words[i])), None)
            return None if script is None else Script(script)
        if not shell.is_leader(word) and not word.startswith("-"):
            return None
    return None


def _unfenced(text: str) -> str:
    body = text.strip()
    if not body.startswith(_FENCES):
        return text
    first = body.find("\n")
    last = body.rfind("\n" + body[:3])
    return body[first + 1 : last] if 0 <= first < last else body

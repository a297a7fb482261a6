"""How other languages write a text down, and how to read it back: bounded scanners, one module a language.

Every scanner is total and linear: one pass from left to right, nesting bounded, nothing evaluated that is not a literal. What can
only be known by running the source is ``None`` (shell, PowerShell) or ``program.DYNAMIC`` (JavaScript, Python), never a guess.
"""

from __future__ import annotations

from typing import NamedTuple


class Fed(NamedTuple):
    """What a script hands to one run of the patch command, as an argument or on its standard input.

    ``text`` is ``None`` when only running the script would tell. ``expanded`` says that the shell replaced variables or commands
    inside the text, so that what was applied differs from what is written here. ``language`` is set when the text is no patch but a
    program in that language, which a script gives to its interpreter.
    """

    text: str | None
    expanded: bool = False
    language: str = ""


class Steps:
    """How much work a scanner may still do for one script. What lies behind the last step is not looked at."""

    def __init__(self, left: int) -> None:
        """Start with that many steps; a step is a token or less."""
        self.left = left

    def take(self) -> bool:
        """Take one step; False when there is none left."""
        self.left -= 1
        return self.left >= 0


DEPTH = 32
"""How deep scanners follow nesting; what lies deeper counts as not readable."""

"""Errors, sorted by what the caller does next.

``HunkwatchError``
  ├ ``RetryLater``   busy or away: ask again, not before ``after``
  ├ ``AskForLess``   the question was too big: halve the window, the page or the batch
  ├ ``Refused``      this one item will never be accepted: put it on record, go on with the others
  └ ``Halt``         going on would do harm or nothing: stop, say ``mend``, exit with ``exit_code``

Adapters translate foreign exceptions into these once, at their edge, and chain the cause. Messages never carry keys, headers,
patch text or response bodies.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta


class Exit(IntEnum):
    """What the process tells its supervisor (sysexits where one fits)."""

    OK = 0
    FINDING = 1
    """It ran, and something is wrong with what it looked at: a failed check, a gate not passed."""
    USAGE = 2
    """It never ran: wrong words on the command line, or nothing could be judged."""
    UNAVAILABLE = 69
    """Langfuse cannot be reached, or answers something that is not Langfuse."""
    INTERNAL = 70
    """A fault of ours: a loop stopped making progress."""
    STATE = 74
    """The state file cannot be read or written: disk full, no permission, corrupt, in use, or from a newer version."""
    TEMPORARY = 75
    """Not finished in time; run it again."""
    PERMISSION = 77
    """The key is wrong or may not do this."""
    CONFIG = 78
    """The configuration is wrong or incomplete."""


class HunkwatchError(Exception):
    """Base of everything raised on purpose."""


class RetryLater(HunkwatchError):
    """The other side is busy or away. Ask again, not before ``after``."""

    def __init__(self, message: str, *, after: timedelta | None = None) -> None:
        """Keep the server's own wish, if it had one, in ``after``."""
        super().__init__(message)
        self.after = after


class AskForLess(HunkwatchError):
    """The question was too big. Halve the window, the page or the batch."""


class Refused(HunkwatchError):
    """This item will never be accepted as it is. Put it on record and go on with the others."""


class Halt(HunkwatchError):
    """Going on would do harm or nothing. ``mend`` is one sentence that says what to do."""

    def __init__(self, message: str, *, mend: str, exit_code: Exit = Exit.CONFIG) -> None:
        """Carry what the operator needs: what is wrong, what to do, and the exit code."""
        super().__init__(message)
        self.mend = mend
        self.exit_code = exit_code

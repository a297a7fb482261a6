"""The shape of a patch: one word for what kind of edit it is.

The first word of ``Shape`` that is true of the patch; of several calls, the first that is true of any. It describes and does not judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunkwatch.core.model import Action, Shape

if TYPE_CHECKING:
    from hunkwatch.core.model import Patch
    from hunkwatch.core.scoring.tally import Tally

_BLIND, _NOT_BLIND = Shape.BLIND_REWRITE, Shape.NO_BLIND_REWRITE  # looking a member up costs as much as a call


def of_patch(patch: Patch, hunks: int, blind_hunks: int) -> Shape:
    """Return the shape of a patch that was read, given how many of its hunks change something and how many are blind."""
    if not patch.complete:
        return Shape.TRUNCATED
    if "delete_and_add" in patch.flags:
        return Shape.FILE_REWRITE
    if blind_hunks:
        return _BLIND
    if hunks:
        return _NOT_BLIND
    actions = {edit.action for edit in patch.files}
    if Action.ADD in actions:
        return Shape.NEW_FILE
    if Action.DELETE in actions:
        return Shape.DELETE_ONLY
    if any(edit.moved_to for edit in patch.files):
        return Shape.MOVE_ONLY
    return Shape.NO_CHANGE


def label(tally: Tally) -> str:
    """Return the shape as the score's value."""
    return tally.shape.value

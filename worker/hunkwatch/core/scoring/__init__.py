"""The scores that there are. A new one is a module here, a line in ``SCORERS``, its words in ``caveats`` and its counterexamples."""

from __future__ import annotations

from hunkwatch.core.scoring import blind_rewrite, retyped_lines, shape
from hunkwatch.core.scoring.tally import Scorer, Subject

SCORERS = (
    Scorer("blind_rewrite", Subject.TRACE, blind_rewrite.in_hundredths),
    Scorer("blind_hunks", Subject.TRACE, blind_rewrite.blind_hunks),
    Scorer("retyped_lines", Subject.TRACE, retyped_lines.lines),
    Scorer("blind_rewrite_patch", Subject.OBSERVATION, blind_rewrite.in_quarters),
    Scorer("retyped_lines_patch", Subject.OBSERVATION, retyped_lines.lines),
    Scorer("patch_shape", Subject.OBSERVATION, shape.label),
)
"""Every score, in the order in which they are written."""

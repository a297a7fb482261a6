"""The grammar of ``apply_patch``: text to ``Patch`` and back. Sole owner of the ``*** `` markers.

For finding: ``looks_like_patch`` (cheap test), ``envelopes`` (each patch in a text), ``surroundings`` (flags for what stands
around them), ``section`` and ``enclose`` (an envelope for a headerless body). For scoring: ``parse``. For people: ``render``, ``FLAGS``.
"""

from hunkwatch.core.grammar.envelope import envelopes, looks_like_patch, surroundings
from hunkwatch.core.grammar.markers import FLAGS
from hunkwatch.core.grammar.read import parse
from hunkwatch.core.grammar.write import enclose, render, section

__all__ = ["FLAGS", "enclose", "envelopes", "looks_like_patch", "parse", "render", "section", "surroundings"]

"""The adapter to Langfuse: reading observations, writing scores, finding out which server answers.

Raw httpx throughout: one pace, one retry policy and one place that reads errors serve every route, and no SDK object stands between a
page's bytes and an ``Observation``.
"""

from hunkwatch.langfuse.check import Found
from hunkwatch.langfuse.links import Links
from hunkwatch.langfuse.opening import FEW_ATTEMPTS, Langfuse, Reading, check_langfuse, open_langfuse
from hunkwatch.langfuse.probe import Abilities, Reader, Writer

__all__ = ["FEW_ATTEMPTS", "Abilities", "Found", "Langfuse", "Links", "Reader", "Reading", "Writer", "check_langfuse", "open_langfuse"]

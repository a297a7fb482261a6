"""What people look at: what was scored, counted by day and by whatever tells calls apart, in words, numbers and pictures.

Traces go into a ``Survey`` one at a time; a ``Report`` is that with what was asked for. ``terminal``, ``machine`` and ``page`` show it.
"""

from hunkwatch.report.made import Asked, Report
from hunkwatch.report.survey import Survey

__all__ = ["Asked", "Report", "Survey"]

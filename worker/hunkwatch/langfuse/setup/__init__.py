"""Put up what makes our scores easy to see in a project, score configs and a dashboard, and take it down again.

Everything is looked for before it is made, by a mark in its description, so that a second time changes nothing. What people made is left
alone. A thing whose creation was answered too late to be heard of may be there twice: the oldest is ours, the younger goes.
"""

from hunkwatch.langfuse.setup.putting import DASHBOARDS_SINCE, NoDashboards, put_up, take_down
from hunkwatch.langfuse.setup.steps import Did, Hand, Looking, Step, Writing

__all__ = ["DASHBOARDS_SINCE", "Did", "Hand", "Looking", "NoDashboards", "Step", "Writing", "put_up", "take_down"]

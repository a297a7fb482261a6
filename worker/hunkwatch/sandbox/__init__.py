"""A small Langfuse-compatible server for the demo and the tests. Imports nothing of ours."""

from hunkwatch.sandbox.habits import Delays, Fault, Habits, Plan, Wrong
from hunkwatch.sandbox.sandbox import Sandbox, serve
from hunkwatch.sandbox.state import Access, Project

__all__ = ["Access", "Delays", "Fault", "Habits", "Plan", "Project", "Sandbox", "Wrong", "serve"]

"""The demo: a sandbox Langfuse, forty traces of coding agents, the real worker, and what it found. Needs the extra ``demo``."""

from hunkwatch.demo.stage import Played, main, run

__all__ = ["Played", "main", "run"]

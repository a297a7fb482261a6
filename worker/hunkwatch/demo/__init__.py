"""Some forty traces of agents: shown on a sandbox with the real worker (``stage``, extra ``demo``), or sent to any Langfuse (``seed``)."""

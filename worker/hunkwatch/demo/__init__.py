"""The demo: a sandbox Langfuse, forty traces of coding agents, the real worker, and what it found."""

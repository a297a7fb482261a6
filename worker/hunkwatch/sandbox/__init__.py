"""A small Langfuse-compatible server for the demo and the tests. Imports nothing of ours."""

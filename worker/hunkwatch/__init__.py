"""Finds every apply_patch call in Langfuse traces and scores each patch from its text alone."""

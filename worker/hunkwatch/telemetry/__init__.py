"""The adapter to whoever watches: events become log lines and metrics."""

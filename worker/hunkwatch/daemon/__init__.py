"""The loops: sweep, deliver, upkeep. Async over the ports; no HTTP, no SQL."""

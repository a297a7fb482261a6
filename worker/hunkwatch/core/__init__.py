"""The pure part: standard library only, synchronous, total. No clock, no log, no environment."""

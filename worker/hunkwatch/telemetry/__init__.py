"""What a worker says about itself: log lines, metrics, health. ``open_telemetry`` makes them, ``serving`` shows them over HTTP."""

from hunkwatch.telemetry.opening import Opened, open_telemetry, serving

__all__ = ["Opened", "open_telemetry", "serving"]

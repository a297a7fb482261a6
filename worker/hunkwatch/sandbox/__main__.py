"""``python -m hunkwatch.sandbox``: serve a sandbox until it is interrupted."""

import argparse
import sys

from hunkwatch.sandbox.habits import Habits, Plan
from hunkwatch.sandbox.sandbox import MODES, Sandbox, serve


def main() -> None:
    """Read the flags and serve."""
    parser = argparse.ArgumentParser(prog="python -m hunkwatch.sandbox", description=__doc__)
    parser.add_argument("--version", default="4.16.0", help="the Langfuse version to answer as")
    parser.add_argument("--mode", default="events_only", choices=MODES, help="the write mode to answer in")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", default=3000, type=int, help="0 takes any free port")
    parser.add_argument("--seed", default=0, type=int, help="the seed of the habits")
    parser.add_argument("--realistic", action="store_true", help="show data as late as Langfuse does")
    parser.add_argument("--plan", default="self-hosted", choices=[str(plan) for plan in Plan], help="whose rate limits apply")
    flags = parser.parse_args()
    delays = Habits.realistic().delays if flags.realistic else Habits().delays
    habits = Habits(seed=flags.seed, delays=delays, plan=Plan(flags.plan))
    serve(Sandbox(flags.version, flags.mode, habits), host=flags.host, port=flags.port, ready=announce)


def announce(url: str) -> None:
    """Say where the sandbox listens and which keys open it."""
    sys.stdout.write(f"{url} public key pk-lf-demo secret key sk-lf-demo\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Run every benchmark and print its ratios: ``python tests/bench/run.py [--strict] [NAME ...]``.

NAME is one of pages, scoring, lcs, growth, unwrap, rivals, bulk, report; without one, all of them. With ``--strict`` the exit status is
1 when a promised ratio or limit is missed.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise

import bench_bulk
import bench_growth
import bench_lcs
import bench_pages
import bench_report
import bench_rivals
import bench_scoring
import bench_unwrap
from bench_compare import Duel, Step
from rich import box
from rich.console import Console
from rich.table import Table

BENCHES: dict[str, Callable[[], Iterable[Duel | Step]]] = {
    "pages": bench_pages.measure,
    "scoring": bench_scoring.measure,
    "lcs": bench_lcs.measure,
    "growth": bench_growth.measure,
    "unwrap": bench_unwrap.measure,
    "rivals": bench_rivals.measure,
    "bulk": bench_bulk.measure,
    "report": bench_report.measure,
}


def main() -> int:
    """Measure, print, and say whether every promise was kept."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []], metavar="NAME", help=f"one of {', '.join(BENCHES)}")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a promise is missed")
    chosen = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} processors", style="dim")
    results: list[Duel | Step] = []
    for name in chosen.names or BENCHES:
        console.print(f"{name} ...", style="dim")
        results += BENCHES[name]()
    duels = [result for result in results if isinstance(result, Duel)]
    steps = [result for result in results if isinstance(result, Step)]
    if duels:
        console.print(_duels(duels))
    if steps:
        console.print(_steps(steps))
    missed = [result for result in results if result.missed]
    console.print(f"{len(missed)} of the promises were missed" if missed else "Every promise was kept", style="red" if missed else "green")
    return int(bool(missed) and chosen.strict)


def _duels(duels: list[Duel]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="Ours against another way, medians of turns")
    table.add_column("work")
    for heading in ("ours", "theirs", "ratio", "promised"):
        table.add_column(heading, justify="right")
    for entry in duels:
        style = "red" if entry.missed else "green" if entry.target else ""
        promised = f"{entry.target:g} x" if entry.target else ""
        table.add_row(
            entry.name, _amount(entry.ours, entry.unit), _amount(entry.theirs, entry.unit), f"{entry.ratio:.2f} x", promised, style=style
        )
    return table


def _steps(steps: list[Step]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="Growth: seconds for each size, and how much longer than for the size before")
    table.add_column("work")
    for heading in ("size", "time", "size x", "time x", "memory", "promised", ""):
        table.add_column(heading, justify="right")
    for before, entry in pairwise([None, *steps]):
        assert entry is not None
        grown = (f"{entry.size / before.size:.1f}", f"{entry.seconds / before.seconds:.1f}") if _same(before, entry) else ("", "")
        memory = f"{entry.peak / 1e6:,.0f} MB" if entry.peak else ""
        limit = f"{entry.limit / 1e6:,.0f} MB" if entry.limit else f"{entry.within:g} s" if entry.within else ""
        style = "red" if entry.missed else ""
        table.add_row(entry.curve, f"{entry.size:,}", _time(entry.seconds), *grown, memory, limit, entry.note, style=style)
    return table


def _same(before: Step | None, entry: Step) -> bool:
    return before is not None and before.curve == entry.curve


def _amount(value: float, unit: str) -> str:
    return _time(value) if unit == "s" else f"{value:,.0f}"


def _time(seconds: float) -> str:
    return f"{seconds:,.2f} s" if seconds >= 1 else f"{seconds * 1000:,.2f} ms"


if __name__ == "__main__":
    sys.exit(main())

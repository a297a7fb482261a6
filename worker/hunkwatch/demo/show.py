"""What the demo prints: a table of traces with their scores, what was found, why some abstained, and how to go on.

On a terminal in colour; elsewhere the same words without.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from hunkwatch.demo.harvest import Observed, Row

WIDTH = 140
"""The width where there is no terminal to ask."""

GO_ON = (
    "export LANGFUSE_PUBLIC_KEY=pk-lf-... LANGFUSE_SECRET_KEY=sk-lf-...",
    "export LANGFUSE_BASE_URL=https://cloud.langfuse.com",
    "hunkwatch run --once",
)
"""The three lines that point the same worker at a real Langfuse."""

_WIDE = 100
_AGENT = 15
_NUMBERS = 61
"""Columns of text that stand beside a trace's title: its agent's, and those of calls, numbers and shape."""

_SHAPE_STYLES = {
    "unresolved": "yellow",
    "malformed": "yellow",
    "truncated": "yellow",
    "file_rewrite": "red",
    "blind_rewrite": "red",
    "no_blind_rewrite": "green",
}


def table(rows: Sequence[Row], *, width: int) -> Table:
    """Return the traces with their scores, as Langfuse has them, made for so many columns of text."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    others = _NUMBERS + (_AGENT if width >= _WIDE else 0)
    made.add_column("trace", overflow="ellipsis", no_wrap=True, max_width=max(width - others, 12))
    if width >= _WIDE:
        made.add_column("recorded by", no_wrap=True, style="dim")
    made.add_column("calls", justify="right")
    made.add_column("blind_\nrewrite", justify="right", no_wrap=True)
    made.add_column("blind_\nhunks", justify="right", no_wrap=True)
    made.add_column("retyped_\nlines", justify="right", no_wrap=True)
    made.add_column("patch_shape", min_width=len("no_blind_rewrite,"))
    for row in rows:
        made.add_row(
            row.sent.session.title,
            *([row.sent.session.agent] if width >= _WIDE else []),
            f"{row.found}",
            _number(row.blind_rewrite, good=1),
            _number(row.blind_hunks, good=0),
            _number(row.retyped_lines, good=0),
            _shapes(row.observed),
        )
    return made


def summary(rows: Sequence[Row]) -> list[Text]:
    """Return what was found, and why some calls have no number."""
    planted, found, strays = (sum(getattr(row, name) for row in rows) for name in ("planted", "found", "strays"))
    scored = sum(row.blind_rewrite is not None for row in rows)
    quiet = sum(not row.sent.planted for row in rows)
    observed = [entry for row in rows for entry in row.observed]
    good = found == planted and not strays
    lines = [
        Text(f"{found} of {planted} calls found", style="bold green" if good else "bold red"),
        Text(
            f"in {len(rows) - quiet} traces of {len(rows)}; {_strays(strays)}; {scored} traces have a blind_rewrite, 1 if no hunk is blind"
        ),
        Text(f"producers: {_counted(Counter(_words(entry.producers) for entry in observed))}"),
        Text(f"outcomes:  {_counted(Counter(_words(entry.outcomes) for entry in observed))}"),
    ]
    silent = [entry for entry in observed if not entry.numeric]
    if silent:
        lines.append(Text(f"\n{len(silent)} observations have a shape and no number. Abstaining is not zero:", style="bold"))
        lines += [
            Text.assemble(f"{count:5} ", (f"{shape:13}", _SHAPE_STYLES.get(shape, "")), f" {why}")
            for (shape, why), count in Counter((entry.shape, _why(entry)) for entry in silent).most_common()
        ]
    return lines


def go_on() -> Text:
    """Return how to point the worker at a real Langfuse."""
    return Text("\n".join(GO_ON), style="bold cyan")


def out(console: Console, rows: Sequence[Row], *, page: Path) -> None:
    """Print all of it, and where the page is."""
    console.print(table(rows, width=console.width))
    for line in summary(rows):
        console.print(line, soft_wrap=True)
    console.print(Text.assemble("\nThe report of these traces, to be opened in a browser: ", (str(page), "bold")), soft_wrap=True)
    console.print("\nThe same worker on your Langfuse:", style="bold")
    console.print(go_on(), soft_wrap=True)


def _number(value: float | None, *, good: float) -> Text:
    if value is None:
        return Text("-", style="dim")
    return Text(f"{value:g}", style="green" if value == good else "red")


def _shapes(observed: Sequence[Observed]) -> Text:
    counts = Counter(entry.shape for entry in observed)
    parts = [Text(f"{shape} {count}" if count > 1 else shape, style=_SHAPE_STYLES.get(shape, "")) for shape, count in counts.items()]
    return Text(", ").join(parts)


def _strays(strays: int) -> str:
    return f"{strays} found where none was made" if strays else "none found where none was made"


def _words(counted: str) -> str:
    return counted.rsplit(" ", 1)[0]


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def _why(entry: Observed) -> str:
    return entry.comment.split(". ", 1)[0]

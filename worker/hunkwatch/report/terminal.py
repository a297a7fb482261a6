"""A report for a terminal: tables, bars and sparklines. Colour follows the terminal; a bar says nothing that no number says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from hunkwatch.report import compare, counts, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from hunkwatch.report.compare import Comparison
    from hunkwatch.report.counts import Counts
    from hunkwatch.report.made import Report

MOST_MEMBERS = 8
"""Lines of a table by group."""

_BLOCKS, _PLAIN = " ▁▂▃▄▅▆▇█", " .:-=+*%#"
_BAR = 12
_MOST_POINTS = 60


class Strip:
    """Shares from 0 to 1 as one line: a sparkline of many, ``None`` where there is no number."""

    def __init__(self, shares: Sequence[float | None], style: str = "") -> None:
        """Take the shares in order."""
        self._shares = shares
        self._style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it, in ASCII where the terminal knows nothing else."""
        signs = _PLAIN if options.ascii_only else _BLOCKS
        steps = len(signs) - 1
        drawn = "".join(" " if share is None else signs[max(1, round(share * steps)) if share else 0] for share in self._shares)
        yield Segment(drawn, console.get_style(self._style) if self._style else Style.null())

    def __rich_measure__(self, _console: Console, _options: ConsoleOptions) -> Measurement:
        """One column a share."""
        return Measurement(len(self._shares), len(self._shares))


class Bar:
    """One share from 0 to 1 as a bar of fixed width."""

    def __init__(self, share: float | None, style: str) -> None:
        """Take the share."""
        self._share = share
        self._style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it, in ASCII where the terminal knows nothing else."""
        full = 0 if not self._share else max(1, round(self._share * _BAR))
        sign, rest = ("#", ".") if options.ascii_only else ("█", "░")
        yield Segment(sign * full, console.get_style(self._style))
        yield Segment(rest * (_BAR - full), console.get_style("dim"))

    def __rich_measure__(self, _console: Console, _options: ConsoleOptions) -> Measurement:
        """Always as wide."""
        return Measurement(_BAR, _BAR)


def rendered(report: Report) -> Iterator[RenderableType]:
    """Yield everything that a report says, in order."""
    survey = report.survey
    yield Text(f"{words.title(report)}, {words.period(report)}", style="bold")
    yield Text(f"From {report.source}. {words.left_out(report)}", style="dim")
    yield Text("")
    if not survey.total.calls:
        yield Text("There is no call to count.")
        return
    yield _pairs(words.summary(survey.total))
    if survey.comparison is not None:
        yield Text("")
        yield from _compared(survey.comparison)
    days = survey.group("day")
    if len(days) > 1:
        yield Text("")
        yield _trend(days)
    for name, title in words.GROUP_NAMES.items():
        yield Text("")
        yield _by(title, survey.group(name))
    yield Text("")
    yield _by("retyped lines", [(counts.step_name(step), survey.by_retyped[step]) for step in sorted(survey.by_retyped)])
    yield Text("")
    yield from _worth_opening(report)
    yield Text("")
    yield Text("How to read it", style="bold")
    yield from (Text(f"  {caveat}") for caveat in words.CAVEATS)


def _compared(comparison: Comparison) -> Iterator[RenderableType]:
    yield Text(f"Compared: {comparison.title}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in ("share", *(words.name(side.name) for side in comparison.sides), "difference", ""):
        table.add_column(Text(name), overflow="fold")
    for difference in comparison.differences():
        *cells, verdict = difference.cells()
        table.add_row(*map(Text, cells), Text(verdict, style="bold" if difference.called else "dim"))
    yield table
    yield from (Text(f"  {sentence}") for sentence in compare.METHOD)


def _pairs(pairs: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for label, value in pairs:
        table.add_row(Text(label), Text(value))
    return table


def _trend(days: Sequence[tuple[str, Counts]]) -> Table:
    shown = days[-_MOST_POINTS:]
    most = max(its.calls for _, its in shown)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    table.add_row("calls a day", Strip([its.calls / most for _, its in shown], "cyan"), Text(f"at most {most}"))
    table.add_row("with a blind rewrite", Strip([its.blind_share for _, its in shown], "yellow"), Text(_last(shown, "blind_share")))
    table.add_row("failed to apply", Strip([its.failed_share for _, its in shown], "red"), Text(_last(shown, "failed_share")))
    return table


def _last(days: Sequence[tuple[str, Counts]], share: str) -> str:
    return f"{words.percent(getattr(days[0][1], share))} on {days[0][0]}, {words.percent(getattr(days[-1][1], share))} on {days[-1][0]}"


def _by(title: str, members: Sequence[tuple[str, Counts]]) -> Table:
    shown = members[-MOST_MEMBERS:] if title == "day" else members[:MOST_MEMBERS]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column(f"by {title}", overflow="fold", min_width=16, max_width=40)
    for name in ("calls", "traces"):
        table.add_column(name, justify="right")
    table.add_column("blind rewrite", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in ("retyped\nlines", "no\nnumber", "failed\nto apply"):
        table.add_column(name, justify="right")
    for name, its in shown:
        share = words.percent(its.blind_share)
        table.add_row(
            Text(words.name(name)),
            f"{its.calls:,}",
            f"{its.traces:,}" if its.traces else "",
            share,
            Bar(its.blind_share, "yellow"),
            f"{its.retyped_lines:,}",
            f"{its.without_number:,}",
            words.percent(its.failed_share),
        )
    if len(members) > len(shown):
        table.add_row(Text(f"{len(members) - len(shown):,} {'earlier' if title == 'day' else 'more'}", style="dim"))
    return table


def _worth_opening(report: Report) -> Iterator[Text]:
    lines = report.survey.worth_opening()
    if not lines:
        yield Text("No trace stands out.", style="bold")
        return
    yield Text(f"Worth opening. {words.ORDER}", style="bold")
    for number, line in enumerate(lines, start=1):
        yield Text.assemble(f"{number:>3}. ", (words.name(line.name), "bold"), f"  {words.about(line)}")
        link = report.link(line.project, line.trace_id)
        yield Text(f"     {link or f'trace {words.name(line.trace_id)}'}", style=f"link {link}" if link else "dim")

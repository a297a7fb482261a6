"""A report over many calls: counting them, writing the page, and opening it in a browser until the last plot is drawn."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_compare import Step, seconds
from playwright.sync_api import Browser, sync_playwright

from hunkwatch.report import Asked, Report, page
from hunkwatch.report.rows import FileRow, Row

SIZES = (1_000, 10_000, 100_000)
CALLS_A_TRACE = 12
OPENED_WITHIN = 3.0
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
START = datetime(2026, 3, 1, tzinfo=UTC)


def measure() -> Iterator[Step]:
    """Yield the curves by number of calls."""
    chromium = shutil.which("chromium")
    with TemporaryDirectory() as folder:
        places: list[tuple[int, Path]] = []
        for size in SIZES:
            rows = traces(size)
            survey = Asked().survey()
            yield Step("report: count", size, seconds(lambda rows=rows, survey=survey: [survey.add_rows("p", its) for its in rows]))
            made = Report(
                survey, Asked(), "a benchmark", START, lambda project, trace: f"https://lf.example/project/{project}/traces/{trace}"
            )
            text: list[str] = []
            took = seconds(lambda made=made, text=text: text.append(page.of_report(made)))
            yield Step("report: write the page", size, took, note=f"{len(text[0].encode()) / 1e6:.1f} MB")
            places.append((size, Path(folder, f"{size}.html")))
            places[-1][1].write_text(text[0], "utf-8")
        if chromium is None:
            return
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
            opening(browser, places[0][1])
            for size, place in places:
                loaded, drawn = min(opening(browser, place) for _ in range(3))
                yield Step("report: open it in Chromium", size, loaded, note=f"last plot after {drawn:.1f} s", within=OPENED_WITHIN)
            browser.close()


def opening(browser: Browser, place: Path) -> tuple[float, float]:
    """Return the seconds from asking for the page until it is loaded, and until its last plot is drawn, in a profile of its own."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    started = time.perf_counter()
    opened.goto(place.as_uri())
    loaded = time.perf_counter() - started
    opened.wait_for_selector("html[data-ready=true]")
    drawn = time.perf_counter() - started
    context.close()
    return loaded, drawn


def traces(calls: int) -> list[list[Row]]:
    """Return so many calls in traces of twelve, over ninety days, with names, sessions and numbers that differ."""
    return [[row(number, at) for at in range(CALLS_A_TRACE)] for number in range(max(1, calls // CALLS_A_TRACE))]


def row(trace: int, at: int) -> Row:
    """Return one call."""
    mixed = trace * 7919 + at * 104_729
    hunks = mixed % 5
    blind, retyped = min(hunks, mixed % 7 == 0), mixed % 23 if mixed % 3 == 0 else 0
    shape = "new_file" if not hunks else "blind_rewrite" if blind else "no_blind_rewrite"
    return Row(
        trace_id=f"{trace:032x}",
        observation_id=f"{at:016x}",
        at=START + timedelta(minutes=(trace * 37) % 129_600 + at),
        environment=("production", "staging")[trace % 2],
        trace_name=f"Task {trace % 3000}",
        producer=("codex", "cline", "opencode")[trace % 3],
        model=("gpt-5.1", "gpt-5.1-codex", "claude-sonnet-4.5")[trace % 3],
        session=f"session-{trace // 3:08}",
        outcome=("applied", "applied", "applied", "failed", "unknown")[mixed % 5],
        shape=shape,
        abstained="" if hunks else shape,
        hunks=hunks,
        blind_hunks=blind,
        retyped_lines=retyped if hunks else None,
        files=(FileRow((".py", ".ts", ".md", ".go")[mixed % 4], hunks, blind, retyped),),
    )


if __name__ == "__main__":
    for step in measure():
        print(step)  # noqa: T201 - what it is for

"""A real Chromium with a fresh profile that calls nobody, and pages opened in it from files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from hunkwatch.report import Asked, Report
from hunkwatch.report.rows import FileRow, Row

if TYPE_CHECKING:
    from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Start Chromium; it ends with the module, since no loop may run beside its driver's."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium (Debian: chromium)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page that is open, and what it said and asked for since."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def open_page(chromium: Browser, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Open a text as a file, and wait until its plots are drawn."""
    contexts = []

    def open_text(text: str, *, ready: str = "html[data-ready=true]", **given: Any) -> Opened:
        path = tmp_path / "page.html"
        path.write_text(text, "utf-8")
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **given})
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("console", lambda message: opened.said.append(message.text))
        opened.page.on("pageerror", lambda error: opened.said.append(str(error)))
        opened.page.on("request", lambda request: opened.asked.append(request.url))
        opened.page.goto(path.as_uri())
        opened.page.wait_for_selector(ready)
        return opened

    yield open_text
    for context in contexts:
        context.close()


@pytest.fixture
def row() -> Callable[..., Row]:
    """Build a row: an applied call with one hunk, but for what is told."""

    def build(trace: str = "t", day: int = 0, **given: Any) -> Row:
        facts: dict[str, Any] = {
            "trace_id": trace,
            "observation_id": "o",
            "at": START + timedelta(days=day),
            "environment": "default",
            "trace_name": f"Task {trace}",
            "producer": "codex",
            "model": "m",
            "session": "s",
            "outcome": "applied",
            "shape": "no_blind_rewrite",
            "abstained": "",
            "hunks": 1,
            "blind_hunks": 0,
            "retyped_lines": 0,
            "files": (FileRow(".py", 1, 0, 0),),
        }
        return Row(**{**facts, **given})

    return build


@pytest.fixture
def report() -> Callable[..., Report]:
    """Make a report of rows, each trace on its own."""

    def make(*rows: Row) -> Report:
        asked = Asked()
        survey = asked.survey()
        traces: dict[str, list[Row]] = {}
        for one in rows:
            traces.setdefault(one.trace_id, []).append(one)
        for its in traces.values():
            survey.add_rows("p", its)
        return Report(survey, asked, "a test", START, lambda project, trace_id: f"https://lf.example/{project}/{trace_id}")

    return make

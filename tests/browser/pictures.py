"""Take the pictures of the README from the demo, so that they stay true: ``make pictures``, then look at them before they are committed."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.terminal_theme import MONOKAI

from hunkwatch.demo.stage import run
from hunkwatch.report import Report, terminal

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
SIZE = {"width": 1280, "height": 1400}
LINES = 62
"""Of the terminal: as much as one looks at."""


def main() -> None:
    """Play the demo and photograph its page and its report on a terminal."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        played = run(Console(file=io.StringIO(), width=140), page)
        screen = Path(folder, "terminal.html")
        screen.write_text(on_terminal(played.report), "utf-8")
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
            shoot(browser, page, PICTURES / "report.png", ready="html[data-ready=true]")
            shoot(browser, screen, PICTURES / "terminal.png", ready="pre")
            browser.close()
    sys.stdout.write(f"Look at {PICTURES}/report.png and terminal.png before they are committed.\n")


def on_terminal(report: Report) -> str:
    """Return what a terminal of 110 columns shows, as a page."""
    console = Console(file=io.StringIO(), width=110, record=True, force_terminal=True, color_system="truecolor", highlight=False)
    for part in terminal.rendered(report):
        console.print(part)
    lines = console.export_html(theme=MONOKAI, inline_styles=True, code_format="{code}").split("\n")[:LINES]
    style = "margin:0;padding:16px;background:#0c0c0c;color:#d9d9d9;font:14px/1.35 'DejaVu Sans Mono',monospace;width:max-content"
    return (
        f'<!doctype html><meta charset="utf-8"><body style="margin:0;background:#0c0c0c"><pre style="{style}">{chr(10).join(lines)}</pre>'
    )


def shoot(browser: Browser, page: Path, picture: Path, *, ready: str) -> None:
    """Open a file and write its picture."""
    opened = browser.new_page(viewport=SIZE)
    opened.goto(page.as_uri())
    opened.wait_for_selector(ready)
    if ready == "pre":
        opened.locator("pre").screenshot(path=picture)
    else:
        opened.screenshot(path=picture)
    opened.close()


if __name__ == "__main__":
    main()

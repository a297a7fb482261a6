"""The demo as a newcomer meets it: the command, its page in a browser, served on this machine, and Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Run ``demo --serve`` as a process of its own; give the address that it says and the page that it wrote."""
    folder = tmp_path_factory.mktemp("demo")
    words = [sys.executable, "-m", "hunkwatch", "demo", "--serve"]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if address := re.search(r"http://127.0.0.1:\d+/?\S*", line if "serv" in line.lower() or "open" in line.lower() else ""):
            break
    else:
        pytest.fail("it never said where the page is: " + "".join(said)[-500:])
    yield address[0], folder / "hunkwatch-demo.html"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (0, "") == (process.returncode, "".join(line for line in errors.splitlines() if "Traceback" in line))


def test_the_page_opens_from_the_file_and_asks_nobody(served: tuple[str, Path], open_page: Callable[..., Any]) -> None:
    """No word on the console, no request but for itself, and a row for each of the sample traces with calls."""
    opened = open_page(served[1].read_text("utf-8"))

    assert ([], 1) == (opened.said, len(opened.asked))
    assert opened.page.get_by_role("heading", level=1).inner_text() == "Hunkwatch demo"
    assert opened.page.locator("details").count() > 1


def test_the_page_opens_where_it_is_served(served: tuple[str, Path], chromium: Browser) -> None:
    """The address on the terminal shows the same page, which asks no other place."""
    page = chromium.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(served[0])
    page.wait_for_selector("html[data-ready=true]")

    assert page.get_by_role("heading", level=1).inner_text() == "Hunkwatch demo"
    assert {served[0].rstrip("/")} == {url.rstrip("/") for url in asked}
    assert [] == said
    page.close()

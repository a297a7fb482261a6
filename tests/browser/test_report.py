"""The report as a page in a real browser: silent, complete, usable with keys alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from hunkwatch.core.model import Call, Evidence
from hunkwatch.report import Report, explained, judging, page
from hunkwatch.report.rows import Row

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
Make = Callable[..., Report]
Build = Callable[..., Row]
DESK = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
BLIND = "*** Begin Patch\n*** Update File: a.py\n@@\n unmistakable\n-a\n-b\n-c\n+a\n+<b>y</b>\n+z\n*** End Patch"


@pytest.fixture
def some(row: Build, report: Make) -> Report:
    """Three days, two models, 120 traces; one call blind and failed, one without a number."""
    blind = {"shape": "blind_rewrite", "blind_hunks": 1, "retyped_lines": 7, "outcome": "failed", "model": "other"}
    new = {"shape": "new_file", "abstained": "new_file", "hunks": 0, "retyped_lines": None}
    return report(row("blind", 0, **blind), row("new", 1, **new), *(row(f"{number:03}", 1 + number % 2) for number in range(118)))


@pytest.fixture
def patches() -> explained.Patches:
    """An explained blind patch with markup in its text."""
    call = Call("blind", "o", datetime(2026, 3, 1, tzinfo=UTC), None, "c", 0, "codex", Evidence.EXECUTION, BLIND)
    return explained.Patches(tuple(explained.explain(1, one) for one in judging.judge([call], keep_patches=True)))


def test_it_says_nothing_to_the_console_and_asks_nobody(some: Report, open_page: Open) -> None:
    """Opened from a file, in light and in dark, scrolled and clicked, it makes no request but for itself."""
    opened = open_page(page.of_report(some))
    opened.page.emulate_media(color_scheme="dark")
    opened.page.get_by_role("button", name="Theme: as the system").click()
    opened.page.get_by_label("by", exact=True).select_option("model")
    opened.page.mouse.wheel(0, 5000)
    opened.page.get_by_role("button", name="After").click()

    assert ([], 1) == (opened.said, len(opened.asked))


def test_its_policy_lets_no_request_out(some: Report, open_page: Open) -> None:
    """Even a script that got in could not tell anybody."""
    opened = open_page(page.of_report(some))
    told = opened.page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'let through', (error) => error.name)")

    assert ("TypeError", True) == (told, any("Content Security Policy" in text for text in opened.said))


def test_plots_have_a_mark_for_each_number(some: Report, open_page: Open) -> None:
    """Bars for what was counted on each day, points for each share, bars for each member of the group that is chosen."""
    opened = open_page(page.of_report(some))

    def marks(plot: str, kind: str) -> int:
        return int(opened.page.locator(f"#p-{plot} .{kind} .point").count())

    assert (3 * 3, 2 * 3, 2, 1) == (marks("calls", "bars"), marks("shares", "points"), marks("retyped", "bars"), marks("reasons", "bars"))
    assert 2 == marks("groups", "bars")
    opened.page.get_by_label("by", exact=True).select_option("model")
    assert 4 == marks("groups", "bars")


def test_the_table_sorts_in_both_directions(some: Report, open_page: Open) -> None:
    """Numbers as numbers, the largest first; texts from A; the head says which way."""
    opened = open_page(page.of_report(some))
    table = opened.page.locator("#table")

    def column(number: int) -> list[str]:
        return [line.strip() for line in table.locator(f"tbody tr > :nth-child({number})").all_inner_texts()]

    assert "+ Task blind" == column(1)[0]
    table.get_by_role("button", name="hunks", exact=True).click()
    assert ("1", "descending") == (column(5)[0], table.get_by_role("columnheader", name="hunks", exact=True).get_attribute("aria-sort"))
    table.get_by_role("button", name="hunks", exact=True).click()
    assert ("0", "ascending") == (column(5)[0], table.get_by_role("columnheader", name="hunks", exact=True).get_attribute("aria-sort"))
    table.get_by_role("button", name="trace", exact=True).click()
    assert ["+ Task 000", "+ Task 001"] == column(1)[:2]


def test_the_table_has_pages_and_a_filter(some: Report, open_page: Open) -> None:
    """Fifty lines at a time; what is filtered away is not counted."""
    opened = open_page(page.of_report(some))
    where = opened.page.locator("#where")

    assert "1 to 50 of 120" == where.inner_text()
    opened.page.get_by_role("button", name="After").click()
    opened.page.get_by_role("button", name="After").click()
    assert ("101 to 120 of 120", True) == (where.inner_text(), opened.page.get_by_role("button", name="After").is_disabled())
    opened.page.get_by_label("Only those with").fill("OTHER")
    assert "1 to 1 of 1" == where.inner_text()
    opened.page.get_by_label("Only those with").fill("lf.example")
    assert "0 to 0 of 0" == where.inner_text()


def test_keys_alone_reach_everything(some: Report, patches: explained.Patches, open_page: Open) -> None:
    """The first key leads to the traces; from there a column is sorted and a trace opened to its patches."""
    opened = open_page(page.of_report(some, patches={("p", "blind"): patches}))
    keys = opened.page.keyboard
    keys.press("Tab")
    assert "Skip to the traces" == opened.page.evaluate("document.activeElement.textContent")
    keys.press("Enter")
    for _ in range(3):
        keys.press("Tab")
    assert "trace" == opened.page.evaluate("document.activeElement.textContent")
    keys.press("Enter")
    keys.press("Enter")
    assert "descending" == opened.page.locator("#table th").first.get_attribute("aria-sort")
    opened.page.get_by_role("button", name="Details of Task blind").focus()
    keys.press("Enter")
    assert "true" == opened.page.get_by_role("button", name="Details of Task blind").get_attribute("aria-expanded")
    assert ["10"] == opened.page.locator("#table .detail .line.plus:not(.retyped) .number").all_inner_texts()[-1:]


def test_patches_are_shown_only_when_they_are_given(some: Report, patches: explained.Patches, open_page: Open) -> None:
    """Code is no part of a page unless somebody asks, and then it is text whatever it looks like."""
    without, with_them = page.of_report(some), page.of_report(some, patches={("p", "blind"): patches})
    opened = open_page(with_them)
    opened.page.locator("#patches-1 summary").click()

    assert ("unmistakable" in without, "This page shows no code." in without) == (False, True)
    assert "+<b>y</b>" in opened.page.locator("#patches-1 pre").inner_text()
    assert ["BR", "B", "B"] == [text.strip() for text in opened.page.locator("#patches-1 .minus .marks").all_inner_texts()]


def test_names_are_text_whatever_is_in_them(row: Build, report: Make, open_page: Open) -> None:
    """Whoever names a trace cannot run a script in the browser of whoever reads the report."""
    odd = "</script><img src=x onerror=alert(1)><b>&amp;"
    opened = open_page(page.of_report(report(row(odd, trace_name=odd, session=odd, model=odd, environment=odd, outcome="failed"))))

    assert ([], 0, 1) == (opened.said, opened.page.locator("img").count(), len(opened.asked))
    assert odd == opened.page.locator("#table tbody a").inner_text()
    assert odd == opened.page.locator(".worth a").inner_text()


def test_plots_name_groups_as_they_are(row: Build, report: Make, open_page: Open) -> None:
    """What looks like markup, a formula or an entity is text in a plot too, and names that begin alike stay apart."""
    names = [
        "<b>x</b>",
        '<a href="https://evil.example">y</a>',
        "&lt;",
        "one<br>two",
        "$x^2$",
        "l" * 90 + "1",
        "l" * 90 + "2",
        "a\0",
        "a\1",
    ]
    opened = open_page(page.of_report(report(*(row(str(at), environment=name, outcome="failed") for at, name in enumerate(names)))))
    shown = opened.page.locator("#p-groups .ytick text").all_text_contents()

    assert ([], 0, len(names)) == (opened.said, opened.page.locator("#p-groups a").count(), len(set(shown)))
    assert {"<b>x</b>", '<a href="https://evil.example">y</a>', "&lt;", "one<br>two", "$x^2$", "a?"} <= set(shown)


def test_on_paper_the_numbers_are_unfolded_on_white(some: Report, open_page: Open) -> None:
    """Plots cannot be read there: their tables are, none is cut off, and the page is as before afterwards."""
    opened = open_page(page.of_report(some), viewport={"width": 718, "height": 1000})
    opened.page.get_by_role("button", name="Theme: as the system").click(click_count=2)
    opened.page.emulate_media(media="print")
    folded = "document.querySelectorAll('figure details:not([open])').length"

    assert 5 == opened.page.evaluate(folded)
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert 0 == opened.page.evaluate(folded)
    assert ("rgb(255, 255, 255)", 718) == (
        opened.page.evaluate("getComputedStyle(document.documentElement).backgroundColor"),
        opened.page.evaluate("document.documentElement.scrollWidth"),
    )
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert 5 == opened.page.evaluate(folded)


def test_axe_finds_nothing(row: Build, report: Make, patches: explained.Patches, open_page: Open) -> None:
    """Names, roles, contrasts: light and dark, on a desk and on a phone, with everything open."""
    few = report(row("blind", blind_hunks=1, outcome="failed"), row("plain", 1))
    opened = open_page(page.of_report(few, patches={("p", "blind"): patches}), bypass_csp=True)
    opened.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    opened.page.get_by_role("button", name="Details of Task blind").click()
    found = []
    for scheme, size in product(("light", "dark"), (DESK, PHONE)):
        opened.page.emulate_media(color_scheme=scheme)
        opened.page.set_viewport_size(size)
        violations = Axe().run(opened.page).response["violations"]
        found += [(scheme, size["width"], one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in violations]

    assert [] == found


def test_a_phone_scrolls_in_one_direction(some: Report, row: Build, report: Make, open_page: Open) -> None:
    """What is too wide scrolls in a frame of its own, and words without an end are broken."""
    endless = "w" * 300
    names = {"trace_name": endless, "session": endless, "model": endless, "environment": endless}
    odd = replace(report(row("a", outcome="failed", blind_hunks=10**12, hunks=10**12, **names)), source=endless)

    for made in (some, odd):
        opened = open_page(page.of_report(made, heading=endless if made is odd else "Report"), viewport=PHONE)
        assert PHONE["width"] == opened.page.evaluate("document.documentElement.scrollWidth")


def test_without_scripts_the_numbers_are_there(some: Report, open_page: Open) -> None:
    """A mail program that runs nothing still shows the numbers, the caveats and the links."""
    opened = open_page(page.of_report(some), ready="noscript", java_script_enabled=False)
    text = opened.page.locator("body").inner_text()

    assert ("1 of 119 calls with a number" in text, "https://lf.example/p/blind") == (
        True,
        opened.page.locator(".worth a").get_attribute("href"),
    )


def test_an_explained_patch_is_a_page_of_its_own(patches: explained.Patches, open_page: Open) -> None:
    """The marks, the arithmetic and the caveats, and nothing for axe to find."""
    opened = open_page(page.of_patches("a<b>.patch", patches.calls), ready="h1", bypass_csp=True)
    text = opened.page.locator("body").inner_text()

    assert ("Explained: a<b>.patch", True) == (opened.page.title(), "retyped_lines_patch = 1" in text)
    assert ([], []) == (opened.said, Axe().run(opened.page).response["violations"])


def test_an_empty_report_opens_too(report: Make, open_page: Open) -> None:
    """Nothing counted is a page that says so."""
    opened = open_page(page.of_report(report()))

    assert ([], "0 to 0 of 0") == (opened.said, opened.page.locator("#where").inner_text())

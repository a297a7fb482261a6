"""The page without a browser: what it carries, what it lets out, and how large it grows."""

from __future__ import annotations

import importlib.util
import re
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hunkwatch.core.model import GradedCall, Outcome
from hunkwatch.report import Asked, Report, page
from hunkwatch.report.page import figures, table

if TYPE_CHECKING:
    from types import ModuleType

Build = Callable[..., GradedCall]
Make = Callable[..., Report]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the benchmark of the report, which makes calls by the hundred thousand."""
    folder = Path(__file__).parents[1] / "bench"
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("bench_report", folder / "bench_report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_hundred_thousand_calls_make_a_page_below_ten_megabytes(bench: ModuleType) -> None:
    """Groups and a bounded table are drawn, never single calls; the page says what the table leaves out."""
    asked = Asked()
    survey = asked.survey()
    for rows in bench.traces(100_000):
        survey.add_rows("p", rows)
    made = Report(
        survey, asked, "a test", datetime(2026, 3, 1, tzinfo=UTC), lambda _project, trace: f"https://lf.example/project/p/traces/{trace}"
    )
    text = page.of_report(made)

    assert (99_996, True) == (survey.total.calls, len(text.encode()) < 10_000_000)
    assert f"{table.MOST_TRACES:,} of 8,333 traces; --csv prints all of them." in text


def test_huge_names_make_no_huge_page(call: Build, reported: Make) -> None:
    """A thousand traces with names of a hundred thousand signs: what tells them apart is shown, the rest is not carried."""
    huge = "\U0001f600" * 100_000
    made = reported(*(call(trace_id=str(number), trace_name=f"{number}{huge}", session_id=huge) for number in range(1000)))

    assert len(page.of_report(made).encode()) < 8_000_000


def test_the_same_calls_make_the_same_page(call: Build, reported: Make) -> None:
    """Nothing in it depends on chance, on the hour, or on the order in which the groups were met."""
    calls = [call(trace_id=str(number), outcome=Outcome.FAILED, model=f"m{number % 7}") for number in range(50)]

    assert page.of_report(reported(*calls)) == page.of_report(reported(*calls))


def test_one_wrong_clock_leaves_the_days_readable(call: Build, reported: Make) -> None:
    """Days that are far apart stand side by side; days of one year stand where time puts them."""

    def kind(*days: int) -> str:
        start = call().start_time
        made = reported(*(call(trace_id=str(day), start_time=start + timedelta(days=day)) for day in days))
        axis: str = figures.of(made.survey)[0].drawn["layout"]["xaxis"]["type"]
        return axis

    assert ("category", "date", "category") == (kind(*range(14)), kind(*range(20)), kind(-20_000, *range(20)))


def test_what_has_nothing_to_show_is_not_drawn(call: Build, reported: Make) -> None:
    """No empty plot where every call has a number."""
    assert ["calls", "shares", "groups", "retyped"] == [figure.id for figure in figures.of(reported(call()).survey)]
    assert () == figures.of(reported().survey)


def test_its_policy_names_every_script_and_nothing_else(call: Build, reported: Make) -> None:
    """Each script is there by its hash; no other runs, and nothing is fetched."""
    text = page.of_report(reported(call()))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    scripts = re.findall(r"<script(?: type=\"text/plain\" id=\"plotly\")?>(.*?)</script>", text, re.DOTALL)
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts]

    assert 3 == len(scripts)
    assert f"default-src 'none'; script-src {' '.join(hashes)}; " in policy.replace("&#39;", "'")


def test_nothing_in_the_data_can_end_it(call: Build, reported: Make) -> None:
    """A name that looks like the end of the script stays inside it."""
    odd = "</script><script>alert(1)</script>"
    text = page.of_report(reported(call(trace_name=odd, session_id=odd, outcome=Outcome.FAILED), patterns=()))

    assert odd not in text


def test_the_caveats_are_in_view(call: Build, reported: Make) -> None:
    """They stand before the plots and outside of anything that has to be opened."""
    text = page.of_report(reported(call()))

    assert text.index("How to read it") < text.index("<figure>")
    assert "<details" not in text[: text.index("<figure>")]

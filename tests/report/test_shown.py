"""The report on a terminal and for machines."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from rich.console import Console

from hunkwatch.core.model import GradedCall, Outcome, Shape
from hunkwatch.report import Report, machine, terminal, words
from hunkwatch.report.survey import GROUPS

Build = Callable[..., GradedCall]
Make = Callable[..., Report]


def printed(report: Report, *, encoding: str = "utf-8", colour: bool = False) -> str:
    """Return the report as a terminal of 100 columns shows it."""
    bytes_of = io.BytesIO()
    stream = io.TextIOWrapper(bytes_of, encoding=encoding, newline="\n")
    console = Console(file=stream, width=100, force_terminal=colour, color_system="standard" if colour else None, highlight=False)
    console.print(*terminal.rendered(report), sep="\n")
    stream.flush()
    return bytes_of.getvalue().decode(encoding)


@pytest.fixture
def some(call: Build, blind: str, reported: Make) -> Report:
    """Three traces on two days, one blind, one failed."""
    later = call().start_time + timedelta(days=1)
    return reported(
        call(trace_name="Mend the door", session_id="s1", model="m1"),
        call(blind, trace_id="u", trace_name="=Paint it", start_time=later),
        call(trace_id="v", outcome=Outcome.FAILED, start_time=later),
    )


def test_a_terminal_shows_every_group_and_every_caveat(some: Report) -> None:
    """Whoever reads the numbers meets what they do not mean."""
    text = printed(some)

    assert [] == [name for name in words.GROUP_NAMES.values() if f"by {name}" not in text]
    assert [] == [caveat for caveat in words.CAVEATS if caveat.split(",")[0] not in " ".join(text.split())]


def test_a_terminal_shows_the_shares_and_what_they_are_shares_of(some: Report) -> None:
    """A percentage never stands alone."""
    text = printed(some)

    assert "calls with a blind rewrite  1 of 3 calls with a number (33%)" in text
    assert "failed to apply             1 of 3 calls tried (33%)" in text


def test_a_terminal_shows_the_pages_of_the_traces_worth_opening(some: Report) -> None:
    """The blind one first, then the failed one, each with its address; the third is not among them."""
    lines = [line.strip() for line in printed(some).split("\n") if "lf.example" in line]

    assert ["https://lf.example/p/u", "https://lf.example/p/v"] == lines


def test_a_terminal_without_unicode_gets_plain_bars(some: Report) -> None:
    """Nothing fails where only ASCII can be written."""
    assert "####........" in printed(some, encoding="ascii")


def test_nothing_steers_the_terminal(call: Build, reported: Make) -> None:
    """A trace's name cannot move the cursor, nor a session's."""
    odd = "\x1b[2Jname"

    assert "\x1b" not in printed(reported(call(trace_name=odd, session_id=odd, outcome=Outcome.FAILED), patterns=()))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", "plain"),
        ("a\x00b\x1b[31m\n", "a?b?[31m?"),
        ("\u202egnp.exe\u2066", "?gnp.exe?"),
        ("\ud800", "?"),
        ("n\u00a0b\u3000s", "n\u00a0b\u3000s"),
        ("\u0645\u0631\u062d\u0628\u0627", "\u0645\u0631\u062d\u0628\u0627"),
        ("\U0001f468\u200d\U0001f467", "\U0001f468\u200d\U0001f467"),
        ("x" * 120, "x" * 120),
        ("x" * 20_000, f"{'x' * 117}..."),
    ],
)
def test_a_name_is_shown_bounded_and_whole_in_its_own_direction(name: str, expected: str) -> None:
    """Letters of every script stay; what nobody sees, and what turns a line around, does not."""
    assert expected == words.name(name)


def test_a_long_name_fills_no_terminal(call: Build, reported: Make) -> None:
    """Its beginning tells it apart; machines get all that is on record of it."""
    made = reported(call(trace_name="n" * 200, session_id="n" * 200, outcome=Outcome.FAILED))

    assert max(map(len, re.findall("n+", printed(made).replace(" ", "").replace("\n", "")))) < 130
    assert any(line.startswith(f"trace_name,{'n' * 200},") for line in machine.as_csv(made))


def test_half_a_character_stops_no_machine(call: Build, reported: Make) -> None:
    """What no encoding has is a question mark in CSV and an escape in JSON."""
    made = reported(call(trace_name="\ud800x"))

    assert any(line.startswith("trace_name,?x,") for line in machine.as_csv(made))
    assert "\\ud800x" in json.dumps(machine.as_json(made))


def test_an_empty_report_says_so(reported: Make) -> None:
    """Nothing to count is no error and no table of nothing."""
    assert "There is no call to count." in printed(reported())


def test_json_holds_every_group_and_the_caveats(some: Report) -> None:
    """A machine gets what a person sees, whole."""
    value = json.loads(json.dumps(machine.as_json(some)))

    assert (3, list(GROUPS), list(words.CAVEATS)) == (value["total"]["calls"], list(value["by"]), value["caveats"])
    assert ["u", "v"] == [trace["trace_id"] for trace in value["worth_opening"]]


def test_csv_lines_add_up(some: Report) -> None:
    """The members of each group that a call has one of come to the total; every trace has a line."""
    lines = list(csv.DictReader(io.StringIO("\n".join(machine.as_csv(some)))))
    sums = {by: sum(int(line["calls"]) for line in lines if line["by"] == by) for by in ("total", "day", "producer", "model", "trace")}

    assert dict.fromkeys(sums, 3) == sums
    assert ["u", "v", "t"] == [line["value"] for line in lines if line["by"] == "trace"]


def test_csv_holds_no_formula(some: Report) -> None:
    """A name that a spreadsheet would run is written as text."""
    assert any(line.startswith("trace_name,'=Paint it,") for line in machine.as_csv(some))


@pytest.mark.parametrize(
    ("share", "expected"),
    [(None, "-"), (0, "0%"), (0.001, "<1%"), (0.004999, "<1%"), (0.006, "1%"), (0.999, ">99%"), (1, "100%"), (0.5, "50%")],
)
def test_a_share_never_reads_as_none_or_all_when_it_is_some(share: float | None, expected: str) -> None:
    """0% means nothing and 100% means everything."""
    assert expected == words.percent(share)


def test_every_reason_has_words() -> None:
    """Each shape says in a sentence why there is no number."""
    assert all(words.reason(shape.value) for shape in Shape)

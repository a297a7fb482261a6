"""What the data carry: no difference where there is none, one where there is one, and no more certainty than traces give."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.core.model import GradedCall
from hunkwatch.report import Asked, Report, compare, machine, page
from hunkwatch.report.compare import LEAST_TRACES, Difference, Sampled, Side
from hunkwatch.report.rows import Row

Build = Callable[..., GradedCall]
AT = datetime(2026, 3, 1, tzinfo=UTC)


def sampled(*traces: tuple[int, int]) -> Sampled:
    """Return a share over traces, each with its part and its whole."""
    made = Sampled()
    for part, whole in traces:
        made.add(part, whole)
    return made


def difference(first: Sampled, second: Sampled) -> Difference:
    """Return the difference of two shares."""
    return Difference("a share", first, second, *compare._newcombe(first, second))


def row(trace: int, model: str, *, blind: bool) -> Row:
    """Return a call of a model with one hunk."""
    shape = "blind_rewrite" if blind else "no_blind_rewrite"
    return Row(str(trace), "o", AT, "default", "n", "codex", model, "s", "applied", shape, "", 1, int(blind), 0)


def test_the_interval_of_independent_calls_is_wilson_s() -> None:
    """One call a trace: the textbook interval, a little wider for being a sample; 81 of 263 at 95% is 0.2553 to 0.3662."""
    made = sampled(*[(1, 1)] * 81, *[(0, 1)] * 182)
    low, high = made.interval()

    assert 263 == pytest.approx(made.effective(), rel=0.01)
    assert (0.2396, 0.3860) == (pytest.approx(low, abs=0.003), pytest.approx(high, abs=0.003))


def test_calls_that_go_together_count_as_their_traces() -> None:
    """A hundred traces of ten equal calls tell as much as a hundred calls."""
    alike = sampled(*[(10, 10)] * 30, *[(0, 10)] * 70)

    assert 100 == pytest.approx(alike.effective(), rel=0.02)


def test_no_failure_in_forty_traces_is_not_never() -> None:
    """A share of none has an interval too."""
    low, high = sampled(*[(0, 5)] * 40).interval()

    assert (pytest.approx(0, abs=1e-9), True) == (low, 0.1 < high < 0.25)


def test_a_difference_is_not_called_over_few_traces() -> None:
    """Thousands of calls in nineteen traces are nineteen traces."""
    few, many = sampled(*[(100, 100)] * (LEAST_TRACES - 1)), sampled(*[(0, 100)] * 50)

    assert (False, "not called: 19 traces on one side, 20 are needed") == (difference(few, many).called, difference(few, many).verdict)
    assert difference(sampled(*[(100, 100)] * LEAST_TRACES), many).called


def test_a_large_difference_is_called_with_its_direction() -> None:
    """Half of the calls against a tenth of them, over two hundred traces each."""
    often, seldom = sampled(*[(1, 2)] * 100, *[(0, 2)] * 50, *[(2, 2)] * 50), sampled(*[(1, 2)] * 40, *[(0, 2)] * 160)

    assert ("lower in the second", "higher in the second") == (difference(often, seldom).verdict, difference(seldom, often).verdict)


def test_where_there_is_no_difference_few_are_called() -> None:
    """Sessions of one distribution, whose calls resemble each other, are called different no more often than is stated."""
    chance = random.Random(20260301)  # noqa: S311 - chance, not secrets
    called = 0
    rounds = 400
    for _ in range(rounds):
        comparison = compare.Comparison(compare.sides("a..b"))
        for trace in range(120):
            habit = chance.betavariate(0.6, 1.8)
            model = "ab"[trace % 2]
            comparison.add(row(trace, model, blind=chance.random() < habit) for _ in range(chance.randint(1, 12)))
        called += any(one.called for one in comparison.differences())

    assert called / rounds <= 0.05


def test_calls_that_are_taken_as_independent_would_be_called_often() -> None:
    """The same sessions, counted as if each call were a trace: this is what the design effect is for."""
    chance = random.Random(20260301)  # noqa: S311 - chance, not secrets
    called = 0
    for _ in range(200):
        shares = Sampled(), Sampled()
        for trace in range(120):
            habit = chance.betavariate(0.6, 1.8)
            for _ in range(chance.randint(1, 12)):
                shares[trace % 2].add(int(chance.random() < habit), 1)
        called += difference(*shares).called

    assert called / 200 > 0.1


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40))
def test_intervals_hold_their_share(traces: list[tuple[int, int]]) -> None:
    """Whatever was counted, the share lies in its interval, and the interval between none and all."""
    made = sampled(*((min(pair), max(pair)) for pair in traces))
    if made.traces:
        low, high = made.interval()

        assert 0 <= low <= made.share + 1e-12
        assert made.share - 1e-12 <= high <= 1


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-02", (2026, 2, 1), (2026, 3, 1)),
        ("2024", (2024, 1, 1), (2025, 1, 1)),
        ("2026-02-03", (2026, 2, 3), (2026, 2, 4)),
        ("2026-01-05/2026-01-18", (2026, 1, 5), (2026, 1, 19)),
        ("2026-01/2026-03", (2026, 1, 1), (2026, 4, 1)),
        ("9999-12-30", (9999, 12, 30), (9999, 12, 31)),
    ],
)
def test_periods_hold_both_their_ends(text: str, start: tuple[int, int, int], end: tuple[int, int, int]) -> None:
    """The last day of a period belongs to it."""
    side, _ = compare.sides(f"{text}..2020")

    assert (datetime(*start, tzinfo=UTC), datetime(*end, tzinfo=UTC)) == (side.start, side.end)


def test_the_last_year_of_all_is_a_period_too() -> None:
    """No day comes after its last one."""
    side, _ = compare.sides("9999..2020")

    assert (datetime(9999, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)) == (side.start, side.end)


def test_what_is_no_period_is_a_model() -> None:
    """Dots in a model's name are its own."""
    assert (Side("gpt-5.1", model="gpt-5.1"), Side("model:2026", model="2026")) == compare.sides("gpt-5.1..model:2026")


@pytest.mark.parametrize(
    "text", ["", "a", "a..", "..b", "2026-01..gpt-5.1", "2026-02/2026-01..2026", "2026-13..2026-01", "2026-02-30..2026"]
)
def test_what_cannot_be_compared_is_refused(text: str) -> None:
    """A typing error is no empty comparison."""
    with pytest.raises(ValueError, match=r"."):
        compare.sides(text)


def test_a_comparison_stands_in_every_form_of_the_report(call: Build) -> None:
    """Machines get the bounds, a page the words, both the verdict."""
    asked = Asked(compared=compare.sides("m1..m2"), patterns=())
    survey = asked.survey()
    for number in range(4):
        survey.add("p", [call(trace_id=f"t{number}", model=f"m{1 + number % 2}")])
    report = Report(survey, asked, "a test", AT)
    value = machine.as_json(report)["compared"]

    assert isinstance(value, dict)
    assert ["m1", "m2", 4] == [value["first"], value["second"], len(value["differences"])]
    assert ("Compared: m1 with m2" in page.of_report(report), value["differences"][0]["called"]) == (True, False)

"""What the demo prints, from rows that are made here."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from hunkwatch.demo import show
from hunkwatch.demo.harvest import Observed, Row
from hunkwatch.demo.send import Sent
from hunkwatch.demo.sessions import Session


def a_row(*observed: Observed, planted: dict[str, int], blind_rewrite: float | None = None) -> Row:
    """Return a trace with these scores."""
    session = Session("codex", "Fix the pages", "Fix it.", (), (), together=False)
    return Row(Sent("t", session, 3, planted), blind_rewrite, None, None, observed)


def observed(observation_id: str, *, calls: int = 1, shape: str = "no_blind_rewrite", comment: str = "") -> Observed:
    """Return the scores of one observation."""
    return Observed(
        observation_id, shape, comment, calls, f"codex {calls}", f"applied {calls}", "", numeric=shape.endswith("blind_rewrite")
    )


def printed(*rows: Row, terminal: bool = False) -> str:
    """Return what the demo prints about these rows."""
    stream = io.StringIO()
    show.out(
        Console(file=stream, force_terminal=terminal, width=140, highlight=False, color_system="standard" if terminal else "auto"),
        rows,
        page=Path("page.html"),
    )
    return stream.getvalue()


def test_it_says_how_many_of_the_planted_calls_were_found() -> None:
    """Two calls were planted in one observation and one in another that has no scores."""
    assert "2 of 3 calls found" in printed(a_row(observed("a", calls=2), planted={"a": 2, "b": 1}))


def test_it_says_when_a_call_was_found_where_none_was_made() -> None:
    """A call on an observation without a planted one is a stray, and no find."""
    text = printed(a_row(observed("a"), observed("x"), planted={"a": 1}))

    assert ("1 of 1 calls found" in text, "1 found where none was made" in text) == (True, True)


def test_it_says_why_there_is_no_number() -> None:
    """The reason is the first sentence of the score's comment."""
    text = printed(a_row(observed("a", shape="truncated", comment="The patch begins and does not end. It is text."), planted={"a": 1}))

    assert "    1 truncated     The patch begins and does not end\n" in text


def test_a_missing_score_is_no_zero() -> None:
    """A trace without a number shows a dash."""
    line = next(line for line in printed(a_row(observed("a"), planted={"a": 1})).split("\n") if "Fix the pages" in line)

    assert line.split()[5:8] == ["-", "-", "-"]


def test_it_says_where_the_page_is() -> None:
    """Whoever played the demo knows what to open."""
    assert "to be opened in a browser: page.html\n" in printed(a_row(observed("a"), planted={"a": 1}))


def test_it_ends_with_the_three_lines_for_a_real_langfuse() -> None:
    """Nothing but the three lines comes after their heading, so that they can be copied."""
    text = printed(a_row(observed("a"), planted={"a": 1}))

    assert [*show.GO_ON, ""] == text.split("The same worker on your Langfuse:\n")[1].split("\n")


def test_colour_is_for_terminals() -> None:
    """Whoever pipes the demo into a file gets words alone."""
    row = a_row(observed("a"), planted={"a": 1}, blind_rewrite=0.5)

    assert ("\x1b[" in printed(row, terminal=True), "\x1b[" in printed(row)) == (True, False)

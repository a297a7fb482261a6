"""Lines: fit for a terminal or a machine, clean, and unable to hurt the worker."""

from __future__ import annotations

import io
import json
import logging
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings, strategies

from hunkwatch.settings import LogSection
from hunkwatch.telemetry.logs import LONGEST, LONGEST_ADDRESS, WITHHELD, Adopted, Repetition, clean, open_log

SECRET = "sk-lf-marked0secret"


class Terminal(io.StringIO):
    """A stream somebody looks at."""

    def isatty(self) -> bool:
        """Say yes."""
        return True


class Broken(io.StringIO):
    """A stream whose reader is gone."""

    def write(self, text: str) -> int:
        """Fail."""
        raise BrokenPipeError(text)


def test_auto_is_json_where_nobody_looks() -> None:
    """A file or a pipe gets one JSON object a line, with an ISO time in UTC."""
    stream = io.StringIO()

    open_log(LogSection(), stream).info("window_swept", calls=3)

    line = json.loads(stream.getvalue())
    assert (line["event"], line["level"], line["calls"], line["timestamp"][-1]) == ("window_swept", "info", 3, "Z")


def test_auto_is_readable_on_a_terminal_and_keeps_to_no_color() -> None:
    """Colour on a terminal, none where NO_COLOR is set, JSON on neither."""
    plain, coloured = Terminal(), Terminal()

    open_log(LogSection(), coloured, environ={}).info("window_swept", calls=3)
    open_log(LogSection(), plain, environ={"NO_COLOR": "1"}).info("window_swept", calls=3)

    assert ("\x1b" in coloured.getvalue(), "\x1b" in plain.getvalue()) == (True, False)
    assert "window_swept" in plain.getvalue()
    assert "calls=3" in plain.getvalue()


def test_the_format_can_be_forced() -> None:
    """JSON on a terminal, readable in a file."""
    terminal, file = Terminal(), io.StringIO()

    open_log(LogSection(format="json"), terminal).info("x")
    open_log(LogSection(format="console"), file).info("x")

    assert json.loads(terminal.getvalue())["event"] == "x"
    assert not file.getvalue().startswith("{")


def test_two_logs_do_not_share_a_level() -> None:
    """Nothing global is configured: each logger is its own."""
    first, second = io.StringIO(), io.StringIO()
    loud, quiet = open_log(LogSection(level="debug"), first), open_log(LogSection(level="error"), second)

    loud.debug("x")
    quiet.debug("x")

    assert (bool(first.getvalue()), bool(second.getvalue())) == (True, False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3),
        (True, True),
        (None, None),
        (0.123456, 0.123),
        ("plain words", "plain words"),
        ("first\nsecond", "first"),
        ("\x1b[31mred", "?[31mred"),
        ("\ud800", "?"),
        ("x" * 300, "x" * LONGEST + "..."),
        (f"https://x.example/{'y' * 300}", f"https://x.example/{'y' * 300}"),
        (f"https://x.example/ {'y' * 300}", f"https://x.example/ {'y' * 300}"[:LONGEST] + "..."),
        ("https://" + "x" * 2000, "https://" + "x" * (LONGEST_ADDRESS - 8) + "..."),
        ("+ added = 1", WITHHELD),
        ("*** Begin Patch", WITHHELD),
        ("-3", "-3"),
        (f"401 for {SECRET}", f"401 for {WITHHELD}"),
        (datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=UTC), "2026-01-02T03:04:05.006+00:00"),
        (("a", "b\nc"), ["a", "b"]),
        ({"secret": "x\ny"}, "{'secret': 'x\\ny'}"),
    ],
)
def test_values_are_cleaned(value: object, expected: object) -> None:
    """One short line without control characters, secrets or pieces of patches."""
    assert expected == clean(value, (SECRET,))


@settings(max_examples=80)
@given(before=strategies.text(max_size=20), after=strategies.text(max_size=20))
def test_a_secret_never_survives_cleaning(before: str, after: str) -> None:
    """Whatever stands around it."""
    assert SECRET not in str(clean(before + SECRET + after, (SECRET,)))


def test_tracebacks_stay_out() -> None:
    """A message of a foreign exception may carry anything."""
    stream = io.StringIO()
    log = open_log(LogSection(), stream)

    log.error("failed", exc_info=ValueError(SECRET), stack_info=True)

    assert SECRET not in stream.getvalue()
    assert json.loads(stream.getvalue())["event"] == "failed"


def test_a_broken_stream_costs_lines_and_nothing_else() -> None:
    """A closed pipe, a closed file and a poor encoding raise nothing."""
    closed = io.StringIO()
    closed.close()
    poor = io.TextIOWrapper(io.BytesIO(), encoding="ascii")

    for stream in (Broken(), closed, poor):
        open_log(LogSection(format="console"), stream, environ={"NO_COLOR": "1"}).info("x", name="ü")

    poor.seek(0)
    assert "name=\\xfc" in poor.read()


def test_foreign_warnings_are_one_line_without_their_arguments() -> None:
    """What a library warns of is kept; what it puts into the message is not."""
    stream = io.StringIO()
    library = logging.Logger("library")  # noqa: LOG001 - a logger of its own, so that the test leaves nothing behind
    library.addHandler(Adopted(open_log(LogSection(), stream)))

    library.info("nobody reads this")
    library.warning("retrying %s", SECRET)

    line = json.loads(stream.getvalue())
    assert (line["event"], line["library"], line["message"]) == ("library_warned", "library", "retrying %s")


def test_a_repetition_forgets_what_it_has_not_seen_for_longest() -> None:
    """Endless different messages take bounded memory."""
    repetition = Repetition(60)

    admitted = [repetition.admit(str(number), 0.0) for number in range(2000)]

    assert set(admitted) == {0}
    assert len(repetition._last) == 256

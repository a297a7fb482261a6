"""Errors: one line, what to do, the documented code, and nothing of what was being read."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hunkwatch.cli import failures
from hunkwatch.errors import AskForLess, Exit, Halt, HunkwatchError, Refused, RetryLater

MARK = "marked0payload"


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (Halt("the key is wrong", mend="Set it.", exit_code=Exit.PERMISSION), "the key is wrong. Set it.", Exit.PERMISSION),
        (Halt("the disk is full.", mend="Make room.", exit_code=Exit.STATE), "the disk is full. Make room.", Exit.STATE),
        (RetryLater("no answer", after=timedelta(seconds=30)), "no answer. Run it again in 30 s.", Exit.UNAVAILABLE),
        (RetryLater("no answer"), "no answer. Run it again later.", Exit.UNAVAILABLE),
        (
            AskForLess("too much"),
            "too much. Ask for less: a shorter sweep.span, or a smaller delivery.batch.",
            Exit.UNAVAILABLE,
        ),
        (Refused("not taken"), "not taken. Run `hunkwatch check`; it names what is wrong.", Exit.UNAVAILABLE),
        (HunkwatchError("odd"), "odd. Run it again with --debug and report it.", Exit.INTERNAL),
    ],
)
def test_what_is_raised_on_purpose_is_one_line_with_its_mend(error: HunkwatchError, line: str, code: Exit) -> None:
    """What happened, what to do, and a code that a supervisor can act on."""
    assert failures.explain(error) == ([line], code)


def test_a_group_is_explained_by_the_error_that_counts() -> None:
    """The reason to stop is said, not that tasks were cancelled because of it."""
    halt = Halt("the key is wrong", mend="Set it.", exit_code=Exit.PERMISSION)
    group = BaseExceptionGroup("tasks", [ValueError(MARK), ExceptionGroup("inner", [RetryLater("away"), halt])])

    assert failures.explain(group) == (["the key is wrong. Set it."], Exit.PERMISSION)


def test_an_unexpected_error_says_its_kind_and_place_and_not_its_message() -> None:
    """A message of a foreign exception may hold anything."""
    try:
        failures._sentence(None, MARK)  # type: ignore[arg-type] - a fault on purpose
    except AttributeError as error:
        lines, code = failures.explain(error)
        trace = failures.trace_of(error)

    assert lines[0].startswith("unexpected AttributeError at cli/failures.py:")
    assert code == Exit.INTERNAL
    assert "in _sentence" in trace
    assert MARK not in "".join(lines) + trace


def test_the_trace_of_an_error_names_its_causes_without_their_messages() -> None:
    """Type and place of each, the first cause first."""

    def fail() -> None:
        raise KeyError(MARK)

    try:
        try:
            fail()
        except KeyError as cause:
            raise RuntimeError(MARK) from cause
    except RuntimeError as error:
        trace = failures.trace_of(error)

    assert trace.index("builtins.KeyError") < trace.index("caused") < trace.index("builtins.RuntimeError")
    assert MARK not in trace


def test_ctrl_c_is_quiet() -> None:
    """Whoever pressed it knows."""
    assert failures.explain(KeyboardInterrupt()) == ([], 130)

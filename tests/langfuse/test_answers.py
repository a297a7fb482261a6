"""What a server says of itself, and of what went wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.langfuse import wire
from hunkwatch.langfuse.wire import answers

if TYPE_CHECKING:
    from collections.abc import Callable


def body(recorded: dict[str, Any]) -> bytes:
    """Return the bytes of a recorded answer."""
    given_body = recorded["response"]["body"]
    return given_body.encode() if isinstance(given_body, str) else json.dumps(given_body).encode()


def test_the_version_is_in_the_health(recorded: Callable[[str], dict[str, Any]]) -> None:
    """The recorded health of a 4.16.0 names it; anything else names none."""
    assert wire.version_of(body(recorded("137"))) == "4.16.0"
    assert ["", "", ""] == [wire.version_of(content) for content in (b"{}", b'{"version":4}', b"<html>")]


def test_the_first_project_is_the_keys() -> None:
    """A project key sees its project alone."""
    assert wire.Named("p1", "Demo") == wire.project_of(b'{"data":[{"id":"p1","name":"Demo","metadata":{}}]}')
    assert [None, None, None] == [wire.project_of(content) for content in (b'{"data":[]}', b'{"data":[{}]}', b"[]")]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("113", "Rate limit exceeded"),
        ("237", "Invalid credentials. Confirm that you've configured the correct host."),
        ("220", "Column nope does not match a UI / CH table mapping."),
        ("231", "Invalid request data (at limit)"),
        ("079", ""),
        ("242", ""),
        ("187", "Invalid request data"),
    ],
)
def test_the_message_of_a_recorded_error_is_one_short_line(number: str, message: str, recorded: Callable[[str], dict[str, Any]]) -> None:
    """With the field that the first complaint is about, where there is one; nothing of a page for people."""
    assert message == wire.message_of(body(recorded(number)))


@given(message=st.text(), rest=st.text(max_size=20))
@settings(max_examples=100, deadline=None)
def test_every_message_is_one_printable_line(message: str, rest: str) -> None:
    """Whatever a server says, a log line stays a line of at most 200 characters."""
    line = wire.message_of(json.dumps({"message": message * 9, "detail": rest}).encode())

    assert (True, True) == (line.isprintable(), len(line) <= 200)


@pytest.mark.parametrize("text", ["key sk-lf-1a2b-3c refused", "pk-lf-9f is unknown", "no.sk-lf-a_b-c."])
def test_a_key_in_a_message_is_cut_out(text: str) -> None:
    """A server that repeats a key does not get it into our log."""
    line = answers.short(text)

    assert ("-lf-..." in line, any(part in line for part in ("1a2b", "9f", "a_b"))) == (True, False)


def test_a_429_tells_its_limit_and_its_wait(recorded: Callable[[str], dict[str, Any]]) -> None:
    """Both are in the recorded bodies; a body without them tells nothing."""
    assert wire.Limit(30, 40.0) == wire.limit_of(body(recorded("113")))
    assert wire.Limit(0, None) == wire.limit_of(b"{}") == wire.limit_of(b'{"details":{"limit":"x","retryAfterSeconds":-1}}')


def test_a_server_without_lists_is_known_by_its_complaint(recorded: Callable[[str], dict[str, Any]]) -> None:
    """The recorded 400 to a list is told apart from the other recorded 400s."""
    assert wire.wants_single(body(recorded("187")))
    assert [False, False, False] == [wire.wants_single(body(recorded(number))) for number in ("079", "220", "231")]

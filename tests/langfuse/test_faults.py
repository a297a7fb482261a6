"""What each answer, or none, means for whoever asked."""

from __future__ import annotations

import socket
import ssl
from datetime import timedelta

import httpx
import pytest

from hunkwatch.errors import AskForLess, Exit, Halt, HunkwatchError, Refused, RetryLater
from hunkwatch.langfuse import faults
from hunkwatch.langfuse.faults import Missing, Right, SingleWanted, Unanswered


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Refused),
        (401, Halt),
        (403, faults.Forbidden),
        (404, Missing),
        (405, Missing),
        (408, RetryLater),
        (409, RetryLater),
        (410, Missing),
        (413, AskForLess),
        (414, AskForLess),
        (418, Refused),
        (422, AskForLess),
        (425, RetryLater),
        (429, RetryLater),
        (431, AskForLess),
        (500, RetryLater),
        (501, Missing),
        (502, RetryLater),
        (503, RetryLater),
        (504, RetryLater),
        (524, RetryLater),
    ],
)
def test_every_status_says_what_to_do_next(status: int, kind: type[HunkwatchError]) -> None:
    """A JSON answer of each status becomes the error whose name is the next action."""
    error = faults.refusal(status, "why", is_json=True)

    assert (kind, f"Langfuse answered {status}: why") == (type(error), str(error).partition(" (")[0])


@pytest.mark.parametrize("status", [200, 302, 404])
def test_a_stranger_at_the_address_is_final_at_first(status: int) -> None:
    """HTML where JSON should be means a wrong address, until Langfuse has answered there once."""
    error = faults.not_langfuse("no JSON", proven=False) if status == 200 else faults.refusal(status, "", is_json=False)

    assert isinstance(error, Halt)
    assert (Exit.UNAVAILABLE, True) == (error.exit_code, "LANGFUSE_BASE_URL" in error.mend)


def test_a_stranger_in_the_place_of_langfuse_is_a_gateway() -> None:
    """Where Langfuse has answered before, a page of HTML or a redirect passes by itself."""
    errors = [faults.not_langfuse("no JSON", proven=True), faults.refusal(302, "", is_json=False, proven=True)]

    assert [RetryLater, RetryLater] == [type(error) for error in errors]


def test_an_unknown_route_of_a_known_server_is_missing() -> None:
    """Langfuse answers a route that it does not have with a page of HTML."""
    assert isinstance(faults.refusal(404, "", is_json=False, proven=True), Missing)


def test_a_suspended_organisation_is_left_alone_for_a_while() -> None:
    """A 403 about the usage threshold ends by itself, other than a missing permission."""
    error = faults.refusal(403, "Ingestion suspended: usage threshold exceeded", is_json=True)

    assert isinstance(error, RetryLater)
    assert timedelta(minutes=10) == error.after


@pytest.mark.parametrize(("right", "words"), [(Right.READ, "may not read observations"), (Right.WRITE, "may not write scores")])
def test_a_weak_key_is_told_what_it_lacks(right: Right, words: str) -> None:
    """A read-only or a scores-only key gets a message that names the missing permission."""
    error = faults.refusal(403, "Access denied", is_json=True, right=right)

    assert isinstance(error, Halt)
    assert (Exit.PERMISSION, True) == (error.exit_code, words in str(error))


def test_a_server_that_takes_no_list_is_older_than_it_seemed() -> None:
    """The complaint about an array is told apart from other complaints about a body."""
    assert isinstance(faults.refusal(400, "Invalid request data", is_json=True, single=True), SingleWanted)


def _caused(error: httpx.HTTPError, *causes: BaseException) -> httpx.HTTPError:
    last: BaseException = error
    for cause in causes:
        last.__cause__ = cause
        last = cause
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (_caused(httpx.ConnectError("x"), OSError(), socket.gaierror()), "its name cannot be resolved"),
        (_caused(httpx.ConnectError("x"), OSError(), ExceptionGroup("x", [ConnectionRefusedError()])), "the connection is refused"),
        (httpx.ConnectTimeout("x"), "no connection in time"),
        (httpx.ReadTimeout("x"), "no answer in time"),
        (httpx.RemoteProtocolError("secret bytes"), "the connection broke off"),
        (httpx.ProxyError("x"), "the proxy refuses"),
    ],
)
def test_no_answer_gives_its_reason_in_our_words(error: httpx.HTTPError, reason: str) -> None:
    """What went wrong below is named, and nothing of the foreign message gets through."""
    found = faults.unanswered(error)

    assert (Unanswered, f"Langfuse cannot be reached: {reason}") == (type(found), str(found))


def test_an_untrusted_certificate_is_final() -> None:
    """No waiting makes a certificate trusted; the mend names the variable."""
    error = faults.unanswered(_caused(httpx.ConnectError("x"), ssl.SSLCertVerificationError()))

    assert isinstance(error, Halt)
    assert "SSL_CERT_FILE" in error.mend


def test_an_address_without_a_scheme_is_final() -> None:
    """An address that can never work stops at once."""
    assert isinstance(faults.unanswered(httpx.UnsupportedProtocol("x")), Halt)


def test_causes_in_a_circle_come_to_an_end() -> None:
    """Exceptions that name each other as cause are walked once."""
    one, other = httpx.ConnectError("x"), OSError()
    one.__cause__, other.__context__ = other, one

    assert isinstance(faults.unanswered(one), Unanswered)

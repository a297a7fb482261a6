"""From an answer, or none, to an error that says what to do next.

Of a server's words only the short message gets through that ``wire`` cleaned. The subclasses here are for this room; outside it
they are what they derive from.
"""

from __future__ import annotations

import socket
import ssl
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING

import httpx

from hunkwatch.errors import AskForLess, Exit, Halt, HunkwatchError, Refused, RetryLater

if TYPE_CHECKING:
    from collections.abc import Iterator

SUSPENDED = timedelta(minutes=10)
"""How long an organisation over its usage threshold is left alone."""

MEND_ADDRESS = "Check LANGFUSE_BASE_URL: scheme, host and base path, without /api or /project."


class Right(Enum):
    """What a key must be allowed to do; finishes "this key may not ..."."""

    LOOK = "look at its project"
    READ = "read observations"
    WRITE = "write scores"
    DELETE = "delete scores"
    SET_UP = "change score configs and dashboards"


_MENDS = {
    Right.LOOK: "Use the public and the secret key of a project: this key may at most write scores.",
    Right.READ: "Use a key of the project that may read observations too: one that may only write scores is not enough.",
    Right.WRITE: "Use a key of the project that may write scores too: with one that may only read, `hunkwatch run --dry-run` works.",
    Right.DELETE: "Use a key of the project that may delete scores too: scores that no longer follow from the data are withdrawn.",
    Right.SET_UP: "Use a key of the project that may write: with one that may only read, `hunkwatch setup --dry-run` works.",
}


class Forbidden(Halt):
    """The key is known and may not do this."""


class Missing(Refused):
    """The server has no such route or no such thing."""


class SingleWanted(Refused):
    """The server takes one score and no list: it is older than it seemed."""


class Unanswered(RetryLater):
    """No answer came."""


def refusal(  # noqa: PLR0913 - an answer has these parts
    status: int,
    message: str,
    *,
    is_json: bool,
    right: Right = Right.LOOK,
    after: timedelta | None = None,
    proven: bool = False,
    single: bool = False,
) -> HunkwatchError:
    """Return what a status that is no success means for the caller.

    ``proven``: Langfuse has answered at this address before. ``single``: the body complains of a list.
    """
    told = f"Langfuse answered {status}" + (f": {message}" if message else "")
    match status:
        case 401:
            return Halt(
                told,
                mend="Check LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_BASE_URL: they belong together.",
                exit_code=Exit.PERMISSION,
            )
        case 403 if "ingestion suspended" in message.lower():
            return RetryLater(told, after=after or SUSPENDED)
        case 403:
            return forbidden(told, right)
        case 413 | 414 | 422 | 431:
            return AskForLess(told)
        case 408 | 409 | 425 | 429:
            return RetryLater(told, after=after)
        case 404 | 405 | 410 | 501 if proven or is_json:
            return Missing(told)
        case status if status >= 500:  # noqa: PLR2004 - the class of server errors
            return RetryLater(told, after=after)
        case status if not is_json or 300 <= status < 400:  # noqa: PLR2004 - the class of redirections
            return not_langfuse(str(status), proven=proven)
        case _:
            return SingleWanted(told) if single else Refused(told)


def forbidden(told: str, right: Right) -> Forbidden:
    """Say what exactly the key may not do."""
    return Forbidden(f"{told} (this key may not {right.value})", mend=_MENDS[right], exit_code=Exit.PERMISSION)


def not_langfuse(what: str, *, proven: bool) -> HunkwatchError:
    """Somebody else answers: final at first, but where Langfuse has answered before it is a gateway that will come to its senses."""
    if proven:
        return RetryLater(f"something else answered in the place of Langfuse ({what})")
    return Halt(f"this address does not answer as Langfuse does ({what})", mend=MEND_ADDRESS, exit_code=Exit.UNAVAILABLE)


def unanswered(error: httpx.HTTPError) -> HunkwatchError:
    """Return what it means that no answer came; only a certificate or an address that can never work is final."""
    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return Halt(
            "the certificate of Langfuse is not trusted",
            mend="Name your authority's file in langfuse.ca_bundle or SSL_CERT_FILE, or check that the address is the right one.",
            exit_code=Exit.UNAVAILABLE,
        )
    if isinstance(error, httpx.UnsupportedProtocol):
        return Halt("the address of Langfuse has no usable scheme", mend="Start LANGFUSE_BASE_URL with https:// or http://.")
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        reason = "its name cannot be resolved"
    elif any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        reason = "the connection is refused"
    else:
        reason = _REASONS.get(type(error), type(error).__name__)
    return Unanswered(f"Langfuse cannot be reached: {reason}")


_REASONS: dict[type[httpx.HTTPError], str] = {
    httpx.ConnectTimeout: "no connection in time",
    httpx.PoolTimeout: "no free connection in time",
    httpx.ReadTimeout: "no answer in time",
    httpx.WriteTimeout: "the request was not taken in time",
    httpx.ConnectError: "no connection",
    httpx.ProxyError: "the proxy refuses",
    httpx.ReadError: "the connection broke off",
    httpx.WriteError: "the connection broke off",
    httpx.RemoteProtocolError: "the connection broke off",
    httpx.DecodingError: "the answer is garbled",
}


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting: list[BaseException | None] = [error]
    met: set[int] = set()
    while waiting:
        cause = waiting.pop()
        if cause is None or id(cause) in met:
            continue
        met.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__]
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions

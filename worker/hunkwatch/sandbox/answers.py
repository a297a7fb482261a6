"""Bodies and statuses as Langfuse 4.16.0 words them.

Every refusal is an ``Answer`` exception, so that a handler reads straight down; ``app`` turns it into the response.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from starlette.responses import Response

Issue = dict[str, Any]

EVENTS_ONLY = (
    "This endpoint is not available on deployments running in Langfuse v4 events_only mode. "
    "Learn more about Langfuse v4 at: https://langfuse.com/docs/v4"
)
HEAVY = (
    "Your query could not be completed. Please narrow your request by adding more specific filters (e.g., a shorter date range)."
    "\nSee https://langfuse.com/docs/api-and-data-platform/features/public-api for more details."
)
_ENCODE = msgspec.json.Encoder(decimal_format="number").encode


class Answer(Exception):
    """A response that ends the handler."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        """Keep what to send."""
        super().__init__(status)
        self.status, self.body, self.headers = status, body, headers


def encode(body: object) -> bytes:
    """JSON bytes; lone surrogates become escapes, as JavaScript writes them."""
    try:
        return _ENCODE(body)
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()


def answer(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response."""
    return Response(encode(body), status, headers, media_type="application/json; charset=utf-8")


def invalid(issues: Sequence[Issue]) -> Answer:
    """400 with the issues of a schema."""
    return Answer(400, {"message": "Invalid request data", "error": list(issues)})


def refused(message: str) -> Answer:
    """400 with a sentence."""
    return Answer(400, {"message": message, "error": "InvalidRequestError"})


def missing(message: str) -> Answer:
    """404 of a thing that is not there."""
    return Answer(404, {"message": message, "error": "LangfuseNotFoundError"})


def kind_of(value: object) -> str:
    """The JavaScript name of a JSON value's kind."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


ABSENT = object()


def expected(kind: str, value: object, path: Sequence[str | int]) -> Issue:
    """The issue of a value of the wrong kind; ``ABSENT`` for one that is not there."""
    received = "undefined" if value is ABSENT else kind_of(value)
    return {"expected": kind, "code": "invalid_type", "path": list(path), "message": f"Invalid input: expected {kind}, received {received}"}


def custom(message: str, path: Sequence[str | int] = ()) -> Issue:
    """The issue of a rule that is not about one value's kind."""
    return {"code": "custom", "path": list(path), "message": message}


def not_one_of(options: Sequence[str], path: Sequence[str | int]) -> Issue:
    """The issue of a value outside an enumeration."""
    listed = "|".join(f'"{option}"' for option in options)
    return {"code": "invalid_value", "values": list(options), "path": list(path), "message": f"Invalid option: expected one of {listed}"}


def too_big(maximum: int, path: Sequence[str | int]) -> Issue:
    """The issue of a number over its limit."""
    message = f"Too big: expected number to be <={maximum}"
    return {"origin": "number", "code": "too_big", "maximum": maximum, "inclusive": True, "path": list(path), "message": message}


def too_small(minimum: int, path: Sequence[str | int]) -> Issue:
    """The issue of a number under its limit."""
    message = f"Too small: expected number to be >={minimum}"
    return {"origin": "number", "code": "too_small", "minimum": minimum, "inclusive": True, "path": list(path), "message": message}


def not_a_number(path: Sequence[str | int]) -> Issue:
    """The issue of a text that should be a number."""
    message = "Invalid input: expected number, received NaN"
    return {"expected": "number", "code": "invalid_type", "received": "NaN", "path": list(path), "message": message}


def bad_time(path: Sequence[str | int]) -> Issue:
    """The issue of a text that is no ISO 8601 moment."""
    return {
        "origin": "string",
        "code": "invalid_format",
        "format": "datetime",
        "pattern": MOMENT_PATTERN,
        "path": list(path),
        "message": "Invalid ISO datetime",
    }


MOMENT_PATTERN = (
    "/^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-"
    "(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))T(?:(?:[01]\\d|2[0-3]):[0-5]\\d"
    "(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z|([+-](?:[01]\\d|2[0-3]):[0-5]\\d)))$/"
)


def whole(number: float) -> float:
    """JavaScript knows no difference between 1 and 1.0."""
    return int(number) if float(number).is_integer() else number

"""The elements of a JSON array that is too long to hold: bytes in, raw elements out, one at a time.

Nothing is decoded here, so a bad element spoils only itself as long as its quotes and brackets match.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK = 1 << 20
LONGEST = 256 << 20
"""An element above this is given up: nothing of ours is so long, and what never closes must not fill the memory."""

_INSIDE = re.compile(rb'["\\]')
_OUTSIDE = re.compile(rb'["\[\]{},]')


class Stream(Protocol):
    """Whatever bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes, none at the end."""
        ...


class Unclosed(ValueError):
    """The array ended before it closed, or an element never closes."""


def of(stream: Stream) -> Iterator[bytes]:  # noqa: C901 - one scanner, one loop
    """Yield the raw elements of the one array in a stream. Raises Unclosed at an early end."""
    buffer, at, begin, depth, quoted = bytearray(), 0, 0, 0, False
    while chunk := stream.read(CHUNK):
        del buffer[:begin]
        at, begin = at - begin, 0
        buffer += chunk
        while (token := (_INSIDE if quoted else _OUTSIDE).search(buffer, at)) is not None:
            at = token.end()
            match buffer[token.start()]:
                case 0x22:
                    quoted = not quoted
                case 0x5C:
                    if at == len(buffer):  # the escaped character comes with the next chunk
                        at -= 1
                        break
                    at += 1
                case 0x5B | 0x7B:
                    depth += 1
                    begin = at if depth == 1 else begin
                case 0x5D | 0x7D:
                    depth -= 1
                    if depth == 0:
                        yield from _worth(buffer[begin : token.start()])
                        return
                case _ if depth == 1:
                    yield from _worth(buffer[begin : token.start()])
                    begin = at
                case _:
                    pass
        else:
            at = len(buffer)
        if len(buffer) - begin > LONGEST:
            raise Unclosed("an element is too long")
    raise Unclosed("the array does not end")


def _worth(element: bytearray) -> Iterator[bytes]:
    raw = bytes(element).strip()
    if raw:
        yield raw

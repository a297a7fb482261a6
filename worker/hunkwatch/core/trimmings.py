"""What models put around the whole of a text: a Markdown fence, a tag."""

from __future__ import annotations

import re

_TAG = re.compile(r"<([A-Za-z_]\w{0,40}+)>(?=\*\*\*)")
_FENCES = ("```", "~~~")


def untagged(body: str) -> str:
    """Return what stands right behind an opening tag that its closing tag ends."""
    opening = _TAG.match(body)
    if opening is None:
        return body
    closing = f"</{opening.group(1)}>"
    return body[opening.end() :].removesuffix(closing) if body.endswith(closing) else body


def unfenced(body: str) -> str:
    """Return what stands in a Markdown fence that is all there is."""
    if not body.startswith(_FENCES):
        return body
    first = body.find("\n")
    last = body.rfind("\n" + body[:3])
    return body[first + 1 : last] if 0 <= first < last else body

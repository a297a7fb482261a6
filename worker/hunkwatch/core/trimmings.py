"""What models put around a patch: a Markdown fence, a tag, prose."""

from __future__ import annotations

import re

from hunkwatch.core import grammar

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


def around(body: str, bare: str, first: str) -> frozenset[str]:
    """Return the flags for what stood around the first envelope of a text before its tag and all the rest were taken off."""
    tagged = frozenset({"text_before", "text_after"}) if bare != body else frozenset()
    return tagged if first == bare else tagged.union(grammar.surroundings(bare))

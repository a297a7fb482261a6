"""What is fuzzed: the rooms that read what others wrote, each as a function of some bytes that raises on a finding.

``fuzz.py`` runs them under coverage guidance, ``test_targets.py`` on the golden files and on random bytes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hunkwatch.core import discover, grammar, unwrap
from hunkwatch.core.model import Malformed, Observation, Patch
from hunkwatch.core.tools import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

START = datetime(2026, 1, 1, tzinfo=UTC)
KINDS = list(Kind)
TYPES = ("TOOL", "SPAN", "GENERATION", "AGENT")
NAMES = ("apply_patch", "shell", "exec", "python", "powershell", "edit", "patch", "lookup", "tool_invoker")


def fuzz_discover(data: bytes) -> None:
    """Find the calls of an observation whose input, output and metadata are the text."""
    text = _text(data)
    place = data[0] if data else 0
    row = Observation("o", "t", START, type=TYPES[place % len(TYPES)], name=NAMES[place % len(NAMES)])
    for call in discover.calls(row._replace(input=text, output=text, metadata={"attributes": text})):
        _expect(isinstance(call.text, str) if call.text is not None else call.why != "")


def fuzz_unwrap(data: bytes) -> None:
    """Find the patches in an argument."""
    text = _text(data)
    found = unwrap.find(text, KINDS[(data[0] if data else 0) % len(KINDS)])
    _expect(sum(len(each.text or "") for each in found) <= 64 * len(text) + 1000)


def fuzz_grammar(data: bytes) -> None:
    """Read a patch; one without any oddity is read the same from what is written of it."""
    text = _text(data)
    patch = grammar.parse(text)
    _expect(isinstance(patch, (Patch, Malformed)))
    if isinstance(patch, Patch) and patch.complete and not patch.flags:
        _expect(grammar.parse(grammar.render(patch)) == patch)
    for envelope in grammar.envelopes(text):
        _expect(envelope.replace("\r", "") in text.replace("\r", ""))


TARGETS: dict[str, Callable[[bytes], None]] = {"discover": fuzz_discover, "unwrap": fuzz_unwrap, "grammar": fuzz_grammar}


def _text(data: bytes) -> str:
    return data[1:].decode("utf-8", "surrogateescape")


def _expect(truth: bool) -> None:  # noqa: FBT001 - an assertion that survives python -O
    if not truth:
        raise AssertionError

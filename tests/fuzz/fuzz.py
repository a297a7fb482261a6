"""Coverage-guided fuzzing of the rooms that read what others wrote: nothing raises, hangs or grows.

Usage: python tests/fuzz/fuzz.py TARGET [option of libFuzzer ...]; TARGET is discover, unwrap or grammar. It stops at its first finding
and writes it to a file named crash-..., timeout-... or oom-...; a finding becomes a test before it is mended. Needs atheris.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

try:
    import atheris
except ImportError:
    sys.exit("atheris is not installed: pip install atheris")

with atheris.instrument_imports(include=["hunkwatch"]):
    from hunkwatch.core import discover, grammar, unwrap
    from hunkwatch.core.model import Malformed, Observation, Patch
    from hunkwatch.core.tools import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden"
START = datetime(2026, 1, 1, tzinfo=UTC)
KINDS = list(Kind)
TYPES = ("TOOL", "SPAN", "GENERATION", "AGENT")
NAMES = ("apply_patch", "shell", "exec", "python", "powershell", "edit", "patch", "lookup", "tool_invoker")
DEFAULTS = ("-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", f"-dict={HERE / 'tokens.dict'}")


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


def _seeds(folder: Path) -> None:
    """Start from the golden files, as they are and parsed."""
    for path in GOLDEN.glob("*.json"):
        (folder / path.stem).write_bytes(b"\x00" + path.read_bytes())


def main() -> None:
    """Run one target until a finding or the limit that the options give."""
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(__doc__)
    target = TARGETS[sys.argv.pop(1)]
    with tempfile.TemporaryDirectory() as corpus:
        _seeds(Path(corpus))
        atheris.Setup([sys.argv[0], *DEFAULTS, *sys.argv[1:], corpus], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

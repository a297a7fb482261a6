"""Coverage-guided fuzzing of the rooms that read what others wrote: nothing raises, hangs or grows.

Usage: python tests/fuzz/fuzz.py TARGET [option of libFuzzer ...]; TARGET is one of ``targets.TARGETS``. It stops at its first finding
and writes it to a file named crash-..., timeout-... or oom-...; a finding becomes a test before it is mended. Needs atheris.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("atheris is not installed: pip install atheris")

with atheris.instrument_imports(include=["hunkwatch"]):
    from targets import TARGETS

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden"
DEFAULTS = ("-timeout=60", "-rss_limit_mb=2048", "-max_len=4096", f"-dict={HERE / 'tokens.dict'}")


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

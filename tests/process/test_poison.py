"""Rows that would break or stop a careless worker cost one observation each, and memory stays bounded."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

MEGABYTE = 2**20
MOST_MEMORY = 300 * MEGABYTE

ENVELOPE = "*** Begin Patch\n*** Update File: a.py\n@@\n-old\n+new\n*** End Patch"
POISON: dict[str, Callable[[], Any]] = {
    "100 MB of patch": lambda: {"input": "*** Begin Patch\n*** Add File: a\n" + "+x\n" * (100 * MEGABYTE // 3) + "*** End Patch"},
    "13 MB that never ends": lambda: {"input": "*** Begin Patch\n" + "*** Update File: a\n@@\n-a\n+b\n" * (13 * MEGABYTE // 27)},
    "30,000 retyped lines backwards": lambda: {
        "input": "*** Begin Patch\n*** Update File: a\n@@\n"
        + "".join(f"-line {number}\n" for number in range(30_000))
        + "".join(f"+line {number}\n" for number in reversed(range(30_000)))
        + "*** End Patch"
    },
    "10,000 nested brackets": lambda: ENVELOPE + "[" * 10_000 + "]" * 10_000,
    "10,000 nested quotes": lambda: ENVELOPE + "\\" * 10_000 + '"' * 10_000,
    "lone surrogates": lambda: {"input": ENVELOPE.replace("old", "\ud800\udfff\ud83d")},
    "null bytes": lambda: {"input": ENVELOPE.replace("old", "\x00\x00")},
    "a million empty hunks": lambda: {"input": "*** Begin Patch\n*** Update File: a\n" + "@@\n" * 1_000_000 + "*** End Patch"},
    "a shell script that never closes": lambda: {"command": ["bash", "-lc", "apply_patch <<'EOF'\n" + ENVELOPE + "\n" + "$((" * 100_000]},
}


def high_water(process: subprocess.Popen[str]) -> Callable[[], int]:
    """Watch the most memory that a process holds, and return how to ask once it has ended.

    Not from its resource usage: that begins with what whoever started it held.
    """
    status, peaks = Path(f"/proc/{process.pid}/status"), [0]

    def watch() -> None:
        while process.poll() is None:
            with suppress(OSError):  # it may end between two looks
                told = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
                peaks.extend(int(line.split()[1]) * 1024 for line in told)
            ended.wait(0.02)

    ended = threading.Event()
    thread = threading.Thread(target=watch)
    thread.start()

    def peak() -> int:
        thread.join()
        return max(peaks)

    return peak


@pytest.mark.timeout(300)
def test_poison_costs_only_itself_and_bounded_memory(station: Any) -> None:
    """Between two good traces stand the worst rows we know; the good ones are scored and the process ends in order."""
    station.add_traces("before", "after")
    bad = [station.call("poison", name, make()) for name, make in POISON.items()]
    station.sandbox.add_observations(bad)

    process = station.start("run", "--once", "--json")
    peak = high_water(process)
    out, log = process.communicate()
    held = peak()

    shown = station.shown()
    assert process.returncode == 0, log
    assert {key: value for key, value in shown.items() if key[0] != "poison"} == station.expected
    assert json.loads(out)["poison"] >= 1
    assert 0 < held < MOST_MEMORY
    assert "Traceback" not in log

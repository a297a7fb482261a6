"""Patches and lines to measure with, and pages of observations that carry them; the same on every run.

The patches are the sandbox's: their measures follow 9,330 real ones, and its tests hold them to that.
"""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta

from hunkwatch.sandbox import patchwork


def patches(count: int) -> list[str]:
    """Return that many patches of the real distribution."""
    return [patchwork.write(number).text for number in range(count)]


def lines(count: int) -> list[str]:
    """Return that many lines of something like code, some of them equal."""
    return random.Random(6).choices(patchwork.POOL, k=count)  # noqa: S311 - a repeatable benchmark, not a secret


def added_file(size: int) -> str:
    """Return a patch of about so many characters that adds one file."""
    body = lines(size * len(patchwork.POOL) // sum(len(line) + 2 for line in patchwork.POOL))
    return "\n".join(["*** Begin Patch", "*** Add File: generated.py", *("+" + line for line in body), "*** End Patch"])


def page(texts: list[str], *, whole: bool) -> bytes:
    """Return a page of Langfuse's v2 observations, one row a patch; ``whole`` rows also carry input, output and metadata."""
    first = datetime(2026, 3, 1, 12, tzinfo=UTC)
    rows = [_row(number, patch, first - timedelta(seconds=number), whole=whole) for number, patch in enumerate(texts)]
    return json.dumps({"data": rows, "meta": {"cursor": "bm90IHRoZSBsYXN0IHBhZ2U="}}, ensure_ascii=False).encode()


def _row(number: int, patch: str, start: datetime, *, whole: bool) -> dict[str, object]:
    row: dict[str, object] = {
        "id": f"{number:016x}",
        "traceId": f"{number // 7:032x}",
        "startTime": _moment(start),
        "endTime": _moment(start + timedelta(seconds=1.5)),
        "projectId": "benchmark",
        "parentObservationId": f"{number + 1:016x}",
        "type": "TOOL",
        "name": "apply_patch",
        "level": "DEFAULT",
        "statusMessage": "",
        "version": "",
        "environment": "default",
        "bookmarked": False,
        "public": False,
        "userId": "user-1",
        "sessionId": f"session-{number // 40}",
        "completionStartTime": None,
        "createdAt": _moment(start + timedelta(seconds=2.1)),
        "updatedAt": _moment(start + timedelta(seconds=2.1)),
        "isRootObservation": False,
        "traceName": "Codex Turn",
        "release": "",
        "tags": ["nightly"],
    }
    if whole:
        row["input"] = json.dumps({"input": patch})
        row["output"] = "Success. Updated the following files:\nM src/app.ts\n"
        row["metadata"] = {"codex.call_id": f"call_{number}", "codex.tool_name": "apply_patch", "scope.name": "langfuse-sdk"}
    return row


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"

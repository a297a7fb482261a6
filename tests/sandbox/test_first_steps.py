"""The sandbox over a real socket, as the demo and the other rooms' tests use it."""

import json

import httpx

from hunkwatch.sandbox import Sandbox

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"
KEYS = ("pk-lf-demo", "sk-lf-demo")


def tool(number: int, **more: object) -> dict[str, object]:
    """An observation in the form of the v1 reading, one millisecond after the one before."""
    return {
        "id": f"o{number}",
        "traceId": "t1",
        "name": "apply_patch",
        "type": "TOOL",
        "startTime": f"2026-11-30T12:00:00.{number:03d}Z",
        "input": {"input": PATCH},
        **more,
    }


async def test_a_seeded_observation_is_read_back_as_raw_text() -> None:
    """v2 gives input as the text that JavaScript would write, and null where there is none."""
    sandbox = Sandbox()
    sandbox.add_observations([tool(1, output=None)])
    async with sandbox.serving() as url, httpx.AsyncClient(base_url=url, auth=KEYS) as client:
        answer = await client.get("/api/public/v2/observations", params={"fields": "core,io"})
    (row,) = answer.json()["data"]
    assert (json.dumps({"input": PATCH}, separators=(",", ":")), None) == (row["input"], row["output"])


async def test_a_walk_by_cursor_meets_every_row_once() -> None:
    """Pages end with an empty meta, newest first, whatever the page size."""
    sandbox = Sandbox()
    sandbox.add_observations(tool(number % 5, id=f"o{number}") for number in range(23))
    met: list[str] = []
    async with sandbox.serving() as url, httpx.AsyncClient(base_url=url, auth=KEYS) as client:
        cursor: dict[str, str] | None = {}
        while cursor is not None:
            page = (await client.get("/api/public/v2/observations", params={"limit": 4, **cursor})).json()
            met += [row["id"] for row in page["data"]]
            cursor = page["meta"] or None
    assert sorted(f"o{number}" for number in range(23)) == sorted(met)


def test_it_serves_from_a_thread() -> None:
    """Synchronous code gets the same server, and what it asked is on record."""
    sandbox = Sandbox()
    with sandbox.serving_in_thread() as url:
        health = httpx.get(f"{url}/api/public/health").json()
    assert health == {"status": "OK", "version": "4.16.0"}
    assert sandbox.requests == [("GET", "/api/public/health", 200)]

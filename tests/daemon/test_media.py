"""An argument that the server moved into its media store is scored as if it were in the trace, where the settings allow that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.sandbox import Habits

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[..., dict[str, Any]]
    Clock = Any

LONG = "*** Begin Patch\n*** Add File: long.py\n" + "+line\n" * 400 + "*** End Patch"
SERVERS = {"v2": ("4.16.0", "events_only"), "v1": ("3.200.0", "dual")}


EXPECTED = {True: {"tool": "new_file", "shell": "new_file"}, False: {"tool": "unresolved"}}


@pytest.mark.parametrize("case", [(server, allowed) for server in SERVERS for allowed in EXPECTED])
async def test_a_call_in_the_media_store_is_scored_where_that_is_allowed(
    world: Any, clock: Clock, call: Call, case: tuple[str, bool]
) -> None:
    """Without leave a call under a known name is unresolved, and a command that nobody can see is no call."""
    server, allowed = case
    world.sandbox.version, world.sandbox.mode = SERVERS[server]
    world.sandbox.habits = Habits(overflow=2000)
    world.adjust("discover", media=allowed)
    world.add(
        call("t1", "tool", clock.now(), input={"input": LONG}),
        call("t1", "shell", clock.now(), name="exec", input={"command": f"apply_patch <<'EOF'\n{LONG.replace('long', 'other')}\nEOF"}),
        call("t1", "other", clock.now(), name="exec", input={"command": "echo " + "x" * 3000}),
    )
    await world.once()

    shapes = {observation: value for (_, observation, name), value in world.shown().items() if name == "patch_shape"}
    fetched = [path for _, path, _ in world.sandbox.requests if "/media/" in path]
    assert (EXPECTED[allowed], allowed) == (shapes, bool(fetched))

"""What is selected is scored and nothing else, by the whole worker, through v2 and through v1."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch import errands

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[..., dict[str, Any]]
    Clock = Any

SERVERS = {"v2": ("4.16.0", "events_only"), "v1": ("3.200.0", "dual")}


@pytest.fixture(params=SERVERS)
def selecting(world: Any, request: pytest.FixtureRequest) -> Any:
    """Return a world whose Langfuse is read through one API or the other."""
    world.sandbox.version, world.sandbox.mode = SERVERS[request.param]
    return world


def traces(world: Any) -> set[str]:
    """Return the traces that hold scores."""
    return {trace for trace, _, _ in world.shown()}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"environments": ("production",)}, {"build", "ann"}),
        ({"not_environments": ("production",)}, {"staging"}),
        ({"trace_names": ("build", "release")}, {"build"}),
        ({"tags": ("night",), "users": ("ann",)}, {"ann"}),
        ({"sessions": ("s-1",)}, {"ann"}),
    ],
)
async def test_only_the_selected_traces_are_scored(
    selecting: Any, clock: Clock, call: Call, chosen: dict[str, Any], expected: set[str]
) -> None:
    """By environment, trace name, tags, user and session; the environments of Langfuse itself are never read."""
    selecting.add(
        call("build", "o1", clock.now(), traceName="build"),
        call("ann", "o2", clock.now(), userId="ann", sessionId="s-1", tags=["night"]),
        call("staging", "o3", clock.now(), environment="staging"),
        call("own", "o4", clock.now(), environment="langfuse-code-eval", traceName="build", userId="ann", tags=["night"]),
    )
    selecting.adjust("select", **chosen)
    await selecting.once()

    assert expected == traces(selecting)


async def test_what_leaves_the_selection_keeps_its_scores(selecting: Any, clock: Clock, call: Call) -> None:
    """A narrower selection withdraws nothing, also not when the last days are read again; it only reads no more."""
    selecting.add(call("t1", "o1", clock.now()), call("t2", "o2", clock.now(), environment="staging"))
    await selecting.run(minutes=5)
    before = selecting.shown()
    selecting.adjust("select", environments=("staging",))
    selecting.add(call("t3", "o3", clock.now()))
    await selecting.run(minutes=200)

    assert ({"t1", "t2"}, before) == (traces(selecting), selecting.shown())


async def test_a_wider_selection_finds_what_came_before_by_backfill(selecting: Any, clock: Clock, call: Call) -> None:
    """What a backfill has covered is covered for its selection, and for no other."""
    past = clock.now() - timedelta(days=20)
    selecting.add(call("t1", "o1", past), call("t2", "o2", past, environment="staging"))
    stretch = errands.stretch(clock.now() - timedelta(days=21), clock.now() - timedelta(days=19), now=clock.now())
    found = []
    for environments in (("staging",), ("staging",), (), ("production",)):
        selecting.adjust("select", environments=environments)
        report = await errands.backfill(selecting.settings, stretch, emit=selecting.told.append, clock=clock)
        found.append(report.observations)

    assert ([1, 0, 1, 0], {"t1", "t2"}) == (found, traces(selecting))


async def test_a_call_under_a_name_of_its_own_is_found_once_it_is_configured(world: Any, clock: Clock, call: Call) -> None:
    """On 3.x, in a window too large to be read whole, a span that no default asks for is scored after its name is in the settings."""
    world.sandbox.version, world.sandbox.mode = SERVERS["v1"]
    world.add(
        *(call(f"f{at}", f"f{at}", clock.now(), type="SPAN", name="GET /", input={"n": at}) for at in range(6000)),
        call("known", "o1", clock.now(), type="SPAN"),
        call("unknown", "o2", clock.now(), type="SPAN", name="acme.files.apply_patch"),
    )
    await world.once()
    first = traces(world)
    world.adjust("discover", names=("acme.files.apply_patch",))
    await world.once()

    assert ({"known"}, {"known", "unknown"}) == (first, traces(world))

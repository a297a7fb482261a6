"""The order of things: configs first, which every server has; then widgets, which a dashboard needs; then the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hunkwatch.langfuse.setup import boards, configs
from hunkwatch.langfuse.setup.boards import DASHBOARDS_SINCE, NoDashboards

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hunkwatch.langfuse.http import Http
    from hunkwatch.langfuse.setup.steps import Hand, Step

__all__ = ["DASHBOARDS_SINCE", "NoDashboards", "put_up", "take_down"]


async def put_up(http: Http, hand: Hand) -> tuple[Sequence[Step], str | NoDashboards]:
    """Bring everything to what it should be; return the steps, and the dashboard's id or why there is none."""
    steps = await configs.put_up(http, hand)
    more, dashboard = await boards.put_up(http, hand)
    return [*steps, *more], dashboard


async def take_down(http: Http, hand: Hand) -> Sequence[Step]:
    """Remove the dashboard and its widgets, and archive the configs, which cannot be removed."""
    return [*await boards.take_down(http, hand), *await configs.take_down(http, hand)]

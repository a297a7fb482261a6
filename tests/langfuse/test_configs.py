"""Which score configs are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from hunkwatch.core.model import Shape
from hunkwatch.langfuse import configs
from hunkwatch.langfuse.wire import Config

if TYPE_CHECKING:
    from collections.abc import Callable

ALL_SHAPES = frozenset(shape.value for shape in Shape)


def config(name: str = "blind_rewrite", data_type: str = "NUMERIC", **parts: Any) -> Config:
    """Return a config that allows everything, unless told otherwise."""
    given: dict[str, Any] = {"archived": False, "low": None, "high": None, "labels": frozenset()}
    return Config(id="c1", name=name, data_type=data_type, **{**given, **parts})


@pytest.mark.parametrize(
    ("one", "usable"),
    [
        (config(), True),
        (config(low=0, high=1), True),
        (config(low=0.1), False),
        (config(high=0.9), False),
        (config(archived=True), False),
        (config(data_type="CATEGORICAL", labels=ALL_SHAPES), False),
        (config("quality"), False),
        (config("retyped_lines", low=0), True),
        (config("retyped_lines", low=0, high=100), False),
        (config("patch_shape", "CATEGORICAL", labels=ALL_SHAPES), True),
        (config("patch_shape", "CATEGORICAL", labels=ALL_SHAPES | {"other"}), True),
        (config("patch_shape", "CATEGORICAL", labels=ALL_SHAPES - {"no_change"}), False),
        (config("patch_shape", "NUMERIC"), False),
    ],
)
def test_a_config_is_used_only_if_it_allows_every_value(one: Config, usable: bool) -> None:  # noqa: FBT001 - a case
    """One that is narrower would make Langfuse drop scores without a word."""
    assert usable == configs.fits(one)


def test_of_several_configs_the_oldest_is_used() -> None:
    """Names are not unique in Langfuse, and the list begins with the newest; the first made is the one that stays."""
    assert {"blind_rewrite": "old"} == configs.chosen([config()._replace(id="new"), config()._replace(id="old")])


async def test_every_page_of_configs_is_read(edge: Any) -> None:
    """A project with many configs has ours on any page."""

    def answer(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params["page"])
        row = {"id": f"c{number}", "name": ["quality", "blind_rewrite"][number - 1], "dataType": "NUMERIC"}
        return httpx.Response(200, json={"data": [row], "meta": {"totalPages": 2}})

    assert {"blind_rewrite": "c2"} == await configs.fitting(edge.http(answer))


@pytest.mark.parametrize("status", [403, 404, 400, 422])
async def test_scores_go_without_configs_where_these_cannot_be_read(edge: Any, status: int) -> None:
    """A key that may not read configs, or a server without them, is no reason to stop."""
    assert {} == await configs.fitting(edge.http(lambda _: httpx.Response(status, json={"message": "no"})))


async def test_recorded_configs_of_other_names_are_left_alone(edge: Any, replayed: Callable[[str], httpx.Response]) -> None:
    """None of the recorded configs is ours."""
    assert {} == await configs.fitting(edge.http(lambda _: replayed("090")))

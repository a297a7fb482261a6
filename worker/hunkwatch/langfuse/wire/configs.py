"""Score configs: what they allow, and how one of ours is spelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hunkwatch.langfuse.wire.kept import Kept, changes, kept_page

if TYPE_CHECKING:
    from hunkwatch.core.caveats import Meaning


class Config(NamedTuple):
    """A score config, as far as it decides whether our scores fit."""

    id: str
    name: str
    data_type: str
    archived: bool
    low: float | None
    high: float | None
    labels: frozenset[str]


def configs_of(content: bytes) -> tuple[list[Config], int]:
    """Return the score configs of a page, and how many pages there are."""
    things, pages = kept_page(content)
    return [config_of(thing) for thing in things], pages


def config_of(thing: Kept) -> Config:
    """Return what a config allows."""
    row = thing.content
    categories = row.get("categories")
    labels = [each.get("label") for each in categories if isinstance(each, dict)] if isinstance(categories, list) else []
    low, high = row.get("minValue"), row.get("maxValue")
    return Config(
        id=thing.id,
        name=thing.name,
        data_type=str(row.get("dataType")),
        archived=row.get("isArchived") is True,
        low=low if isinstance(low, int | float) else None,
        high=high if isinstance(high, int | float) else None,
        labels=frozenset(label for label in labels if isinstance(label, str)),
    )


def config_body(meaning: Meaning, description: str) -> dict[str, Any]:
    """Return the config that allows exactly what the score can be; bounds that it has none of are left out."""
    body: dict[str, Any] = {"name": meaning.name, "dataType": meaning.data_type, "description": description}
    if meaning.minimum is not None:
        body["minValue"] = meaning.minimum
    if meaning.maximum is not None:
        body["maxValue"] = meaning.maximum
    if meaning.categories:
        body["categories"] = [{"label": label, "value": number} for number, label in enumerate(meaning.categories)]
    return body


def config_change(thing: Kept, meaning: Meaning, description: str) -> dict[str, Any]:
    """Return the body that a config is mended with, empty when nothing is to be changed. Name and type cannot change."""
    wanted = config_body(meaning, description)
    del wanted["name"], wanted["dataType"]
    wanted["isArchived"] = False
    return changes(thing, wanted)


def archiving() -> dict[str, Any]:
    """Return the body that archives a config."""
    return {"isArchived": True}

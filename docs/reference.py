"""Write what follows from the types of the settings: the page ``settings.md`` and the settings in the schema of the Helm chart.

``make reference`` runs it; a test holds what is committed against what it would write.
"""

from __future__ import annotations

import json
import re
import typing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hunkwatch.settings import Settings, duration, variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "settings.md"
SCHEMA = ROOT / "deploy" / "helm" / "hunkwatch" / "values.schema.json"

CHART_S_OWN = {"langfuse.base_url", "langfuse.public_key", "langfuse.secret_key", "store.url", "http.host", "http.port"}
"""What other values of the chart say."""

HEAD = """# Settings

Written by `make reference` from the types in `settings/sections.py`; edit those. [`config.example.toml`](../config.example.toml) is the
same as a file to start from, with more words. A flag beats the environment, the environment beats the file, the file beats the default.

Several projects in one process are entries of `[[projects]]`: a name, the keys, and whatever else of `langfuse` is different for one.

Durations are `"250ms"`, `"30s"`, `"10m"`, `"1h30m"`, `"7d"`, or a number of seconds. Each variable may have `_FILE` at its end, and
then names a file that holds the value. Entries under `[[projects]]` are told of in [operations](operations.md#several-projects).
"""
COLUMNS = "| setting | what it may be | default | what it does | variable |\n|---|---|---|---|---|\n"


def fields() -> Iterator[tuple[str, type, str, FieldInfo]]:
    """Yield each setting: its section, the section's type, its name and its type."""
    for section, of in Settings.model_fields.items():
        kind = of.annotation
        if isinstance(kind, type):  # all but the entries of [[projects]], which repeat [langfuse]
            yield from ((section, kind, name, found) for name, found in kind.model_fields.items())  # type: ignore[attr-defined] # a section


def page() -> str:
    """Return the page of settings."""
    parts, told = [HEAD], None
    for section, kind, name, found in fields():
        if section != told:
            words = re.sub(r"^\[\w+\] ", "", str(kind.__doc__)).replace("``", "`")
            parts.append(f"\n## {section}\n\n{words}\n\n{COLUMNS}")
            told = section
        key = f"{section}.{name}"
        cells = (f"`{key}`", _form(found), _shown(found.get_default()), found.description or "", f"`{variable(key)}`")
        parts.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n")
    return "".join(parts)


def schema() -> str:
    """Return the schema of the chart's values with the settings as they are."""
    whole: dict[str, Any] = json.loads(SCHEMA.read_text("utf-8"))
    sections: dict[str, Any] = {}
    for section, kind, name, found in fields():
        if f"{section}.{name}" not in CHART_S_OWN:
            of = sections.setdefault(section, {"type": "object", "additionalProperties": False, "properties": {}})
            raw = kind.model_json_schema()["properties"][name]  # type: ignore[attr-defined] # a section
            of["properties"][name] = {**_typed(found, raw), "description": found.description}
    whole["properties"]["settings"]["properties"] = sections
    return f"{json.dumps(whole, indent=2, ensure_ascii=False)}\n"


def _typed(found: FieldInfo, raw: dict[str, Any]) -> dict[str, Any]:
    span = {"$ref": "#/definitions/duration"}
    if found.annotation is timedelta:
        return span
    if timedelta in _parts(found.annotation):
        return {"type": "array", "minItems": raw.get("minItems", 0), "items": span}
    known = ("type", "enum", "items", "minItems", "minLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    return {name: raw[name] for name in known if name in raw}


def _form(found: FieldInfo) -> str:
    """Return in words what a setting may be."""
    kind, limits = found.annotation, {type(limit).__name__.lower(): limit for limit in found.metadata}
    parts = _parts(kind)
    if timedelta in parts:
        return "duration" if kind is timedelta else "list of durations"
    literal = next((part for part in (kind, *typing.get_args(kind)) if typing.get_origin(part) is Literal), None)
    if literal is not None:
        names = ", ".join(f"`{name}`" for name in typing.get_args(literal))
        return names if literal is kind else f"list of {names}"
    if kind is bool:
        return "`true` or `false`"
    word = {int: "whole number", float: "number"}.get(kind, "text") if isinstance(kind, type) else "text"
    signs = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    bounds = [f"{words} {getattr(limits[name], name)}" for name, words in signs.items() if name in limits]
    return ", ".join([word, *bounds])


def _parts(kind: object) -> set[object]:
    return {kind, *(found for part in typing.get_args(kind) for found in _parts(part))}


def _shown(value: object) -> str:
    match value:
        case bool():
            return f"`{str(value).lower()}`"
        case timedelta():
            return f"`{duration.render(value)}`"
        case tuple():
            return ", ".join(_shown(item) for item in value) or "empty"
        case int() | float():
            return f"`{value}`"
        case _:
            text = str(value)
            return f"`{text}`" if text else "empty"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    SCHEMA.write_text(schema(), "utf-8")

"""Score configs: kept in the order of creation, never unique by name, archived but never deleted.

``fit`` is the late check: it gives the score its config's name and type, or None when Langfuse would drop it.
"""

import re
import uuid
from collections.abc import Mapping
from typing import Any

from hunkwatch.sandbox import answers, moments
from hunkwatch.sandbox.answers import ABSENT, Issue

DATA_TYPES = ["NUMERIC", "CATEGORICAL", "BOOLEAN", "TEXT"]
LONGEST = 35
NAME = re.compile(r"[\w .()-]+")
SWITCH = [{"label": "True", "value": 1}, {"label": "False", "value": 0}]


class Configs:
    """The score configs of one project."""

    def __init__(self) -> None:
        """Start without any."""
        self._kept: dict[str, dict[str, Any]] = {}

    def create(self, body: object, project: str, now: int) -> dict[str, Any]:
        """A new config, or a 400."""
        if not isinstance(body, Mapping):
            raise answers.invalid([answers.expected("object", body, [])])
        if found := _issues(body):
            raise answers.invalid(found)
        kind = body["dataType"]
        config = {
            "id": str(uuid.uuid4()),
            "name": body["name"],
            "isArchived": False,
            "description": body.get("description"),
            "createdAt": moments.write(now),
            "updatedAt": moments.write(now),
            "projectId": project,
            "maxValue": body.get("maxValue"),
            "minValue": body.get("minValue"),
            "dataType": kind,
            "categories": SWITCH if kind == "BOOLEAN" else body.get("categories"),
        }
        self._kept[config["id"]] = config
        return config

    def get(self, id_: str) -> dict[str, Any]:
        """A config by its id, or a 404."""
        if id_ not in self._kept:
            raise answers.missing("Score config not found within authorized project")
        return self._kept[id_]

    def newest_first(self) -> list[dict[str, Any]]:
        """All of them."""
        return list(reversed(self._kept.values()))

    def change(self, id_: str, body: object, now: int) -> dict[str, Any]:
        """Change what the body names; the data type stays."""
        config = self.get(id_)
        if not isinstance(body, Mapping):
            raise answers.invalid([answers.expected("object", body, [])])
        fields = ("name", "isArchived", "description", "minValue", "maxValue", "categories")
        changed = {**config, **{key: body[key] for key in fields if key in body}}
        if found := _issues(changed):
            raise answers.invalid(found)
        self._kept[id_] = {**changed, "updatedAt": moments.write(now)}
        return self._kept[id_]

    def fit(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The score with its type, number and label settled, or None if its config refuses it."""
        score = dict(body)
        value, kind = score["value"], score.get("dataType") or ("CATEGORICAL" if isinstance(score["value"], str) else "NUMERIC")
        if score.get("configId"):
            config = self._kept.get(score["configId"])
            if config is None or config["isArchived"]:
                return None
            if not score.get("dataType"):
                kind = config["dataType"]
            if kind != config["dataType"] or isinstance(value, str) is not (kind in {"CATEGORICAL", "TEXT"}):
                return None
            if not _allowed(value, config):
                return None
            score["name"] = config["name"]
        else:
            config = None
        return {**score, **_settled(value, kind, config)}


def _settled(value: Any, kind: str, config: Mapping[str, Any] | None) -> dict[str, Any]:
    if kind == "NUMERIC":
        return {"dataType": kind, "value": value, "stringValue": None}
    if kind == "BOOLEAN":
        return {"dataType": kind, "value": value, "stringValue": "True" if value else "False"}
    labels = {category["label"]: category["value"] for category in (config or {}).get("categories") or ()}
    return {"dataType": kind, "value": labels.get(value, 0), "stringValue": value}


def _allowed(value: Any, config: Mapping[str, Any]) -> bool:
    match config["dataType"]:
        case "NUMERIC":
            low, high = config["minValue"], config["maxValue"]
            return (low is None or value >= low) and (high is None or value <= high)
        case "BOOLEAN":
            return value in {0, 1}
        case "CATEGORICAL":
            return any(category["label"] == value for category in config["categories"] or ())
    return True


def _issues(body: Mapping[str, Any]) -> list[Issue]:
    name, kind = body.get("name", ABSENT), body.get("dataType", ABSENT)
    if not isinstance(name, str):
        return [answers.expected("string", name, ["name"])]
    if not 1 <= len(name) <= LONGEST or NAME.fullmatch(name) is None:
        return [answers.custom(f"Name must have 1 to {LONGEST} letters, digits, spaces or _ . - ( )", ["name"])]
    if kind not in DATA_TYPES:
        return [answers.not_one_of(DATA_TYPES, ["dataType"])]
    low, high = body.get("minValue"), body.get("maxValue")
    if low is not None and high is not None and high <= low:
        issue = answers.custom("Maximum value must be greater than Minimum value")
        return [{key: issue[key] for key in ("code", "message", "path")}]
    if kind == "CATEGORICAL" and not body.get("categories"):
        return [answers.expected("array", body.get("categories", ABSENT), ["categories"])]
    return []

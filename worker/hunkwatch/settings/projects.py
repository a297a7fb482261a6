"""``[[projects]]``: several Langfuse projects in one process, each with its own keys and, where it says so, other values of [langfuse].

An entry has a name, the two keys (as they are, from a variable, or from a file), and may repeat any setting of [langfuse].
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from hunkwatch.settings import files
from hunkwatch.settings.sections import LangfuseSection, Served

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hunkwatch.settings.sections import Settings

_KEYS = ("public_key", "secret_key")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


class Entries:
    """What the entries of a file come to.

    ``problems`` are pairs of where and what; ``variables`` are those that entries take their keys from.
    """

    def __init__(self, environ: Mapping[str, str], shared: Mapping[str, object], *, with_keys: bool) -> None:
        """``shared`` are the values of [langfuse]. Without ``with_keys`` a key that cannot be had stays empty."""
        self.served: list[Served] = []
        self.problems: list[tuple[str, str]] = []
        self.variables: set[str] = set()
        self._environ = environ
        self._shared = shared
        self._with_keys = with_keys

    def read(self, entries: object, place: str) -> None:
        """Read the value of ``projects`` in a file."""
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            self.problems.append((f"{place}, projects", "should be tables, each under [[projects]]"))
            return
        for number, entry in enumerate(entries, start=1):
            where = f"{place}, [[projects]] {number}"
            rest = dict(entry)
            name = rest.pop("name", "")
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                self.problems.append((where, "needs a name of letters, digits, dots and dashes, at most 40"))
            elif any(other.name == name for other in self.served):
                self.problems.append((where, f"another entry is called {name} too"))
            else:
                self._take(f"{where} ({name})", name, rest)

    def _take(self, where: str, name: str, entry: dict[str, object]) -> None:
        before = len(self.problems)
        values = dict(self._shared)
        values.update({key: self._key(where, key, entry) for key in _KEYS})
        for key, value in entry.items():
            if key in LangfuseSection.model_fields:
                values[key] = value
            else:
                self.problems.append((f"{where} {key}", "there is no such setting of a project"))
        if len(self.problems) > before:
            return
        try:
            self.served.append(Served(name=name, langfuse=LangfuseSection.model_validate(values)))
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_input=False):
                what = detail["msg"].removeprefix("Value error, ").replace("Input should", "should", 1)
                self.problems.append((" ".join([where, *map(str, detail["loc"])]), what))

    def _key(self, where: str, key: str, entry: dict[str, object]) -> str:
        """Take a key out of the entry, in whichever of the three ways it is given."""
        given = [spelled for spelled in (key, f"{key}_env", f"{key}_file") if spelled in entry]
        values = [entry.pop(spelled) for spelled in given]
        if len(given) != 1:
            self.problems.append((where, f"needs one of {key}, {key}_env and {key}_file"))
            return ""
        (spelled,), (value,) = given, values
        if not isinstance(value, str):
            self.problems.append((f"{where} {spelled}", "should be text"))
            return ""
        problem = ""
        if spelled.endswith("_env"):
            self.variables.add(value)
            problem, value = f"the variable {value} is not set", self._environ.get(value, "")
        elif spelled.endswith("_file"):
            problem, value = _from_file(value)
        if not value and self._with_keys:
            self.problems.append((f"{where} {spelled}", problem or "should not be empty"))
        return value


def each(settings: Settings) -> Mapping[str, Settings]:
    """Return the settings of every project by its name; those of the only one under ``""`` where none has a name."""
    if not settings.projects:
        return {"": settings}
    return {one.name: settings.model_copy(update={"langfuse": one.langfuse, "projects": ()}) for one in settings.projects}


def _from_file(path: str) -> tuple[str, str]:
    try:
        return "the file is empty", files.read(Path(path)).strip()
    except (OSError, ValueError) as error:
        return f"the file cannot be read: {files.reason(error)}", ""

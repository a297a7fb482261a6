"""Merge flag over environment over file over default, key by key, and report everything that is wrong at once.

The environment is passed in. Each value remembers where it was given, so that an error names the variable or the line of the
file. Values of secret settings are never part of a message.
"""

from __future__ import annotations

import json
import tomllib
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import ValidationError

from hunkwatch.errors import Exit, Halt
from hunkwatch.events import SettingDeprecated
from hunkwatch.settings import files, projects
from hunkwatch.settings.sections import CREDENTIALS, KEYS, Section, Settings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pydantic_core import ErrorDetails

_QUIET = frozenset({*CREDENTIALS, "langfuse.base_url", "store.url"})
"""Settings whose value never stands in a message."""

SYSTEM_CONFIG = Path("/etc/hunkwatch/config.toml")
SYSTEM_STATE = Path("/var/lib/hunkwatch")

_PREFIX = "HUNKWATCH_"
_ALIASES = {
    "LANGFUSE_HOST": "langfuse.base_url",
    "LANGFUSE_BASE_URL": "langfuse.base_url",
    "LANGFUSE_PUBLIC_KEY": "langfuse.public_key",
    "LANGFUSE_SECRET_KEY": "langfuse.secret_key",
}
"""Langfuse's own names, weakest first."""

_DEPTH = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with the configuration: where it was given, and what should change."""

    where: str
    what: str

    def __str__(self) -> str:
        """Say both on one line."""
        return f"{self.where}: {self.what}"


class BadSettings(Halt):
    """Everything that is wrong with the configuration, at once."""

    def __init__(self, problems: Collection[Problem]) -> None:
        """Keep the problems; the message counts them."""
        count = len(problems)
        super().__init__(
            f"the configuration has {count} problem{'s' if count > 1 else ''}",
            mend="Mend what is listed; config.example.toml explains every setting.",
            exit_code=Exit.CONFIG,
        )
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Valid settings, and how they came about. ``origins`` says where each setting that is no default was given."""

    settings: Settings
    config_file: Path | None
    origins: Mapping[str, str]
    deprecated: tuple[SettingDeprecated, ...] = ()


@dataclass(frozen=True, slots=True)
class _Given:
    value: object
    origin: str


class _Reading:
    """Collects values key by key, a later one over an earlier one, and everything that is wrong on the way."""

    def __init__(self) -> None:
        self.given: dict[str, _Given] = {}
        self.problems: list[Problem] = []
        self.deprecated: list[SettingDeprecated] = []
        self.tried: set[str] = set()
        self.entries: object = []
        self.entries_from = ""

    def fault(self, where: str, what: str) -> None:
        self.problems.append(Problem(where, what))

    def put(self, key: str, value: object, origin: str) -> None:
        if key in KEYS:
            self.given[key] = _Given(value, origin)
        else:
            self.fault(origin, f"there is no such setting{_suggestion(key)}")

    def take_file(self, path: Path) -> None:
        try:
            content = files.read(path)
            tables = tomllib.loads(content)
        except (OSError, ValueError) as error:
            self.fault(str(path), f"cannot be read: {files.reason(error)}")
            return
        except RecursionError:
            self.fault(str(path), "cannot be read: nested too deeply")
            return
        self.entries, self.entries_from = tables.pop("projects", []), str(path)
        for section, table in tables.items():
            if not isinstance(table, dict):
                self.fault(f"{path}, {section}", f"stands outside any section{_suggestion(section)}")
            elif section not in Settings.model_fields and not table:
                self.fault(f"{path}, [{section}]", f"there is no such section{_suggestion(section)}")
            else:
                for key, value in table.items():
                    self.put(f"{section}.{key}", value, f"{path}, [{section}] {key}")

    def take_environment(self, environ: Mapping[str, str]) -> None:
        for name, key in _ALIASES.items():
            self._take_variable(environ, name, key)
        if environ.get("LANGFUSE_HOST") and self.given["langfuse.base_url"].origin == "LANGFUSE_HOST":
            self.deprecated.append(SettingDeprecated(old="LANGFUSE_HOST", new="LANGFUSE_BASE_URL"))
        ours = {name.removesuffix("_FILE") for name in environ if name.startswith(_PREFIX)}
        for name in sorted(ours):
            section, separator, rest = name.removeprefix(_PREFIX).lower().partition("__")
            if separator:
                self._take_variable(environ, name, f"{section}.{rest}")
            elif missed := next((key for key in KEYS if key.replace(".", "_") == section), None):
                self.fault(name, f"needs two underscores after the section: {variable(missed)}")

    def _take_variable(self, environ: Mapping[str, str], name: str, key: str) -> None:
        value, file = environ.get(name, ""), environ.get(f"{name}_FILE", "")
        if value or file:
            self.tried.add(key)
        if value and file:
            self.fault(name, f"is set together with {name}_FILE; keep one of them")
            return
        if file:
            name = f"{name}_FILE"
            try:
                value = files.read(Path(file)).strip()
            except (OSError, ValueError) as error:
                self.fault(name, f"the file cannot be read: {files.reason(error)}")
                return
            if not value:
                self.fault(name, "the file is empty")
        if value:
            try:
                self.put(key, _structured(key, value), name)
            except ValueError:
                self.fault(name, 'should be a list like "a,b" or ["a", "b"]')

    def build(self) -> Settings:
        sections: dict[str, dict[str, object]] = {}
        for dotted, given in self.given.items():
            section, key = dotted.split(".")
            sections.setdefault(section, {})[key] = given.value
        try:
            return Settings.model_validate(sections)
        except ValidationError as error:
            details = error.errors(include_url=False)
            inside = {detail["loc"][:2] for detail in details if len(detail["loc"]) > _DEPTH}
            for detail in details:
                if detail["type"] != "too_short" or detail["loc"] not in inside:
                    self._explain(detail)
        return Settings()

    def take_projects(self, settings: Settings, environ: Mapping[str, str], *, with_keys: bool) -> Settings:
        """Add what the entries of [[projects]] come to."""
        shared = {key.partition(".")[2]: given.value for key, given in self.given.items() if key.startswith("langfuse.")}
        own = {key: value for key, value in shared.items() if f"langfuse.{key}" not in CREDENTIALS}
        found = projects.Entries(environ, own, with_keys=with_keys)
        found.read(self.entries, self.entries_from)
        for where, what in found.problems:
            self.fault(where, what)
        for key in CREDENTIALS:
            if key in self.given and (origin := self.given[key].origin) not in found.variables:
                self.fault(origin, "is not used beside [[projects]]; give that project an entry of its own")
        self.given["projects"] = _Given(len(found.served), f"{self.entries_from}, [[projects]]")
        return settings.model_copy(update={"projects": tuple(found.served)})

    def _explain(self, detail: ErrorDetails) -> None:
        section, *keys = (str(step) for step in detail["loc"])
        what = detail["msg"].removeprefix("Value error, ").replace("Input should", "should", 1)
        if not keys:
            self.fault(f"[{section}]", what)
            return
        key, *deeper = keys
        dotted = f"{section}.{key}"
        if detail["type"] == "too_short":
            what = "should hold at least one item"
        if deeper:
            what = f"item {int(deeper[0]) + 1} {what}" if deeper[0].isdecimal() else what
        if dotted not in _QUIET:
            what = f"{what}, not {repr(detail['input'])[:60]}"
        self.fault(self.given[dotted].origin, what)


def load(
    *,
    environ: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
    config: Path | None = None,
    required: Collection[str] = (),
) -> Loaded:
    """Merge flags over environment over file over defaults; ``required`` names settings that may not stay empty.

    ``flags`` maps ``section.key`` to a value (None: not given). Without ``config`` the usual places are searched.
    The state's address is filled in, so that what is loaded is what is used. Raises BadSettings with everything that is wrong.
    """
    reading = _Reading()
    file = config or next((path for path in config_places(environ) if path.exists()), None)
    if file is not None:
        reading.take_file(file)
    reading.take_environment(environ)
    for key, value in (flags or {}).items():
        if value is not None:
            try:
                reading.put(key, _structured(key, value) if isinstance(value, str) else value, f"command line, {key}")
            except ValueError:
                reading.fault(f"command line, {key}", 'should be a list like "a,b" or ["a", "b"]')
    settings = reading.build()
    if reading.entries:
        settings = reading.take_projects(settings, environ, with_keys=bool(required))
    for key in () if reading.entries else required:
        if key not in reading.tried and not reading.given.get(key, _Given("", "")).value:
            name = variable(key)
            reading.fault(key, f"is not set; give it as {name} or as a file named by {name}_FILE")
    if reading.problems:
        raise BadSettings(reading.problems)
    if not settings.store.url:
        store = settings.store.model_copy(update={"url": f"sqlite:///{state_folder(environ) / 'hunkwatch.db'}"})
        settings = settings.model_copy(update={"store": store})
    origins = {key: given.origin for key, given in reading.given.items()}
    return Loaded(settings, file, origins, tuple(reading.deprecated))


def config_places(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return where a configuration file is looked for, first hit wins."""
    home = _base_folder(environ, "XDG_CONFIG_HOME", ".config")
    return ((home / "hunkwatch" / "config.toml",) if home else ()) + (SYSTEM_CONFIG,)


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the state file: systemd's, else the user's, else the system's."""
    given = environ.get("STATE_DIRECTORY", "").split(":", maxsplit=1)[0]
    if given:
        return Path(given)
    home = _base_folder(environ, "XDG_STATE_HOME", ".local/state")
    return home / "hunkwatch" if home else SYSTEM_STATE


def _base_folder(environ: Mapping[str, str], name: str, fallback: str) -> Path | None:
    given = Path(environ.get(name, ""))
    if given.is_absolute():
        return given
    home = Path(environ.get("HOME", ""))
    return home / fallback if home.is_absolute() else None


def variable(key: str) -> str:
    """Return the environment variable of a setting; Langfuse's own name where there is one."""
    own = next((name for name, aliased in reversed(_ALIASES.items()) if aliased == key and name != "LANGFUSE_HOST"), None)
    return own or _PREFIX + key.upper().replace(".", "__")


def redacted(settings: Settings) -> dict[str, object]:
    """Return every setting as ``section.key`` with its value as the file spells it, safe for a log."""
    dumped = settings.model_dump(mode="json", exclude={"projects"})
    flat: dict[str, object] = {f"{section}.{key}": value for section, table in dumped.items() for key, value in table.items()}
    flat["langfuse.public_key"] = f"{settings.langfuse.public_key[:10]}..." if settings.langfuse.public_key else ""
    flat["langfuse.secret_key"] = "(set)" if settings.langfuse.secret_key.get_secret_value() else ""
    flat["store.url"] = without_password(settings.store.url)
    flat["projects"] = ", ".join(one.name for one in settings.projects)
    return flat


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """Return every text that may never be written anywhere: keys, what they become in a request, passwords in the store's address."""
    keys: list[str] = []
    for langfuse in (settings.langfuse, *(one.langfuse for one in settings.projects)):
        if key := langfuse.secret_key.get_secret_value():
            keys += (key, b64encode(f"{langfuse.public_key}:{key}".encode()).decode())
    password = ""
    with suppress(ValueError):
        password = urlsplit(settings.store.url).password or ""
    return tuple(secret for secret in (*keys, password, unquote(password)) if secret)


def without_password(url: str) -> str:
    """Return a database address without its password and without its parameters, which may hold one too."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(unreadable)"
    user, at, host = parts.netloc.rpartition("@")
    netloc = f"{user.partition(':')[0]}:***@{host}" if ":" in user else f"{user}{at}{host}"
    return urlunsplit((parts.scheme, netloc, parts.path, "...", "")) if parts.query else url.replace(parts.netloc, netloc, 1)


def _structured(key: str, text: str) -> object:
    section, _, name = key.partition(".")
    field = Settings.model_fields.get(section)
    model = field.annotation if field else None
    known = model.model_fields.get(name) if isinstance(model, type) and issubclass(model, Section) else None
    if known is None or not isinstance(known.default, tuple):
        return text
    if text.startswith("["):
        return json.loads(text)
    return [item.strip() for item in text.split(",")]


def _suggestion(key: str) -> str:
    section, dot, name = key.partition(".")
    if not dot:
        near = get_close_matches(section, [*Settings.model_fields, *KEYS, *(known.partition(".")[2] for known in KEYS)], n=1)
        meant = next((known for known in KEYS if near and known.endswith(f".{near[0]}")), near[0] if near else "")
    else:
        elsewhere = [known for known in KEYS if known.partition(".")[2] == name]
        meant = next(iter([*get_close_matches(key, KEYS, n=1, cutoff=0.75), *elsewhere]), "")
    if not meant:
        return ""
    section, _, name = meant.partition(".")
    return f"; did you mean [{section}] {name}?" if name else f"; did you mean [{section}]?"

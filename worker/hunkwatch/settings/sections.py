"""The sections of ``config.example.toml`` as types.

Plain frozen models that any room may take: a test builds one with a call, and no adapter ever sees the environment.
A description is one sentence: the unit or the consequence.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from hunkwatch.settings.duration import Duration, Pause  # noqa: TC001 (pydantic evaluates the annotations)

if TYPE_CHECKING:
    from collections.abc import Iterator

ScoreName = Literal["blind_rewrite", "blind_hunks", "retyped_lines", "blind_rewrite_patch", "retyped_lines_patch", "patch_shape"]


class Section(BaseModel):
    """What all sections share: frozen, an unknown key is an error, and no error shows what was put in."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class LangfuseSection(Section):
    """[langfuse] Which server, with which key, and how patiently."""

    base_url: str = Field(
        default="https://cloud.langfuse.com", description="Address of the Langfuse server, with its base path if it has one."
    )
    public_key: str = Field(default="", description="Public key of the project; better given as LANGFUSE_PUBLIC_KEY.")
    secret_key: SecretStr = Field(
        default=SecretStr(""), description="Secret key of the project; better given as LANGFUSE_SECRET_KEY or a file."
    )
    timeout: Pause = Field(
        default=timedelta(seconds=60), description="Longest wait for one answer. Langfuse gives its database 35 seconds."
    )
    requests_per_minute: int = Field(default=0, ge=0, description="Own budget; 0 learns it from the server's 429 answers.")
    ca_bundle: str = Field(
        default="",
        description="PEM file of certificates to trust beside the usual ones, for a server with one from an authority of your own.",
    )
    accept_any_certificate: bool = Field(
        default=False, description="Talk to whoever answers, unchecked: anybody in between reads the keys. Said in the log at every start."
    )

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or not value.isascii() or not value.isprintable() or " " in value:
            raise ValueError("should be an address like https://cloud.langfuse.com")
        if "@" in parts.netloc:
            raise ValueError("should not carry a user or password; give the keys by themselves")
        if parts.query or parts.fragment:
            raise ValueError("should end with the path: no ? and no #")
        for tail in ("/project/", "/api/"):
            if tail in f"{parts.path}/":
                raise ValueError(f"should be the address of the server alone, without {tail}...")
        return value.rstrip("/")

    @field_validator("public_key")
    @classmethod
    def _is_a_public_key(cls, value: str) -> str:
        if value.startswith("sk-"):
            raise ValueError("holds a secret key (sk-...): the two keys look swapped")
        if not value.isascii() or not value.isprintable() or set(value) & set(" :"):
            raise ValueError("should be plain letters, digits and dashes, as Langfuse shows it")
        return value

    @field_validator("secret_key")
    @classmethod
    def _is_a_secret_key(cls, value: SecretStr) -> SecretStr:
        plain = value.get_secret_value()
        if plain.startswith("pk-"):
            raise ValueError("holds a public key (pk-...): the two keys look swapped")
        if not plain.isascii() or not plain.isprintable() or " " in plain:
            raise ValueError("should be plain letters, digits and dashes, as Langfuse shows it")
        return value


ObservationType = Literal["TOOL", "GENERATION", "AGENT", "SPAN", "CHAIN", "EVENT"]
Word = Annotated[str, Field(min_length=1, max_length=500)]


class SelectSection(Section):
    """[select] Which observations are read. An empty list leaves nothing out; what several lists ask for has to hold together."""

    environments: tuple[Word, ...] = Field(default=(), max_length=100, description="Only these environments.")
    not_environments: tuple[Word, ...] = Field(
        default=(), max_length=100, description="None of these environments; those of Langfuse itself are never read."
    )
    tags: tuple[Word, ...] = Field(default=(), max_length=100, description="Only traces with at least one of these tags.")
    trace_names: tuple[Word, ...] = Field(default=(), max_length=100, description="Only traces of these names.")
    users: tuple[Word, ...] = Field(default=(), max_length=100, description="Only traces of these user ids.")
    sessions: tuple[Word, ...] = Field(default=(), max_length=100, description="Only traces of these session ids.")


class DiscoverSection(Section):
    """[discover] Which rows are asked for because they may carry a call."""

    names: tuple[Word, ...] = Field(
        default=(), max_length=50, description="Names of tools to ask for beside the known ones, where no text search finds their calls."
    )
    types: tuple[ObservationType, ...] = Field(
        default=("TOOL", "GENERATION", "AGENT"),
        description="Without a search by text: the types that are read in a large window; other rows by name. Empty reads everything.",
    )
    media: bool = Field(
        default=False, description="Fetch arguments that the server moved into its media store; else such calls are unresolved."
    )


class SweepSection(Section):
    """[sweep] How the past is read."""

    every: Pause = Field(default=timedelta(seconds=30), description="Pause between sweeps when nothing waits.")
    since: Duration = Field(default=timedelta(days=7), description="How far back the very first sweep starts.")
    overlap: Duration = Field(
        default=timedelta(minutes=45), description="Read again this much before the watermark. Too small loses late spans."
    )
    settle: Duration = Field(default=timedelta(seconds=20), description="The watermark stays this far behind the present.")
    span: Pause = Field(
        default=timedelta(days=7), description="Longest stretch of new time in one sweep; one that is too much at once is cut."
    )
    request_grace: Duration = Field(
        default=timedelta(minutes=10), description="A call known only from a model's answer is scored there this long after its end."
    )
    quiet: Duration = Field(default=timedelta(minutes=1), description="A trace's own scores are written when nothing came for this long.")
    rollup_every: Duration = Field(
        default=timedelta(minutes=10), description="While a trace goes on, its own scores are written this often."
    )
    sample: float = Field(
        default=1.0,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Share of the traces that is read, chosen by trace id; a larger share contains the smaller.",
    )

    reconcile_every: Pause = Field(
        default=timedelta(hours=1), description="How often the near past is read again, for spans that came later than the overlap."
    )
    reconcile_reach: Pause = Field(default=timedelta(days=1), description="How far back that goes.")
    deep_reconcile_every: Pause = Field(default=timedelta(days=1), description="How often the farther past is read again.")
    deep_reconcile_reach: Pause = Field(
        default=timedelta(days=3), description="How far back that goes; a span that comes later than this is only found by a backfill."
    )
    keep: Pause = Field(
        default=timedelta(days=90),
        description="How long the ledger keeps a trace after anything of it was read; one that comes back later is read whole.",
    )

    @model_validator(mode="after")
    def _windows_reach_the_present(self) -> Self:
        if self.span <= self.settle:
            raise ValueError("span should be longer than settle, or no sweep reaches the present")
        return self

    @model_validator(mode="after")
    def _nothing_is_dropped_that_is_still_read(self) -> Self:
        if self.keep <= max(self.overlap, self.reconcile_reach, self.deep_reconcile_reach):
            raise ValueError("keep should be longer than overlap, reconcile_reach and deep_reconcile_reach, or the dropped is read again")
        return self


class DeliverySection(Section):
    """[delivery] How scores are sent and proven."""

    every: Pause = Field(default=timedelta(seconds=2), description="Pause between looks into an empty outbox.")
    batch: int = Field(default=500, ge=1, le=1000, description="Most scores in one request.")
    look_after: tuple[Duration, ...] = Field(
        default=(timedelta(seconds=20), timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=4)),
        min_length=1,
        description="When to look for a sent score, each counted from the last; after the last look it is sent again.",
    )
    sends: int = Field(default=3, ge=1, le=10, description="After this many sends that were never seen, a score becomes a dead letter.")


class ScoresSection(Section):
    """[scores] What is written to Langfuse. On Langfuse Cloud every score is a billable unit."""

    write: tuple[ScoreName, ...] = Field(
        default=("blind_rewrite", "blind_hunks", "retyped_lines", "blind_rewrite_patch", "retyped_lines_patch", "patch_shape"),
        min_length=1,
        description="The scores that are written; the first three (one each a trace) are enough to filter by.",
    )
    paths: bool = Field(default=True, description="Put file paths into comments and metadata.")
    link_below: float = Field(
        default=0.75,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="The links to Langfuse show traces and observations whose blind_rewrite is below this.",
    )


class StoreSection(Section):
    """[store] Where the state lives."""

    url: str = Field(
        default="",
        repr=False,
        description='Empty: a SQLite file in the state folder. Else "sqlite:////path/file.db" or "postgresql://...".',
    )
    lease: Pause = Field(
        default=timedelta(seconds=30),
        description="With replicas: how long a project stays with a worker that is not heard of; then another takes over.",
    )

    @field_validator("url")
    @classmethod
    def _names_a_known_database(cls, value: str) -> str:
        if value and not re.match(r"(sqlite|postgres(ql)?)(\+\w+)?://", value):
            raise ValueError('should start with "sqlite:///" or "postgresql://"')
        return value


class LogSection(Section):
    """[log] What is said while running."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="Least level that is written.")
    format: Literal["auto", "console", "json"] = Field(default="auto", description="auto: readable on a terminal, JSON elsewhere.")
    repeat_every: Duration = Field(
        default=timedelta(minutes=5), description="The same warning or error is written once in this long, with a count; 0s writes each."
    )


class HttpSection(Section):
    """[http] Where ``hunkwatch run`` serves /metrics, /livez and /readyz."""

    host: str = Field(
        default="127.0.0.1", min_length=1, description="Address to listen on. Anything but loopback shows the metrics to others."
    )
    port: int = Field(default=9469, ge=0, le=65535, description="Port to listen on; 0 serves nothing.")


class Served(Section):
    """One of several projects: its name, and [langfuse] as it counts for it."""

    name: str
    langfuse: LangfuseSection


class Settings(Section):
    """Every section; built without arguments it is the defaults. ``projects`` is empty where [langfuse] names the only one."""

    langfuse: LangfuseSection = LangfuseSection()
    select: SelectSection = SelectSection()
    discover: DiscoverSection = DiscoverSection()
    sweep: SweepSection = SweepSection()
    delivery: DeliverySection = DeliverySection()
    scores: ScoresSection = ScoresSection()
    store: StoreSection = StoreSection()
    log: LogSection = LogSection()
    http: HttpSection = HttpSection()
    projects: tuple[Served, ...] = ()

    def scope(self) -> str:
        """Return a short name for what of a project is read: the same for the same selection, ``""`` for everything."""
        if (self.select, self.discover) == (SelectSection(), DiscoverSection()):
            return ""
        words = {**self.select.model_dump(), **self.discover.model_dump()}
        chosen = {name: sorted(set(value)) if isinstance(value, tuple) else value for name, value in words.items()}
        return sha256(json.dumps(chosen, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _keys() -> Iterator[str]:
    for section, field in Settings.model_fields.items():
        model = field.annotation
        if isinstance(model, type) and issubclass(model, Section):
            yield from (f"{section}.{key}" for key in model.model_fields)


KEYS = tuple(_keys())
"""Every setting as ``section.key``."""

CREDENTIALS = ("langfuse.public_key", "langfuse.secret_key")
"""What a verb that talks to Langfuse cannot do without."""

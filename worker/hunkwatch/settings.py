"""The sections of ``config.example.toml`` as types.

Sections are plain frozen models that any room may take; only ``Settings`` (the root) reads the file and the environment, so a test
builds a section with one call and no adapter ever sees the environment.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

ScoreName = Literal["blind_rewrite", "blind_hunks", "retyped_lines", "blind_rewrite_patch", "retyped_lines_patch", "patch_shape"]


class Section(BaseModel):
    """What all sections share: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LangfuseSection(Section):
    """[langfuse] Which server, with which key, and how patiently."""

    base_url: str = Field("https://cloud.langfuse.com", description="Address of the Langfuse server, with its base path if it has one.")
    public_key: str = Field("", description="Public key of the project; better given as LANGFUSE_PUBLIC_KEY.")
    secret_key: SecretStr = Field(SecretStr(""), description="Secret key of the project; better given as LANGFUSE_SECRET_KEY or a file.")
    timeout: timedelta = Field(timedelta(seconds=60), description="Longest wait for one answer. Langfuse gives its database 35 seconds.")
    requests_per_minute: int = Field(0, ge=0, description="Own budget; 0 learns it from the server's 429 answers.")


class SweepSection(Section):
    """[sweep] How the past is read."""

    every: timedelta = Field(timedelta(seconds=30), description="Pause between sweeps when nothing waits.")
    since: timedelta = Field(timedelta(days=7), description="How far back the very first sweep starts.")
    overlap: timedelta = Field(timedelta(minutes=45), description="Read again this much before the watermark. Too small loses late spans.")
    settle: timedelta = Field(timedelta(seconds=20), description="The watermark stays this far behind the present.")
    span: timedelta = Field(
        timedelta(days=1), description="Longest stretch of new time in one sweep, so that a long catch-up keeps what it has."
    )
    request_grace: timedelta = Field(
        timedelta(minutes=10), description="A call known only from a model's answer is scored there this long after its end."
    )
    quiet: timedelta = Field(timedelta(minutes=1), description="A trace's own scores are written when nothing came for this long.")
    rollup_every: timedelta = Field(timedelta(minutes=10), description="While a trace goes on, its own scores are written this often.")


class DeliverySection(Section):
    """[delivery] How scores are sent and proven."""

    every: timedelta = Field(timedelta(seconds=2), description="Pause between looks into an empty outbox.")
    batch: int = Field(200, ge=1, le=1000, description="Most scores in one request.")
    look_after: tuple[timedelta, ...] = Field(
        (timedelta(seconds=20), timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=4)),
        description="When to look for a sent score, each counted from the last; after the last look it is sent again.",
    )
    sends: int = Field(3, ge=1, le=10, description="After this many sends that were never seen, a score becomes a dead letter.")


class ScoresSection(Section):
    """[scores] What is written to Langfuse. On Langfuse Cloud every score is a billable unit."""

    write: tuple[ScoreName, ...] = Field(
        ("blind_rewrite", "blind_hunks", "retyped_lines", "blind_rewrite_patch", "retyped_lines_patch", "patch_shape"),
        description="The scores that are written; the first three (one each a trace) are enough to filter by.",
    )
    paths: bool = Field(default=True, description="Put file paths into comments and metadata.")


class StoreSection(Section):
    """[store] Where the state lives."""

    url: str = Field("", description='Empty: a SQLite file in the state folder. Else "sqlite:////path/file.db" or "postgresql://...".')


class LogSection(Section):
    """[log] What is said while running."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is written.")
    format: Literal["auto", "console", "json"] = Field("auto", description="auto: readable on a terminal, JSON elsewhere.")

"""``export-evaluator``: the scorer as one file for the code evaluators that Langfuse runs itself."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003 - typer evaluates the annotations
from typing import Annotated

import typer

from hunkwatch import evaluator
from hunkwatch.cli import printing


class Kind(StrEnum):
    """The types of observations that carry calls."""

    TOOL = "tool"
    SPAN = "span"
    GENERATION = "generation"
    AGENT = "agent"


def export_evaluator(
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="File to write instead of stdout.")] = None,
    kind: Annotated[Kind, typer.Option("--type", help="Type of the observations that the evaluator's rule selects.")] = Kind.TOOL,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of these observations; '' when the rule selects several names.")
    ] = "apply_patch",
) -> None:
    """Write the scorer as a Python code evaluator for Langfuse: one file, standard library only.

    Its scores are blind_rewrite_patch_eval, retyped_lines_patch_eval and patch_shape_eval. It sees single observations: no scores on
    traces, nothing of the past, no proof of delivery. docs/langfuse.md says which of the two to choose.
    """
    text = evaluator.source(kind.name, name)
    if out is None:
        printing.write(text)
    else:
        try:
            out.write_text(text, encoding="ascii")
        except OSError as error:
            raise typer.BadParameter(f"cannot be written: {error.strerror}", param_hint="--out") from error
        printing.remark(f"wrote {out} ({len(text)} of {evaluator.LARGEST} bytes)")

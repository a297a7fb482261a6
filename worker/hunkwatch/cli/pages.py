"""Pages that people open in a browser: made with the extra ``report``, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hunkwatch.cli import printing
from hunkwatch.errors import Exit, Halt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hunkwatch.report import Report
    from hunkwatch.report.explained import Explained, Patches


def needed() -> None:
    """Say what is missing before long work is done for a page that cannot be made. Raises Halt."""
    missing = next((name for name in ("jinja2", "plotly") if find_spec(name) is None), None)
    if missing is not None:
        mend = 'Install it with pip install "hunkwatch[report]".'
        raise Halt(f"{missing} is not installed", mend=mend, exit_code=Exit.USAGE)


def of_report(made: Report, patches: Mapping[tuple[str, str], Patches] | None = None) -> str:
    """Return the page of a report."""
    from hunkwatch.report import page  # noqa: PLC0415 - needs the extra

    return page.of_report(made, patches=patches)


def of_patches(subject: str, calls: Sequence[Explained], together: Sequence[str]) -> str:
    """Return the page that explains patches."""
    needed()
    from hunkwatch.report import page  # noqa: PLC0415 - needs the extra

    return page.of_patches(subject, calls, together)


def write(path: Path, text: str) -> None:
    """Write a page and say where it is; a page that was there stays until the new one is whole."""
    try:
        handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as stream:
                stream.write(text)
            Path(name).chmod(0o644 & ~_mask())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Halt(f"cannot write {path}: {error.strerror}", mend="Name a file that can be written.", exit_code=Exit.USAGE) from None
    printing.remark(f"wrote {path}, {len(text.encode('utf-8', 'replace')) / 1e6:.1f} MB; open it in a browser")


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

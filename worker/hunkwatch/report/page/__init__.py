"""A report as one page that carries everything it needs: it opens from a mail attachment and asks no server for anything.

Needs the extra ``report``. Its policy forbids every request and every script but its own two, which are named by their hashes; what
comes from data is escaped by the template engine, or set as text by the page's script.
"""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from importlib import metadata, resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hunkwatch.core import evaluate
from hunkwatch.report import explained, words
from hunkwatch.report.compare import METHOD
from hunkwatch.report.page import figures, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hunkwatch.report.compare import Comparison
    from hunkwatch.report.explained import Explained, Patches
    from hunkwatch.report.made import Report

_KINDS = {"": "", " ": "", "-": " minus", "+": " plus"}
_CLASSES = {explained.BLIND: " blind", explained.RETYPED: " retyped", explained.KEPT: " kept"}


def of_report(report: Report, *, heading: str = "Hunkwatch report", patches: Mapping[tuple[str, str], Patches] | None = None) -> str:
    """Return the page. ``patches`` explains some traces by project and trace id; without it the page shows no code."""
    worth = report.survey.worth_opening()
    lines = [
        {
            "number": number,
            "name": words.name(line.name),
            "link": report.link(line.project, line.trace_id),
            "facts": words.about(line),
            "patches": (patches or {}).get((line.project, line.trace_id)),
        }
        for number, line in enumerate(worth, start=1)
    ]
    scripts = {"table": _asset("table.js"), "plotly": _plotly(), "plots": _asset("plots.js")}
    drawn = figures.of(report.survey)
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            policy=_policy(*scripts.values()),
            version=metadata.version("hunkwatch"),
            scorer=evaluate.SCORER,
            css=Markup(_asset("page.css")),  # noqa: S704 - our own file
            scripts={name: Markup(text) for name, text in scripts.items()},  # noqa: S704 - our own files and the library's
            data=_data({"figures": [figure.drawn for figure in drawn], "traces": table.of(report, worth)}),
            heading=heading,
            title=words.title(report),
            period=words.period(report),
            source=report.source,
            left_out=words.left_out(report),
            made_at=f"{report.made_at:%Y-%m-%d %H:%M} UTC",
            summary=words.summary(report.survey.total),
            caveats=words.CAVEATS,
            compared=_compared(report.survey.comparison),
            figures=drawn,
            order=words.ORDER,
            worth=lines,
            with_patches=patches is not None,
            about_traces=table.about(report),
        )
    )


def of_patches(subject: str, calls: Sequence[Explained], together: Iterable[str] = ()) -> str:
    """Return a page that explains some patches, as ``explain`` does on a terminal."""
    return (
        _environment()
        .get_template("explained.html.jinja")
        .render(
            policy=_policy(),
            version=metadata.version("hunkwatch"),
            css=Markup(_asset("page.css")),  # noqa: S704 - our own file
            subject=subject,
            counted=words.many(len(calls), "call"),
            calls=calls,
            together=tuple(together),
            caveats=explained.CAVEATS,
        )
    )


def _compared(comparison: Comparison | None) -> dict[str, object] | None:
    if comparison is None:
        return None
    columns = ("share", *(words.name(side.name) for side in comparison.sides), "difference", "verdict")
    rows = [difference.cells() for difference in comparison.differences()]
    return {"title": comparison.title, "columns": columns, "rows": rows, "method": METHOD}


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("hunkwatch.report.page", ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters.update(visible=lambda text: words.visible(text, "\N{REPLACEMENT CHARACTER}"))
    made.globals.update(kinds=_KINDS, classes=_CLASSES, marks=tuple(explained.MARKS.items()))
    return made


def _policy(*scripts: str) -> str:
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts) or "'none'"
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def _data(value: object) -> Markup:
    """Write data for a script element: no text in it can end the element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - nothing in it is markup any more


def _plotly() -> str:
    """Return the plotting library's script as its package carries it, without loading the package."""
    found = find_spec("plotly")
    assert found is not None, "the extra is there: whoever calls has looked"
    assert found.submodule_search_locations, "it is a package"
    return Path(found.submodule_search_locations[0], "package_data", "plotly.min.js").read_text("utf-8")


def _asset(name: str) -> str:
    return resources.files("hunkwatch.report.page").joinpath(name).read_text("utf-8")

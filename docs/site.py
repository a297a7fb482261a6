"""What the site needs beside the pages: the files of the repository that they link to, and a place in the menu for every page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
OUTSIDE = re.compile(r"\]\(((?:\.\./)+)((?:deploy/|\.github/|config\.example\.toml|Makefile|README\.md)[\w./-]*)\)")
"""A link from a page to a file of the repository that is no page."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put pages that nobody gave a place at the end of the menu."""
    folder = Path(config.docs_dir)
    nav: list[dict[str, Any]] = config.nav or []
    placed = {path for entry in nav for path in entry.values() if isinstance(path, str)}
    decisions = sorted(path.relative_to(folder).as_posix() for path in (folder / "decisions").glob("0*.md"))
    rest = sorted(path.name for path in folder.glob("*.md") if path.name not in placed)
    config.nav = [*nav, *rest, {"Records of decisions": decisions}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that pages link to; one that does not exist stays a broken link."""
    for page in files.documentation_pages():
        for _, name in OUTSIDE.findall(page.content_string):
            if (ROOT / name).is_file() and files.get_file_from_path(_place(name)) is None:
                files.append(File.generated(config, _place(name), abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Point such links to where the files are on the site."""
    up = "../" * page.file.src_uri.count("/")
    return OUTSIDE.sub(lambda found: f"]({up}{_place(found[2])})", markdown)


def _place(name: str) -> str:
    # A page of the repository is shown as the text that it is.
    return f"files/{name.lstrip('.')}.txt" if name.endswith(".md") else f"files/{name.lstrip('.')}"

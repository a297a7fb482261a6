"""The documentation is built as a site, and nothing that is wrong with it goes unnoticed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def build(root: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site as ``make docs`` does; skip where its tool is not installed."""
    mkdocs, make = Path(sys.executable).with_name("mkdocs"), shutil.which("make")
    if not mkdocs.exists() or make is None:
        pytest.skip("mkdocs is not installed (make .venv/.docs)")
    words = [make, "-o", ".venv/.docs", "docs", f"SITE={site}", f"BIN={mkdocs.parent}"]
    return subprocess.run(words, cwd=root, env={**os.environ}, capture_output=True, text=True, check=False, timeout=100)


def test_the_site_has_every_page_and_every_file_that_one_links_to(tmp_path: Path) -> None:
    """Without a warning; pages of the repository's own menu, the rest at its end."""
    done = build(ROOT, tmp_path / "site")

    assert (done.returncode, re.findall(r"WARNING.*", done.stdout + done.stderr)) == (0, [])
    pages = [page.relative_to(DOCS) for page in DOCS.rglob("*.md")]
    made = {
        page: tmp_path / "site" / (page.parent if page.stem in {"index", "README"} else page.with_suffix("")) / "index.html"
        for page in pages
    }
    assert [str(page) for page, file in made.items() if not file.exists()] == []
    menu = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert [str(page) for page in pages if page.stem not in {"index", "README"} and f'href="{page.with_suffix("")}/"' not in menu] == []
    assert (tmp_path / "site" / "files" / "config.example.toml").read_bytes() == (ROOT / "config.example.toml").read_bytes()


@pytest.mark.parametrize("wrong", ["[x](nowhere.md)", "[x](scores.md#nowhere)", "[x](../deploy/nowhere.yaml)", "[x](/absolute.md)"])
def test_what_leads_nowhere_is_an_error(tmp_path: Path, wrong: str) -> None:
    """A page, a heading, a file of the repository."""
    for name in ("Makefile", ".mkdocs.yml"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    for name in re.findall(r"\]\(\.\./([\w./-]+)\)", "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    with (tmp_path / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{wrong}\n")

    done = build(tmp_path, tmp_path / "site")

    assert done.returncode != 0
    assert "index.md" in done.stdout + done.stderr

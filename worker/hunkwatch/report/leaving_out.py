"""Which files a report leaves out: generated ones and lockfiles, which no agent should be measured by.

A pattern with a slash is held against the end of a path, one without against the file's name; ``*`` also spans slashes. Counts of
what was left out are kept by pattern, so that a report can say what it does not show.
"""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import translate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

GENERATED = (
    "*.lock",
    "*.lockb",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "packages.lock.json",
    "go.sum",
    "*.min.js",
    "*.min.css",
    "*.js.map",
    "*.css.map",
    "*.snap",
    "*.pb.go",
    "*_pb2.py",
    "*_pb2.pyi",
    "*_pb2_grpc.py",
    "*.g.dart",
    "*.freezed.dart",
    "*.designer.cs",
    "*.generated.*",
    "*_generated.*",
    "node_modules/*",
    "__generated__/*",
    "__snapshots__/*",
)
"""What is left out unless somebody wants it: lockfiles, bundles, snapshots and the output of code generators."""


class LeavingOut:
    """Decides path by path, and counts how often a pattern decided."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """Take globs; none of them leaves nothing out."""
        self.patterns = tuple(dict.fromkeys(patterns))
        self.counted: Counter[str] = Counter()
        self._ways = [(pattern, re.compile(translate(f"*/{pattern.removeprefix('/')}"))) for pattern in self.patterns]
        self._known: dict[str, str] = {}

    def __call__(self, path: str) -> bool:
        """Say whether the path is left out."""
        pattern = self._known.get(path)
        if pattern is None:
            pattern = next((name for name, way in self._ways if way.match(f"/{path}")), "")
            self._known[path] = pattern
        if pattern:
            self.counted[pattern] += 1
        return bool(pattern)

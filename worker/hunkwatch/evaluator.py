"""The scorer as one file for Langfuse's code evaluators: made from ``core`` anew each time, never kept.

Every module that ``core.single`` needs is written into the file as source, without docstrings, comments and annotations of functions, and
compiled there only when it is first used: the runtime gives such a function two seconds and little of a processor.
"""

from __future__ import annotations

import ast
from functools import cache
from hashlib import sha256
from importlib import metadata, util
from importlib.abc import InspectLoader
from typing import TYPE_CHECKING

from hunkwatch.core import evaluate, single

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGEST = 256_000
"""Bytes that Langfuse takes as the source of one evaluator, rounded down."""

_ROOT = "hunkwatch"
_START = single.__name__


def source(kind: str, name: str) -> str:
    """Return the file for a rule that selects observations of this type, and of this name if it selects a single one."""
    package, sources = _bundle()
    return _FILE.format(
        version=metadata.version("hunkwatch"),
        scorer=evaluate.SCORER,
        kind=kind,
        name=name,
        package=package,
        sources=sources,
        start=f"{package}{_START.removeprefix(_ROOT)}",
    )


@cache
def _bundle() -> tuple[str, str]:
    """Return the package's name in the file, another one for other contents, and its modules as the items of a dict."""
    modules = _modules()
    package = f"{_ROOT}_{sha256(''.join(modules.values()).encode()).hexdigest()[:12]}"
    renamed = {f"{package}{module.removeprefix(_ROOT)}": _write(module, text, package) for module, text in modules.items()}
    return package, "".join(f"    {module!r}: {_quoted(text)},\n" for module, text in renamed.items())


# ---------------------------------------------------------------- which modules


def _modules() -> Mapping[str, str]:
    """Return the text of every module that the start needs, itself and all packages included, by name."""
    found: dict[str, str] = {}
    waiting = [_START]
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found[module] = "" if module == _ROOT else _text(module)
        waiting.extend(_imported(found[module]))
        if "." in module:
            waiting.append(module.rpartition(".")[0])
    return dict(sorted(found.items()))


def _imported(text: str) -> Iterator[str]:
    for node in ast.walk(_Bare().visit(ast.parse(text))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == _ROOT:
            yield node.module
            if _is_package(node.module):
                yield from (full for alias in node.names if util.find_spec(full := f"{node.module}.{alias.name}") is not None)


def _is_package(module: str) -> bool:
    spec = util.find_spec(module)
    return spec is not None and spec.submodule_search_locations is not None


def _text(module: str) -> str:
    spec = util.find_spec(module)
    assert spec is not None
    assert isinstance(spec.loader, InspectLoader)
    text = spec.loader.get_source(module)
    assert text is not None
    return text


# ---------------------------------------------------------------- what is left of a module


def _write(module: str, text: str, package: str) -> str:
    tree = _Bare().visit(ast.parse(text, module))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == _ROOT:
            node.module = f"{package}{node.module.removeprefix(_ROOT)}"
    return ast.unparse(ast.fix_missing_locations(tree))


class _Bare(ast.NodeTransformer):
    """Leaves out what only people and type checkers read; annotations of fields stay, since they make the class."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        for argument in filter(None, every):
            argument.annotation = None
        node.body = [bare for each in node.body if (bare := _without_annotation(each)) is not None]
        return self._filled(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._filled(node)

    def _filled(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node


def _without_annotation(node: ast.stmt) -> ast.stmt | None:
    if not isinstance(node, ast.AnnAssign):
        return node
    return None if node.value is None else ast.copy_location(ast.Assign([node.target], node.value), node)


def _quoted(text: str) -> str:
    """Write a text as a literal in plain ASCII: as it stands where that means the same."""
    plain = f"r'''\n{text}\n'''"
    try:
        same = bool(text) and plain.isascii() and ast.literal_eval(plain) == f"\n{text}\n"
    except (SyntaxError, ValueError):
        same = False
    return plain if same else ascii(text)


_FILE = '''\
"""Scores the apply_patch calls of one observation, from the text of the patch alone.

Written by `hunkwatch export-evaluator`, hunkwatch {version}, scorer version {scorer}. Do not change it by hand: write it anew instead.
Standard library only. A rule for it selects the observations whose type and name stand below.
"""

import importlib.abc
import importlib.util
import sys

OBSERVATION_TYPE = {kind!r}
OBSERVATION_NAME = {name!r}

_PACKAGE = {package!r}
_SOURCES = {{
{sources}}}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Serves the modules above; each is compiled when something of it is first used."""

    def find_spec(self, name, path=None, target=None):
        if name not in _SOURCES:
            return None
        loader = self if self.is_package(name) else importlib.util.LazyLoader(self)
        return importlib.util.spec_from_loader(name, loader, is_package=self.is_package(name))

    def get_source(self, name):
        return _SOURCES[name]

    def is_package(self, name):
        return any(other.startswith(name + ".") for other in _SOURCES)


if _PACKAGE not in sys.modules:
    sys.meta_path.insert(0, _Finder())


if "Score" not in globals() or "EvaluationResult" not in globals():

    class Score:
        """What Langfuse's runtime has under this name; only for a run elsewhere."""

        def __init__(self, name, value, data_type, comment=None, config_id=None, metadata=None):
            self.name, self.value, self.data_type = name, value, data_type
            self.comment, self.config_id, self.metadata = comment, config_id, metadata

    class EvaluationResult:
        """What Langfuse's runtime has under this name; only for a run elsewhere."""

        def __init__(self, scores):
            self.scores = scores


def evaluate(ctx):
    """Evaluate one observation and return its scores, at least one."""
    scorer = importlib.import_module({start!r})
    seen = ctx.observation
    told = scorer.scores(OBSERVATION_TYPE, OBSERVATION_NAME, seen.input, seen.output, seen.metadata)
    return EvaluationResult(scores=[Score(**score._asdict()) for score in told])
'''

"""The Python scanner against Python's own parser, and what programs hand over."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.core.quoting import program, python
from hunkwatch.core.quoting.program import DYNAMIC, Each

PATCH = "*** Begin Patch\n*** Add File: a.py\n+x = 'it' + \"s\" # \\n é 🚀\n*** End Patch"


def handed(source: str) -> list[object]:
    """Return the first argument, or the keyword ``input``, of each call of the patch tool."""
    made = [call for call in python.made(source) if call.name.endswith("apply_patch")]
    return [call.arguments[0] if call.arguments else call.keywords.get("input") for call in made]


@pytest.mark.parametrize(
    "source",
    [
        f"apply_patch({PATCH!r})",
        f"import tools\npatch = {PATCH!r}\nprint(tools.apply_patch(patch))",
        f"apply_patch(r'''{PATCH}''')",
        f"result = apply_patch(input={PATCH!r})  # apply_patch('no')",
        "patch = '\\n'.join([\n" + ",\n".join(repr(line) for line in PATCH.split("\n")) + "\n])\napply_patch(patch)",
        "apply_patch(\n" + "\n".join(repr(line + "\n") for line in PATCH.split("\n")) + ".rstrip())",
        f"def apply_patch_all(text):\n    apply_patch({PATCH!r})\n",
        f"import textwrap\napply_patch(textwrap.dedent({textwrap.indent(PATCH, '    ')!r}))",
        f"apply_patch(f{PATCH!r})",
    ],
)
def test_a_literal_reaches_the_call(source: str) -> None:
    """Literals in every quoting, names, lines that are joined or stand side by side."""
    assert [PATCH] == handed(source)


@pytest.mark.parametrize("argument", ["open('x').read()", "f'a{b}'", "'a' if b else 'c'", "'a' % b"])
def test_what_only_running_tells_is_not_guessed(argument: str) -> None:
    """A value with a part that is not known is dynamic as a whole."""
    assert [DYNAMIC] == handed(f"apply_patch({argument})")


def test_a_loop_hands_over_each_item() -> None:
    """A loop variable stands for the items of a list that is known."""
    assert [Each(["a", "b"])] == handed("for p in ['a', 'b']:\n    apply_patch(p)")


def test_a_definition_is_no_call() -> None:
    """Neither is an import."""
    assert [] == handed("from tools import apply_patch\ndef apply_patch(text):\n    return text\n")


@given(st.text())
def test_every_repr_gives_the_text_back(text: str) -> None:
    """Whatever quotes ``repr`` chooses."""
    assert [text] == handed(f"apply_patch({text!r})")


@settings(max_examples=80)
@given(
    st.lists(
        st.sampled_from(
            [
                "a = 'it\\'s'",
                "b = \"x # y\"  # 'no'",
                "c = '''three\n'quotes\\''''",
                'd = """q"q""q"""',
                "e = r'raw\\n'",
                "f = b'bytes'.decode()",
                "g = ('in'\n     , \"side\")",
                "h = '\\x41\\u00e9\\N' if 0 else '\\\nnext'",
                "def f():\n    'doc'\n    return 1 // 2",
            ]
        ),
        max_size=6,
    )
)
def test_literals_are_where_python_sees_them(pieces: list[str]) -> None:
    """Comments, triple quotes, prefixes and continued lines, as the language's own parser reads them."""
    source = "\n".join(piece for piece in pieces if "\\N" not in piece) + "\n"
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    expected = [node.value if isinstance(node.value, str) else node.value.decode() for node in nodes]

    assert expected == [token.value for token in python.tokens(source) if token.kind == "text"]


@given(st.text(st.sampled_from("ab'\"\\frb()[]{}=,+.#:\n "), max_size=80))
def test_no_source_raises(source: str) -> None:
    """Whatever the brackets do, something comes back."""
    assert isinstance(python.made("apply_patch(" + source), list)


def test_dedent_takes_the_common_margin_away() -> None:
    """As the standard library does, blank lines aside."""
    text = "    a\n      b\n\n    c"

    assert textwrap.dedent(text) == program.dedented(text)

"""The JavaScript scanner against tree-sitter, and what programs hand over."""

from __future__ import annotations

import json

import pytest
import tree_sitter_javascript
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_sitter import Language, Node, Parser

from hunkwatch.core.quoting import escapes, javascript
from hunkwatch.core.quoting.program import DYNAMIC, Each

PATCH = '*** Begin Patch\n*** Add File: a.js\n+const s = `it\'s ${x} "q" \\n \\u2192` // é 🚀\n*** End Patch'
LITERAL = json.dumps(PATCH)
TEMPLATE = "`" + PATCH.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${") + "`"
JAVASCRIPT = Parser(Language(tree_sitter_javascript.language()))


def arguments(source: str) -> list[object]:
    """Return the first argument of each call of the patch tool."""
    made = [call for call in javascript.made(source) if call.name.endswith("apply_patch")]
    return [call.arguments[0] if call.arguments else None for call in made]


@pytest.mark.parametrize(
    "source",
    [
        f"await tools.apply_patch({LITERAL})",
        f"text(await tools.apply_patch({TEMPLATE}));",
        f"const patch = {LITERAL};\ntext(await tools.apply_patch(patch));",
        f"let p: string = {TEMPLATE}\nconst out = await tools['apply_patch'](p)",
        "const ls = [\n" + ",\n".join(json.dumps(line) for line in PATCH.split("\n")) + ",\n];\nawait tools.apply_patch(ls.join('\\n'))",
        "let p = " + " + '\\n' + ".join(json.dumps(line) for line in PATCH.split("\n")) + ";\nawait tools.apply_patch(p.trim())",
        "let p = '';\n" + "".join(f"p += {json.dumps(line + chr(10))};\n" for line in PATCH.split("\n")) + "tools.apply_patch(p.trimEnd())",
        "const ls = [];\n" + "".join(f"ls.push({json.dumps(line)});\n" for line in PATCH.split("\n")) + "tools.apply_patch(ls.join(`\\n`))",
        f"async function go() {{ if (ok) {{ return await tools.apply_patch({LITERAL}); }} }}\nawait go();",
        f"/* tools.apply_patch('no') */ // tools.apply_patch(1)\nconst re = /[/`'\"]/g, s = 'f(1)';\ntools.apply_patch({LITERAL})",
    ],
)
def test_a_literal_reaches_the_call(source: str) -> None:
    """Literals, names, concatenation, lists that are joined, blocks, comments and regular expressions around."""
    assert [PATCH] == arguments(source)


def test_a_raw_template_keeps_its_backslashes() -> None:
    """``String.raw`` undoes nothing."""
    assert ["a\\n${b}c"] == arguments("tools.apply_patch(String.raw`a\\n\\${b}c`)".replace("\\$", "$").replace("${b}", "${'${b}'}"))


@pytest.mark.parametrize(
    "source",
    [
        "for (const p of ['a', 'b']) { await tools.apply_patch(p); }",
        "const ps = ['a', 'b']; await Promise.all(ps.map(async (p) => { return tools.apply_patch(p); }));",
        "['a', 'b'].forEach(p => tools.apply_patch(p))",
    ],
)
def test_a_loop_hands_over_each_item(source: str) -> None:
    """A loop variable stands for the items of a list that is known."""
    assert [Each(["a", "b"])] == arguments(source)


@pytest.mark.parametrize(
    "source",
    [
        "tools.apply_patch(await tools.read('x'))",
        "tools.apply_patch(a ? 'x' : 'y')",
        "tools.apply_patch(`a${b}`)",
        "tools.apply_patch('a' + b)",
        "tools.apply_patch(p.replace('a', 'b'))",
    ],
)
def test_what_only_running_tells_is_not_guessed(source: str) -> None:
    """A value with a part that is not known is dynamic as a whole."""
    assert [DYNAMIC] == arguments(source)


@given(st.text(st.characters(exclude_characters="\r\u2028\u2029")))
def test_every_literal_gives_the_text_back(text: str) -> None:
    """Double quotes as JSON writes them, single quotes, templates."""
    single = "'" + json.dumps(text)[1:-1].replace("'", "\\'").replace('\\"', '"') + "'"
    template = "`" + text.replace("\\", "\\\\").replace("`", "\\`").replace("$", "\\$") + "`"
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    assert [joined, joined, text] == [arguments(f"tools.apply_patch({literal})")[0] for literal in (json.dumps(text), single, template)]


def strings(node: Node) -> list[str]:
    """Return the string literals and template texts below a node, undone by our table."""
    if node.type == "string":
        return [escapes.undo((node.text or b"").decode()[1:-1], escapes.JAVASCRIPT)]
    if node.type == "string_fragment" and node.parent is not None and node.parent.type == "template_string":
        return [escapes.undo((node.text or b"").decode(), escapes.JAVASCRIPT)]
    return [found for child in node.children for found in strings(child)]


@settings(max_examples=80)
@given(
    st.lists(
        st.sampled_from(
            [
                "const a = 'it\\'s';",
                'f("a // b", `c /* d`);',
                "// 'no'\n",
                '/* "no" */',
                "x = y / 2 / z; 'after';",
                "s.replace(/['\"`/]/g, 'q');",
                "if (a) /re'x/.test('t');",
                "g(`${h('in')}`);",
                "`a${`b${'c'}d`}e`;",
                "o = {k: 'v', 'w': `z`};",
            ]
        ),
        max_size=6,
    )
)
def test_strings_are_where_tree_sitter_sees_them(pieces: list[str]) -> None:
    """Comments, regular expressions, divisions and nested templates hide no string and make none."""
    source = "\n".join(pieces)
    expected = [text for text in strings(JAVASCRIPT.parse(source.encode()).root_node) if text]

    assert expected == [token.value for token in javascript.tokens(source) if token.kind == "text" and token.value]


@given(st.text(st.sampled_from("ab'\"`\\${}()[]/*=>+,;:.\n "), max_size=80))
def test_no_source_raises(source: str) -> None:
    """Whatever the brackets do, something comes back."""
    assert isinstance(javascript.made("tools.apply_patch(" + source), list)


def test_doubling_is_bounded() -> None:
    """A text that a program doubles again and again is not built."""
    source = "let a = 'x';" + "a = a + a;" * 200 + "tools.apply_patch(a)"

    assert [DYNAMIC] == arguments(source)

"""The shell scanner against the shell itself and against tree-sitter: what reaches the patch command is what we say reaches it."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import tree_sitter_bash
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_sitter import Language, Node, Parser

from hunkwatch.core.quoting import Fed, Steps, shell, shellwords

PATCH = '*** Begin Patch\n*** Add File: a b.md\n+it\'s "5" $HOME `date` \\n \\\\ ! # é 🚀\n*** End Patch'
BASH = Parser(Language(tree_sitter_bash.language()))
RECORDER = 'apply_patch() { if [ "$#" -gt 0 ]; then printf %s "$1"; else cat; fi; printf "\\0"; }\nexport -f apply_patch\n'

plain = st.text(st.sampled_from("ab +-*@'\"\\$`!#\n\té🚀(){}<>|&;~=%"), max_size=60)


def single(text: str) -> str:
    """Return the text in single quotes."""
    return "'" + text.replace("'", "'\\''") + "'"


def double(text: str) -> str:
    """Return the text in double quotes."""
    for sign in '\\"$`':
        text = text.replace(sign, "\\" + sign)
    return f'"{text}"'


def loose_heredoc(text: str) -> str:
    """Return the text as the body of an unquoted heredoc."""
    for sign in "\\$`":
        text = text.replace(sign, "\\" + sign)
    return text


SCRIPTS = {
    "a quoted heredoc": f"apply_patch <<'EOF'\n{PATCH}\nEOF\n",
    "an odd delimiter": f'apply_patch <<"PATCH-1"\n{PATCH}\nPATCH-1\n',
    "an escaped delimiter": f"apply_patch <<\\EOF\n{PATCH}\nEOF\n",
    "an unquoted heredoc": f"apply_patch <<EOF\n{loose_heredoc(PATCH)}\nEOF\n",
    "a heredoc with tabs": "apply_patch <<-'EOF'\n\t" + PATCH.replace("\n", "\n\t") + "\n\tEOF\n",
    "behind other commands": f"cd 'x y' 2>/dev/null; true && FOO=1 apply_patch <<'EOF'; echo done >/dev/null\n{PATCH}\nEOF\ntrue\n",
    "two heredocs": f"apply_patch <<'A'\n{PATCH}\nA\napply_patch <<'B'\n{PATCH}\nB\n",
    "two heredocs on one line": f"cat <<'A' >/dev/null; apply_patch <<'B'\nno\nA\n{PATCH}\nB\n",
    "single quotes": f"apply_patch {single(PATCH)}\n",
    "double quotes": f"apply_patch {double(PATCH)}\n",
    "ANSI-C quotes": "apply_patch $'" + PATCH.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'\n",
    "pieces of a word": "apply_patch '*** Begin Patch'\"\n\"'*** End Patch'\n",
    "a continued line": f"apply_patch \\\n  {single(PATCH)}\n",
    "a substituted heredoc": f"apply_patch \"$(cat <<'EOF'\n{PATCH}\nEOF\n)\"\n",
    "backticks": "apply_patch \"`cat <<'EOF'\n*** Begin Patch\n+x\n*** End Patch\nEOF\n`\"\n",
    "a variable": f'PATCH={single(PATCH)}\napply_patch "$PATCH"\n',
    "a variable from a heredoc": f"PATCH=$(cat <<'EOF'\n{PATCH}\nEOF\n)\necho \"$PATCH\" >/dev/null\napply_patch \"${{PATCH}}\"\n",
    "an exported variable": f'export PATCH={single(PATCH)}; apply_patch "$PATCH"\n',
    "a heredoc that is one variable": f"P={single(PATCH)}\napply_patch <<EOF\n$P\nEOF\ncat <<EOF | apply_patch\n${{P}}\nEOF\n",
    "a heredoc that is one argument": f"bash -c 'apply_patch <<EOF\n$1\nEOF' _ {single(PATCH)}\n",
    "a heredoc that is one substitution": f"cat > ./p <<'EOF'\n{PATCH}\nEOF\napply_patch <<EOF\n$(cat ./p)\nEOF\n",
    "a read variable": f"IFS= read -r -d '' PATCH <<'EOF'\n{PATCH}\nEOF\napply_patch <<< \"$PATCH\"\n",
    "a pipe from printf": f"printf '%s\\n' {single(PATCH)} | apply_patch\n",
    "a pipe from cat": f"cat <<'EOF' | apply_patch\n{PATCH}\nEOF\n",
    "a pipe from a group": f"{{ cat <<'EOF'\n{PATCH}\nEOF\n}} | apply_patch\n",
    "a pipe over a line end": f"printf '%s' {single(PATCH)} |\n  apply_patch\n",
    "a here-string": f"apply_patch <<< {single(PATCH)}\n",
    "a file": f"cat > ./p.patch <<'EOF'\n{PATCH}\nEOF\napply_patch < ./p.patch\n",
    "a file by tee": f"tee ./p.patch <<'EOF' >/dev/null\n{PATCH}\nEOF\ncat ./p.patch | apply_patch\n",
    "process substitution": f"apply_patch < <(printf '%s' {single(PATCH)})\n",
    "a conditional": f"if true; then\n  apply_patch <<'EOF'\n{PATCH}\nEOF\nfi\n",
    "a script inside": f"bash -c {single(f'apply_patch {single(PATCH)}')}\n",
    "the argument of a script inside": f"bash -c 'cd . && apply_patch \"$1\"' _ {single(PATCH)}\n",
    "the argument in braces": f"bash -euc 'apply_patch \"${{1}}\"' _ {single(PATCH)} more\n",
    "the second argument": f"sh -c 'printf %s \"$2\" | apply_patch' _ one {single(PATCH)}\n".replace("sh -c", "bash -c"),
    "the name of a script inside": f"bash -c 'apply_patch \"$0\"' {single(PATCH)}\n",
    "all arguments, which are one": f"bash -c 'apply_patch \"$@\"' _ {single(PATCH)}\n",
    "an argument through a variable": f"P={single(PATCH)}; bash -c 'Q=$1; apply_patch <<< \"$Q\"' _ \"$P\"\n",
    "an argument passed on": f"bash -c 'bash -c \"apply_patch \\\"\\$1\\\"\" _ \"$1\"' _ {single(PATCH)}\n",
    "arguments of two scripts": f"bash -c 'bash -c \"true patch\" _ other; apply_patch \"$1\"' _ {single(PATCH)}\n",
    "a script inside by heredoc": f"bash <<'SH'\napply_patch <<'EOF'\n{PATCH}\nEOF\nSH\n",
    "only mentioned": f"echo apply_patch {single(PATCH)} >/dev/null # apply_patch x\ncat > ./n.md <<'EOF'\napply_patch <<'X'\n+\nX\nEOF\n",
}  # fmt: skip


def bash(script: str, folder: str) -> list[str]:
    """Return what bash hands to the patch command."""
    program = shutil.which("bash")
    assert program is not None
    ran = subprocess.run([program, "-c", RECORDER + script], capture_output=True, text=True, cwd=folder, check=True, timeout=60)
    return [text.rstrip("\n") for text in ran.stdout.split("\0")[:-1]]


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_we_read_is_what_bash_hands_over(name: str, tmp_path: object) -> None:
    """The shell itself is the oracle; line ends behind the text do not matter."""
    script = SCRIPTS[name]

    expected = bash(script, str(tmp_path))

    assert expected == [(fed.text or "").rstrip("\n") for fed in shell.feeds(script)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"apply_patch <<'EOF'\n{PATCH}", [Fed(PATCH)]),
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF && make", [Fed(PATCH + "\n")]),
        (f"apply_patch <<'EOF'\n{PATCH}\n  EOF\nmake", [Fed(PATCH + "\n")]),
        (f"apply_patch '{PATCH[:30]}", [Fed(PATCH[:30])]),
        ("apply_patch <<EOF\n+$x\nEOF", [Fed("+$x\n", expanded=True)]),
        ("apply_patch <<EOF\n$x\nEOF", [Fed(None)]),
        ("apply_patch <<EOF\n$(git diff)\nEOF", [Fed(None)]),
        ("apply_patch <<'EOF'\n$x\nEOF", [Fed("$x\n")]),
        ("apply_patch <<EOF\n\\$x\nEOF", [Fed("$x\n")]),
        ("x='a\nb'; apply_patch <<EOF\n$x$x\nEOF", [Fed("$x$x\n", expanded=True)]),
        ("git diff | apply_patch", [Fed(None)]),
        ("apply_patch < unknown.patch", [Fed(None)]),
        ("apply_patch fix.patch", [Fed(None)]),
        ('apply_patch "$UNKNOWN"', [Fed(None)]),
        ("apply_patch", []),
        ("apply_patch --help; which apply_patch; command -v apply_patch", []),
        ("/usr/local/bin/applypatch 'x\ny'", [Fed("x\ny")]),
        ("docker exec -i box apply_patch <<'E'\nx\nE", [Fed("x\n")]),
        ("sudo -u me env A=b timeout 5 apply_patch 'x\ny'", [Fed("x\ny")]),
        ("bash -c 'apply_patch \"$1\"' _", [Fed(None)]),
        ("bash -c 'apply_patch \"$1\"' 'x\ny'", [Fed(None)]),
        ('bash -c \'apply_patch "$1"\' _ "$UNKNOWN"', [Fed(None)]),
        ("bash -c 'apply_patch \"$2\"' _ 'x\ny'", [Fed(None)]),
        ("bash -c 'apply_patch \"${1:-z}\"' _ 'x\ny'", [Fed(None)]),
        ("bash -c 'shift; apply_patch \"$1\"' _ 'x\ny' z", [Fed(None)]),
        ("bash -c 'set -- z; apply_patch \"$1\"' _ 'x\ny'", [Fed(None)]),
        ("bash -c 'set -e -- z; apply_patch \"$1\"' _ 'x\ny'", [Fed(None)]),
        ("bash -c 'set -euo pipefail; apply_patch \"$1\"' _ 'x\ny'", [Fed("x\ny")]),
        ("bash -c 'f() { apply_patch \"$1\"; }; f \"$2\"' _ 'x\ny' z", [Fed(None)]),
        ("bash -c 'function f { patch; }; apply_patch \"$1\"' _ 'x\ny'", [Fed(None)]),
        ("fish -c 'apply_patch \"$1\"' _ 'x\ny'", [Fed(None)]),
        ("bash -c 'printf %s \"$1\"' apply_patch 'x\ny'", []),
        ("bash -c 'bash -c \"apply_patch \\\"\\$1\\\"\"' _ 'x\ny'", [Fed(None)]),
        ("bash -c 'ssh host \"apply_patch \\\"\\$1\\\"\"' _ 'x\ny'", [Fed(None)]),
        ("bash -c 'eval \"apply_patch \\\"\\$1\\\"\"' _ 'x\ny'", [Fed("x\ny")]),
        ("bash -c : _ 'x\ny'; apply_patch \"$1\"", [Fed(None)]),
        ("bash -c 'true patch' _ 'x\ny'; apply_patch \"$1\"", [Fed(None)]),
        ("printf '%s\\0' 'x\ny' | xargs -0 bash -c 'apply_patch \"$1\"' _", [Fed(None)]),
        ("xargs -I{} bash -c 'apply_patch \"$1\"' _ {}", [Fed(None)]),
        ("python3 - <<'E'\napply_patch('x')\nE", [Fed("apply_patch('x')\n", language="python")]),
        ("python3 tools/apply_patch.py --dry-run in.json | tee log", []),
        ("./apply_patch.sh <<'E'\n*** x\nE", [Fed("*** x\n")]),
        ("x=$((1<<2)); apply_patch 'x\ny'", [Fed("x\ny")]),
    ],
)
def test_what_no_shell_would_take_is_read_all_the_same(script: str, expected: list[Fed]) -> None:
    """Unterminated text is taken to its end, and what only running tells is not guessed."""
    assert expected == list(shell.feeds(script))


@given(plain)
def test_every_quoting_gives_the_text_back(text: str) -> None:
    """Single quotes, double quotes and both kinds of heredoc undo what they do."""
    text = f"*** Begin\n{text}"
    scripts = [
        f"apply_patch {single(text)}",
        f"apply_patch {double(text)}",
        f"apply_patch <<'DONE'\n{text}\nDONE\n",
        f"apply_patch <<DONE\n{loose_heredoc(text)}\nDONE\n",
    ]

    assert [text] * 4 == [
        (fed.text or "").removesuffix("\n" * (at > 1)) for at, script in enumerate(scripts) for fed in shell.feeds(script)
    ]


def bodies(node: Node) -> list[str]:
    """Return the bodies of all heredocs below a node."""
    own = [(node.text or b"").decode()] if node.type == "heredoc_body" else []
    return own + [body for child in node.children for body in bodies(child)]


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(
            [
                "cat <<'A'\none 'two\nA\n",
                'cat <<"B" | wc -l\n+ x " y\nB\n',
                "echo 'a <<X b' \"c <<Y\" # <<Z\n",
                "cd a && cat <<'C' > f\nA\nB\nC\n",
                "x=$(cat <<'D'\nbody )\nD\n)\n",
                "if true; then ls; fi\n",
                "echo \"$(date)\" 'quo te'\n",
            ]
        ),
        max_size=6,
    )
)
def test_heredocs_are_where_tree_sitter_sees_them(pieces: list[str]) -> None:
    """Bodies start and end where a full parser of the language says, substitutions included."""
    script = "".join(pieces)

    assert bodies(BASH.parse(script.encode()).root_node) == _bodies(script)


def _bodies(script: str) -> list[str]:
    found = []
    for command in shellwords.Reader(script, Steps(10_000)).commands():
        for _, word in command.assignments:
            found += _bodies(word.inner) if word.inner else []
        found += [redirection.text.text or "" for redirection in command.redirections if redirection.sign == "<<"]
    return found


@given(st.text(st.sampled_from("ab '\"\\$`(){}<>|&;\n#=-EOF*"), max_size=80))
def test_no_script_raises(script: str) -> None:
    """Whatever the quotes and brackets do, something comes back."""
    assert isinstance(shell.feeds("apply_patch " + script), tuple)


@pytest.mark.parametrize("times", [30, 1000, 20_000])
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ('cat <<< "$(', ')"'),
        ("cat <<< $(", ")"),
        ("cat < <(", ")"),
        ("cat $(", ")"),
        ("X=$(", ")"),
        ("{ (", ") }"),
        ("`", "`"),
        ("cat <<A\n$(", ")\nA\n"),
        ("eval '", "'"),
        ("bash -c '", "'"),
    ],
)
def test_no_nesting_raises(opening: str, closing: str, times: int) -> None:
    """However deep something stands in itself, something comes back."""
    script = f"apply_patch <<< \"$({opening * times}echo x{closing * times})\"; apply_patch 'a\nb'"

    assert isinstance(shell.feeds(script), tuple)

"""The PowerShell scanner: what reaches the patch command from here-strings, quotes, variables, files and pipes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.core.quoting import Fed, powershell

PATCH = "*** Begin Patch\n*** Add File: a b.md\n+it's \"5\" \\n @' # é 🚀\n*** End Patch"
HERE = f"@'\n{PATCH}\n'@"


def double(text: str) -> str:
    """Return the text in double quotes."""
    for sign in '`"$':
        text = text.replace(sign, "`" + sign)
    return f'"{text}"'


@pytest.mark.parametrize(
    "script",
    [
        f"{HERE} | apply_patch",
        f"{HERE} | & 'C:\\tools\\apply_patch.bat'",
        f"apply_patch {HERE}",
        f"$patch = {HERE}\napply_patch $patch",
        f'$patch = {HERE}; $patch | apply_patch; if ($LASTEXITCODE) {{ "failed" }}',
        f'$patch = {HERE}\r\napply_patch "$patch"',
        f"Set-Location C:\\x; # apply_patch 'no'\n<# apply_patch 'no' #>\napply_patch {double(PATCH)}",
        "apply_patch '" + PATCH.replace("'", "''") + "'",
        f"Set-Content -Path fix.patch -Value {HERE}\nGet-Content -Raw fix.patch | apply_patch",
        f"{HERE} | Out-File fix.patch -Encoding utf8\napply_patch (Get-Content -Raw fix.patch)",
        f'@"\n{PATCH}\n"@ | apply_patch',
        f"@'\n{PATCH}\n  '@ | apply_patch",
    ],
)
def test_the_patch_reaches_the_command(script: str) -> None:
    """Piped, as an argument, through a variable or a file."""
    assert [PATCH] == [(fed.text or "").rstrip() for fed in powershell.feeds(script)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("git diff | apply_patch", [Fed(None)]),
        ("apply_patch $unknown", [Fed(None)]),
        ("Get-Content x.patch -Raw | apply_patch", [Fed(None)]),
        ("apply_patch --help; Get-Command apply_patch", []),
        (f"{HERE} | Set-Content notes.md", []),
        ('@"\n+$name\n"@ | apply_patch', [Fed("+$name", expanded=True)]),
        ("@'\nopen", []),
        ("apply_patch @'\nopen", [Fed("open")]),
    ],
)
def test_what_only_running_tells_is_not_guessed(script: str, expected: list[Fed]) -> None:
    """Unknown sources give no text, and what runs nothing gives nothing."""
    assert expected == list(powershell.feeds(script))


@given(st.text(st.sampled_from("ab +-*@'\"`$#\n\té(){}|;"), max_size=40))
def test_every_quoting_gives_the_text_back(text: str) -> None:
    """Single quotes, double quotes and a here-string undo what they do."""
    text = f"*** Begin\n{text}"
    quoted = ["'" + text.replace("'", "''") + "'", double(text), f"@'\n{text.replace(chr(10) + chr(39) + '@', '')}\n'@"]
    expected = [text, text, text.replace("\n'@", "")]

    assert expected == [fed.text for literal in quoted for fed in powershell.feeds(f"apply_patch {literal}")]


@given(st.text(st.sampled_from("ab'\"`@$(){}|;#<>\n "), max_size=80))
def test_no_script_raises(script: str) -> None:
    """Whatever the quotes and brackets do, something comes back."""
    assert isinstance(powershell.feeds("apply_patch " + script), tuple)

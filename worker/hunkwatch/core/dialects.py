"""What the parsers of five executors would say of a patch text, as far as their behaviour is known. Computed only when asked for.

Of the text only: whether the lines are found in the file is not known here. Each oddity of a text (a flag of the lenient reader, or one
that only these parsers mind) has one letter per parser in ``EFFECTS``; a parser's verdict is the gravest of them.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from hunkwatch.core.grammar import markers, parse
from hunkwatch.core.grammar.envelope import split
from hunkwatch.core.model import Action, Malformed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hunkwatch.core.model import FileEdit, Patch


class Parser(StrEnum):
    """Whose parser."""

    CODEX = "codex"
    CLINE = "cline"
    AGENTS = "agents"
    """OpenAI's Agents SDK, given an envelope."""
    OPENCODE = "opencode"
    VSCODE = "vscode"


class Verdict(StrEnum):
    """What a parser does with the text, gravest first."""

    REJECTS = "rejects"
    HANGS = "hangs"
    UNKNOWN = "unknown"
    MISREADS = "misreads"
    """Takes it, and reads something else than what is written."""
    DROPS = "drops"
    """Takes it, and leaves a part out without a word."""
    ACCEPTS = "accepts"


class Judgement(NamedTuple):
    """One parser's verdict, and the oddities of the text that lead to it, sorted; none when it accepts."""

    parser: Parser
    verdict: Verdict
    because: tuple[str, ...]


_LETTERS = {"r": Verdict.REJECTS, "h": Verdict.HANGS, "?": Verdict.UNKNOWN, "m": Verdict.MISREADS, "d": Verdict.DROPS, ".": Verdict.ACCEPTS}
_GRAVITY = {verdict: at for at, verdict in enumerate(Verdict)}

EFFECTS = {
    # codex, cline, agents, opencode, vscode
    "anchor_in_add": "rrrdr",
    "bare_first_hunk": "...d.",
    "bare_later_hunk": "rrrdr",
    "blank_add": "rrrdr",
    "blank_below_header": ".hr..",
    "blank_between_hunks": ".rr..",
    "blank_context": ".r.m.",
    "blank_first_line": ".h.m.",
    "bom": "r?r.r",
    "closed_anchor": "m..m.",
    "crlf": "...mr",
    "decorated": "r?rrr",
    "delete_and_add": ".r..r",
    "delete_body": "rrrdr",
    "empty_add": "..r..",
    "empty_hunk": "r.r..",
    "empty_patch": "..r..",
    "empty_update": "r.r..",
    "end_of_file_in_add": "rrrdr",
    "environment_id": ".rr.r",
    "heredoc": "..r.r",
    "hunk_after_end_of_file": "...d.",
    "indented_header": ".rrdr",
    "late_move": "rrrdr",
    "line_separator": "..m..",
    "malformed": "r?rrr",
    "nested_begin": "rrr.r",
    "no_begin": "rrrrr",
    "no_end": "rrrr.",
    "no_header": "r?r??",
    "no_markers": "r.rrr",
    "no_newline_note": "rmrdm",
    "no_path": "?????",
    "numbered_anchor": "m..m.",
    "padded_begin": ".rr.r",
    "padded_end": ".rrmm",
    "padded_path": "....m",
    "same_path_twice": ".r..r",
    "several_envelopes": "rd.dd",
    "stacked_anchors": "r....",
    "stray_move": "rrrdr",
    "stray_text": "rrrdr",
    "text_after": "r.r..",
    "text_before": "r.r.r",
    "tight_anchor": "rrr..",
    "tight_first_anchor": "rhr..",
    "tight_header": "rrr.r",
    "trailing_blank_after_end": "..r..",
    "unified": "r?r?r",
    "unified_header": "m???m",
    "unknown_marker": "rrrdr",
    "unprefixed_add": "rrrdr",
    "unprefixed_context": "r.rd.",
    "wrong_case": "rrrrr",
}
"""By oddity, a letter a parser: r rejects, h hangs, ? unknown, m misreads, d drops, . accepts."""

_HARMLESS = {"blank_anchor", "context_only_hunk", "fenced", "padded"}
_FIRST = {
    "tight_first_anchor": "tight_anchor",
    "blank_below_header": "blank_between_hunks",
    "blank_first_line": "blank_context",
}
"""Oddities that one parser never gets beyond, by what the same thing is called further down."""
_OF_THE_ARGUMENT = frozenset({"bom", "heredoc", "no_begin", "no_end", "several_envelopes", "text_after", "text_before"})
_SEPARATORS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|\r(?![\n]|\\Z)")


def judge(text: str, flags: Iterable[str] = ()) -> tuple[Judgement, ...]:
    """Return what each parser would say of the text, in the order of ``Parser``. Never raises.

    ``flags`` are what the finder knows of the argument that the patch was taken out of: what stood around it, and markers put there since.
    """
    odd = _oddities(text, _OF_THE_ARGUMENT.intersection(flags))
    return tuple(_judged(parser, column, odd) for column, parser in enumerate(Parser))


def _judged(parser: Parser, column: int, odd: set[str]) -> Judgement:
    found = {name: _LETTERS[EFFECTS[name][column]] for name in odd if name in EFFECTS}
    verdict = min(found.values(), key=_GRAVITY.__getitem__, default=Verdict.ACCEPTS)
    because = () if verdict is Verdict.ACCEPTS else tuple(sorted(name for name, effect in found.items() if effect is verdict))
    return Judgement(parser, verdict, because)


def _oddities(text: str, around: frozenset[str]) -> set[str]:
    patch = parse(text)
    odd = {*around, *patch.flags}
    if isinstance(patch, Malformed):
        return odd - {"no_begin", "no_end"} | {"malformed"}
    if {"no_begin", "no_end"} <= odd:
        odd = odd - {"no_begin", "no_end"} | {"no_markers"}
    lines = split(text.removeprefix("\ufeff"))
    odd |= _of_markers(lines) | _of_lines(lines, patch)
    if _SEPARATORS.search(text):
        odd.add("line_separator")
    if not patch.files:
        odd.add("empty_patch")
    for edit in patch.files:
        odd |= _of_section(edit, lines)
    for first, later in _FIRST.items():
        if first in odd:
            odd.discard(later)
    return odd


def _of_markers(lines: list[str]) -> set[str]:
    odd = set()
    begins = [line for line in lines if markers.is_begin(line)]
    if begins and begins[0][:1].isspace():
        odd.add("padded_begin")
    told = [line for line in lines if line.strip()]
    ends = [line for line in told if line[:3] == markers.STARS and markers.is_end(line)]
    if any(line != line.rstrip() for line in ends):
        odd.add("trailing_blank_after_end")
    if not ends and told and markers.is_end(told[-1]):
        odd.add("padded_end")
    return odd


def _of_lines(lines: list[str], patch: Patch) -> set[str]:
    """Find empty lines that separate hunks: those below an Update header that are in none of its hunks."""
    for edit in patch.files:
        for hunk in edit.hunks if edit.action is Action.UPDATE else ():
            after = hunk.numbers[-1]
            if after < len(lines) and not lines[after]:
                return {"blank_between_hunks"}
    return set()


def _of_section(edit: FileEdit, lines: list[str]) -> set[str]:
    odd = set()
    if edit.line and lines[edit.line - 1].rstrip() != lines[edit.line - 1]:
        odd.add("padded_path")
    if edit.action is Action.ADD and not edit.hunks:
        odd.add("empty_add")
    if any(hunk.ends_file for hunk in edit.hunks[:-1]):
        odd.add("hunk_after_end_of_file")
    if edit.action is Action.UPDATE and edit.hunks:
        odd |= _of_first_hunk(edit, lines)
    return odd


def _of_first_hunk(edit: FileEdit, lines: list[str]) -> set[str]:
    odd = set()
    hunk = edit.hunks[0]
    first = hunk.numbers[0] - 1
    if hunk.anchors:
        anchor = lines[first - 1]
        if anchor.startswith(markers.ANCHOR) and anchor[2:3] not in {"", " "}:
            odd.add("tight_first_anchor")
    if not lines[first] and not any(hunk.anchors):
        odd.add("blank_first_line")
    below = edit.line + bool(edit.moved_to)
    if edit.line and below < first and not lines[below]:
        odd.add("blank_below_header")
    return odd

"""``score``: every form of input, the numbers of each call once, and the gate."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

Say = Callable[..., Any]
Row = Callable[..., dict[str, Any]]

NUMBERS = ("shape", "blind_rewrite", "hunks", "blind_hunks", "retyped_lines")
BLIND_NUMBERS = ("blind_rewrite", 0.5, 2, 1, 2)


def numbers(found: dict[str, Any]) -> tuple[Any, ...]:
    """Return the numbers of one printed call."""
    return tuple(found[name] for name in NUMBERS)


def test_what_is_said_steers_no_terminal(say: Say, row: Row, patches: Any, tmp_path: Path) -> None:
    """An id that a gate names comes from whoever wrote the trace."""
    file = tmp_path / "export.jsonl"
    file.write_text(json.dumps(row(patches.blind, observation="o\x1b[2J\u202e")), "utf-8")

    said = say("score", "--fail-under", "1", file)

    assert (1, True, []) == (said.code, "o?[2J?" in said.err, [sign for sign in ("\x1b", "\u202e") if sign in said.err])


# ---------------------------------------------------------------- one patch


def test_a_patch_file_is_one_call_without_a_trace(say: Say, patches: Any, tmp_path: Path) -> None:
    """Nothing is known of it but its text."""
    file = tmp_path / "patch.txt"
    file.write_text(patches.blind, "utf-8")

    said = say("score", "--json", "--text", file)

    expected = {
        "trace_id": None,
        "observation_id": None,
        "call_id": None,
        "index": 0,
        "producer": "text",
        "outcome": "unknown",
        "shape": "blind_rewrite",
        "blind_rewrite": 0.5,
        "hunks": 2,
        "blind_hunks": 1,
        "retyped_lines": 2,
        "flags": [],
        "patch": patches.blind,
    }
    assert (0, [expected], "") == (said.code, said.objects, said.err)


def test_stdin_is_read_for_a_dash(say: Say, patches: Any) -> None:
    """A pipe works like a file."""
    assert [numbers(found) for found in say("score", "--json", "-", stdin=patches.blind).objects] == [BLIND_NUMBERS]


def test_the_patch_is_printed_only_when_asked_for(say: Say, patches: Any) -> None:
    """Numbers can be kept where text may not be."""
    assert "patch" not in say("score", "--json", "-", stdin=patches.blind).objects[0]


def test_abstaining_is_null_and_not_zero(say: Say, patches: Any) -> None:
    """A new file has no hunk, so it has no number."""
    (found,) = say("score", "--json", "-", stdin=patches.new_file).objects

    assert numbers(found) == ("new_file", None, 0, 0, None)


def test_several_patches_in_one_text_are_several_calls(say: Say, patches: Any) -> None:
    """Every envelope is a call, numbered."""
    found = say("score", "--json", "-", stdin=f"{patches.surgical}\n{patches.blind}\n").objects

    assert [(one["index"], one["shape"]) for one in found] == [(0, "no_blind_rewrite"), (1, "blind_rewrite")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_byte_order_marks_do_not_matter(say: Say, patches: Any, encoding: str) -> None:
    """A file that another shell wrote is read too."""
    assert numbers(say("score", "--json", "-", stdin=patches.blind.encode(encoding)).objects[0]) == BLIND_NUMBERS


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (b"", "malformed"),
        (b"hello", "malformed"),
        (b"\xff\xfe\xfa", "malformed"),
        (b"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n", "truncated"),
    ],
)
def test_what_is_no_whole_patch_still_gets_its_line(say: Say, text: bytes, shape: str) -> None:
    """A text file is always judged, whatever is in it."""
    said = say("score", "--json", "-", stdin=text)

    assert (0, [(shape, None)]) == (said.code, [(found["shape"], found["blind_rewrite"]) for found in said.objects])


@pytest.mark.parametrize("key", ["input", "patch", "patchText"])
def test_arguments_as_json_are_a_text(say: Say, patches: Any, key: str) -> None:
    """The arguments of a call, saved alone, are scored like their patch."""
    (found,) = say("score", "--json", "-", stdin=json.dumps({key: patches.blind}, indent=2)).objects

    assert (found["producer"], numbers(found)) == ("text", BLIND_NUMBERS)


# ---------------------------------------------------------------- observations


@pytest.mark.parametrize("form", ["v1", "v2"])
def test_an_observation_is_scored_in_either_form(say: Say, row: Row, patches: Any, form: str) -> None:
    """Parsed JSON (v1) and raw text (v2) give the same call."""
    (found,) = say("score", "--json", "-", stdin=json.dumps(row(patches.blind, form=form), indent=1)).objects

    assert ("t1", "o1", "applied", *BLIND_NUMBERS) == (found["trace_id"], found["observation_id"], found["outcome"], *numbers(found))


@pytest.mark.parametrize(
    "wrap", [list, lambda rows: {"data": list(rows), "meta": {}}, lambda rows: {"id": "t1", "observations": list(rows)}]
)
def test_lists_pages_and_traces_are_taken_apart(say: Say, row: Row, patches: Any, wrap: Callable[..., Any]) -> None:
    """What an API answered can be fed in as it is."""
    rows = (row(patches.blind), row(patches.surgical, observation="o2"))

    found = say("score", "--json", "-", stdin=json.dumps(wrap(rows))).objects

    assert [one["observation_id"] for one in found] == ["o1", "o2"]


def test_lines_are_grouped_by_trace(say: Say, row: Row, patches: Any) -> None:
    """Traces in order of appearance, calls of a trace together and in the order of time."""
    rows = [
        row(patches.blind, trace="b", observation="1", startTime="2026-01-02T03:04:09.000Z"),
        row(patches.blind, trace="a", observation="2"),
        row(patches.surgical, trace="b", observation="3"),
    ]

    found = say("score", "--json", "-", stdin="\n\n".join(map(json.dumps, rows))).objects

    assert [(one["trace_id"], one["observation_id"]) for one in found] == [("b", "3"), ("b", "1"), ("a", "2")]


def test_a_call_that_was_recorded_twice_is_printed_once(say: Say, row: Row, patches: Any) -> None:
    """The same rows again add nothing."""
    line = json.dumps(row(patches.blind))

    assert len(say("score", "--json", "-", stdin=f"{line}\n{line}\n").objects) == 1


def test_observations_without_a_call_print_nothing_and_say_so(say: Say, row: Row) -> None:
    """An empty result is no error without a gate."""
    said = say("score", "--json", "-", stdin=json.dumps(row("no patch", name="search")))

    assert (said.code, said.out, said.err) == (0, "", "hunkwatch: no apply_patch call found in 1 observation\n")


def test_lines_that_cannot_be_read_are_left_out_by_number(say: Say, row: Row, patches: Any) -> None:
    """One bad line costs itself and is named."""
    lines = [json.dumps(row(patches.blind)), "{broken", "", "[" * 100_000, json.dumps({"traceId": "t", "startTime": 5, "id": []})]

    said = say("score", "--json", "-", stdin="\n".join(lines))

    assert (said.code, len(said.objects)) == (0, 1)
    assert [line.split(":")[1].strip() for line in said.err.splitlines()] == ["line 2", "line 4", "line 5"]


def test_a_broken_first_line_does_not_make_the_rest_a_text(say: Say, row: Row, patches: Any) -> None:
    """A log that was cut at its head is still lines."""
    said = say("score", "--json", "-", stdin='{"id": "cut\n' + json.dumps(row(patches.blind)) + "\n")

    assert (said.code, [numbers(found) for found in said.objects]) == (0, [BLIND_NUMBERS])


def test_when_no_line_can_be_read_the_exit_code_says_so(say: Say) -> None:
    """A file of another kind is not silently empty."""
    assert say("score", "--json", "-", stdin='[1, "two", null]').code == 2


# ---------------------------------------------------------------- for people


def test_the_table_shows_numbers_and_the_caveat(say: Say, patches: Any) -> None:
    """Numbers do not travel without what they do not mean."""
    said = say("score", "-", stdin=patches.blind)

    assert said.out.splitlines()[1].split() == ["1", "text", "unknown", "blind_rewrite", "0.5", "1/2", "2"]
    assert "may be necessary" in said.out
    assert "\x1b" not in said.out


def test_nothing_that_was_read_can_steer_the_terminal(say: Say, row: Row, patches: Any) -> None:
    """Ids and flags are shown, their control characters are not."""
    said = say("score", "-", stdin=json.dumps(row(patches.blind, trace="\x1b[31mred", observation="[bold]x")))

    assert "\x1b" not in said.out
    assert "[bold]x" in said.out


# ---------------------------------------------------------------- the gate


def test_a_gate_passes_what_keeps_to_it(say: Say, patches: Any) -> None:
    """No reason, no remark, exit 0."""
    said = say("score", "--fail-under", "1", "--max-retyped", "0", "-", stdin=patches.surgical)

    assert (said.code, said.err) == (0, "")


def test_a_gate_fails_with_every_reason(say: Say, patches: Any) -> None:
    """Which call, which number, which limit."""
    said = say("score", "--fail-under", "1", "--max-retyped", "1", "-", stdin=patches.blind)

    expected = [
        "hunkwatch: patch 1: blind_rewrite 0.5 is under 1 (1 of 2 hunks blind)",
        "hunkwatch: patch 1: 2 retyped lines, more than 1",
    ]
    assert (1, expected) == (said.code, said.err.splitlines())


def test_limits_are_inclusive(say: Say, patches: Any) -> None:
    """A number that equals its limit passes."""
    assert say("score", "--fail-under", "0.5", "--max-retyped", "2", "-", stdin=patches.blind).code == 0


def test_a_gate_names_the_call_among_many(say: Say, row: Row, patches: Any) -> None:
    """Only the calls that fail are named, by their ids."""
    lines = [json.dumps(row(patches.surgical)), json.dumps(row(patches.blind, observation="o2"))]

    said = say("score", "--max-retyped", "1", "-", stdin="\n".join(lines))

    assert (said.code, said.err.splitlines()) == (1, ["hunkwatch: t1 o2: 2 retyped lines, more than 1"])


@pytest.mark.parametrize("text", ["", "hello", "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"])
def test_a_gate_with_nothing_to_judge_is_neither_passed_nor_failed(say: Say, text: str) -> None:
    """Exit 2: a build that feeds the wrong file notices."""
    said = say("score", "--fail-under", "1", "-", stdin=text)

    assert (said.code, said.err.splitlines()[-1]) == (2, "hunkwatch: nothing could be judged")


def test_a_gate_does_not_pass_what_could_not_be_read(say: Say, row: Row, patches: Any) -> None:
    """A line that nobody could judge is not a line that passed."""
    said = say("score", "--fail-under", "1", "-", stdin=json.dumps(row(patches.surgical)) + "\n{broken\n")

    assert said.code == 1
    assert said.err.splitlines()[-1] == "hunkwatch: 1 could not be read, so not everything was judged"


def test_a_gate_says_which_calls_it_had_no_number_for(say: Say, row: Row, patches: Any) -> None:
    """A truncated call beside one that passes fails nothing, for nothing is known against it, and is not passed over in silence."""
    lines = [json.dumps(row(patches.surgical)), json.dumps(row(patches.blind.removesuffix("*** End Patch"), observation="o2"))]

    said = say("score", "--fail-under", "1", "-", stdin="\n".join(lines))

    assert (said.code, said.err.splitlines()) == (
        0,
        ["hunkwatch: 1 call could not be counted (unreadable, malformed, truncated or past the bound), so not everything was judged"],
    )


def test_several_files_are_one_gate(say: Say, patches: Any, tmp_path: Path) -> None:
    """Whatever hands over many files at once learns which of them does not pass; a patch that stands in two of them counts twice."""
    for name, text in {"good": patches.surgical, "bad": patches.blind, "same": patches.blind, "new": patches.new_file}.items():
        (tmp_path / name).write_text(text, "utf-8")

    said = say("score", "--fail-under", "1", *(tmp_path / name for name in ("good", "bad", "same", "new")))
    rows = say("score", "--json", tmp_path / "good", tmp_path / "new").objects

    remarks = [line for line in said.err.splitlines() if "under 1" in line]
    assert (said.code, [str(tmp_path / name) in line for name, line in zip(("bad", "same"), remarks, strict=True)]) == (1, [True, True])
    assert said.out.count("may be necessary") == 1
    assert [(row["file"], row["shape"]) for row in rows] == [
        (str(tmp_path / "good"), "no_blind_rewrite"),
        (str(tmp_path / "new"), "new_file"),
    ]


def test_a_gate_may_be_told_that_nothing_is_enough(say: Say, patches: Any, tmp_path: Path) -> None:
    """A change that only adds files stops no pipeline that says so; beside a file that passes it never does."""
    for name, text in {"good": patches.surgical, "new": patches.new_file}.items():
        (tmp_path / name).write_text(text, "utf-8")
    gate = ("score", "--fail-under", "1")

    codes = [
        say(*gate, *words).code
        for words in ((tmp_path / "new",), ("--allow-nothing", tmp_path / "new"), (tmp_path / "new", tmp_path / "good"))
    ]

    assert codes == [2, 0, 0]


@pytest.mark.parametrize("words", [("--fail-under", "2"), ("--max-retyped", "-1"), ("--fail-under", "x")])
def test_limits_that_make_no_sense_are_refused(say: Say, words: tuple[str, str]) -> None:
    """A typing error does not become a gate that always passes."""
    assert say("score", *words, "-").code == 2

"""The outcome of a call: known words and statuses only, in their order of trust."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunkwatch.core import outcome
from hunkwatch.core.model import Outcome

APPLIED, FAILED, REJECTED, UNKNOWN = Outcome.APPLIED, Outcome.FAILED, Outcome.REJECTED, Outcome.UNKNOWN
SUCCESS = "Success. Updated the following files:\nM src/declined_approval.py\n"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (SUCCESS, APPLIED),
        (f"Exit code: 0\nWall time: 1 seconds\nOutput:\n{SUCCESS}", APPLIED),
        (f"{SUCCESS}\nLSP errors detected in a.py, please fix:\nerror: x", APPLIED),
        ({"output": SUCCESS, "metadata": {"exit_code": 0}}, APPLIED),
        ({"title": "x", "output": SUCCESS}, APPLIED),
        ("The following files were successfully edited:\na.py", APPLIED),
        ("Updated a.py\nMoved a.py to b.py", APPLIED),
        ("Created a.py", APPLIED),
        ("Script completed\nWall time 1 seconds\nOutput:\n\n{}", APPLIED),
        ("Chunk ID: 5a\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n", APPLIED),
        ("Done!", APPLIED),
        ('"ok"', APPLIED),
        ("OK", APPLIED),
        (True, APPLIED),
        ({"ok": True}, APPLIED),
        ({"success": True, "files": ["a"]}, APPLIED),
        ({"status": "completed", "output": "x"}, APPLIED),
        ({"content": "Done!", "type": "tool", "status": "success"}, APPLIED),
        ([{"type": "text", "text": "Done!"}], APPLIED),
        ({"is_error": False, "content": "see the file"}, APPLIED),
        ("apply_patch verification failed: Failed to find expected lines in src/approval.py", FAILED),
        ("bash: line 1: apply_patch: command not found", FAILED),
        ("patch rejected: empty patch", FAILED),
        ("Script failed\nOutput:\nboom", FAILED),
        ("Script completed\nOutput:\napply_patch verification failed: x", FAILED),
        ("ERROR: could not edit", FAILED),
        ("<tool_use_error>no match</tool_use_error>", FAILED),
        ("Exit code: 1\nOutput:\nboom", FAILED),
        ({"output": "boom", "metadata": {"exit_code": 1}}, FAILED),
        ({"error": "x"}, FAILED),
        ({"success": False}, FAILED),
        ({"is_error": True, "content": "x"}, FAILED),
        ({"status": "failed", "output": "x"}, FAILED),
        ("patch rejected by user", REJECTED),
        ("patch rejected: writing outside of the project; rejected by user approval settings", REJECTED),
        ("The user doesn't want to proceed with this tool use.", REJECTED),
        ({"status": "declined"}, REJECTED),
        (None, UNKNOWN),
        ("", UNKNOWN),
        ({}, UNKNOWN),
        ("[REDACTED]", UNKNOWN),
        ({"output": "[REDACTED]"}, UNKNOWN),
        ({"type": "function_call_output", "call_id": "c", "output": '{"ok": true}'}, APPLIED),
        ({"type": "function_call_output", "status": "completed", "output": '{"ok": false}'}, FAILED),
        ({"type": "function_call_output", "status": "completed", "output": "see the file"}, UNKNOWN),
        ({"output": '{"output": "boom", "metadata": {"exit_code": 1}}'}, FAILED),
        ({"content": [{"type": "text", "text": '{"success": false}'}], "isError": False}, FAILED),
        ({"content": '{"success": false}', "status": "success", "type": "tool"}, FAILED),
        ({"type": "tool-result", "toolCallId": "c", "output": {"type": "error-text", "value": "no match"}}, FAILED),
        ({"type": "tool-result", "toolCallId": "c", "output": {"type": "execution-denied", "reason": "no"}}, REJECTED),
        ({"type": "tool-result", "toolCallId": "c", "output": {"type": "json", "value": {"ok": True}}}, APPLIED),
        ([{"type": "tool_result", "tool_use_id": "c", "is_error": True, "content": "x"}], FAILED),
        ("content='no match' name='apply_patch' tool_call_id='c' status='error'", FAILED),
        ("content='Done!' name='apply_patch' tool_call_id='c'", APPLIED),
        (False, FAILED),
        ("false", FAILED),
        ({"applied": True}, APPLIED),
        ({"applied": False, "reason": "no match"}, FAILED),
        ({"success": 1}, APPLIED),
        ("Applied 2 hunks", APPLIED),
        ("bash: ./apply_patch: Permission denied", FAILED),
        ("aborted by user after 3.1s", REJECTED),
        ("The change looks good to me.", UNKNOWN),
    ],
)
def test_a_result_tells_the_outcome(output: object, expected: Outcome) -> None:
    """Structure first, then words; what is not known is unknown."""
    assert outcome.of_result(output) is expected


@pytest.mark.parametrize(
    ("status", "output", "expected"),
    [
        ("Failed to find expected lines", "x", FAILED),
        ("aborted", None, FAILED),
        ("declined", "x", REJECTED),
        ("exit status 1", f"{SUCCESS}1 failed, 3 passed", APPLIED),
        ("apply_patch verification failed", SUCCESS, FAILED),
    ],
)
def test_an_error_is_a_failure_unless_it_is_about_something_else(status: str, output: object, expected: Outcome) -> None:
    """A script may apply its patch and then fail; a refusal is no failure."""
    assert outcome.of("ERROR", status, output, {}) is expected


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"success": True}, APPLIED),
        ({"success": False}, FAILED),
        ({"status": "completed"}, APPLIED),
        ({"status": "error"}, FAILED),
        ({"status": ""}, UNKNOWN),
        ({"error": "verification failed"}, FAILED),
        ({"attributes": {"codex.tool.success": "true"}}, APPLIED),
    ],
)
def test_the_metadata_tells_the_outcome_when_the_output_does_not(metadata: dict[str, object], expected: Outcome) -> None:
    """Tracers put the status there."""
    assert outcome.of("DEFAULT", "", "see above", metadata) is expected


@pytest.mark.parametrize(
    ("output", "calls", "expected"),
    [
        (SUCCESS + SUCCESS, 2, APPLIED),
        (SUCCESS + "apply_patch verification failed: x", 2, UNKNOWN),
        (SUCCESS + "then pytest: failed to parse", 1, APPLIED),
        ("apply_patch verification failed: x\n" + SUCCESS, 1, FAILED),
    ],
)
def test_several_patches_of_one_script_share_its_output(output: str, calls: int, expected: Outcome) -> None:
    """Where one was applied and one was not, nobody can tell which."""
    assert outcome.of("DEFAULT", "", output, {}, calls=calls) is expected


@given(
    st.recursive(st.none() | st.text() | st.integers() | st.floats(), lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=8)
)
def test_no_result_raises(output: object) -> None:
    """Whatever a tool answers, there is an outcome."""
    assert isinstance(outcome.of_result(output), Outcome)

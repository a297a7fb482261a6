"""The marker lines of the patch grammar, and the flags that say how a text departs from the strict form.

No other module spells out a marker. Flags are evidence: they never move a number.
"""

from __future__ import annotations

from hunkwatch.core.model import Action

BEGIN = "*** Begin Patch"
END = "*** End Patch"
STARS = "***"
ANCHOR = "@@"
END_OF_FILE = "*** End of File"
MOVE = "*** Move to"
ENVIRONMENT = "*** Environment ID"
HEADERS = {"*** Add File": Action.ADD, "*** Update File": Action.UPDATE, "*** Delete File": Action.DELETE}
_NAMES = {BEGIN, END, *HEADERS}
_FOLDED = {name.casefold() for name in _NAMES}
WORDS = {action: f"{name}: " for name, action in HEADERS.items()}
NO_NEWLINE = "\\ No newline"

FLAGS = {
    "anchor_in_add": "an @@ line stands in a new file; it was skipped",
    "bare_first_hunk": "the first hunk of a file has no @@ line",
    "bare_later_hunk": "a later hunk has no @@ line",
    "blank_add": "a new file holds an empty line without its +",
    "blank_anchor": "an @@ line holds nothing but blanks",
    "blank_context": "an empty line in a hunk was read as an empty context line",
    "bom": "the text starts with a byte order mark",
    "closed_anchor": "an @@ line is closed by a second @@",
    "context_only_hunk": "a hunk changes nothing; it is not counted",
    "crlf": "lines end in CR LF",
    "decorated": "a Begin or End marker has more or fewer signs around it than it should",
    "delete_and_add": "one path is deleted and added in the same patch",
    "delete_body": "lines follow a Delete header; they were skipped",
    "empty_hunk": "an @@ line has no lines below it",
    "empty_update": "an Update section has no hunk",
    "end_of_file_in_add": "an end-of-file marker stands in a new file; it was skipped",
    "environment_id": "the text names an environment",
    "fenced": "the text stands in a Markdown fence",
    "heredoc": "the text stands in a shell heredoc",
    "indented_header": "a file header is indented",
    "late_move": "a Move line follows a hunk",
    "nested_begin": "a second Begin marker comes before the End marker",
    "no_begin": "there is no Begin marker",
    "no_end": "there is no End marker",
    "no_header": "there is no file header",
    "no_newline_note": "a note about the missing last newline was skipped",
    "no_path": "a file header names no path",
    "numbered_anchor": "an @@ line holds line numbers",
    "padded": "a Begin or End marker is indented",
    "same_path_twice": "several sections are about one path",
    "several_envelopes": "the text holds more than one patch",
    "stacked_anchors": "several @@ lines head one hunk",
    "stray_move": "a Move line stands outside an Update section; it was skipped",
    "stray_text": "text before the first file header was skipped",
    "text_after": "text follows the End marker",
    "text_before": "text comes before the Begin marker",
    "tight_anchor": "a blank is missing after @@",
    "tight_header": "a blank is missing in a file header",
    "unified": "the text is a unified diff",
    "unified_header": "a pair of --- and +++ lines in a section was skipped",
    "unknown_marker": "a line that starts with *** is none of the known markers; it was skipped",
    "unprefixed_add": "a line of a new file lacks its +",
    "unprefixed_context": "a line without prefix in a hunk was read as context",
    "wrong_case": "markers are written in another case, which no executor takes",
}
"""Every flag that reading a patch can raise, with what it means."""


def is_in_wrong_case(line: str) -> bool:
    """Say whether the line would be a marker or a file header, were its letters of the right case."""
    name = line.strip().partition(":")[0]
    return name.startswith(STARS) and name not in _NAMES and name.casefold() in _FOLDED


def is_begin(line: str) -> bool:
    """Say whether the line is a Begin marker, however padded or decorated."""
    return "Begin Patch" in line and _bare(line) == "Begin Patch"


def is_end(line: str) -> bool:
    """Say whether the line is an End marker, however padded or decorated."""
    return "End Patch" in line and _bare(line) == "End Patch"


def _bare(line: str) -> str:
    stripped = line.strip()
    return stripped.strip("*").strip() if stripped.startswith(STARS) else ""

"""The verbs themselves: help, wrong words, missing configuration, and reports as they are printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest
import typer
import typer.main

from hunkwatch import cli
from hunkwatch.cli import inspect, play, run
from hunkwatch.daemon import reports
from hunkwatch.errors import Exit, Halt
from hunkwatch.ports import Delivery, Status

if TYPE_CHECKING:
    from pathlib import Path

Say = Callable[..., Any]

VERBS = sorted(getattr(typer.main.get_command(cli.app), "commands", {}))

ONCE = reports.OnceReport(
    exit=Exit.OK, project="p", observations=9, calls=3, sent=8, seen=8, waiting=0, dead=0, poison=0, shapes={"new_file": 1}
)
DRY = reports.DryRunReport(
    project="p",
    observations=9,
    calls=3,
    shapes={"new_file": 3},
    would_send={"patch_shape": 3, "blind_rewrite": 1},
    would_withdraw={"blind_hunks": 1},
    already_there=2,
)
STATUS = Status(
    watermarks={"live": datetime(2026, 1, 1, tzinfo=UTC)},
    outbox={Delivery.DUE: 3, Delivery.SEEN: 40},
    oldest_undelivered=None,
    observations=12,
    calls_by_producer={"codex": 7},
    shapes={"blind_rewrite": 7},
    outcomes={"applied": 7},
    sent_per_day=(("2026-01-01", "blind_rewrite", 5),),
    older_scorer=0,
    traces_waiting=1,
    poison=0,
)


# ---------------------------------------------------------------- words


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(say: Say, verb: str) -> None:
    """Help is there, on stdout, with every option in words."""
    said = say(verb, "--help")

    assert (said.code, said.err) == (0, "")
    assert f"hunkwatch {verb}" in said.out
    assert [option.name for option in options(verb) if not option.help] == []


def options(verb: str) -> list[Any]:
    """Return the parameters of a verb and of the verbs under it."""
    command: Any = typer.main.get_command(cli.app)
    verbs = [command.commands[verb], *getattr(command.commands[verb], "commands", {}).values()]
    return [parameter for each in verbs for parameter in each.params]


def test_the_first_page_names_every_verb_and_exit_code(say: Say) -> None:
    """Without words the help is shown; the codes of errors stand at its end."""
    said = say("--help")

    assert [verb for verb in VERBS if f" {verb} " not in said.out] == []
    assert [code for code in Exit if f"{code.value} " not in said.out.split("Exit codes:")[1]] == []


def test_the_version_is_that_of_the_package(say: Say) -> None:
    """One line that a script can read."""
    said = say("--version")

    assert (said.code, said.out) == (0, f"hunkwatch {metadata.version('hunkwatch')}\n")


@pytest.mark.parametrize(
    "words",
    [
        ("fly",),
        ("score",),
        ("run", "--nonsense"),
        ("sandbox", "--port", "70000"),
        ("run", "--set", "sweep.every"),
        ("dead-letters", "retry"),
        ("dead-letters", "discard", "x", "--all"),
    ],
)
def test_wrong_words_are_usage_errors(say: Say, words: tuple[str, ...]) -> None:
    """Exit 2, nothing on stdout, no traceback."""
    said = say(*words)

    assert (said.code, said.out) == (2, "")
    assert "Traceback" not in said.err


# ---------------------------------------------------------------- configuration


@pytest.mark.parametrize("words", [("run",), ("run", "--once"), ("run", "--dry-run"), ("explain", "some-id")])
def test_without_keys_nothing_starts(say: Say, words: tuple[str, ...]) -> None:
    """Every missing key is named, with the variables that give it."""
    said = say(*words)

    expected = [
        "hunkwatch: the configuration has 2 problems:",
        "  langfuse.public_key: is not set; give it as LANGFUSE_PUBLIC_KEY or as a file named by LANGFUSE_PUBLIC_KEY_FILE",
        "  langfuse.secret_key: is not set; give it as LANGFUSE_SECRET_KEY or as a file named by LANGFUSE_SECRET_KEY_FILE",
        "Mend what is listed; config.example.toml explains every setting.",
    ]
    assert (78, "", expected) == (said.code, said.out, said.err.splitlines())


def test_flags_and_assignments_are_settings(say: Say, tmp_path: Path) -> None:
    """What is wrong in a flag, in --set and in the file is reported together."""
    file = tmp_path / "config.toml"
    file.write_text("[sweep]\nevry = 1\n", "utf-8")

    said = say("run", "--config", file, "--base-url", "nowhere", "--log-level", "loud", "--set", "delivery.sends=99", "--set", "x.y=1")

    places = [line.split(": ")[0].strip() for line in said.err.splitlines()[1:-1]]
    expected = [
        f"{file}, [sweep] evry",
        "command line, x.y",
        "command line, langfuse.base_url",
        "command line, delivery.sends",
        "command line, log.level",
        "langfuse.public_key",
        "langfuse.secret_key",
    ]
    assert (78, sorted(expected)) == (said.code, sorted(places))


def test_check_lists_bad_settings_as_findings(say: Say) -> None:
    """Check names them like everything else that it finds, and exits with the configuration's code."""
    said = say("check", "--json")

    (answer,) = said.objects
    subjects = [(finding["subject"], finding["ok"]) for finding in answer["findings"]]
    assert (said.code, answer["ok"], subjects) == (78, False, [("configuration", False)] * 2)


# ---------------------------------------------------------------- reports


def test_a_pass_is_told_in_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """What was read, found, sent and seen."""
    run.show_pass(ONCE, as_json=False)

    expected = [
        "9 observations read, 3 records of calls found, 8 scores sent, 8 seen in Langfuse.",
        "Records of calls, by shape: 1 new_file.",
    ]
    assert expected == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("as_json", [True, False])
def test_a_pass_that_did_not_finish_leaves_with_its_code(capsys: pytest.CaptureFixture[str], *, as_json: bool) -> None:
    """Cron sees 75 and runs it again; the report is printed all the same."""
    report = reports.OnceReport(exit=Exit.TEMPORARY, project="p", observations=1, calls=1, sent=6, seen=2, waiting=4, dead=0, poison=0)

    with pytest.raises(typer.Exit) as left:
        run.show_pass(report, as_json=as_json)

    printed = capsys.readouterr().out
    assert left.value.exit_code == Exit.TEMPORARY
    assert (json.loads(printed)["waiting"] == 4) if as_json else ("4 scores are still on their way" in printed)


def test_a_dry_run_says_how_many_scores_a_real_run_would_send(capsys: pytest.CaptureFixture[str]) -> None:
    """By name, since each is a billable unit."""
    run.show_dry_run(DRY, as_json=False)

    expected = [
        "9 observations read, 3 records of calls found: 3 new_file.",
        "A real run would send 4 scores: 3 patch_shape, 1 blind_rewrite.",
        "It would delete 1 scores: 1 blind_hunks.",
        "2 scores are in Langfuse already. Nothing was written.",
    ]
    assert expected == capsys.readouterr().out.splitlines()


def test_status_as_json_holds_every_count() -> None:
    """Times as ISO text, states by name; nothing of the report is left out."""
    shown = json.loads(json.dumps(inspect.status_json(STATUS)))

    assert set(Status.__dataclass_fields__) == set(shown)
    assert (shown["watermarks"], shown["outbox"]) == ({"live": "2026-01-01T00:00:00+00:00"}, {"due": 3, "seen": 40})


def test_status_for_people_counts_the_time_since() -> None:
    """How far behind the worker is can be read without arithmetic."""
    table = inspect._status("p", STATUS, datetime(2026, 1, 1, 1, 30, tzinfo=UTC))

    cells = [str(cell) for cell in table.columns[1].cells]
    assert cells[0] == "2026-01-01 00:00:00 UTC, 1h30m ago"
    assert "due 3, seen 40" in cells


def test_a_time_in_the_future_is_now() -> None:
    """Clocks differ; no negative age is shown."""
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert inspect._ago(now, now + timedelta(seconds=5)) == "0s ago"


def test_a_missing_extra_says_how_to_install_it() -> None:
    """The demo needs more than the worker does."""
    with pytest.raises(Halt, match="uvicorn is not installed") as caught, play._extra():
        raise ModuleNotFoundError(name="uvicorn")

    assert "hunkwatch[demo]" in caught.value.mend


def test_a_module_of_ours_that_is_missing_is_our_fault() -> None:
    """Only a missing extra is blamed on the installation."""
    with pytest.raises(ModuleNotFoundError), play._extra():
        raise ModuleNotFoundError(name="hunkwatch.nothing")

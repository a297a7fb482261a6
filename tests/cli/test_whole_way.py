"""The verbs against a Langfuse over a real socket: scored once, explained by id, and nothing secret on the way, faults included."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.errors import Exit
from hunkwatch.ports import Commit, Delivery
from hunkwatch.sandbox import Fault, Habits, Project, Sandbox, Wrong
from hunkwatch.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-lf-marked0secret"
PATCH_MARK = "marked0patch"

Say = Callable[..., Any]


@dataclass
class Server:
    """A sandbox that is being served."""

    sandbox: Sandbox
    url: str


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, row: Callable[..., dict[str, Any]], patches: Any) -> Iterator[Server]:
    """Serve a sandbox with one trace of three calls, and point the environment at it."""
    sandbox = Sandbox(projects=(Project(secret_key=SECRET),))
    ago = datetime.now(UTC) - timedelta(hours=1)
    times = {"startTime": ago.isoformat(), "endTime": (ago + timedelta(seconds=1)).isoformat()}
    texts = (patches.surgical, patches.blind, patches.new_file)
    marked = (text.replace("one()", PATCH_MARK).replace("hello()", PATCH_MARK) for text in texts)
    sandbox.add_observations(row(text, form="v1", observation=f"o{number}", **times) for number, text in enumerate(marked))
    with sandbox.serving_in_thread() as url:
        for name, value in {
            "LANGFUSE_BASE_URL": url,
            "LANGFUSE_PUBLIC_KEY": Project().public_key,
            "LANGFUSE_SECRET_KEY": SECRET,
            "HUNKWATCH_DELIVERY__LOOK_AFTER": "20ms,20ms",
            "HUNKWATCH_DELIVERY__EVERY": "10ms",
        }.items():
            monkeypatch.setenv(name, value)
        yield Server(sandbox, url)


def test_one_pass_scores_everything_and_the_next_writes_nothing(server: Server, say: Say) -> None:
    """The trace gets three scores, each call two or three; a second pass sends none."""
    first, second = (json.loads(say("run", "--once", "--json").out) for _ in range(2))

    named = ((score["name"], score["observationId"], score.get("stringValue") or score["value"]) for score in server.sandbox.scores())
    expected = [
        ("blind_hunks", None, 1),
        ("blind_rewrite", None, 0.66),
        ("blind_rewrite_patch", "o0", 1),
        ("blind_rewrite_patch", "o1", 0.5),
        ("patch_shape", "o0", "no_blind_rewrite"),
        ("patch_shape", "o1", "blind_rewrite"),
        ("patch_shape", "o2", "new_file"),
        ("retyped_lines", None, 2),
        ("retyped_lines_patch", "o0", 0),
        ("retyped_lines_patch", "o1", 2),
    ]
    assert expected == sorted(named, key=str)
    assert (10, 10, 0) == (first["sent"], first["seen"], second["sent"])


def test_a_dry_run_says_what_the_run_then_does(server: Server, say: Say) -> None:
    """As many scores as are then sent, and nothing written before."""
    would = json.loads(say("run", "--dry-run", "--json").out)
    before = server.sandbox.scores()

    sent = json.loads(say("run", "--once", "--json").out)["sent"]

    assert (sent, []) == (sum(would["would_send"].values()), before)


@pytest.mark.parametrize(("subject", "wanted"), [("o1", "floored to quarters: 0.5"), ("t1", "floored to hundredths: 0.66")])
def test_explain_reads_an_observation_or_a_trace(server: Server, say: Say, subject: str, wanted: str) -> None:
    """By id, whichever it is of; nothing is written."""
    said = say("explain", subject)

    assert (0, True) == (said.code, wanted in said.out)
    assert server.sandbox.scores() == []


def test_an_unknown_id_is_told_so(server: Server, say: Say) -> None:
    """One line and exit 2."""
    said = say("explain", "nosuch")

    assert 2 == said.code
    assert (
        said.err
        == "hunkwatch: there is no file, observation or trace nosuch. Give a file, or an id of the project that the key belongs to.\n"
    )
    del server


def test_check_finds_nothing_wrong_and_writes_nothing(server: Server, say: Say, tmp_path: Path) -> None:
    """Every finding is fine, and neither a score nor a state file is left behind."""
    said = say("check", "--json")

    (answer,) = said.objects
    assert (0, []) == (said.code, [finding for finding in answer["findings"] if not finding["ok"]])
    assert {"value": "(set)", "from": "LANGFUSE_SECRET_KEY"} == answer["given"]["langfuse.secret_key"]
    assert [] == server.sandbox.scores()
    assert [] == list(tmp_path.rglob("*.db"))


def test_status_counts_what_a_pass_left(server: Server, say: Say) -> None:
    """By project, from the state alone."""
    say("run", "--once")

    (answer,) = say("status", "--json").objects

    (project,) = answer["projects"].values()
    assert {"blind_rewrite": 1, "new_file": 1, "no_blind_rewrite": 1} == project["shapes"]
    assert (10, 3) == (project["outbox"]["seen"], project["observations"])
    assert say("status").code == 0
    del server


def test_run_status_and_explain_lead_to_langfuse(server: Server, say: Say) -> None:
    """Run and status to what scores low, under the threshold that is set; explain to the trace and to each observation in it."""
    low = f"{server.url}/project/project-1"
    tables = {
        kind: f"{low}/{kind}?filter=scores_avg%3BnumberObject%3B{name}%3B%3C%3B0.5{root}&dateRange=7d"
        for kind, name, root in (
            ("traces", "blind_rewrite", "%2CisRootObservation%3Bboolean%3B%3B%3D%3Btrue"),
            ("observations", "blind_rewrite_patch", ""),
        )
    }
    lower = ("--set", "scores.link_below=0.5")

    made = [json.loads(line) for line in say("run", "--once", *lower).err.splitlines() if "links_made" in line]
    (shown,) = say("status", "--json", *lower).objects
    explained = say("explain", "t1").out.splitlines()

    assert [tables] == [{kind: line[kind] for kind in tables} for line in made]
    assert tables == shown["projects"]["project-1"]["links"]
    assert [f"low {kind}: {address}" for kind, address in tables.items()] == say("status", *lower).out.splitlines()[-2:]
    expected = [f"  {low}/traces/t1?observation=o{number}" for number in range(3)]
    assert [*expected, f"  {low}/traces/t1"] == [line for line in explained if "http" in line]


def test_status_before_the_first_run_is_no_error(say: Say) -> None:
    """It says what to do."""
    said = say("status")

    assert (0, True) == (said.code, "No project is on record yet" in said.out)


async def give_up(url: str) -> None:
    """Make a dead letter of every score of the trace."""
    async with open_store(url) as store:
        (project,) = await store.projects()
        rows = (await store.outbox_of(project, ["t1"]))["t1"]
        await store.commit(Commit(project, outbox=[replace(row, state=Delivery.DEAD, reason="never seen") for row in rows]))


def test_dead_letters_can_be_listed_sent_again_and_discarded(server: Server, say: Say, tmp_path: Path) -> None:
    """Listed with their reasons; sent again by the next pass; gone when they are let go."""
    say("run", "--once")
    state = f"sqlite:///{tmp_path}/state/hunkwatch/hunkwatch.db"
    asyncio.run(give_up(state))

    listed = say("dead-letters", "list", "--json").objects
    told = say("dead-letters", "retry", "--all").out
    again = json.loads(say("run", "--once", "--json").out)
    left = say("dead-letters", "list").err
    asyncio.run(give_up(state))
    discarded = say("dead-letters", "discard", listed[0]["score_id"]).out

    assert (10, {"never seen"}) == (len(listed), {one["reason"] for one in listed})
    assert ("10 will be sent again by the next run.\n", 0, "hunkwatch: no dead letters\n") == (told, again["dead"], left)
    assert ("1 discarded.\n", 9) == (discarded, len(say("dead-letters", "list", "--json").objects))
    del server


def test_the_log_tells_which_sweep_and_which_trace(server: Server, say: Say) -> None:
    """All that one sweep did has its id, each sweep another; what happened to a trace, from the call to the score, has the trace's."""
    passes = []
    for _ in range(2):
        said = say("run", "--once", "--log-level", "debug", "--set", "log.format=json", "--set", "sweep.since=3h")
        passes.append([json.loads(line) for line in said.err.splitlines() if line.startswith("{")])

    by_event = {line["event"]: line for line in passes[0]}
    swept, asked = by_event["window_swept"], [line for line in passes[0] if line["event"] == "request_answered"]
    ids = {line["sweep"] for line in passes[0] if "sweep" in line}
    assert ids == {swept["sweep"]}
    assert {line["route"].partition("_")[0] for line in asked if "sweep" in line} == {"observations"}
    assert {"ingestion", "scores_read"} <= {line["route"] for line in asked if "sweep" not in line}
    assert (by_event["call_found"]["trace"], by_event["score_value_sent"]["trace"]) == ("t1", "t1")
    assert ids & {line.get("sweep") for line in passes[1]} == set()
    del server


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (("LANGFUSE_SECRET_KEY", "sk-lf-other"), Exit.PERMISSION),
        (("HUNKWATCH_STORE__URL", "sqlite:////proc/nowhere/x.db"), Exit.STATE),
        (("HUNKWATCH_STORE__URL", "sqlite:////proc/version"), Exit.STATE),
    ],
)
@pytest.mark.usefixtures("server")
def test_what_is_wrong_is_one_line_with_its_code(say: Say, monkeypatch: pytest.MonkeyPatch, wrong: tuple[str, str], code: Exit) -> None:
    """No traceback, and the last line says what to do."""
    monkeypatch.setenv(*wrong)

    said = say("run", "--once", "--log-level", "error")

    assert (code, "", 1) == (said.code, said.out, len(said.err.splitlines()))
    assert said.err.startswith("hunkwatch: ")


def test_an_address_of_something_else_is_told_so(server: Server, say: Say) -> None:
    """A web page where the API should be."""
    server.sandbox.habits = Habits(faults=(Fault(Wrong.GATEWAY_PAGE),))

    said = say("check", "--json")

    (answer,) = said.objects
    failed = [finding for finding in answer["findings"] if not finding["ok"]]
    assert said.code in {Exit.UNAVAILABLE, Exit.FINDING}
    assert [finding for finding in failed if not finding["mend"]] == []
    assert failed


def test_a_state_that_is_no_database_can_be_moved_aside(server: Server, say: Say, tmp_path: Path) -> None:
    """The first pass refuses it, the second moves it and starts anew."""
    state = tmp_path / "state.db"
    state.write_text("no database" * 100, "utf-8")

    refused, mended = say("run", "--once", "--state", state), say("run", "--once", "--state", state, "--reset-state")

    assert (Exit.STATE, Exit.OK, 10) == (refused.code, mended.code, len(server.sandbox.scores()))
    assert 1 == len(list(tmp_path.glob("state.db.*.aside")))


# ---------------------------------------------------------------- secrets


PASSING = (
    Fault(Wrong.GATEWAY_PAGE, times=1),
    Fault(Wrong.CUT, path="/api/public/v2/observations", times=1),
    Fault(Wrong.TOO_HEAVY, path="/api/public/v2/observations", times=2),
    Fault(Wrong.BROKEN, path="/api/public/ingestion", times=1),
)
LASTING = (Fault(Wrong.FORBIDDEN, path="/api/public/ingestion"),)


@pytest.mark.parametrize(
    ("style", "faults"),
    [("console", ()), ("json", PASSING), ("json", LASTING)],
    ids=["no faults", "faults that pass", "a fault that lasts"],
)
def test_neither_a_key_nor_a_line_of_a_patch_is_ever_said(server: Server, say: Say, style: str, faults: tuple[Fault, ...]) -> None:
    """Through every verb that reads Langfuse, at the chattiest level, while the server misbehaves."""
    server.sandbox.habits = Habits(faults=faults)

    said = [
        say("--debug", "run", "--once", "--log-level", "debug", "--set", f"log.format={style}"),
        say("status"),
        say("check"),
        say("dead-letters", "list"),
        say("backfill", "--since", "1d", "--log-level", "debug"),
        say("rescore", "--log-level", "debug"),
        say("report", "--json"),
        say("purge", "--yes", "--log-level", "debug"),
    ]

    everything = "".join(f"{one.out}{one.err}" for one in said)
    assert (False, False) == (SECRET in everything, PATCH_MARK in everything)
    assert "worker_started" in everything or "hunkwatch:" in everything


def test_neither_a_key_nor_a_line_of_a_patch_is_on_disk(server: Server, say: Say, tmp_path: Path) -> None:
    """The state holds counts and paths; what it was counted in stays in Langfuse."""
    say("run", "--once", "--log-level", "error")
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())

    assert b"o1" in kept
    assert (False, False) == (SECRET.encode() in kept, PATCH_MARK.encode() in kept)
    assert {oct(file.stat().st_mode & 0o077) for file in tmp_path.rglob("hunkwatch.db*")} == {"0o0"}
    del server


def test_a_report_is_counted_from_langfuse_without_a_state(server: Server, say: Say, tmp_path: Path) -> None:
    """Nothing is written anywhere: no score to the server, no state to the disk, and the numbers are those of the worker."""
    said = say("report", "--from-langfuse", "--since", "1d", "--json")
    value = json.loads(said.out)

    assert (0, "Langfuse", 3, 1) == (said.code, value["source"], value["total"]["calls"], value["total"]["blind_calls"])
    assert [] == [*tmp_path.rglob("*.db")]
    assert 0 == len(server.sandbox.scores())


def test_a_page_explains_patches_only_when_it_is_told_to(server: Server, say: Say, tmp_path: Path) -> None:
    """The state holds no code: with patches the page reads the traces worth opening from Langfuse."""
    assert server
    say("run", "--once")
    codes = [
        say("report", "--html", tmp_path / "without.html").code,
        say("report", "--html", tmp_path / "with.html", "--with-patches").code,
    ]
    without, with_them = ((tmp_path / name).read_text("utf-8") for name in ("without.html", "with.html"))

    assert ([0, 0], False, True) == (codes, PATCH_MARK in without, PATCH_MARK in with_them)

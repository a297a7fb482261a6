"""``setup`` by its real command line against a Langfuse on a socket: put up once, brought back, taken down, and what a key may not do."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from hunkwatch.core import caveats
from hunkwatch.errors import Exit
from hunkwatch.langfuse import wire
from hunkwatch.sandbox import Access, Fault, Habits, Project, Sandbox, Wrong

if TYPE_CHECKING:
    from pathlib import Path

Say = Callable[..., Any]

NAMES = [meaning.name for meaning in caveats.MEANINGS]
TITLES = [chart.title for chart in wire.CHARTS]
CONFIGS, WIDGETS, DASHBOARDS = "score-configs", "unstable/dashboard-widgets", "unstable/dashboards"
ENVIRONMENTS = ("default", "staging", "production")
"""Those of the three observations."""

TLS = ssl.create_default_context()
"""Made once: each client would load the certificates anew."""

PAIRS = (("ours", "demo"), ("other", "none"))

WRITES = ("POST", "PATCH", "PUT", "DELETE")


class Langfuse:
    """A sandbox that is served, as a person sees it who looks with a key of their own."""

    def __init__(self, sandbox: Sandbox, url: str) -> None:
        """Look at it over HTTP."""
        self.sandbox = sandbox
        self.url = url
        self._client = httpx.Client(base_url=f"{url}/api/public/", auth=("pk-lf-person", "sk-lf-person"), trust_env=False, verify=TLS)

    def kept(self, what: str) -> list[dict[str, Any]]:
        """Return everything of a kind, the newest first."""
        rows: list[dict[str, Any]] = self._client.get(what, params={"limit": 100}).raise_for_status().json()["data"]
        return rows

    def counts(self) -> tuple[int, int, int]:
        """Return how many configs, widgets and dashboards there are."""
        return len(self.kept(CONFIGS)), len(self.kept(WIDGETS)), len(self.kept(DASHBOARDS))

    def do(self, method: str, path: str, **body: Any) -> dict[str, Any]:
        """Do something as a person."""
        answer: dict[str, Any] = self._client.request(method, path, json=body).raise_for_status().json()
        return answer

    def written(self) -> list[tuple[str, str]]:
        """Return method and path of everything that was written, and forget it."""
        found = [(method, path) for method, path, _ in self.sandbox.requests if method in WRITES]
        self.sandbox.requests.clear()
        return found

    def close(self) -> None:
        """Let go."""
        self._client.close()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, row: Callable[..., dict[str, Any]], patches: Any) -> Iterator[Callable[..., Langfuse]]:
    """Serve a Langfuse of a version with three calls of the last hour, point the environment at it, with a key of some access."""
    contexts: list[Any] = []

    def start(version: str = "4.16.0", access: Access = Access.PROJECT) -> Langfuse:
        sandbox = Sandbox(version, mode="dual", projects=(Project(access=access),))
        ago = datetime.now(UTC) - timedelta(minutes=30)
        times = {"startTime": ago.isoformat(), "endTime": (ago + timedelta(seconds=1)).isoformat()}
        texts = (patches.surgical, patches.blind, patches.new_file)
        for number, (text, environment) in enumerate(zip(texts, ENVIRONMENTS, strict=True)):
            sandbox.add_observations([row(text, form="v1", observation=f"o{number}", environment=environment, **times)])
        room = sandbox._room("project-1")
        # A person's own key of the same project, which may do everything.
        sandbox._state.rooms["a person's key"] = type(room)(
            Project(public_key="pk-lf-person", secret_key="sk-lf-person"),
            room.shelf,
            room.configs,
            room.scores,
            room.traces,
            room.widgets,
            room.dashboards,
        )
        context = sandbox.serving_in_thread()
        url = context.__enter__()
        langfuse = Langfuse(sandbox, url)
        contexts.extend((context, langfuse))
        for name, value in {
            "LANGFUSE_BASE_URL": url,
            "LANGFUSE_PUBLIC_KEY": Project().public_key,
            "LANGFUSE_SECRET_KEY": Project().secret_key,
            "HUNKWATCH_DELIVERY__LOOK_AFTER": "20ms,20ms",
            "HUNKWATCH_DELIVERY__EVERY": "10ms",
        }.items():
            monkeypatch.setenv(name, value)
        return langfuse

    yield start
    for context, langfuse in zip(contexts[::2], contexts[1::2], strict=True):
        langfuse.close()
        context.__exit__(None, None, None)


def done(said: Any) -> dict[tuple[str, str], str]:
    """Return what became of each thing, by kind and name."""
    (report,) = said.objects
    return {(step["kind"], step["name"]): step["did"] for step in report["steps"]}


# ---------------------------------------------------------------- putting up


def test_a_rehearsal_says_what_a_setup_then_does(serve: Callable[..., Langfuse], say: Say) -> None:
    """The same steps, and not one write before."""
    langfuse = serve()

    would = say("setup", "--dry-run", "--json")
    before = langfuse.written(), langfuse.counts()
    did = say("setup", "--json")

    assert (0, 0, done(would), ([], (0, 0, 0))) == (would.code, did.code, done(did), before)
    everything = [("score config", name) for name in NAMES] + [("widget", title) for title in TITLES] + [("dashboard", "Patch quality")]
    assert dict.fromkeys(everything, "created") == done(did)
    assert (len(NAMES), len(TITLES), 1) == langfuse.counts()


def test_every_score_has_a_config_with_its_range_or_labels_and_its_caveat(serve: Callable[..., Langfuse], say: Say) -> None:
    """What annotators read there is what the documents say, and Langfuse validates what is sent."""
    langfuse = serve()
    say("setup")

    made = {config["name"]: config for config in langfuse.kept(CONFIGS)}

    for meaning in caveats.MEANINGS:
        config = made[meaning.name]
        assert (meaning.data_type, meaning.minimum, meaning.maximum) == (config["dataType"], config["minValue"], config["maxValue"])
        assert meaning.categories == tuple(category["label"] for category in config["categories"] or ())
        assert config["description"].startswith(meaning.description)
        assert meaning.caveat in config["description"]


def test_a_second_setup_changes_nothing(serve: Callable[..., Langfuse], say: Say) -> None:
    """Not a write, and everything is as it was."""
    langfuse = serve()
    say("setup")
    langfuse.written()
    before = [langfuse.kept(what) for what in (CONFIGS, WIDGETS, DASHBOARDS)]

    again = say("setup", "--json")

    assert ({"unchanged"}, []) == (set(done(again).values()), langfuse.written())
    assert before == [langfuse.kept(what) for what in (CONFIGS, WIDGETS, DASHBOARDS)]


def test_the_writer_uses_the_configs(serve: Callable[..., Langfuse], say: Say) -> None:
    """Every score that a run sends names the config of its name, and is seen: Langfuse found it valid."""
    langfuse = serve()
    say("setup")
    configs = {config["name"]: config["id"] for config in langfuse.kept(CONFIGS)}

    report = say("run", "--once", "--json").objects[0]

    scores = langfuse.sandbox.scores()
    assert (report["sent"], report["seen"]) == (len(scores), len(scores))
    assert {(score["name"], score["configId"]) for score in scores} <= set(configs.items())
    assert len(scores) == 10


def test_what_people_changed_is_brought_back_and_what_they_made_is_left(serve: Callable[..., Langfuse], say: Say) -> None:
    """Renamed and altered widgets are ours by their mark; a moved tile stays where it is; a person's tile, widget and config stay."""
    langfuse = serve()
    say("setup")
    (board,), first = langfuse.kept(DASHBOARDS), langfuse.kept(WIDGETS)[0]
    theirs = langfuse.do(
        "POST", WIDGETS, name="Mine", view="scores-numeric", dimensions=[], metrics=[{"measure": "count", "agg": "count"}], filters=[],
        chartType="NUMBER",
    )  # fmt: skip
    langfuse.do("POST", f"{DASHBOARDS}/{board['id']}/placements", type="widget", id="mine", widgetId=theirs["id"])
    langfuse.do("PATCH", f"{DASHBOARDS}/{board['id']}/placements/hunkwatch-distribution", x=0, y=100)
    langfuse.do("DELETE", f"{DASHBOARDS}/{board['id']}/placements/hunkwatch-retyped-per-day")
    pie = {"chartType": "PIE", "dimensions": [{"field": "name"}], "chartConfig": {"type": "PIE"}}
    langfuse.do("PATCH", f"{WIDGETS}/{first['id']}", name="Renamed", **pie)
    langfuse.do("PATCH", f"{DASHBOARDS}/{board['id']}", name="Our patches")
    langfuse.do("POST", CONFIGS, name="quality", dataType="NUMERIC")

    changed = {key for key, did in done(say("setup", "--json")).items() if did == "changed"}

    (after,) = langfuse.kept(DASHBOARDS)
    tiles = {tile["id"]: tile for tile in after["definition"]["widgets"]}
    assert {("widget", first["name"]), ("dashboard", "Patch quality")} == changed
    assert ("Patch quality", 100, True) == (after["name"], tiles["hunkwatch-distribution"]["y"], "mine" in tiles)
    assert {wire.tile_id(chart) for chart in wire.CHARTS} | {"mine"} == set(tiles)
    assert {**first, "updatedAt": ""} == {**next(one for one in langfuse.kept(WIDGETS) if one["id"] == first["id"]), "updatedAt": ""}
    assert (len(NAMES) + 1, len(TITLES) + 1, 1) == langfuse.counts()


@pytest.mark.parametrize(
    ("theirs", "did", "count"),
    [
        ({"dataType": "NUMERIC", "minValue": 0, "maxValue": 1}, "left", 1),
        ({"dataType": "NUMERIC"}, "left", 1),
        ({"dataType": "NUMERIC", "minValue": 0.5, "maxValue": 1}, "created", 2),
        ({"dataType": "BOOLEAN"}, "created", 2),
    ],
)
def test_a_config_that_people_made_is_used_if_it_fits_and_else_left(
    serve: Callable[..., Langfuse], say: Say, theirs: dict[str, Any], did: str, count: int
) -> None:
    """By name and shape: no second one beside a good one, and a bad one is not touched."""
    langfuse = serve()
    made = langfuse.do("POST", CONFIGS, name="blind_rewrite", description="ours", **theirs)

    steps = done(say("setup", "--json"))

    named = [config for config in langfuse.kept(CONFIGS) if config["name"] == "blind_rewrite"]
    assert (did, count, made) == (steps["score config", "blind_rewrite"], len(named), named[-1])


def test_the_address_of_the_dashboard_is_printed_and_a_wide_terminal_is_not_needed(serve: Callable[..., Langfuse], say: Say) -> None:
    """One line, whole."""
    langfuse = serve()

    said = say("setup").out.splitlines()

    (board,) = langfuse.kept(DASHBOARDS)
    assert f"dashboard: {langfuse.url}/project/project-1/dashboards/{board['id']}" in said


@pytest.mark.parametrize("version", ["3.100.0", "3.210.0"])
def test_a_server_without_dashboards_gets_the_configs_and_a_sentence(serve: Callable[..., Langfuse], say: Say, version: str) -> None:
    """That is no failure, whether or not it knows widgets; the removal works there too."""
    langfuse = serve(version)

    said = say("setup")
    removed = say("setup", "--remove", "--json")

    assert (0, True) == (said.code, f"Langfuse {version} has no API for dashboards" in said.out)
    assert (len(NAMES), {"archived"}) == (len(langfuse.kept(CONFIGS)), set(done(removed).values()))


def test_an_answer_that_is_lost_makes_nothing_twice(serve: Callable[..., Langfuse], say: Say) -> None:
    """The server made it and the answer never came: the second try makes another, of which one goes."""
    langfuse = serve()
    faults = [Fault(Wrong.CUT, path=f"/api/public/{what}", method="POST", times=1) for what in (CONFIGS, WIDGETS, DASHBOARDS)]
    langfuse.sandbox.habits = Habits(faults=tuple(faults))

    said = say("setup", "--json")

    assert said.code == 0
    usable = [config for config in langfuse.kept(CONFIGS) if not config["isArchived"]]
    assert sorted(NAMES) == sorted(config["name"] for config in usable)
    say("setup")
    assert (len(TITLES), 1) == langfuse.counts()[1:]
    assert {"unchanged"} == set(done(say("setup", "--json")).values())


def test_of_several_projects_one_is_set_up_at_a_time(
    serve: Callable[..., Langfuse], say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which one has to be said, as for all work on a single project."""
    langfuse = serve()
    for name in ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"):
        monkeypatch.delenv(name)
    entries = (f'[[projects]]\nname = "{name}"\npublic_key = "pk-lf-{key}"\nsecret_key = "sk-lf-{key}"\n' for name, key in PAIRS)
    file = tmp_path / "two.toml"
    file.write_text("".join(entries), "utf-8")

    unsaid, other, ours = (say("setup", "--config", file, *words) for words in ((), ("--project", "other"), ("--project", "ours")))

    assert [Exit.USAGE, Exit.PERMISSION, 0] == [said.code for said in (unsaid, other, ours)]
    assert (len(NAMES), len(TITLES), 1) == langfuse.counts()


# ---------------------------------------------------------------- taking down


def test_remove_takes_everything_of_ours_and_nothing_else(serve: Callable[..., Langfuse], say: Say) -> None:
    """Widgets and dashboard are gone, configs archived, as the rehearsal said; a person's things stay."""
    langfuse = serve()
    say("setup")
    langfuse.do("POST", CONFIGS, name="quality", dataType="NUMERIC")
    langfuse.do("POST", DASHBOARDS, name="Patch quality", description="mine")
    langfuse.written()

    would = say("setup", "--remove", "--dry-run", "--json")
    before = langfuse.written()
    did = say("setup", "--remove", "--json")

    assert (done(did), []) == (done(would), before)
    assert {"score config": "archived", "widget": "removed", "dashboard": "removed"} == {kind: one for (kind, _), one in done(did).items()}
    assert dict.fromkeys(NAMES, True) | {"quality": False} == {one["name"]: one["isArchived"] for one in langfuse.kept(CONFIGS)}
    assert ([], ["mine"]) == (langfuse.kept(WIDGETS), [board["description"] for board in langfuse.kept(DASHBOARDS)])
    assert "There is nothing of ours to remove." in say("setup", "--remove").out


def test_a_setup_after_a_removal_takes_the_configs_out_of_the_archive(serve: Callable[..., Langfuse], say: Say) -> None:
    """Since nobody can delete them, there would be more with each time."""
    langfuse = serve()
    for words in (("setup",), ("setup", "--remove"), ("setup",)):
        say(*words)

    assert (len(NAMES), len(TITLES), 1) == langfuse.counts()
    assert {False} == {config["isArchived"] for config in langfuse.kept(CONFIGS)}


def test_a_widget_that_another_dashboard_shows_is_left_and_said(serve: Callable[..., Langfuse], say: Say) -> None:
    """Langfuse refuses to delete it: exit 1, and the next run finds it."""
    langfuse = serve()
    say("setup")
    other = langfuse.do("POST", DASHBOARDS, name="Theirs")
    widget = langfuse.kept(WIDGETS)[0]
    langfuse.do("POST", f"{DASHBOARDS}/{other['id']}/placements", type="widget", id="p", widgetId=widget["id"])

    first = say("setup", "--remove", "--json")
    langfuse.do("DELETE", f"{DASHBOARDS}/{other['id']}/placements/p")
    second = say("setup", "--remove", "--json")

    assert (Exit.FINDING, "left") == (first.code, done(first)["widget", widget["name"]])
    assert (0, {("widget", widget["name"]): "removed"}) == (second.code, done(second))


def test_scores_reach_langfuse_although_their_config_was_archived_under_the_worker(serve: Callable[..., Langfuse], say: Say) -> None:
    """After a removal the next pass sends without configs."""
    langfuse = serve()
    say("setup")
    say("setup", "--remove")

    report = say("run", "--once", "--json").objects[0]

    assert (10, {None}) == (report["seen"], {score["configId"] for score in langfuse.sandbox.scores()})


# ---------------------------------------------------------------- what people see on a score


@pytest.mark.parametrize(("version", "paths"), [("3.200.0", "true"), ("4.16.0", "false"), ("4.60.0", "true")])
def test_a_score_in_langfuse_says_where_and_how_much_and_what_it_does_not_mean(
    serve: Callable[..., Langfuse], say: Say, version: str, paths: str
) -> None:
    """By every way of writing: value, comment with its caveat, the facts, and the environment of its own observation."""
    langfuse = serve(version)
    say("run", "--once", "--set", f"scores.paths={paths}")

    scores = langfuse.sandbox.scores()

    assert len(scores) == 10
    for score in scores:
        assert score["comment"].endswith(caveats.of(score["name"]).caveat)
        assert {"scorer", "hunks", "blind_hunks", "retyped_lines", "producers", "outcomes", "files"} <= set(score["metadata"])
        assert ("app/" in score["comment"] + json.dumps(score["metadata"])) is (paths == "true")
        if score["observationId"]:
            assert ENVIRONMENTS[int(score["observationId"][1])] == score["environment"]


# ---------------------------------------------------------------- cost


@pytest.mark.parametrize(
    ("verb", "flags", "a_day"),
    [
        ("setup", (), 10),
        ("check", (), 10),
        ("setup", ("--set", "scores.write=blind_rewrite,blind_hunks,retyped_lines"), 3),
        ("check", ("--set", "scores.write=blind_rewrite"), 1),
        ("setup", ("--set", "sweep.sample=0"), 0),
    ],
)
def test_the_cost_of_a_month_follows_from_the_last_day_and_the_settings(
    serve: Callable[..., Langfuse], say: Say, verb: str, flags: tuple[str, ...], a_day: int
) -> None:
    """As many scores as a run then sends, thirty times; rollups only and a sample make it less."""
    serve()

    told = " ".join(say(verb, *flags).out.split())

    assert f"would get {a_day} scores" in told
    assert f"{30 * a_day} a month" in told
    assert a_day == json.loads(say("run", "--once", "--json", *flags).out)["sent"]


# ---------------------------------------------------------------- permissions


@pytest.mark.parametrize(
    ("version", "access", "words", "sentence"),
    [
        ("4.16.0", Access.READ_ONLY, ("run", "--once"), "(this key may not write scores)"),
        ("4.60.0", Access.READ_ONLY, ("run", "--once"), "(this key may not write scores)"),
        ("4.60.0", Access.READ_ONLY, ("setup",), "(this key may not change score configs and dashboards)"),
        ("4.16.0", Access.SCORES_ONLY, ("run", "--once"), "(this key may not look at its project)"),
        ("4.60.0", Access.SCORES_ONLY, ("setup",), "(this key may not look at its project)"),
    ],
)
def test_a_key_that_may_not_is_told_what_it_may_not(  # noqa: PLR0913, PLR0917 - a case and what it needs
    serve: Callable[..., Langfuse], say: Say, version: str, access: Access, words: tuple[str, ...], sentence: str
) -> None:
    """One line with the mend, exit 77, and nothing half done."""
    langfuse = serve(version, access)

    said = say(*words, "--log-level", "error")

    last = said.err.splitlines()[-1]
    assert (Exit.PERMISSION, True) == (said.code, last.startswith("hunkwatch: Langfuse answered 403: Access denied"))
    assert sentence in last
    assert "Use " in last
    assert ((0, 0, 0), []) == (langfuse.counts(), langfuse.sandbox.all_scores())


@pytest.mark.parametrize("version", ["4.16.0", "4.60.0"])
@pytest.mark.parametrize(
    ("access", "failed"),
    [
        (Access.READ_ONLY, {"may write scores": "may not write scores"}),
        (
            Access.SCORES_ONLY,
            {"credentials": "may not look at its project", "may read observations": "may not read observations"},
        ),
    ],
)
def test_check_says_what_a_key_may_and_what_it_may_not(
    serve: Callable[..., Langfuse], say: Say, version: str, access: Access, failed: dict[str, str]
) -> None:
    """Every right is tried by itself, so that the key can be told by what it can do."""
    serve(version, access)

    said = say("check", "--json")

    findings = {one["subject"]: one for one in said.objects[0]["findings"]}
    wrong = {subject: one for subject, one in findings.items() if not one["ok"]}
    assert (Exit.PERMISSION, set(failed)) == (said.code, set(wrong))
    assert [] == [subject for subject, words in failed.items() if words not in wrong[subject]["message"] or not wrong[subject]["mend"]]
    assert findings["may write scores"]["ok"] is (access is Access.SCORES_ONLY)


def test_a_key_that_may_only_read_can_rehearse(serve: Callable[..., Langfuse], say: Say) -> None:
    """Both rehearsals work, as the messages promise."""
    serve(access=Access.READ_ONLY)

    assert [0, 0] == [say("run", "--dry-run").code, say("setup", "--dry-run").code]

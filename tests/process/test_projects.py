"""Several projects in one process: what is wrong with one leaves the others alone."""

from __future__ import annotations

import json
import signal
import socket
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.sandbox import Habits, Plan, Project, Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    WaitUntil = Callable[[Callable[[], bool]], None]

SHOP, DOCS = (Project(id=f"project-{name}", public_key=f"pk-lf-{name}", secret_key=f"sk-lf-{name}") for name in ("shop", "docs"))
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n keep\n-old = 1\n+old = 2\n more\n*** End Patch"
NO_KEYS = {"LANGFUSE_PUBLIC_KEY": "", "LANGFUSE_SECRET_KEY": ""}


@dataclass
class Street:
    """Three houses: the station's own, a second server, and whatever the third is."""

    station: Any
    shop: Sandbox
    url: str
    folder: Path

    def configured(self, third: str) -> dict[str, str]:
        """Write a configuration of three projects; return the environment that points at it."""
        (self.folder / "shop.key").write_text("sk-lf-shop\n", "utf-8")
        entries = [
            self.entry("home", "pk-lf-process", self.station.url, 'secret_key = "sk-lf-process"'),
            self.entry("shop", "pk-lf-shop", self.url, f'secret_key_file = "{self.folder / "shop.key"}"'),
            self.entry("docs", "pk-lf-docs", third, 'secret_key_env = "DOCS_KEY"'),
        ]
        home = self.folder / "hunkwatch"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text("\n".join(entries), "utf-8")
        return {**NO_KEYS, "LANGFUSE_BASE_URL": "", "XDG_CONFIG_HOME": str(self.folder), "DOCS_KEY": "sk-lf-docs"}

    @staticmethod
    def entry(name: str, key: str, url: str, secret: str) -> str:
        """Return one entry of the configuration."""
        return f'[[projects]]\nname = "{name}"\npublic_key = "{key}"\nbase_url = "{url}"\n{secret}\n'

    def fill(self) -> None:
        """Let both good servers show a trace with two calls."""
        self.station.add_traces("t1")
        self.shop.add_observations([self.station.call("t2", "o2", {"input": PATCH})], project=SHOP.id)

    def both_scored(self) -> bool:
        """Say whether both good servers hold all their scores."""
        return self.station.shown() == self.station.expected and len(self.shop.all_scores(project=SHOP.id)) == 6


@pytest.fixture
def street(station: Any, tmp_path: Path) -> Iterator[Street]:
    """Serve a second sandbox beside the station's."""
    shop = Sandbox("4.60.0", projects=(SHOP,))
    with shop.serving_in_thread() as url:
        yield Street(station, shop, url, tmp_path)


def free_port() -> int:
    """Return a port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def get(port: int, path: str) -> tuple[int, str]:
    """Ask the worker."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("trouble", ["a wrong key", "nobody there", "always too many requests"])
def test_one_projects_trouble_leaves_the_others_alone(trouble: str, street: Street, wait_until: WaitUntil) -> None:
    """The others are scored and the process goes on; log, readyz and metrics name the one, and its keys stand nowhere."""
    limited = Sandbox(projects=(DOCS,), habits=Habits(plan=Plan.HOBBY))
    with limited.serving_in_thread() as limited_url:
        third = {"a wrong key": street.station.url, "nobody there": f"http://127.0.0.1:{free_port()}"}.get(trouble, limited_url)
        port = free_port()
        street.fill()
        process = street.station.start("run", HUNKWATCH_HTTP__PORT=str(port), **street.configured(third))
        wait_until(street.both_scored)
        if trouble == "always too many requests":
            wait_until(lambda: 'hunkwatch_rate_limit_waits_total{project="project-docs"' in get(port, "/metrics")[1])
        else:
            wait_until(lambda: 'hunkwatch_project_up{name="docs"} 0.0' in get(port, "/metrics")[1])
        metrics, ready = get(port, "/metrics")[1], get(port, "/readyz")
        code, log = street.station.end(process, signal.SIGTERM)

    assert code == 0
    assert ready[0] == 200
    assert 'hunkwatch_project_up{name="home"} 1.0' in metrics
    assert {"home", "shop"} <= {line.get("name") for line in log if line["event"] == "worker_started"}
    parked = [line for line in log if line["event"] == "project_parked"]
    if trouble != "always too many requests":
        assert {"docs"} == {line["name"] for line in parked}
        assert "parked: docs: " in ready[1]
        assert all(line["reason"] and line["wait"] > 0 for line in parked)
    else:
        assert {"project-docs"} == {line["project"] for line in log if line["event"] == "rate_limited"}
    assert "sk-lf-" not in json.dumps(log) + metrics + ready[1]


def test_a_project_that_is_mended_is_taken_up_at_a_reload(street: Street, wait_until: WaitUntil) -> None:
    """A key that came too late costs no restart: SIGHUP opens the parked project at once, with what its file holds now."""
    environment = street.configured(street.station.url)
    (street.folder / "shop.key").write_text("sk-lf-wrong\n", "utf-8")
    port = free_port()
    street.fill()
    process = street.station.start("run", HUNKWATCH_HTTP__PORT=str(port), **environment)
    wait_until(lambda: street.station.shown() == street.station.expected)
    wait_until(lambda: get(port, "/readyz")[1].count("parked") == 2)

    (street.folder / "shop.key").write_text("sk-lf-shop\n", "utf-8")
    process.send_signal(signal.SIGHUP)
    wait_until(street.both_scored)
    code, _ = street.station.end(process, signal.SIGTERM)

    assert code == 0


def test_with_no_project_left_the_process_ends(street: Street) -> None:
    """When every key is wrong there is nothing to go on for: the exit code of the first says why."""
    environment = street.configured(street.station.url)
    (street.folder / "shop.key").write_text("sk-lf-wrong\n", "utf-8")
    config = street.folder / "hunkwatch" / "config.toml"
    config.write_text(config.read_text("utf-8").replace('"sk-lf-process"', '"sk-lf-other"'), "utf-8")

    code, _, log = street.station.finish("run", **environment)

    assert code == 77
    assert "sk-lf-" not in log


def test_two_entries_for_one_project_are_one_too_many(street: Street, wait_until: WaitUntil) -> None:
    """The second is parked: two sets of loops on one project would do everything twice."""
    environment = street.configured(street.station.url)
    config = street.folder / "hunkwatch" / "config.toml"
    twin = street.entry("twin", "pk-lf-process", street.station.url, 'secret_key = "sk-lf-process"')
    config.write_text(f"{config.read_text('utf-8')}\n{twin}", "utf-8")
    street.fill()
    port = free_port()
    process = street.station.start("run", HUNKWATCH_HTTP__PORT=str(port), **environment)

    wait_until(street.both_scored)
    wait_until(lambda: "the same project as" in get(port, "/readyz")[1])
    code, _ = street.station.end(process, signal.SIGTERM)

    assert code == 0


def test_a_pass_and_a_check_go_through_all_projects(street: Street) -> None:
    """What one comes to is told under its name; the code is that of the first that is not fine."""
    environment = street.configured(street.station.url)
    street.fill()

    code, out, _ = street.station.finish("run", "--once", "--json", **environment)
    checked, findings, _ = street.station.finish("check", "--json", **environment)

    told = json.loads(out)["projects"]
    assert (code, checked) == (77, 77)
    assert [("home", 9), ("shop", 6)] == [(name, one["sent"]) for name, one in told.items() if "error" not in one]
    assert "error" in told["docs"]
    assert street.both_scored()
    wrong = [found["subject"] for found in json.loads(findings)["findings"] if not found["ok"]]
    assert wrong
    assert all(subject.startswith("docs: ") for subject in wrong)


def test_one_project_can_be_chosen(street: Street) -> None:
    """With --project the others do not matter; work on a single project wants it, and says which there are."""
    environment = street.configured(street.station.url)
    street.fill()

    chosen = street.station.finish("run", "--once", "--project", "home", **environment)
    unknown = street.station.finish("run", "--once", "--project", "hme", **environment)
    unnamed = street.station.finish("backfill", "--since", "1d", **environment)

    assert (chosen[0], unknown[0], unnamed[0]) == (0, 2, 2)
    assert street.station.shown() == street.station.expected
    assert street.shop.all_scores(project=SHOP.id) == []
    assert "home, shop, docs" in " ".join(unnamed[2].replace("│", " ").split())

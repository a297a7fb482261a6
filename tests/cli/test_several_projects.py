"""The report over several projects on several servers: each is counted, each trace leads to its own server, one may be chosen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.sandbox import Project, Sandbox

if TYPE_CHECKING:
    from pathlib import Path

Say = Callable[..., Any]


@pytest.fixture
def street(tmp_path: Path, row: Callable[..., dict[str, Any]], patches: Any) -> Iterator[dict[str, str]]:
    """Serve two projects on two servers, a blind call in each, and write the file that names both; give their addresses."""
    ago = datetime.now(UTC) - timedelta(hours=1)
    times = {"startTime": ago.isoformat(), "endTime": (ago + timedelta(seconds=1)).isoformat()}
    addresses, lines = {}, ['[delivery]\nevery = "10ms"\nlook_after = ["20ms", "20ms"]']
    with ExitStack() as served:
        for name in ("shop", "docs"):
            project = Project(id=f"id-{name}", public_key=f"pk-lf-{name}", secret_key=f"sk-lf-{name}")
            sandbox = Sandbox(projects=(project,))
            text = patches.blind.replace("one()", f"mark_{name}()")
            sandbox.add_observations([row(text, form="v1", trace=f"trace-{name}", **times)], project=project.id)
            addresses[name] = served.enter_context(sandbox.serving_in_thread())
            keys = f'public_key = "{project.public_key}"\nsecret_key = "{project.secret_key}"'
            lines.append(f'[[projects]]\nname = "{name}"\n{keys}\nbase_url = "{addresses[name]}"')
        (tmp_path / "config.toml").write_text("\n".join(lines), "utf-8")
        yield addresses


def links(said: Any) -> dict[str, str | None]:
    """Return the address of each trace worth opening."""
    return {line["trace_id"]: line["link"] for line in json.loads(said.out)["worth_opening"]}


def test_langfuse_is_read_for_each_project(street: dict[str, str], say: Say, tmp_path: Path) -> None:
    """Each trace leads to the server that it was read from; a chosen project is read alone."""
    config = tmp_path / "config.toml"

    everything = say("report", "--from-langfuse", "--since", "1d", "--json", "--config", config)
    one = say("report", "--from-langfuse", "--since", "1d", "--json", "--config", config, "--project", "docs")

    expected = {f"trace-{name}": f"{address}/project/id-{name}/traces/trace-{name}" for name, address in street.items()}
    assert expected == links(everything)
    assert {"trace-docs": expected["trace-docs"]} == links(one)


@pytest.mark.usefixtures("street")
def test_the_state_is_counted_whole_or_for_one_project(say: Say, tmp_path: Path) -> None:
    """It does not say which project is on which server, so no wrong address is given; the keys of a chosen one tell."""
    config = tmp_path / "config.toml"
    say("run", "--once", "--config", config)

    everything = say("report", "--json", "--config", config)
    one = say("report", "--json", "--config", config, "--project", "shop")

    assert {"trace-shop": None, "trace-docs": None} == links(everything)
    assert (0, ["trace-shop"]) == (one.code, list(links(one)))
    assert "/project/id-shop/traces/trace-shop" in (links(one)["trace-shop"] or "")


@pytest.mark.usefixtures("street")
def test_patches_are_read_with_the_keys_of_each_project(say: Say, tmp_path: Path) -> None:
    """A page with patches explains the traces of both."""
    config, page = tmp_path / "config.toml", tmp_path / "page.html"
    say("run", "--once", "--config", config)

    code = say("report", "--html", page, "--with-patches", "--config", config).code

    assert (0, {"mark_shop", "mark_docs"}) == (code, {mark for mark in ("mark_shop", "mark_docs") if mark in page.read_text("utf-8")})


@pytest.mark.usefixtures("street")
def test_files_of_bulk_have_no_project_to_choose(say: Say, tmp_path: Path) -> None:
    """No key says which project a file is of."""
    said = say("report", "--from-parquet", tmp_path, "--project", "shop", "--config", tmp_path / "config.toml")

    assert (2, True) == (said.code, "give one of them" in " ".join(said.err.split()))


def test_samples_go_to_the_project_that_is_named(street: dict[str, str], say: Say, tmp_path: Path) -> None:
    """With its keys to its server; without a name nothing is sent anywhere."""
    config = tmp_path / "config.toml"

    assert (2, True) == ((nowhere := say("seed", "--config", config)).code, "name one of them: shop, docs" in " ".join(nowhere.err.split()))
    sent = say("seed", "--config", config, "--project", "docs")

    assert (0, True) == (sent.code, sent.out.rstrip().endswith(f"can be seen in {street['docs']}"))

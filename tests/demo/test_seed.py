"""The sample traces in somebody's own Langfuse: all of them seen before the verb ends, and a plain word when that cannot be."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from hunkwatch import demo
from hunkwatch.demo import sessions
from hunkwatch.demo.seed import seed
from hunkwatch.errors import Exit, Halt
from hunkwatch.sandbox import Fault, Habits, Project, Sandbox, Wrong
from hunkwatch.settings import LangfuseSection

KEYS = Project(public_key="pk-lf-test-seed", secret_key="sk-lf-test-seed")


@pytest.fixture
def sandbox() -> Sandbox:
    """Return a Langfuse that nobody has written to."""
    return Sandbox(projects=(KEYS,))


@pytest.fixture
def server(sandbox: Sandbox) -> Iterator[LangfuseSection]:
    """Serve it and say how it is reached."""
    with sandbox.serving_in_thread() as url:
        yield LangfuseSection(base_url=url, public_key=KEYS.public_key, secret_key=SecretStr(KEYS.secret_key))


def test_every_sample_can_be_seen_when_it_ends(sandbox: Sandbox, server: LangfuseSection) -> None:
    """Rows that the server shows only later are waited for, so that a first sweep finds them all."""
    sandbox.habits = Habits(seed=1, late_rows=0.3, late_by=0.5)

    planted = seed(server, patience=timedelta(seconds=20))

    assert planted.traces == len(sessions.load())
    assert planted.observations > planted.traces


def test_a_server_that_shows_nothing_is_given_up(sandbox: Sandbox, server: LangfuseSection) -> None:
    """Not for ever: with how many are there, and a code that says to try again."""
    sandbox.habits = Habits(seed=1, late_rows=1.0, late_by=3600.0)

    with pytest.raises(Halt, match="shows 0 of") as caught:
        seed(server, patience=timedelta(milliseconds=100))

    assert caught.value.exit_code == Exit.TEMPORARY


@pytest.mark.parametrize(("wrong", "code"), [(Wrong.FORBIDDEN, Exit.PERMISSION), (Wrong.GATEWAY_PAGE, Exit.UNAVAILABLE)])
def test_nothing_is_sent_to_a_server_that_cannot_be_asked(sandbox: Sandbox, server: LangfuseSection, wrong: Wrong, code: Exit) -> None:
    """A wrong key or a page of something else is said at once."""
    sandbox.habits = Habits(faults=(Fault(wrong),))

    with pytest.raises(Halt) as caught:
        seed(server)

    assert (caught.value.exit_code, [method for method, _, _ in sandbox.requests]) == (code, ["GET"])


def test_the_samples_need_nothing_but_the_worker_s_own_dependencies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The container image, which has no extra, can send them."""
    for name in ("starlette", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in [name for name in sys.modules if name.startswith("hunkwatch.demo")]:
        monkeypatch.delitem(sys.modules, name)

    module = importlib.import_module("hunkwatch.demo.seed")

    assert Path(str(module.__file__)).parent == Path(str(demo.__file__)).parent

"""Settings: where a value may come from, which one wins, and what is said when some are wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies
from pydantic import TypeAdapter, ValidationError

from hunkwatch.errors import Exit
from hunkwatch.events import SettingDeprecated
from hunkwatch.settings import (
    CREDENTIALS,
    BadSettings,
    Duration,
    LangfuseSection,
    Settings,
    config_places,
    duration,
    load,
    redacted,
    state_folder,
)

MARK = "marked0secret"

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a configuration file and return its path."""

    def _write(text: str) -> Path:
        path = tmp_path / "config.toml"
        path.write_text(text, "utf-8")
        return path

    return _write


def problems(**arguments: Any) -> list[str]:
    """Load what is wrong and return the problems as lines."""
    with pytest.raises(BadSettings) as caught:
        load(**{"environ": {}, **arguments})
    return [str(problem) for problem in caught.value.problems]


# ---------------------------------------------------------------- durations


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", timedelta(seconds=30)),
        ("10m", timedelta(minutes=10)),
        ("7d", timedelta(days=7)),
        ("1h30m", timedelta(minutes=90)),
        ("1h 30m", timedelta(minutes=90)),
        ("250ms", timedelta(milliseconds=250)),
        ("2w", timedelta(days=14)),
        ("1.5s", timedelta(milliseconds=1500)),
        ("90", timedelta(seconds=90)),
        (90, timedelta(seconds=90)),
        (0.25, timedelta(milliseconds=250)),
        (timedelta(hours=1), timedelta(hours=1)),
    ],
)
def test_a_duration_is_spelled_with_units_or_is_seconds(text: object, expected: timedelta) -> None:
    """Every form the file documents is read as what it says."""
    assert expected == duration.parse(text)


@pytest.mark.parametrize(
    "text", ["", "s", "banana", "10 x", "-5s", -1, True, None, [], float("nan"), float("inf"), "9999999d", 10**30, "1h-30m", "٣s"]
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    """Nothing is guessed: a sign, a bare unit, a boolean, an endless number are errors."""
    with pytest.raises(ValueError, match="a duration like"):
        duration.parse(text)


@settings(max_examples=60)
@given(strategies.timedeltas(min_value=timedelta(0), max_value=timedelta(days=3650)))
def test_a_rendered_duration_reads_back_as_itself(span: timedelta) -> None:
    """Render and parse are inverse to the microsecond."""
    assert span == duration.parse(duration.render(span))


def test_the_duration_type_parses_and_renders() -> None:
    """As a pydantic type it takes the spelled form and dumps it."""
    kind = TypeAdapter(Duration)

    assert (timedelta(minutes=45), "45m") == (kind.validate_python("45m"), kind.dump_python(timedelta(minutes=45)))


# ---------------------------------------------------------------- which value wins


def test_flag_beats_environment_beats_file_beats_default(write: Write) -> None:
    """Each source wins over the next, key by key."""
    file = write('[sweep]\nevery = "1s"\nsince = "1d"\nquiet = "3s"\n')
    environ = {"HUNKWATCH_SWEEP__EVERY": "2s", "HUNKWATCH_SWEEP__SINCE": "2d"}

    sweep = load(environ=environ, config=file, flags={"sweep.every": "3s", "sweep.quiet": None}).settings.sweep

    expected = (timedelta(seconds=3), timedelta(days=2), timedelta(seconds=3), timedelta(minutes=45))
    assert expected == (sweep.every, sweep.since, sweep.quiet, sweep.overlap)


def test_origins_say_where_each_value_was_given(write: Write) -> None:
    """``check`` can show which file, variable or flag a value came from."""
    file = write("[delivery]\nsends = 2\n")

    loaded = load(environ={"LANGFUSE_PUBLIC_KEY": "pk-lf-1"}, config=file, flags={"http.port": 0})

    expected = {
        "delivery.sends": f"{file}, [delivery] sends",
        "langfuse.public_key": "LANGFUSE_PUBLIC_KEY",
        "http.port": "command line, http.port",
    }
    assert expected == loaded.origins


def test_langfuse_names_are_taken_and_our_own_name_wins() -> None:
    """A value given for this tool alone is meant more than one that other tools share."""
    environ = {
        "LANGFUSE_BASE_URL": "https://shared.example",
        "HUNKWATCH_LANGFUSE__BASE_URL": "https://ours.example/",
        "LANGFUSE_PUBLIC_KEY": "pk-lf-1",
        "LANGFUSE_SECRET_KEY": "sk-lf-1",
    }

    section = load(environ=environ, required=CREDENTIALS).settings.langfuse

    assert (section.base_url, section.public_key, section.secret_key.get_secret_value()) == ("https://ours.example", "pk-lf-1", "sk-lf-1")


def test_the_old_name_of_the_address_is_taken_with_one_warning() -> None:
    """LANGFUSE_HOST still works and is named as old."""
    loaded = load(environ={"LANGFUSE_HOST": "https://old.example"})

    assert loaded.settings.langfuse.base_url == "https://old.example"
    assert loaded.deprecated == (SettingDeprecated(old="LANGFUSE_HOST", new="LANGFUSE_BASE_URL"),)


def test_the_old_name_is_silent_when_the_new_one_wins() -> None:
    """A machine that sets both for older SDKs is not nagged."""
    loaded = load(environ={"LANGFUSE_HOST": "https://old.example", "LANGFUSE_BASE_URL": "https://new.example"})

    assert (loaded.settings.langfuse.base_url, loaded.deprecated) == ("https://new.example", ())


def test_a_secret_may_stand_in_a_file_named_by_a_variable(tmp_path: Path) -> None:
    """The file's white space at the ends is not part of the key; any setting may be given so."""
    key, url = tmp_path / "key", tmp_path / "url"
    key.write_text("sk-lf-7\n", "utf-8")
    url.write_text("postgresql://u:p@db/x\n", "utf-8")

    loaded = load(environ={"LANGFUSE_SECRET_KEY_FILE": str(key), "HUNKWATCH_STORE__URL_FILE": str(url)}).settings

    assert (loaded.langfuse.secret_key.get_secret_value(), loaded.store.url) == ("sk-lf-7", "postgresql://u:p@db/x")


def test_an_empty_variable_counts_as_not_set() -> None:
    """Compose files pass on variables that nobody set."""
    environ = {"LANGFUSE_BASE_URL": "", "HUNKWATCH_SWEEP__EVERY": "", "LANGFUSE_SECRET_KEY_FILE": "", "HOME": "/home/somebody"}

    assert load(environ={"HOME": "/home/somebody"}) == load(environ=environ)


def test_lists_come_as_words_or_as_json() -> None:
    """A list in the environment is a comma list or JSON."""
    words = load(
        environ={"HUNKWATCH_SCORES__WRITE": "blind_rewrite, retyped_lines", "HUNKWATCH_DELIVERY__LOOK_AFTER": '["1s", 2]'}
    ).settings

    expected = (("blind_rewrite", "retyped_lines"), (timedelta(seconds=1), timedelta(seconds=2)))
    assert expected == (words.scores.write, words.delivery.look_after)


# ---------------------------------------------------------------- places


def test_the_file_is_found_in_the_users_folder_then_in_etc(tmp_path: Path) -> None:
    """The first place that has one is used."""
    place = tmp_path / "hunkwatch" / "config.toml"
    place.parent.mkdir()
    place.write_text('[log]\nlevel = "error"\n', "utf-8")

    loaded = load(environ={"XDG_CONFIG_HOME": str(tmp_path)})

    assert (place, "error") == (loaded.config_file, loaded.settings.log.level)
    assert (place, Path("/etc/hunkwatch/config.toml")) == config_places({"XDG_CONFIG_HOME": str(tmp_path)})
    assert Path("/home/x/.config/hunkwatch/config.toml") == config_places({"HOME": "/home/x", "XDG_CONFIG_HOME": "not/absolute"})[0]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "HOME": "/home/x"}, "/var/lib/a"),
        ({"XDG_STATE_HOME": "/state", "HOME": "/home/x"}, "/state/hunkwatch"),
        ({"HOME": "/home/x"}, "/home/x/.local/state/hunkwatch"),
        ({}, "/var/lib/hunkwatch"),
    ],
)
def test_the_state_folder_follows_systemd_then_the_user(environ: dict[str, str], expected: str) -> None:
    """Without a store address the state has one well-known place."""
    assert Path(expected) == state_folder(environ)
    assert f"sqlite:///{expected}/hunkwatch.db" == load(environ=environ).settings.store.url


# ---------------------------------------------------------------- what is wrong


def test_everything_wrong_is_reported_at_once_with_its_place(write: Write) -> None:
    """Syntax apart, no fault hides another, whatever source it is in."""
    file = write('[sweep]\nevry = 3\nsince = "banana"\n[delivery]\nbatch = 5000\nlook_after = ["20s", "x"]\n')
    environ = {
        "HUNKWATCH_LOG__LEVL": "info",
        "HUNKWATCH_HTTP__PORT": "99999",
        "HUNKWATCH_SWEEP_EVERY": "1s",
        "LANGFUSE_PUBLIC_KEY": "sk-lf-1",
    }

    lines = problems(config=file, environ=environ, flags={"sweep.quiet": "-1s"}, required=CREDENTIALS)

    form = 'a duration like "30s", "10m", "7d" or a number of seconds, up to 3650d'
    expected = {
        f"{file}, [sweep] evry: there is no such setting; did you mean [sweep] every?",
        f"{file}, [sweep] since: should be {form}, not 'banana'",
        f"{file}, [delivery] batch: should be less than or equal to 1000, not 5000",
        f"{file}, [delivery] look_after: item 2 should be {form}, not 'x'",
        "HUNKWATCH_LOG__LEVL: there is no such setting; did you mean [log] level?",
        "HUNKWATCH_HTTP__PORT: should be less than or equal to 65535, not '99999'",
        "HUNKWATCH_SWEEP_EVERY: needs two underscores after the section: HUNKWATCH_SWEEP__EVERY",
        "LANGFUSE_PUBLIC_KEY: holds a secret key (sk-...): the two keys look swapped",
        f"command line, sweep.quiet: should be {form}, not '-1s'",
        "langfuse.secret_key: is not set; give it as LANGFUSE_SECRET_KEY or as a file named by LANGFUSE_SECRET_KEY_FILE",
    }
    assert expected == set(lines)
    assert len(expected) == len(lines)


def test_bad_settings_stop_with_the_configuration_code(write: Write) -> None:
    """A supervisor can tell that a restart would not help."""
    with pytest.raises(BadSettings) as caught:
        load(environ={}, config=write("[sweep]\nevry = 3\n"))

    assert (caught.value.exit_code, str(caught.value)) == (Exit.CONFIG, "the configuration has 1 problem")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[sweep", "cannot be read: "),
        ("every = 1\n", "stands outside any section"),
        ("[swep]\n", "there is no such section; did you mean [sweep]?"),
        ("[sweep]\ntimeout = 1\n", "there is no such setting; did you mean [langfuse] timeout?"),
        ("[scores]\nwrite = []\n", "should hold at least one item, not []"),
        ("[sweep]\nevery = 0\n", "should be longer than 0s, not 0"),
        ("[sweep.every]\nx = 1\n", "a duration like"),
        ('[store]\nurl = "mysql://x"\n', 'should start with "sqlite:///" or "postgresql://"'),
    ],
)
def test_a_bad_file_says_what_and_where(write: Write, text: str, expected: str) -> None:
    """One line, naming the file, with the nearest real name where there is one."""
    file = write(text)

    (line,) = problems(config=file)

    assert line.startswith(str(file))
    assert expected in line


def test_a_named_file_that_is_missing_or_no_text_is_an_error(tmp_path: Path) -> None:
    """A file that was asked for is never skipped."""
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")

    assert [f"{tmp_path / 'none.toml'}: cannot be read: No such file or directory"] == problems(config=tmp_path / "none.toml")
    assert [f"{binary}: cannot be read: not UTF-8 text"] == problems(config=binary)


def test_a_value_and_its_file_together_are_refused(tmp_path: Path) -> None:
    """Two answers to one question are no answer."""
    lines = problems(
        environ={"LANGFUSE_SECRET_KEY": "sk-lf-1", "LANGFUSE_SECRET_KEY_FILE": str(tmp_path)}, required=("langfuse.secret_key",)
    )

    assert lines == ["LANGFUSE_SECRET_KEY: is set together with LANGFUSE_SECRET_KEY_FILE; keep one of them"]


def test_variables_of_an_orchestrator_are_not_settings() -> None:
    """Kubernetes adds variables named after a service called hunkwatch."""
    environ = {"HUNKWATCH_SERVICE_HOST": "10.0.0.1", "HUNKWATCH_PORT": "tcp://10.0.0.1:9469", "HUNKWATCH_PORT_9469_TCP_ADDR": "10.0.0.1"}

    assert load(environ=environ).origins == {}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "langfuse.example",
        "ftp://langfuse.example",
        "https://",
        "https://u:p@langfuse.example",
        "https://x/project/abc",
        "https://x/api/public",
        "https://x?y=1",
        "https://[x",
        "https://x:99999",
        "https://x y",
    ],
)
def test_an_address_that_cannot_be_the_server_is_refused(url: str) -> None:
    """What people paste by mistake is caught before the first request."""
    with pytest.raises(ValidationError):
        LangfuseSection(base_url=url)


# ---------------------------------------------------------------- secrets


def test_no_message_shows_what_was_given_for_a_secret(tmp_path: Path, write: Write) -> None:
    """Keys, passwords in addresses, and a key put where a file name belongs stay out of every problem."""
    file = write(f'[langfuse]\nsecret_key = ["{MARK}"]\nbase_url = "https://u:{MARK}@x"\n[store]\nurl = "mysql://u:{MARK}@x/y"\n')
    environ = {"LANGFUSE_PUBLIC_KEY": f"sk-{MARK}", "LANGFUSE_SECRET_KEY_FILE": str(tmp_path / MARK)}

    lines = problems(config=file, environ=environ) + problems(config=file)

    assert len(lines) == 8
    assert not [line for line in lines if MARK in line]


def test_the_dump_for_the_log_hides_secrets() -> None:
    """Every setting is there, none of the secrets is."""
    given = Settings.model_validate(
        {
            "langfuse": {"public_key": "pk-lf-12345678-rest", "secret_key": MARK},
            "store": {"url": f"postgresql://user:{MARK}@db:5432/x?password={MARK}"},
        }
    )

    dump = redacted(given)

    expected = ("pk-lf-1234...", "(set)", "postgresql://user:***@db:5432/x?...", "30s")
    assert expected == (dump["langfuse.public_key"], dump["langfuse.secret_key"], dump["store.url"], dump["sweep.every"])
    assert MARK not in f"{dump}{given!r}"


def test_a_window_that_never_reaches_the_present_is_refused() -> None:
    """Two settings that only together are wrong are named together, beside whatever else is wrong."""
    found = problems(environ={"HUNKWATCH_SWEEP__SPAN": "10s", "HUNKWATCH_SWEEP__SETTLE": "10s", "HUNKWATCH_HTTP__PORT": "many"})

    assert [
        "[sweep]: span should be longer than settle, or no sweep reaches the present",
        "HUNKWATCH_HTTP__PORT: should be a valid integer, unable to parse string as an integer, not 'many'",
    ] == found


def test_a_ledger_that_forgets_what_is_still_read_is_refused() -> None:
    """The reconcile rounds would read such traces whole again and again."""
    environ = {"HUNKWATCH_SWEEP__KEEP": "2d", "HUNKWATCH_SWEEP__DEEP_RECONCILE_REACH": "2d"}

    assert [
        "[sweep]: keep should be longer than overlap, reconcile_reach and deep_reconcile_reach, or the dropped is read again"
    ] == problems(environ=environ)

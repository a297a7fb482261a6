"""[[projects]]: several projects in one configuration, each with its own keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hunkwatch.settings import CREDENTIALS, BadSettings, Settings, each, load, redacted, secrets_of

EXAMPLE = Path(__file__).parent.parent / "config.example.toml"
MARK = "sk-lf-marked0secret"

Load = Callable[..., Settings]


@pytest.fixture
def loaded(tmp_path: Path) -> Load:
    """Load a configuration file with this text."""

    def _load(text: str, environ: Mapping[str, str] | None = None, *, required: tuple[str, ...] = CREDENTIALS) -> Settings:
        path = tmp_path / "config.toml"
        path.write_text(text, "utf-8")
        return load(environ=environ or {}, config=path, required=required).settings

    return _load


def entry(name: str, *more: str) -> str:
    """Return an entry with keys as they are, and more lines."""
    return "\n".join(["[[projects]]", f'name = "{name}"', f'public_key = "pk-lf-{name}"', f'secret_key = "sk-lf-{name}"', *more, ""])


def test_each_project_has_its_keys_and_what_it_says_of_langfuse(loaded: Load) -> None:
    """Whatever an entry does not say is [langfuse]'s; everything else is shared."""
    settings = loaded(
        '[langfuse]\nbase_url = "https://one.example"\ntimeout = "50s"\n[sweep]\nevery = "9s"\n'
        + entry("a")
        + entry("b", 'timeout = "70s"')
    )

    found = each(settings)

    assert [("a", "pk-lf-a", 50), ("b", "pk-lf-b", 70)] == [
        (name, one.langfuse.public_key, one.langfuse.timeout.total_seconds()) for name, one in found.items()
    ]
    assert {"https://one.example"} == {one.langfuse.base_url for one in found.values()}
    assert all(one.sweep == settings.sweep and not one.projects for one in found.values())


def test_without_entries_there_is_one_project_without_a_name() -> None:
    """What was written for one project goes on as it is."""
    assert each(Settings()) == {"": Settings()}


def test_keys_come_from_variables_and_files(loaded: Load, tmp_path: Path) -> None:
    """A file of secrets and a variable are as good as the text itself; none of it can be written anywhere."""
    (tmp_path / "key").write_text(f"{MARK}\n", "utf-8")
    text = f'[[projects]]\nname = "a"\npublic_key_env = "SHOP_KEY"\nsecret_key_file = "{tmp_path / "key"}"\n'

    settings = loaded(text, {"SHOP_KEY": "pk-lf-shop"})

    (one,) = each(settings).values()
    assert (one.langfuse.public_key, one.langfuse.secret_key.get_secret_value()) == ("pk-lf-shop", MARK)
    assert MARK in secrets_of(settings)
    assert MARK not in repr(settings) + str(redacted(settings))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('projects = "a"', "should be tables"),
        ("[[projects]]", "needs a name"),
        ('[[projects]]\nname = "a b"', "needs a name"),
        (entry("a") + entry("a"), "another entry is called a too"),
        ('[[projects]]\nname = "a"\npublic_key = "pk-lf-a"', "needs one of secret_key, secret_key_env and secret_key_file"),
        (entry("a", 'secret_key_env = "X"'), "needs one of secret_key, secret_key_env and secret_key_file"),
        ('[[projects]]\nname = "a"\npublic_key = "pk-lf-a"\nsecret_key_env = "NOT_THERE"', "the variable NOT_THERE is not set"),
        ('[[projects]]\nname = "a"\npublic_key = "pk-lf-a"\nsecret_key_file = "/not/there"', "the file cannot be read: No such file"),
        ('[[projects]]\nname = "a"\npublic_key = "pk-lf-a"\nsecret_key = ""', "should not be empty"),
        ('[[projects]]\nname = "a"\npublic_key = 7\nsecret_key = "sk-lf-a"', "public_key: should be text"),
        (f'[[projects]]\nname = "a"\npublic_key = "{MARK}"\nsecret_key = "sk-lf-a"', "the two keys look swapped"),
        (entry("a", 'base_url = "nowhere"'), "base_url: should be an address"),
        (entry("a", 'sweep = "1s"'), "there is no such setting of a project"),
        ('[langfuse]\npublic_key = "pk-lf-x"\n' + entry("a"), "is not used beside [[projects]]"),
    ],
)
def test_a_wrong_entry_is_named(text: str, told: str, loaded: Load) -> None:
    """Each says which entry, and what should change; no key stands in it."""
    with pytest.raises(BadSettings) as caught:
        loaded(text)

    said = "\n".join(map(str, caught.value.problems))
    assert told in said
    assert MARK not in said


def test_a_variable_of_langfuses_own_name_may_be_one_projects_key(loaded: Load) -> None:
    """Who has LANGFUSE_SECRET_KEY set already gives it to an entry by name."""
    text = '[[projects]]\nname = "a"\npublic_key_env = "LANGFUSE_PUBLIC_KEY"\nsecret_key_env = "LANGFUSE_SECRET_KEY"\n'

    settings = loaded(text, {"LANGFUSE_PUBLIC_KEY": "pk-lf-a", "LANGFUSE_SECRET_KEY": "sk-lf-a"})

    assert settings.projects[0].langfuse.public_key == "pk-lf-a"


def test_a_verb_that_needs_no_key_asks_for_none(loaded: Load) -> None:
    """``status`` runs where the secrets are not."""
    settings = loaded('[[projects]]\nname = "a"\npublic_key_env = "X"\nsecret_key_file = "/not/there"\n', required=())

    assert [one.name for one in settings.projects] == ["a"]


def test_the_entries_of_the_example_load(loaded: Load) -> None:
    """What is commented out in the example file is right too."""
    commented = re.search(r"((?:^# ?(?:\[\[projects\]\]|\w+ = .*)\n)+)", EXAMPLE.read_text("utf-8"), re.MULTILINE)
    assert commented is not None

    settings = loaded(re.sub(r"^# ?", "", commented[1], flags=re.MULTILINE), required=())

    assert len(settings.projects) > 0

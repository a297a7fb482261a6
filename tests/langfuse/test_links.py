"""Addresses in Langfuse's UI, read back the way its tables read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given, settings, strategies

from hunkwatch.langfuse.links import Links

LONGEST_FILTER = 4000
"""Langfuse keeps no longer one."""


class Condition(NamedTuple):
    """One condition of a table's filter, as the table sees it."""

    column: str
    kind: str
    key: str
    operator: str
    value: str


def conditions(address: str) -> list[Condition]:
    """Decode the filter of an address: the parameter once, then each key and value by itself."""
    (spelled,) = parse_qs(urlsplit(address).query, strict_parsing=True)["filter"]
    parts = (condition.split(";") for condition in spelled.split(","))
    return [Condition(column, kind, unquote(key), operator, unquote(value)) for column, kind, key, operator, value in parts]


def test_the_addresses_are_those_that_a_real_server_took() -> None:
    """Letter by letter what opened the right rows in a 4.16.0, apart from names and numbers."""
    links = Links("https://langfuse.example", "p1", 0.75)

    assert links.traces() == (
        "https://langfuse.example/project/p1/traces?filter=scores_avg%3BnumberObject%3Bblind_rewrite%3B%3C%3B0.75"
        "%2CisRootObservation%3Bboolean%3B%3B%3D%3Btrue&dateRange=7d"
    )
    assert links.observations() == (
        "https://langfuse.example/project/p1/observations?filter=scores_avg%3BnumberObject%3Bblind_rewrite_patch%3B%3C%3B0.75&dateRange=7d"
    )
    assert links.observation("t1", "o1") == "https://langfuse.example/project/p1/traces/t1?observation=o1"
    assert links.dashboard("d1") == "https://langfuse.example/project/p1/dashboards/d1"


@settings(max_examples=40)
@given(below=strategies.sampled_from([1.0, 0.75, 0.5, 0.333, 0.01]), path=strategies.sampled_from(["", "/", "/langfuse", "/a/b%20c/"]))
def test_every_table_reads_back_what_was_meant(below: float, path: str) -> None:
    """Whatever the threshold and the base path: the score, the comparison, the number, and a stretch of time."""
    links = Links(f"https://langfuse.example{path}", "p1", below)

    tables = {"traces": (links.traces(), "blind_rewrite"), "observations": (links.observations(), "blind_rewrite_patch")}
    for table, (address, name) in tables.items():
        first, *others = conditions(address)
        assert ("scores_avg", "numberObject", name, "<", below) == (*first[:4], float(first.value))
        assert [Condition("isRootObservation", "boolean", "", "=", "true")][: len(others)] == others
        assert urlsplit(address).path == f"{path.rstrip('/')}/project/p1/{table}"
        assert parse_qs(urlsplit(address).query)["dateRange"] == ["7d"]
        assert len(urlsplit(address).query) < LONGEST_FILTER


IDS = strategies.text(strategies.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(lambda text: text.strip("."))


@settings(max_examples=60)
@given(ids=strategies.tuples(IDS, IDS, IDS))
def test_every_id_reads_back_as_itself(ids: tuple[str, str, str]) -> None:
    """Ids are foreign text: slashes, question marks and hashes change no address."""
    project, trace, observation = ids
    address = urlsplit(Links("https://langfuse.example/base", project, 0.75).observation(trace, observation))

    assert ["base", "project", project, "traces", trace] == [unquote(step) for step in address.path.split("/")[1:]]
    assert unquote(address.query) == f"observation={observation}"
    assert (address.netloc, address.fragment, address.geturl().isascii()) == ("langfuse.example", "", True)


@pytest.mark.parametrize("table", ["traces", "observations"])
def test_a_table_may_show_a_stretch_of_time(table: str) -> None:
    """From and to in milliseconds, as the tables spell an absolute range."""
    begin = datetime(2026, 11, 30, 12, 0, 0, 250_000, tzinfo=UTC)
    address = getattr(Links("https://langfuse.example", "p1", 0.75), table)((begin, begin.replace(hour=13)))

    assert parse_qs(urlsplit(address).query)["dateRange"] == ["1796040000250-1796043600250"]

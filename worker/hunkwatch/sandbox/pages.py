"""Numbered pages, as the v1 readings, score configs and dashboards have them."""

from collections.abc import Sequence
from typing import Any

from starlette.datastructures import QueryParams

from hunkwatch.sandbox import answers

MOST = 100
USUAL = 50


def numbers(params: QueryParams) -> tuple[int, int]:
    """Page and limit, or a 400."""
    issues: list[answers.Issue] = []
    page, limit = (_number(params, name, usual, issues) for name, usual in (("page", 1), ("limit", USUAL)))
    if limit > MOST:
        issues.append(answers.too_big(MOST, ["limit"]))
    issues.extend(answers.too_small(1, [name]) for name, number in (("page", page), ("limit", limit)) if number < 1)
    if issues:
        raise answers.invalid(issues)
    return page, limit


def _number(params: QueryParams, name: str, usual: int, issues: list[answers.Issue]) -> int:
    text = params.get(name, str(usual))
    if text.lstrip("-").isdecimal():
        return int(text)
    issues.append(answers.not_a_number([name]))
    return usual


def cut(everything: Sequence[Any], page: int, limit: int) -> tuple[Sequence[Any], dict[str, int]]:
    """The page's part and the ``meta`` beside it."""
    total = len(everything)
    meta = {"page": page, "limit": limit, "totalItems": total, "totalPages": -(-total // limit)}
    return everything[(page - 1) * limit : page * limit], meta

"""Arguments in the media store: fetched without the key, from safe places only, and left alone where they cannot be had."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from hunkwatch import events
from hunkwatch.core.model import Observation
from hunkwatch.errors import AskForLess, Halt, RetryLater
from hunkwatch.langfuse import media
from hunkwatch.langfuse.media import Media, is_safe

if TYPE_CHECKING:
    from collections.abc import Callable

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+ü\n*** End Patch\n"
TOKEN = "@@@langfuseMedia:type=text/plain|id=m-1_x|source=field_size_limit@@@"
BASE = "https://langfuse.example/base"
FILE = "https://files.example/m?signature=s"


def row(**parts: Any) -> Observation:
    """Return an observation of a patch tool."""
    return Observation(**{"id": "o", "trace_id": "t", "start_time": datetime(2026, 4, 1, tzinfo=UTC), "type": "TOOL", **parts})


class Shelf:
    """Whoever keeps the files: answers from a script, and remembers what was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        """Give the answers in their order, the last one again and again."""
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    def client(self) -> httpx.AsyncClient:
        """Return the client that leads here."""

        def handle(request: httpx.Request) -> httpx.Response:
            self.asked.append(request)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return httpx.AsyncClient(transport=httpx.MockTransport(handle))


@pytest.fixture
def shop(edge: Any) -> Callable[..., Media]:
    """Return a maker of what fetches files, from a Langfuse that names this address."""

    def make(shelf: Shelf, *, url: str = FILE, answer: httpx.Response | None = None, size: int = 10) -> Media:
        told = answer or httpx.Response(200, json={"mediaId": "m-1_x", "url": url, "contentLength": size})
        return Media(edge.http(lambda _: told, attempts=1), shelf.client(), base_url=BASE, emit=edge.told.append)

    return make


async def test_an_argument_takes_the_place_of_its_token_and_the_key_stays_at_home(edge: Any, shop: Callable[..., Media]) -> None:
    """A tool's input and a model's output are fetched, nothing else; only Langfuse sees the key."""
    shelf = Shelf(httpx.Response(200, content=PATCH.encode()))
    rows = [
        row(input=TOKEN, output=TOKEN),
        row(type="GENERATION", input=TOKEN, output=f" {TOKEN}\n"),
        row(input={"x": TOKEN}),
        row(input=PATCH),
    ]
    filled = await shop(shelf).filled(rows)

    assert [(PATCH, TOKEN), (TOKEN, PATCH), ({"x": TOKEN}, None), (PATCH, None)] == [(one.input, one.output) for one in filled]
    assert [True, True] == ["authorization" in request.headers for request in edge.asked]
    assert [FILE, FILE] == [str(request.url) for request in shelf.asked]
    assert not any({"authorization", "cookie"} & set(request.headers) for request in shelf.asked)
    assert ["media", "media_content"] * 2 == [told.route for told in edge.told_of(events.RequestAnswered)]


@pytest.mark.parametrize(
    "token",
    [
        "@@@langfuseMedia:type=image/png|id=m1|source=base64_data_uri@@@",
        "@@@langfuseMedia:type=text/plain|id=../../projects|source=x@@@",
        "@@@langfuseMedia:type=text/plain|id=m1|source=field_size_limit@@@ and more",
        "@@@langfuseMedia:",
    ],
)
async def test_what_is_no_token_of_a_text_is_left_alone(edge: Any, shop: Callable[..., Media], token: str) -> None:
    """Images, broken tokens and texts that only quote one cost no request."""
    assert [token] == [one.input for one in await shop(Shelf(httpx.Response(500))).filled([row(input=token)])]
    assert [] == edge.asked


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(403, json={"message": "no"}),
        httpx.Response(404, json={"message": "Media asset not found"}),
        httpx.Response(200, json={"mediaId": "m1"}),
        httpx.Response(200, json={"url": FILE, "contentLength": media.LARGEST + 1}),
        httpx.Response(200, json={"url": "http://169.254.169.254/latest", "contentLength": 1}),
    ],
)
async def test_a_file_that_is_not_to_be_had_stays_a_token(shop: Callable[..., Media], answer: httpx.Response) -> None:
    """Unknown, forbidden, too large, or somewhere unsafe: the file is not asked for, and nothing stops."""
    shelf = Shelf(httpx.Response(200, content=b"x"))

    assert [TOKEN] == [one.input for one in await shop(shelf, answer=answer).filled([row(input=TOKEN)])]
    assert [] == shelf.asked


@pytest.mark.parametrize(
    ("answers", "tries", "expected"),
    [
        ([httpx.Response(403, text="expired")], 1, TOKEN),
        ([httpx.Response(302, headers={"location": "http://127.0.0.1/"})], 1, TOKEN),
        ([httpx.Response(503)], 2, TOKEN),
        ([httpx.ConnectError("no")], 2, TOKEN),
        ([httpx.ReadTimeout("slow"), httpx.Response(200, content=PATCH.encode())], 2, PATCH),
        ([httpx.Response(200, content=b"x" * (media.LARGEST + 1))], 1, TOKEN),
        ([httpx.Response(200, content=b"\xff+a")], 1, "\ufffd+a"),
    ],
)
async def test_whoever_keeps_the_files_cannot_stop_the_worker(
    shop: Callable[..., Media], answers: list[httpx.Response | Exception], tries: int, expected: str
) -> None:
    """Refusals are final, faults are tried once more, redirects are not followed, and more than was promised is not taken."""
    shelf = Shelf(*answers)

    assert [expected] == [one.input for one in await shop(shelf).filled([row(input=TOKEN)])]
    assert tries == len(shelf.asked)


async def test_faults_of_langfuse_itself_are_the_callers(shop: Callable[..., Media]) -> None:
    """A server that is away is asked again later, a key that is wrong ends the worker: neither makes a call unresolved."""
    shelf = Shelf(httpx.Response(200))
    for status, kind in ((503, RetryLater), (429, RetryLater), (401, Halt)):
        with pytest.raises(kind):
            await shop(shelf, answer=httpx.Response(status, json={"message": "x"})).filled([row(input=TOKEN)])


async def test_more_files_than_fit_into_memory_are_for_a_smaller_window(
    shop: Callable[..., Media], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon cuts the window, so that each page's files fit."""
    monkeypatch.setattr(media, "MOST", 3 * len(PATCH.encode()))
    fetching = shop(Shelf(httpx.Response(200, content=PATCH.encode())))

    assert len(await fetching.filled([row(input=TOKEN)] * 3)) == 3
    with pytest.raises(AskForLess):
        await fetching.filled([row(input=TOKEN)] * 4)


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://bucket.s3.amazonaws.com/x?y=z", True),
        ("https://8.8.8.8/x", True),
        ("http://langfuse.example:9000/x", True),
        ("https://langfuse.example/x", True),
        ("http://bucket.example/x", False),
        ("https://10.0.0.1/x", False),
        ("https://127.0.0.1/x", False),
        ("https://[::1]/x", False),
        ("https://[fd00::1]/x", False),
        ("https://169.254.169.254/latest/meta-data", False),
        ("https://localhost/x", False),
        ("https://a.localhost/x", False),
        ("https://user:word@bucket.example/x", False),
        ("https://user@langfuse.example/x", False),
        ("file:///etc/passwd", False),
        ("ftp://langfuse.example/x", False),
        ("https://bucket.example:99999/x", False),
        ("https://", False),
        ("", False),
        ("https://[bad/x", False),
    ],
)
def test_a_file_is_fetched_from_safe_places_only(url: str, safe: bool) -> None:  # noqa: FBT001 - a case
    """Only https from the outside world, or the host of Langfuse itself."""
    assert safe is is_safe(url, home="langfuse.example")

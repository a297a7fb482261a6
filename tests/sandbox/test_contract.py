"""The sandbox against what a real Langfuse 4.16.0 answered.

Each scene sets the state, replays recorded requests in their order, and compares status, the headers that matter and the whole body.
What a server invents (ids, its own times) is matched by form: ids that it gave are carried over to the later requests of the scene.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from hunkwatch.sandbox import Habits, Plan, Project, Sandbox
from hunkwatch.sandbox.habits import MEASURED

RECORDED = Path(__file__).parent / "recorded"
PROJECT = Project(id="test-project", public_key="pk-lf-test", secret_key="sk-lf-test", organization="test-org")
KEYS = (PROJECT.public_key, PROJECT.secret_key)
BEGIN = datetime(2026, 11, 30, 21, 18, 39, 756000, tzinfo=UTC)
HEADERS = ("retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")

LEFT_OUT: dict[str, str] = {}
"""Recorded exchanges that no scene replays, each with its reason. There is none."""

ONLY_STATUS = {"242": "the page of Next.js is not ours to copy: status and content type are compared"}
PRICES = ("internalModelId", "modelId", "inputPrice", "outputPrice", "totalPrice", "usagePricingTierId", "usagePricingTierName")
"""Masked on rows with a model: the sandbox has no table of model prices."""
OWN_TIMES = ("createdAt", "updatedAt", "timestamp")
JOB = ("id", "fileKey", "traceparent", "baggage", "timestamp")
"""Made up anew for every queued job."""
UNORDERED = ("202", "236")
"""Lists whose order among equal start times or counts is the database's own."""
# The real limiter rounds each reset anew: 121 says a millisecond less than 117 about the same window.
COUNTS_PARTS = ("053", "054", "063", "066", "068")
"""``totalItems`` counts the rows that the database has not merged yet."""


def exchange(number: str) -> dict[str, Any]:
    """A recorded exchange by its number."""
    (path,) = RECORDED.glob(f"{number}-*.json")
    return json.loads(path.read_text())


def body(number: str) -> Any:
    """The recorded answer's body."""
    return exchange(number)["response"]["body"]


@dataclass
class Scene:
    """A sandbox, its clock, and what the server has called the things it made."""

    sandbox: Sandbox
    clock: list[datetime]
    client: httpx.AsyncClient
    names: dict[str, str] = field(default_factory=dict)

    async def replay(self, *numbers: str, auth: Any = KEYS, pause: float = 7, **headers: str) -> None:
        """Send what was sent and compare what comes back."""
        for number in numbers:
            recorded = exchange(number)
            self.clock[0] += timedelta(seconds=pause)
            answer = await self._send(recorded["request"], auth, headers)
            expected = recorded["response"]
            actual = answer.json() if "json" in answer.headers.get("content-type", "") else answer.text
            assert (number, expected["status"]) == (number, answer.status_code), actual
            assert (number, _kind(expected["headers"])) == (number, _kind(answer.headers))
            if (
                recorded["request"]["method"] == "POST"
                and isinstance(actual, dict)
                and "id" in actual
                and "name" not in expected["body"].get("data", {})
            ):
                self.names[expected["body"]["id"]] = actual["id"]
            if number not in ONLY_STATUS:
                assert (number, masked(number, self.renamed(expected["body"]))) == (number, masked(number, actual))
            limits = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
            assert {name: expected["headers"][name] for name in HEADERS if name in expected["headers"]} == limits

    async def _send(self, request: Mapping[str, Any], auth: Any, headers: Mapping[str, str]) -> httpx.Response:
        sent, path = self.renamed(request["body"]), self.renamed(request["path"])
        content = None if sent is None else sent if isinstance(sent, str) else json.dumps(sent)
        return await self.client.request(request["method"], path, content=content, headers={**request["headers"], **headers}, auth=auth)

    def renamed(self, value: Any) -> Any:
        """The same with the names that this server gave."""
        text = json.dumps(value)
        for old, new in self.names.items():
            text = text.replace(old, new)
        return json.loads(text)


@pytest.fixture
async def begin() -> Any:
    """Begin a scene: a server with a clock that stands where it is put."""
    clients: list[httpx.AsyncClient] = []

    def scene(mode: str = "dual", habits: Habits | None = None, at: datetime = BEGIN) -> Scene:
        clock = [at]
        sandbox = Sandbox(mode=mode, habits=habits, projects=(PROJECT,), now=lambda: clock[0])
        client = httpx.AsyncClient(transport=httpx.ASGITransport(sandbox.app), base_url="http://sandbox")
        clients.append(client)
        return Scene(sandbox, clock, client)

    yield scene
    for client in clients:
        await client.aclose()


def _kind(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").split(";")[0]


def masked(number: str, value: Any) -> Any:
    """The body with the server's own inventions replaced by what they are."""
    value = _mask(number, value)
    if number in UNORDERED:
        value["data"].sort(key=lambda row: json.dumps(row, sort_keys=True))
    if number in COUNTS_PARTS:
        value["meta"]["totalItems"] = "a number"
    return value


def _mask(number: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_mask(number, item) for item in value]
    if not isinstance(value, dict):
        return value
    mask: dict[str, Any] = {}
    for key, item in value.items():
        is_own = key in OWN_TIMES and isinstance(item, str) and (key != "timestamp" or "dataType" in value)
        if (is_own or (number == "121" and key == "resetAt")) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", item):
            mask[key] = "a time"
        elif (number in {"190", "191"} and key in JOB) or (key == "cursor" and number in {"110", "130"}):
            mask[key] = type(item).__name__
        elif key in PRICES and value.get("model", value.get("usageDetails")):
            mask[key] = "a price"
        elif key in {"observations", "scores"} and isinstance(item, list):
            mask[key] = sorted(_mask(number, item), key=lambda one: json.dumps(one, sort_keys=True))
        else:
            mask[key] = _mask(number, item)
    return mask


def sdk_rows(trace: str, raw: str | None = None) -> Iterator[dict[str, Any]]:
    """The observations of a trace that the SDK sent, as seeds: from the v1 reading, with the raw texts of a v2 reading if there is one."""
    whole = body(trace)
    texts = {row["id"]: row for row in body(raw)["data"]} if raw else {}
    for row in whole["observations"]:
        metadata = {key: json.dumps(value) if isinstance(value, str) else value for key, value in row["metadata"].items()}
        about = {key: whole[key] for key in ("userId", "sessionId", "tags")}
        text = {key: texts[row["id"]][key] for key in ("input", "output")} if raw else {}
        known = {key: value for key, value in row.items() if key not in PRICES}
        yield {**known, **about, **text, "metadata": metadata, "traceName": whole["name"], "traceMetadata": {"repo": "demo"}}


def seen_rows(*numbers: str, without: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rows of v2 readings as seeds, whole as far as any of the readings shows them."""
    rows: dict[str, dict[str, Any]] = {}
    for number in numbers:
        for row in body(number)["data"]:
            rows.setdefault(row["id"], {}).update({key: value for key, value in row.items() if key not in PRICES})
    return [row for row in rows.values() if row["traceId"] not in without]


SCORES = [f"{number:03d}" for number in range(51, 112)]
FIRST, SECOND = "fcad369ae6aa38aeefd3b1424e8e3bae", "de24d7cf87fc03cd84c74a3966dfd46e"


async def scores(begin: Callable[..., Scene]) -> None:
    """Scores, their configs and the readings by score, then the same server in the mode that v4 has by default."""
    scene = begin(habits=Habits(delays=MEASURED))
    scene.sandbox.add_observations(sdk_rows("111"), project=PROJECT.id)
    await scene.replay(*SCORES[:34])
    await scene.replay(*SCORES[34:52], pause=0.03)
    await scene.replay(*SCORES[52:])
    scene.sandbox.mode = "events_only"
    await scene.replay(*(f"{number}" for number in range(122, 138)))


async def batches(begin: Callable[..., Scene]) -> None:
    """Old SDKs' batches, and the events table ten minutes later."""
    scene = begin(habits=Habits(delays=MEASURED))
    await scene.replay("002", pause=0)
    await scene.replay("003", pause=625)


async def limits(begin: Callable[..., Scene]) -> None:
    """Cloud's limits on the Hobby plan, to the millisecond."""
    scene = begin(habits=Habits(plan=Plan.HOBBY), at=datetime(2026, 11, 30, 21, 22, 45, 388000, tzinfo=UTC))
    await scene.replay("112", pause=0)
    for _ in range(28):
        await scene.client.get("/api/public/v3/scores", auth=KEYS)
    await scene.replay("113", pause=20)
    await scene.replay("114", pause=0.362)
    for _ in range(13):
        await scene.client.get("/api/public/observations", auth=KEYS)
    await scene.replay("115", "116", pause=0)
    await scene.replay("117", pause=0.9)
    await scene.replay("118", pause=0)
    await scene.replay("119", pause=0.047)
    for _ in range(48):
        await scene.client.delete("/api/public/scores/zzz", auth=KEYS)
    await scene.replay("120", "121", pause=0)


async def configs(begin: Callable[..., Scene]) -> None:
    """What a config refuses is accepted and never seen; a delete loses against a score on its way; merging."""
    scene = begin(habits=Habits(delays=MEASURED))
    scene.sandbox.add_observations(sdk_rows("111"), project=PROJECT.id)
    await scene.replay(*(f"{number}" for number in range(138, 151)), pause=0.03)
    await scene.replay(*(f"{number}" for number in range(151, 162)))
    await scene.replay("162", "163", pause=0.02)
    await scene.replay(*(f"{number}" for number in range(164, 168)), pause=0.02)
    await scene.replay("168", "169", "170", "171", "172", "173")
    assert ["race"] == [score["name"] for score in scene.sandbox.scores(project=PROJECT.id) if score["id"] == "race-29fa30"]


async def conditions(begin: Callable[..., Scene]) -> None:
    """Filters on v2 observations, and the list of scores that 4.16 refuses."""
    scene = begin()
    scene.sandbox.add_observations(sdk_rows("111"), project=PROJECT.id)
    await scene.replay(*(f"{number}" for number in range(174, 188)))


async def spans(begin: Callable[..., Scene]) -> None:
    """OTLP as JSON with and without the ingestion version, and the order of equal start times."""
    scene = begin(habits=Habits(delays=MEASURED), at=datetime(2026, 11, 30, 21, 26, 52, tzinfo=UTC))
    rows = [{**row, "name": "vol_tool"} for row in reversed(seen_rows("195"))]
    scene.sandbox.add_observations(rows, project=PROJECT.id)
    await scene.replay("190", "191", "192", "195", pause=0)
    await scene.replay("246", pause=625)


READS = ("195", "206", "207", "208", "209", "210", "211", "212", "213", "214", "215", "218", "219", "230")


async def reads(begin: Callable[..., Scene]) -> None:
    """Both readings of the same data: lists, pages, filters, bad parameters, traces, sessions, counts."""
    scene = begin(habits=Habits(delays=MEASURED), at=datetime(2026, 11, 30, 21, 30, 8, 189000, tzinfo=UTC))
    scene.sandbox.add_observations([{"name": "vol_tool", **row} for row in seen_rows(*READS, without=(FIRST, SECOND))], project=PROJECT.id)
    scene.sandbox.add_observations([*sdk_rows("111"), *sdk_rows("200", raw="207")], project=PROJECT.id)
    await scene.replay("197", pause=0)
    await scene.replay("198")
    await scene.replay(*(f"{number}" for number in range(199, 232)), "233", pause=0.1)
    await scene.replay("234", "235", "236", "240", "241", "242", "243", "244", pause=0.1)


async def refusals(begin: Callable[..., Scene]) -> None:
    """Keys that open nothing, or not this."""
    scene = begin()
    await scene.replay("237", auth=("pk-lf-test", "sk-lf-wrong"))
    await scene.replay("238", auth=None)
    await scene.replay("239", auth=("pk-lf-nobody", "sk-lf-nobody"))
    await scene.replay("245", auth=None, authorization="Bearer pk-lf-test")


async def oldest(begin: Callable[..., Scene]) -> None:
    """The oldest trace of 38, made of 40 spans."""
    scene = begin()
    (trace,) = body("232")["data"]
    begun = 1796066846187
    for number, id_ in enumerate(trace["observations"]):
        span = {"traceId": trace["id"], "spanId": id_, "name": trace["name"], "startTimeUnixNano": f"{(begun + number % 4) * 10**6}"}
        span["endTimeUnixNano"] = span["startTimeUnixNano"]
        span["attributes"] = [{"key": "langfuse.observation.type", "value": {"stringValue": "tool"}}]
        request = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "m"}, "spans": [span]}]}]}
        (await scene.client.post("/api/public/otel/v1/traces", json=request, auth=KEYS)).raise_for_status()
    fillers = [{"id": f"o{number}", "traceId": f"t{number}", "startTime": "2026-11-30T21:00:00.000Z"} for number in range(37)]
    scene.sandbox.add_observations(fillers, project=PROJECT.id)
    await scene.replay("232")


async def boards(begin: Callable[..., Scene]) -> None:
    """Widgets, a dashboard, and a placement that is there already."""
    await begin().replay(*(f"{number}" for number in range(300, 308)))


SCENES = {
    scores: [*SCORES, *(f"{number}" for number in range(122, 138))],
    batches: ["002", "003"],
    limits: [f"{number}" for number in range(112, 122)],
    configs: [f"{number}" for number in range(138, 174)],
    conditions: [f"{number}" for number in range(174, 188)],
    spans: ["190", "191", "192", "195", "246"],
    reads: [*(f"{number}" for number in range(197, 232)), *(f"{number}" for number in (233, 234, 235, 236, 240, 241, 242, 243, 244))],
    refusals: ["237", "238", "239", "245"],
    oldest: ["232"],
    boards: [f"{number}" for number in range(300, 308)],
}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
async def test_the_scene_plays_as_recorded(scene: Callable[..., Any], begin: Callable[..., Scene]) -> None:
    """The sandbox answers every request of the scene as the real server did."""
    await scene(begin)


def test_nothing_recorded_is_left_out_without_a_reason() -> None:
    """Every recorded exchange is replayed by one scene or stands in the table of those that are not."""
    played = [number for numbers in SCENES.values() for number in numbers]
    assert sorted(path.name[:3] for path in RECORDED.glob("*.json")) == sorted([*played, *LEFT_OUT])

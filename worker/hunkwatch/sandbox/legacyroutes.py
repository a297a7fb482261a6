"""The handlers of the v1 readings, score configs, dashboards, media and metrics.

On Cloud the v1 readings say in every answer that they will end.
"""

from typing import Any

from starlette.responses import Response

from hunkwatch.sandbox import answers, boards, ingestion, legacy, legacyscores, metrics, moments, pages, traces
from hunkwatch.sandbox.habits import Plan
from hunkwatch.sandbox.routes import Call
from hunkwatch.sandbox.state import Room

REPLACEMENT = "GET /api/public/v2/observations?fromStartTime=<from>&toStartTime=<to>"
SUNSET = "2026-11-16"
DEPRECATION = {
    "message": "On Langfuse Cloud, Langfuse v3 is deprecated and this endpoint will be removed on November 16, 2026. "
    f"In Langfuse v4, read span and trace data via {REPLACEMENT}.",
    "replacement": REPLACEMENT,
    "docsUrl": "https://langfuse.com/docs/api-and-data-platform/features/observations-api",
    "sunsetAt": SUNSET,
}


def _legacy(call: Call, body: dict[str, Any]) -> Response:
    ends = {"_deprecation": DEPRECATION} if call.state.habits.plan is not Plan.SELF_HOSTED else {}
    return answers.answer({**body, **ends})


async def observations(call: Call) -> Response:
    """``GET /observations``."""
    return _legacy(call, legacy.listed(call.room, call.request.query_params, call.state.now()))


async def observation(call: Call) -> Response:
    """``GET /observations/{id}``."""
    return _legacy(call, legacy.one(call.room, call.request.path_params["id"], call.state.now()))


async def trace_list(call: Call) -> Response:
    """``GET /traces``."""
    return _legacy(call, traces.listed(call.room, call.request.query_params, call.state.now()))


async def trace(call: Call) -> Response:
    """``GET /traces/{id}``."""
    return _legacy(call, traces.one(call.room, call.request.path_params["id"], call.request.query_params, call.state.now()))


async def post_trace(call: Call) -> Response:
    """``POST /traces``."""
    body = await call.json()
    if not isinstance(body, dict):
        raise answers.invalid([answers.expected("object", body, [])])
    return answers.answer({"id": ingestion.take_trace(call.state, call.room, body, moments.write(call.state.now()))})


async def sessions(call: Call) -> Response:
    """``GET /sessions``."""
    return _legacy(call, traces.sessions(call.room, call.request.query_params, call.state.now()))


async def session(call: Call) -> Response:
    """``GET /sessions/{id}``."""
    return _legacy(call, traces.session(call.room, call.request.path_params["id"], call.state.now()))


def _trace_of(room: Room, id_: str, now: int) -> dict[str, Any] | None:
    found = traces.assemble(room, id_, now)
    return None if found is None else found[0]


async def scores_v1(call: Call) -> Response:
    """``GET /scores``."""
    params, now = call.request.query_params, call.state.now()
    return _legacy(call, legacyscores.listed(call.room, params, now, trace_of=_trace_of, write=legacyscores.plain))


async def scores_v2(call: Call) -> Response:
    """``GET /v2/scores``."""
    params, now = call.request.query_params, call.state.now()
    return answers.answer(legacyscores.listed(call.room, params, now, trace_of=_trace_of, write=legacyscores.render))


async def score_v1(call: Call) -> Response:
    """``GET /scores/{id}``."""
    return _legacy(call, legacyscores.one(call.room, call.request.path_params["id"], call.state.now(), write=legacyscores.plain))


async def score_v2(call: Call) -> Response:
    """``GET /v2/scores/{id}``."""
    return answers.answer(legacyscores.one(call.room, call.request.path_params["id"], call.state.now(), write=legacyscores.render))


async def configs(call: Call) -> Response:
    """``GET /score-configs``."""
    part, meta = pages.cut(call.room.configs.newest_first(), *pages.numbers(call.request.query_params))
    return answers.answer({"data": part, "meta": meta})


async def post_config(call: Call) -> Response:
    """``POST /score-configs``."""
    return answers.answer(call.room.configs.create(await call.json(), call.project, call.state.now()))


async def config(call: Call) -> Response:
    """``GET /score-configs/{id}``."""
    return answers.answer(call.room.configs.get(call.request.path_params["id"]))


async def patch_config(call: Call) -> Response:
    """``PATCH /score-configs/{id}``."""
    return answers.answer(call.room.configs.change(call.request.path_params["id"], await call.json(), call.state.now()))


async def widgets(call: Call) -> Response:
    """``GET /unstable/dashboard-widgets``."""
    return answers.answer(boards.listed(call.room.widgets, call.request.query_params))


async def post_widget(call: Call) -> Response:
    """``POST /unstable/dashboard-widgets``."""
    return answers.answer(boards.create_widget(call.room.widgets, await call.json(), call.state.now()))


async def widget(call: Call) -> Response:
    """``GET /unstable/dashboard-widgets/{id}``."""
    return answers.answer(boards.get(call.room.widgets, call.request.path_params["id"], "Widget"))


async def patch_widget(call: Call) -> Response:
    """``PATCH /unstable/dashboard-widgets/{id}``."""
    return answers.answer(boards.change_widget(call.room.widgets, call.request.path_params["id"], await call.json(), call.state.now()))


async def delete_widget(call: Call) -> Response:
    """``DELETE /unstable/dashboard-widgets/{id}``."""
    return answers.answer(boards.delete_widget(call.room.widgets, call.room.dashboards, call.request.path_params["id"]))


async def dashboards(call: Call) -> Response:
    """``GET /unstable/dashboards``."""
    return answers.answer(boards.listed(call.room.dashboards, call.request.query_params))


async def post_dashboard(call: Call) -> Response:
    """``POST /unstable/dashboards``."""
    return answers.answer(boards.create_dashboard(call.room.dashboards, call.room.widgets, await call.json(), call.state.now()))


async def dashboard(call: Call) -> Response:
    """``GET /unstable/dashboards/{id}``."""
    return answers.answer(boards.get(call.room.dashboards, call.request.path_params["id"], "Dashboard"))


async def patch_dashboard(call: Call) -> Response:
    """``PATCH /unstable/dashboards/{id}``."""
    room, id_ = call.room, call.request.path_params["id"]
    return answers.answer(boards.change_dashboard(room.dashboards, room.widgets, id_, await call.json(), call.state.now()))


async def delete_dashboard(call: Call) -> Response:
    """``DELETE /unstable/dashboards/{id}``."""
    return answers.answer(boards.delete_dashboard(call.room.dashboards, call.request.path_params["id"]))


async def post_placement(call: Call) -> Response:
    """``POST /unstable/dashboards/{id}/placements``."""
    room, id_ = call.room, call.request.path_params["id"]
    return answers.answer(boards.place(room.dashboards, room.widgets, id_, await call.json(), call.state.now()))


async def patch_placement(call: Call) -> Response:
    """``PATCH /unstable/dashboards/{id}/placements/{placement}``."""
    room, path = call.room, call.request.path_params
    return answers.answer(boards.move(room.dashboards, room.widgets, path, await call.json(), call.state.now()))


async def delete_placement(call: Call) -> Response:
    """``DELETE /unstable/dashboards/{id}/placements/{placement}``."""
    path = call.request.path_params
    return answers.answer(boards.remove(call.room.dashboards, path["id"], path["placement"], call.state.now()))


async def media(call: Call) -> Response:
    """``GET /media/{id}``."""
    about = call.room.media.about(call.request.path_params["id"], str(call.request.base_url), call.state.now())
    return answers.answer(about)


async def post_media(call: Call) -> Response:
    """``POST /media``."""
    return answers.answer(call.room.media.promise(await call.json(), str(call.request.base_url), call.state.now()), 201)


async def patch_media(_call: Call) -> Response:
    """``PATCH /media/{id}``: how the upload went."""
    return answers.answer({})


async def count(call: Call) -> Response:
    """``GET /v2/metrics``."""
    return answers.answer(metrics.count(call.room.shelf, call.request.query_params, call.state.now()))

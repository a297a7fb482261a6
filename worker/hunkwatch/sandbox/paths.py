"""Which path and method leads where, since which version, out of which bucket of the rate limits."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.routing import compile_path

from hunkwatch.sandbox import legacyroutes, routes
from hunkwatch.sandbox.routes import Handler

PREFIX = "/api/public"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a method of a path needs and does."""

    handler: Handler
    bucket: str = "public-api"
    legacy: bool = False
    """Not there in ``events_only`` mode."""
    public_key: bool = False
    """The public key alone is enough."""
    since: tuple[int, ...] = ()


def _old(handler: Handler) -> Endpoint:
    return Endpoint(handler, "public-api-legacy", legacy=True)


Methods = Mapping[str, Endpoint]
WIDGETS, DASHBOARDS = (3, 205), (3, 216)
PATHS: dict[str, Methods] = {
    "/projects": {"GET": Endpoint(routes.projects)},
    "/otel/v1/traces": {"POST": Endpoint(routes.take_spans, "ingestion")},
    "/ingestion": {"POST": Endpoint(routes.take_batch, "ingestion")},
    "/v2/observations": {"GET": Endpoint(routes.read_observations)},
    "/v3/scores": {"GET": Endpoint(routes.read_scores, since=(4,))},
    "/scores": {"POST": Endpoint(routes.post_scores, public_key=True), "GET": _old(legacyroutes.scores_v1)},
    "/scores/{id:path}": {"DELETE": Endpoint(routes.delete_score, "score-delete"), "GET": _old(legacyroutes.score_v1)},
    "/v2/scores": {"GET": Endpoint(legacyroutes.scores_v2, legacy=True)},
    "/v2/scores/{id:path}": {"GET": Endpoint(legacyroutes.score_v2, legacy=True)},
    "/observations": {"GET": _old(legacyroutes.observations)},
    "/observations/{id:path}": {"GET": _old(legacyroutes.observation)},
    "/traces": {"GET": _old(legacyroutes.trace_list), "POST": Endpoint(legacyroutes.post_trace, "legacy-ingestion", legacy=True)},
    "/traces/{id:path}": {"GET": _old(legacyroutes.trace)},
    "/sessions": {"GET": _old(legacyroutes.sessions)},
    "/sessions/{id:path}": {"GET": _old(legacyroutes.session)},
    "/score-configs": {"GET": Endpoint(legacyroutes.configs), "POST": Endpoint(legacyroutes.post_config)},
    "/score-configs/{id}": {
        "GET": Endpoint(legacyroutes.config),
        "PATCH": Endpoint(legacyroutes.patch_config),
        "PUT": Endpoint(legacyroutes.patch_config),
    },
    "/unstable/dashboard-widgets": {
        "GET": Endpoint(legacyroutes.widgets, since=WIDGETS),
        "POST": Endpoint(legacyroutes.post_widget, since=WIDGETS),
    },
    "/unstable/dashboard-widgets/{id}": {
        "GET": Endpoint(legacyroutes.widget, since=WIDGETS),
        "PATCH": Endpoint(legacyroutes.patch_widget, since=WIDGETS),
        "DELETE": Endpoint(legacyroutes.delete_widget, since=WIDGETS),
    },
    "/unstable/dashboards": {
        "GET": Endpoint(legacyroutes.dashboards, since=DASHBOARDS),
        "POST": Endpoint(legacyroutes.post_dashboard, since=DASHBOARDS),
    },
    "/unstable/dashboards/{id}": {
        "GET": Endpoint(legacyroutes.dashboard, since=DASHBOARDS),
        "PATCH": Endpoint(legacyroutes.patch_dashboard, since=DASHBOARDS),
        "DELETE": Endpoint(legacyroutes.delete_dashboard, since=DASHBOARDS),
    },
    "/unstable/dashboards/{id}/placements": {"POST": Endpoint(legacyroutes.post_placement, since=DASHBOARDS)},
    "/unstable/dashboards/{id}/placements/{placement}": {
        "PATCH": Endpoint(legacyroutes.patch_placement, since=DASHBOARDS),
        "DELETE": Endpoint(legacyroutes.delete_placement, since=DASHBOARDS),
    },
    "/media": {"POST": Endpoint(legacyroutes.post_media, "ingestion")},
    "/media/{id}": {"GET": Endpoint(legacyroutes.media), "PATCH": Endpoint(legacyroutes.patch_media, "ingestion")},
    "/v2/metrics": {"GET": Endpoint(legacyroutes.count, "public-api-v2-metrics", since=(4,))},
}
_COMPILED = [(compile_path(PREFIX + path)[0], methods) for path, methods in PATHS.items()]


def find(path: str, release: tuple[int, ...]) -> tuple[Methods, dict[str, str]] | None:
    """The methods of a path in a release, and the path's own parameters."""
    for pattern, methods in _COMPILED:
        if found := pattern.match(path):
            known = {method: endpoint for method, endpoint in methods.items() if release >= endpoint.since}
            return (known, found.groupdict()) if known else None
    return None

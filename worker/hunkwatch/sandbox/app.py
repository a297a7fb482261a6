"""The ASGI application: which path leads to which handler, and what stands before every handler.

The order is Langfuse's: route, method, write mode, key, rate limit, handler. Faults strike before all of it.
"""

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from hunkwatch.sandbox import answers, gate, paths, routes
from hunkwatch.sandbox.answers import Answer
from hunkwatch.sandbox.faults import Cut, Faults
from hunkwatch.sandbox.limits import Limits
from hunkwatch.sandbox.media import STORE
from hunkwatch.sandbox.paths import PREFIX
from hunkwatch.sandbox.routes import Call
from hunkwatch.sandbox.state import State

ABORT = "hunkwatch.abort"
NOT_FOUND = '<!DOCTYPE html><html lang="en"><head><title>404: This page could not be found</title></head><body>404</body></html>'


class Application:
    """The server without its socket."""

    def __init__(self, state: State) -> None:
        """Answer from this state."""
        self.state = state
        self.limits = Limits()
        self.faults = Faults(state)
        self.requests: list[tuple[str, str, int]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        request = Request(scope, receive)
        self._age()
        entry = len(self.requests)
        self.requests.append((request.method, request.url.path, 0))

        async def noted(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.requests[entry] = (request.method, request.url.path, message["status"])
            await send(message)

        try:
            await self.faults.around(request, self._respond, noted)
        except Cut:
            abort = scope.get("extensions", {}).get(ABORT)
            if abort is None:
                raise
            abort()
            await asyncio.sleep(0)

    async def _respond(self, request: Request) -> Response:
        try:
            response = await self._route(request)
        except Answer as refusal:
            return answers.answer(refusal.body, refusal.status, refusal.headers)
        except routes.Unparsable:
            return routes.invalid_json()
        limit = self.state.habits.answer_limit
        if limit and len(response.body) > limit:
            return answers.answer({"message": "Response payload is too large", "error": "PayloadTooLargeError"}, 422)
        return response

    async def _route(self, request: Request) -> Response:
        path, method = request.url.path, request.method
        if path == f"{PREFIX}/health":
            return routes.health(self.state)
        if path.startswith(f"{STORE}/"):
            return await routes.stored(self.state, request, path.removeprefix(f"{STORE}/"))
        found = paths.find(path, self.state.release)
        if found is None:
            return HTMLResponse(NOT_FOUND, 404)
        methods, params = found
        if method not in methods:
            raise Answer(405, {"message": "Method not allowed", "error": "MethodNotAllowedError"})
        endpoint = methods[method]
        if endpoint.legacy and not self.state.reads_v1:
            raise Answer(404, {"message": answers.EVENTS_ONLY})
        room = gate.enter(self.state, request.headers.get("authorization"), with_public_key=endpoint.public_key)
        gate.allow(room, method=method, path=path.removeprefix(PREFIX))
        self.limits.spend(endpoint.bucket, self.state.habits.plan, self.state.now(), method=method, path=path)
        request.scope["path_params"] = params
        return await endpoint.handler(Call(self.state, room, request))

    def _age(self) -> None:
        habits = self.state.habits
        if habits.changes_version_to and len(self.requests) >= habits.changes_version_after:
            self.state.version = habits.changes_version_to


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return

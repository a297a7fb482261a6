"""What may go wrong around a request: refusals of every kind, pages of a gateway, slow bodies, cut and hanging connections."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Send

from hunkwatch.sandbox import answers, gate, limits
from hunkwatch.sandbox.habits import Fault, FaultDice, Habits, Wrong
from hunkwatch.sandbox.state import State

Respond = Callable[[Request], Awaitable[Response]]
PAGE = (
    "<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n<center><h1>{0}</h1></center>\r\n"
    "<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)
DRIPS = 8


class Cut(Exception):
    """The connection is to be closed without an answer or in the middle of one."""


class Faults:
    """Lets the faults of the state's habits strike."""

    def __init__(self, state: State) -> None:
        """Begin the seeded streams."""
        self._state = state
        self._habits: Habits | None = None
        self._dice = FaultDice(state.habits)

    async def around(self, request: Request, respond: Respond, send: Send) -> None:
        """Answer a request, or fail it as the habits have it."""
        if self._habits is not self._state.habits:
            self._habits = self._state.habits
            self._dice = FaultDice(self._habits)
        fault = self._dice.strike(request.method, request.url.path)
        if fault is None:
            await _whole(await respond(request), send)
            return
        match fault.wrong:
            case Wrong.SLOW:
                await _slowly(await respond(request), send, fault.seconds)
            case Wrong.CUT:
                await _half(await respond(request), send)
            case Wrong.REFUSED:
                raise Cut
            case Wrong.HANGING:
                await asyncio.sleep(fault.seconds)
                raise Cut
            case _:
                await _whole(self._refusal(fault), send)

    def _refusal(self, fault: Fault) -> Response:
        now = self._state.now()
        match fault.wrong:
            case Wrong.RATE_LIMITED:
                refusal = limits.exceeded(30, self._state.later(fault.seconds), now)
            case Wrong.UNAUTHORIZED:
                refusal = answers.Answer(401, {"message": gate.WRONG_KEY})
            case Wrong.FORBIDDEN:
                refusal = answers.Answer(403, {"message": gate.TOO_LITTLE})
            case Wrong.TOO_HEAVY:
                refusal = answers.Answer(422, {"message": answers.HEAVY, "error": "Request timed out"})
            case Wrong.BROKEN:
                refusal = answers.Answer(500, {"message": "Internal Server Error", "error": "Internal Server Error"})
            case Wrong.UNAVAILABLE:
                refusal = answers.Answer(503, {"message": "Service Unavailable"})
            case Wrong.BAD_GATEWAY:
                return HTMLResponse(PAGE.format("502 Bad Gateway"), 502)
            case _:
                return HTMLResponse(PAGE.format("Sign in"), 200)
        return answers.answer(refusal.body, refusal.status, refusal.headers)


async def _whole(response: Response, send: Send) -> None:
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body})


async def _slowly(response: Response, send: Send, seconds: float) -> None:
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    body = bytes(response.body)
    step = max(1, -(-len(body) // DRIPS))
    for at in range(0, len(body), step):
        await asyncio.sleep(seconds / DRIPS)
        await send({"type": "http.response.body", "body": body[at : at + step], "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _half(response: Response, send: Send) -> None:
    body = bytes(response.body)
    await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
    raise Cut

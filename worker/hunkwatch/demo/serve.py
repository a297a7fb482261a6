"""One page on 127.0.0.1, for a browser on this machine, until somebody interrupts it."""

from __future__ import annotations

import contextlib
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

HOST = "127.0.0.1"


def serve(page: Path, *, port: int = 0) -> None:
    """Say where the page is and serve it until SIGINT or SIGTERM. Raises OSError when the port is taken."""
    with socket.create_server((HOST, port)) as listening:
        sys.stdout.write(f"Serving the page on http://{HOST}:{listening.getsockname()[1]}/ until Ctrl-C\n")
        sys.stdout.flush()
        server = uvicorn.Server(uvicorn.Config(app(page), log_level="warning", lifespan="off", access_log=False))
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])


def app(page: Path) -> Starlette:
    """Return an application that answers with the page and nothing else."""

    def answer(_request: Request) -> HTMLResponse:
        return HTMLResponse(page.read_bytes(), headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})

    return Starlette(routes=[Route("/", answer)])

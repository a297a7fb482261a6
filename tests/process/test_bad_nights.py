"""What surrounds the process fails: disk, folder, name, certificate, gateway. It says so with its code; nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from hunkwatch.sandbox import Fault, Habits, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    WaitUntil = Callable[[Callable[[], bool]], None]


def test_a_full_disk_ends_the_worker_and_loses_nothing(station: Any, wait_until: WaitUntil) -> None:
    """The state cannot grow any more: exit 74 with one clear line; with room again, everything is scored once."""
    station.add_traces("before")
    process = station.start("run")
    wait_until(lambda: station.shown() == station.expected)
    largest = max(path.stat().st_size for path in station.folder.iterdir())
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest, largest))
    station.add_traces(*(f"t{number}" for number in range(60)))
    code, log = process.wait(60), process.stderr.read()
    second, _, told = station.finish("run", "--once")

    assert (code, second) == (74, 0), told
    assert "Traceback" not in log
    assert "disk" in log.splitlines()[-1]
    assert station.shown() == station.expected


def test_a_read_only_state_folder_is_told_with_its_code(station: Any) -> None:
    """One line names the file; once it may be written, everything is scored."""
    station.add_traces("t1")
    station.folder.chmod(0o500)
    # Whoever is root may write everywhere, unless that right is given up for good.
    ordinary = () if os.geteuid() else ("setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override")
    code, _, log = station.finish("run", "--once", as_ordinary=ordinary)
    station.folder.chmod(0o700)
    second, _, _ = station.finish("run", "--once")

    assert (code, len(log.splitlines()), second) == (74, 1, 0), log
    assert station.shown() == station.expected


def test_a_name_that_cannot_be_resolved_is_told_with_its_code(station: Any) -> None:
    """69: the supervisor may try again."""
    code, _, log = station.finish("run", LANGFUSE_BASE_URL="http://langfuse.invalid:3000")

    assert code == 69, log
    assert "name cannot be resolved" in log.splitlines()[-1]
    assert "Traceback" not in log


def test_a_certificate_that_nobody_signed_is_told_with_its_code(station: Any, self_signed: str) -> None:
    """Nothing is sent to a server that cannot prove itself, and the line says what to do."""
    code, _, log = station.finish("run", LANGFUSE_BASE_URL=self_signed)

    assert (code, len(log.splitlines())) == (69, 1), log
    assert "certificate" in log


def test_a_page_of_a_gateway_ends_a_start_and_not_a_worker(station: Any, wait_until: WaitUntil) -> None:
    """At the start it is a wrong address, later a gateway that comes to its senses."""
    station.sandbox.habits = Habits(faults=(Fault(Wrong.GATEWAY_PAGE),))
    code, _, log = station.finish("run")
    station.sandbox.habits = Habits()
    process = station.start("run")
    wait_until(lambda: any(path.endswith("/observations") and status == 200 for _, path, status in station.sandbox.requests))
    station.sandbox.habits = Habits(faults=(Fault(Wrong.GATEWAY_PAGE, times=3),))
    station.add_traces("t1")
    wait_until(lambda: station.shown() == station.expected)

    assert (code, len(log.splitlines())) == (69, 1), log
    assert station.end(process, signal.SIGTERM)[0] == 0


@pytest.mark.postgres
def test_a_backfill_beside_a_running_worker_does_nothing_twice(station: Any, postgres_url: str, wait_until: WaitUntil) -> None:
    """On one Postgres, while traces arrive: each score is sent once, by one of the two."""
    station.settings["HUNKWATCH_STORE__URL"] = postgres_url
    process = station.start("run")
    wait_until(lambda: bool(station.sandbox.requests))
    station.add_traces(*(f"t{number}" for number in range(10)))
    code, _, log = station.finish("backfill", "--since", "2h", "--json")
    wait_until(lambda: station.shown() == station.expected)
    left = station.end(process, signal.SIGTERM)[0]
    _, told, _ = station.finish("status", "--json")
    (project,) = json.loads(told)["projects"].values()

    assert (code, left) == (0, 0), log
    assert sum(one["sends"] for one in project["sent_per_day"]) == len(station.expected)


@pytest.fixture
def self_signed(tmp_path: Path) -> Iterator[str]:
    """Serve TLS with a certificate that nobody signed."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ("-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run([openssl, "req", *made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # a client that hangs up is what this is about
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()

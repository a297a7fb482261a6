"""The container: its files judged by their own tools, and its very steps taken, as far as no engine is needed for them.

The build stage runs as the Dockerfile says, without a network, from the wheels that ``make .venv/.deploy`` keeps. What it makes is
started as the last stage says: an unprivileged user, a root that cannot be written, ``/data`` beside it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hunkwatch.demo import producers, sessions
from hunkwatch.sandbox import Project, Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "deploy" / "docker"
COMPOSE = sorted(DOCKER.glob("compose*.yaml"))
WHEELS = ROOT / ".venv" / "wheels"
KEYS = Project(id="project-1", public_key="pk-lf-image", secret_key="sk-lf-image")
PATIENCE = 60.0
LARGEST = 110_000_000
"""Bytes that are added to the image of Python."""


def steps() -> list[list[tuple[str, str]]]:
    """Return the instructions of the Dockerfile, stage by stage."""
    text = re.sub(r"^#.*\n", "", (DOCKER / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    starts = [number for number, (word, _) in enumerate(lines) if word == "FROM"]
    return [[(word, rest) for word, rest in lines[a:b]] for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]


def of_image(word: str) -> str:
    """Return what an instruction of the last stage says."""
    return next(rest for name, rest in steps()[-1] if name == word)


def tool(name: str) -> str:
    """Return the path of a tool from our own environment; skip where it is not installed."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        pytest.skip(f"{name} is not installed (make .venv/.deploy)")
    return str(path)


@dataclass
class Image:
    """What the build stage left in /opt, to be started as the last stage says."""

    opt: Path
    python: Path

    def command(self, data: Path, words: Sequence[str], environ: dict[str, str]) -> list[str]:
        """Return the command that starts something in the image; whoever calls owns the process."""
        given = dict(pair.split("=", 1) for pair in shlex.split(of_image("ENV")))
        given["PATH"] = given["PATH"].replace("$PATH", "/python:/usr/bin:/bin")
        user, group = of_image("USER").split(":")
        become = ["--unshare-user", "--uid", user, "--gid", group]
        drop: list[str] = []
        if os.geteuid() == 0:
            os.chown(data, int(user), int(group))
            become = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
            drop = [
                "setpriv",
                "--reuid",
                user,
                "--regid",
                group,
                "--clear-groups",
                "--no-new-privs",
                "--bounding-set=-all",
                "--inh-caps=-all",
                "--",
            ]
        variables = [word for name, value in {**given, **environ}.items() for word in ("--setenv", name, value)]
        places = ["--ro-bind", str(self.opt), "/opt", "--bind", str(data), "/data", "--perms", "1777", "--tmpfs", "/tmp"]  # noqa: S108 (inside)
        places += ["--remount-ro", "/"]
        return [*boxed(self.python), *places, *become, "--clearenv", *variables, "--chdir", "/", *drop, *words]


def boxed(python: Path) -> list[str]:
    """Return bubblewrap with this machine's system and its Python, none of which can be written."""
    there = [folder for folder in ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc") if Path(folder).exists()]
    binds = [word for folder in there for word in ("--ro-bind", folder, folder)]
    if not Path(sys.base_prefix).is_relative_to("/usr"):
        # Somebody's own Python: the folders on the way to it may be closed to others.
        way = [str(parent) for parent in reversed(Path(sys.base_prefix).parents)][1:]
        binds += [word for parent in way for word in ("--perms", "0755", "--dir", parent)]
        binds += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    return ["bwrap", *binds, "--ro-bind", str(python), "/python", "--proc", "/proc", "--dev", "/dev", "--die-with-parent"]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Take the build stage's steps, from the files that it copies, into an empty prefix."""
    if shutil.which("bwrap") is None or not WHEELS.exists():
        pytest.skip("bubblewrap or the wheels are missing (Debian: apt-get install bubblewrap; make .venv/.deploy)")
    folder = tmp_path_factory.mktemp("image")
    context, opt, python = (folder / name for name in ("src", "opt", "python"))
    for each in (context, opt, python):
        each.mkdir()
    (python / "python").symlink_to(sys._base_executable)  # type: ignore[attr-defined] # the interpreter that made our environment
    build = steps()[0]
    for sources, target in ((rest.split()[:-1], rest.split()[-1]) for word, rest in build if word == "COPY"):
        for source in sources:
            into = context / (source if target == "./" else target)
            into.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, into, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, into)
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PATH": "/python:/usr/bin:/bin"}
    variables = [word for pair in offline.items() for word in ("--setenv", *pair)]
    places = ["--bind", str(context), "/src", "--bind", str(opt), "/opt", "--ro-bind", str(WHEELS), "/wheels", "--tmpfs", "/tmp"]  # noqa: S108
    for run in (rest for word, rest in build if word == "RUN"):
        box = [*boxed(python), *places, "--unshare-net", "--clearenv", *variables, "--chdir", "/src", "/bin/sh", "-euc", run]
        done = subprocess.run(box, capture_output=True, text=True, check=False, timeout=280)
        assert done.returncode == 0, done.stderr
    return Image(opt, python)


@pytest.fixture
def langfuse() -> Iterator[tuple[Sandbox, str]]:
    """Serve a Langfuse that the image can reach."""
    sandbox = Sandbox(projects=(KEYS,))
    with sandbox.serving_in_thread() as url:
        yield sandbox, url


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(true: Callable[[], object]) -> None:
    """Wait for something that another process does."""
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)


# ---------------------------------------------------------------- the files


def test_the_dockerfile_s_linter_finds_nothing() -> None:
    """Hadolint, every rule."""
    done = subprocess.run([tool("hadolint"), str(DOCKER / "Dockerfile")], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.name)
def test_a_compose_file_is_one(file: Path) -> None:
    """By the schema of the compose specification."""
    words = [tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(file)]

    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_is_what_it_should_be() -> None:
    """Two stages; a user by number, who is not root; one volume; nothing that a shell would have to start; a check of health and labels."""
    stages, last = steps(), steps()[-1]

    assert (len(stages), [word for word, _ in last].count("VOLUME"), of_image("VOLUME")) == (2, 1, "/data")
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", of_image("USER"))
    assert [json.loads(of_image(word)) for word in ("ENTRYPOINT", "CMD")] == [["hunkwatch"], ["run"]]
    assert json.loads(of_image("HEALTHCHECK").partition("CMD ")[2])[0] == "python"
    assert {"title", "description", "licenses", "version"} <= set(re.findall(r"org\.opencontainers\.image\.(\w+)=", of_image("LABEL")))
    assert all("--from=build" in rest for word, rest in last if word == "COPY")


def test_the_context_holds_what_is_copied_and_no_more() -> None:
    """Nothing of a checkout (a key, a state, an environment) can get into a layer, and no step misses its file."""
    lines = (DOCKER / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    copied = {source for word, rest in steps()[0] if word == "COPY" for source in rest.split()[:-1]}

    assert [line for line in lines if not line.startswith(("#", "!", "**/"))] == ["*"]
    assert {line[1:] for line in lines if line.startswith("!")} == copied


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.name)
def test_the_worker_runs_with_nothing_to_spare(file: Path) -> None:
    """A root that cannot be written, no capability, a private /tmp, the state on a volume; longer to stop than it takes to drain."""
    services = yaml.safe_load(file.read_text("utf-8"))["services"]
    ours = [service for service in services.values() if service["image"] == "hunkwatch:latest"]

    told = [(each["read_only"], each["cap_drop"], each["security_opt"], each["tmpfs"]) for each in ours]
    assert told == [(True, ["ALL"], ["no-new-privileges:true"], ["/tmp"])] * len(ours)  # noqa: S108 (inside)
    assert {volume.partition(":")[2] for each in ours for volume in each["volumes"]} == {"/data"}
    assert services["hunkwatch"]["stop_grace_period"] == "45s"


def test_any_setting_may_stand_beside_the_keys() -> None:
    """The file that the keys stand in is given to the container whole; without one the variables of the shell do."""
    service = yaml.safe_load((DOCKER / "compose.yaml").read_text("utf-8"))["services"]["hunkwatch"]

    assert service["env_file"] == [{"path": ".env", "required": False}]


def test_the_whole_langfuse_hangs_together() -> None:
    """Each service that is waited for can say that it is well, each volume is declared, the worker has the keys of the project."""
    whole = yaml.safe_load((DOCKER / "compose.langfuse.yaml").read_text("utf-8"))
    services = whole["services"]
    waits = {(name, condition["condition"]) for each in services.values() for name, condition in each.get("depends_on", {}).items()}
    made = services["langfuse-web"]["environment"]

    assert {"langfuse-web", "langfuse-worker", "postgres", "clickhouse", "redis", "minio", "seed", "hunkwatch"} == set(services)
    assert [name for name, condition in waits if condition == "service_healthy" and "healthcheck" not in services[name]] == []
    used = {volume.partition(":")[0] for each in services.values() for volume in each.get("volumes", [])}
    assert used == set(whole["volumes"])
    for service in ("seed", "hunkwatch"):
        given = services[service]["environment"]
        assert given["LANGFUSE_PUBLIC_KEY"] == made["LANGFUSE_INIT_PROJECT_PUBLIC_KEY"]
        assert given["LANGFUSE_SECRET_KEY"] == made["LANGFUSE_INIT_PROJECT_SECRET_KEY"]
    assert services["hunkwatch"]["depends_on"] == {"seed": {"condition": "service_completed_successfully"}}
    ports = [port for each in services.values() for port in each.get("ports", [])]
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []
    assert [name for name, each in services.items() if name not in {"seed", "hunkwatch"} and not re.search(r":\$?\S", each["image"])] == []


# ---------------------------------------------------------------- the image's own steps


@pytest.mark.timeout(300)
def test_the_image_is_small(image: Image) -> None:
    """What is added to Python's own image; no installer, no cache and no compiled copies among it."""
    files = [path for path in image.opt.rglob("*") if path.is_file() and not path.is_symlink()]

    assert sum(path.stat().st_size for path in files) < LARGEST
    assert [path.name for path in files if path.suffix == ".pyc"] == []
    assert list(image.opt.glob("hunkwatch/bin/pip*")) == []


@pytest.mark.timeout(300)
def test_nothing_but_the_data_can_be_written(image: Image, tmp_path: Path) -> None:
    """The user of the image is nobody, and no place but /data and /tmp takes a file."""
    program = (
        "import os, pathlib\n"
        "for place in ('/data', '/tmp', '/', '/opt/hunkwatch', '/etc', '/usr'):\n"
        "    try:\n"
        "        pathlib.Path(place, 'probe').write_text('x')\n"
        "    except OSError:\n"
        "        continue\n"
        "    print(place)\n"
        "print(os.getuid(), os.getgid())"
    )

    done = subprocess.run(image.command(tmp_path, ["python", "-c", program], {}), capture_output=True, text=True, check=False, timeout=60)

    assert done.stdout.splitlines() == ["/data", "/tmp", "65532 65532"], done.stderr  # noqa: S108


@pytest.mark.timeout(300)
def test_compose_up_ends_with_scored_traces(image: Image, langfuse: tuple[Sandbox, str], tmp_path: Path) -> None:
    """The seed's own command fills the project once; the worker starts, is healthy, scores every call, and ends within its grace."""
    sandbox, url = langfuse
    environ = {
        "LANGFUSE_BASE_URL": url,
        "LANGFUSE_PUBLIC_KEY": KEYS.public_key,
        "LANGFUSE_SECRET_KEY": KEYS.secret_key,
        "HUNKWATCH_HTTP__PORT": str(free_port()),
        "HUNKWATCH_SWEEP__QUIET": "0s",
        "HUNKWATCH_DELIVERY__LOOK_AFTER": "100ms,1s",
    }
    service: dict[str, Any] = yaml.safe_load((DOCKER / "compose.langfuse.yaml").read_text("utf-8"))["services"]["seed"]
    (script,) = service["command"]
    for _ in range(2):
        seeded = subprocess.run(
            image.command(tmp_path, [*service["entrypoint"], script], environ), capture_output=True, text=True, check=False, timeout=90
        )
        assert seeded.returncode == 0, seeded.stderr
    planted = {(session.title, entry.name) for session in sessions.load() for entry in producers.record(session) if entry.planted}
    reader, writer = os.pipe()
    words = image.command(tmp_path, json.loads(of_image("ENTRYPOINT")) + json.loads(of_image("CMD")), environ)
    words[1:1] = ["--info-fd", str(writer)]
    worker = subprocess.Popen(words, pass_fds=[writer], stderr=subprocess.PIPE, text=True)
    os.close(writer)
    with os.fdopen(reader) as told:
        inside = json.loads(told.read())["child-pid"]
    try:
        probe = image.command(tmp_path, json.loads(of_image("HEALTHCHECK").partition("CMD ")[2]), environ)
        wait_until(lambda: subprocess.run(probe, capture_output=True, check=False, timeout=30).returncode == 0)
        wait_until(lambda: len({score["observationId"] for score in sandbox.scores() if score["name"] == "patch_shape"}) >= len(planted))
        os.kill(inside, signal.SIGTERM)
        _, log = worker.communicate(timeout=PATIENCE)
    finally:
        worker.kill()

    assert (worker.returncode, "worker_stopped" in log) == (0, True), log
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("hunkwatch.db")] != []
    assert len({score["traceId"] for score in sandbox.scores() if score["name"] == "blind_rewrite"}) > 20

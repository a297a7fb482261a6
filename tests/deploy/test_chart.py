"""The Helm chart: rendered by Helm itself, held against Kubernetes' own schemas, the pod security standards and the worker's settings."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hunkwatch.settings import KEYS, load
from hunkwatch.settings.load import SYSTEM_CONFIG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "hunkwatch"
VALUES = CHART / "values.yaml"
SCHEMA = json.loads((CHART / "values.schema.json").read_text("utf-8"))

KEYS_GIVEN = {"langfuse": {"publicKey": "pk-lf-1", "secretKey": "sk-lf-1"}}
KEYS_KEPT = {"langfuse": {"existingSecret": "keys", "publicKeyEntry": "p", "secretKeyEntry": "s", "baseUrl": "http://web.langfuse:3000/lf"}}
ON_POSTGRES = {**KEYS_KEPT, "postgres": {"existingSecret": "pg"}, "replicas": 3}
SEVERAL = {
    **ON_POSTGRES,
    "langfuse": {"baseUrl": "https://cloud.langfuse.com"},
    "projects": [
        {"name": "shop", "existingSecret": "shop-keys"},
        {
            "name": "docs.eu",
            "existingSecret": "docs-keys",
            "publicKeyEntry": "p",
            "secretKeyEntry": "s",
            "baseUrl": "http://web.langfuse:3000/lf",
            "settings": {"timeout": "90s"},
        },
    ],
}
EVERYTHING = {
    **KEYS_GIVEN,
    "postgres": {"url": "postgresql://u@db/x"},
    "image": {"repository": "registry.example/hunkwatch", "tag": f"sha256:{'0' * 64}"},
    "imagePullSecrets": [{"name": "pull"}],
    "settings": {"sweep": {"every": "10s", "sample": 0.5}, "delivery": {"batch": 100, "look_after": ["1s", 2]}, "scores": {"paths": False}},
    "extraEnv": [{"name": "SSL_CERT_FILE", "value": "/ca/ca.pem"}],
    "extraVolumes": [{"name": "ca", "configMap": {"name": "ca"}}],
    "extraVolumeMounts": [{"name": "ca", "mountPath": "/ca"}],
    "podAnnotations": {"a": "b"},
    "podLabels": {"team": "t"},
    "serviceAccount": {"annotations": {"a": "b"}},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"team": "t"}}}
    ],
    "priorityClassName": "low",
    "networkPolicy": {
        "metricsFrom": [{"namespaceSelector": {}}],
        "egress": {"enabled": True, "ports": [3000], "to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]},
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
    "dashboard": {"enabled": True},
}
CASES = {
    "keys in the values": KEYS_GIVEN,
    "keys in a secret": KEYS_KEPT,
    "without a volume": {**KEYS_KEPT, "persistence": {"enabled": False}},
    "a claim that exists": {**KEYS_KEPT, "persistence": {"existingClaim": "mine"}},
    "a storage class": {**KEYS_KEPT, "persistence": {"storageClass": "fast", "size": "2Gi"}},
    "on Postgres": ON_POSTGRES,
    "several projects": SEVERAL,
    "several projects in one secret": {"projects": [{"name": "a", "existingSecret": "all"}, {"name": "b", "existingSecret": "all"}]},
    "everything": EVERYTHING,
    "as little as possible": {
        **KEYS_KEPT,
        "podDisruptionBudget": {"enabled": False},
        "networkPolicy": {"enabled": False},
        "serviceAccount": {"create": False},
        "resources": {},
    },
}
cases = pytest.mark.parametrize("values", CASES.values(), ids=CASES)

Objects = list[dict[str, Any]]


@pytest.fixture
def helm() -> Any:
    """Return Helm as a library; skip where it is not installed."""
    return pytest.importorskip("helm_python", reason="Helm is not installed (make .venv/.deploy)")


@pytest.fixture
def render(helm: Any) -> Callable[[dict[str, Any]], Objects]:
    """Render the chart with some values and return the objects that a cluster would get."""

    def rendered(values: dict[str, Any]) -> Objects:
        with helm.Chart.load(CHART) as chart:
            files = chart.render(values, name="release", namespace="space")
        texts = (text for name, text in files.items() if name.endswith(".yaml"))
        return [found for text in texts for found in yaml.safe_load_all(text) if found]

    return rendered


def only(objects: Objects, kind: str) -> dict[str, Any]:
    """Return the one object of a kind."""
    (found,) = (each for each in objects if each["kind"] == kind)
    return found


def worker_of(objects: Objects) -> dict[str, Any]:
    """Return the pod of the worker."""
    (found,) = (each for each in objects if each["kind"] in {"StatefulSet", "Deployment"})
    pod: dict[str, Any] = found["spec"]["template"]["spec"]
    return pod


def pods(objects: Objects) -> Iterator[dict[str, Any]]:
    """Yield what every pod is to be."""
    for each in objects:
        if each["kind"] in {"StatefulSet", "Deployment"}:
            yield each["spec"]["template"]["spec"]
        elif each["kind"] == "Pod":
            yield each["spec"]


def beyond_restricted(pod: dict[str, Any]) -> list[str]:
    """Return what the level "restricted" of the pod security standards forbids in a pod."""
    wrong = [name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)]
    own = pod.get("securityContext", {})
    allowed = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
    wrong += [f"volume {name}" for volume in pod["volumes"] for name in volume if name not in {"name", *allowed}]
    for container in pod["containers"]:
        context = {**own, **container.get("securityContext", {})}
        rules = {
            "privileged": not context.get("privileged"),
            "escalation": context.get("allowPrivilegeEscalation") is False,
            "capabilities": context.get("capabilities") == {"drop": ["ALL"]},
            "root": context.get("runAsNonRoot") is True and context.get("runAsUser") != 0,
            "seccomp": context.get("seccompProfile", {}).get("type") in {"RuntimeDefault", "Localhost"},
            "host port": not any("hostPort" in port for port in container.get("ports", [])),
            "proc": context.get("procMount", "Default") == "Default",
        }
        wrong += [name for name, kept in rules.items() if not kept]
    return wrong


# ---------------------------------------------------------------- Helm and Kubernetes


def test_helm_finds_nothing_to_say(helm: Any) -> None:
    """Helm's own linter, strict."""
    report = helm.lint(CHART, EVERYTHING, strict=True)

    assert [said["error"] for said in report["messages"]] == ["icon is recommended"]
    assert report["errors"] == []


@cases
@pytest.mark.parametrize("version", ["1.25", "latest"])
def test_kubernetes_knows_every_field(render: Callable[[dict[str, Any]], Objects], values: dict[str, Any], version: str) -> None:
    """Each object passes the schema of its kind, strictly: no field is misspelled. The operator's own kinds have none there."""
    kubernetes = pytest.importorskip("kubernetes_validate", reason="Kubernetes' schemas are not installed (make .venv/.deploy)")
    of = kubernetes.latest_version() if version == "latest" else version
    objects = render(values)

    checked = [each for each in objects if not each["apiVersion"].startswith("monitoring.coreos.com/")]
    for each in checked:
        kubernetes.validate(each, of, strict=True)

    assert {"ConfigMap", "Service", "Pod"} <= {each["kind"] for each in checked}


@cases
def test_every_pod_is_restricted(render: Callable[[dict[str, Any]], Objects], values: dict[str, Any]) -> None:
    """A namespace that enforces the strictest standard takes them; the root of the file system is read-only beside that."""
    found = list(pods(render(values)))

    assert [beyond_restricted(pod) for pod in found] == [[], []]
    assert {container["securityContext"]["readOnlyRootFilesystem"] for pod in found for container in pod["containers"]} == {True}
    assert {pod["automountServiceAccountToken"] for pod in found} == {False}


def test_what_is_not_restricted_is_noticed() -> None:
    """The measure that the other test rests on finds a pod that says nothing about its rights."""
    pod = {"volumes": [{"name": "x", "hostPath": {"path": "/"}}], "containers": [{}]}

    assert {"volume hostPath", "escalation", "capabilities", "root", "seccomp"} == set(beyond_restricted(pod))


@cases
def test_each_reference_leads_somewhere(render: Callable[[dict[str, Any]], Objects], values: dict[str, Any]) -> None:
    """Whatever a pod mounts is a volume of it, and a map or secret that the chart should have made was made; selectors find the pods."""
    objects = render(values)
    made = {(each["kind"], each["metadata"]["name"]) for each in objects}
    theirs = [values.get("langfuse", {}), values.get("postgres", {}), *values.get("projects", []), {"existingSecret": "ca"}]
    named = {each["existingSecret"] for each in theirs if "existingSecret" in each}
    worker = next(each for each in objects if each["kind"] in {"StatefulSet", "Deployment"})
    claims = {claim["metadata"]["name"] for claim in worker["spec"].get("volumeClaimTemplates", [])}

    for pod in pods(objects):
        volumes = {volume["name"] for volume in pod["volumes"]} | claims
        wanted = {("ConfigMap", volume["configMap"]["name"]) for volume in pod["volumes"] if "configMap" in volume}
        wanted |= {("Secret", volume["secret"]["secretName"]) for volume in pod["volumes"] if "secret" in volume}
        parts = [part for volume in pod["volumes"] for part in volume.get("projected", {}).get("sources", [])]
        wanted |= {("Secret", part["secret"]["name"]) for part in parts}
        assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} - volumes == set()
        assert {want for want in wanted if want[1] not in named} - made == set()
    labels = worker["spec"]["template"]["metadata"]["labels"]
    selectors = [worker["spec"]["selector"]["matchLabels"], only(objects, "Service")["spec"]["selector"]]
    selectors += [each["spec"]["selector"]["matchLabels"] for each in objects if each["kind"] in {"PodDisruptionBudget", "ServiceMonitor"}]
    selectors += [each["spec"]["podSelector"]["matchLabels"] for each in objects if each["kind"] == "NetworkPolicy"]
    assert [selector for selector in selectors if not selector.items() <= labels.items()] == []
    assert not selectors[0].items() <= only(objects, "Pod")["metadata"]["labels"].items()


# ---------------------------------------------------------------- what is made of the values


def test_sqlite_is_one_replica_with_a_volume(render: Callable[[dict[str, Any]], Objects]) -> None:
    """A second process on the same file would be refused, so the number of replicas has no say."""
    made = only(render({**KEYS_KEPT, "replicas": 5}), "StatefulSet")["spec"]

    assert (made["replicas"], made["volumeClaimTemplates"][0]["spec"]["accessModes"]) == (1, ["ReadWriteOnce"])


def test_postgres_is_a_deployment_of_several(render: Callable[[dict[str, Any]], Objects]) -> None:
    """They share the state by its address, which comes from the secret that was named."""
    objects = render(ON_POSTGRES)

    made = only(objects, "Deployment")["spec"]
    volumes = {volume["name"]: volume for volume in made["template"]["spec"]["volumes"]}
    assert (made["replicas"], volumes["postgres"]["secret"]["secretName"]) == (3, "pg")
    assert [each["kind"] for each in objects if each["kind"] in {"Secret", "StatefulSet"}] == []


@cases
def test_no_key_stands_in_a_pod(render: Callable[[dict[str, Any]], Objects], values: dict[str, Any]) -> None:
    """Keys and the address of the database are files; neither the environment nor the settings hold them."""
    objects = [each for each in render(values) if each["kind"] != "Secret"]

    assert re.findall(r"(?:pk|sk)-lf-\w*|postgresql:", json.dumps(objects)) == []


def test_the_worker_takes_its_settings_from_the_chart(render: Callable[[dict[str, Any]], Objects], tmp_path: Path) -> None:
    """The file and the variables of the pod are loaded by the worker itself, and say what the values say."""
    objects = render(EVERYTHING)
    file = tmp_path / "config.toml"
    (settings,) = (each for each in objects if each["kind"] == "ConfigMap" and "config.toml" in each["data"])
    file.write_text(settings["data"]["config.toml"], "utf-8")
    keys = {"public-key": "pk-lf-1", "secret-key": "sk-lf-1", "url": "postgresql://u@db/x"}
    for name, text in keys.items():
        (tmp_path / name).write_text(text, "utf-8")
    given = {item["name"]: item["value"] for item in worker_of(objects)["containers"][0]["env"]}
    environ = {name: str(tmp_path / Path(value).name) if name.endswith("_FILE") else value for name, value in given.items()}

    loaded = load(environ=environ, config=file, required=("langfuse.public_key", "langfuse.secret_key")).settings

    assert (loaded.langfuse.public_key, loaded.store.url, loaded.http.host) == ("pk-lf-1", "postgresql://u@db/x", "0.0.0.0")  # noqa: S104 (what the chart says)
    assert (loaded.delivery.batch, loaded.sweep.sample, loaded.scores.paths, len(loaded.delivery.look_after)) == (100, 0.5, False, 2)


def test_the_worker_takes_several_projects_from_the_chart(render: Callable[[dict[str, Any]], Objects], tmp_path: Path) -> None:
    """Each has the keys of its own secret, where its volume puts them; address and settings are its own where it says so."""
    objects = render(SEVERAL)
    pod = worker_of(objects)
    (mounted,) = (mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == "keys")
    secrets = {"shop-keys": {"public-key": "pk-lf-1", "secret-key": "sk-lf-1"}, "docs-keys": {"p": "pk-lf-2", "s": "sk-lf-2"}}
    for part in next(volume for volume in pod["volumes"] if volume["name"] == "keys")["projected"]["sources"]:
        for item in part["secret"]["items"]:
            path = tmp_path / item["path"]
            path.parent.mkdir(exist_ok=True)
            path.write_text(secrets[part["secret"]["name"]][item["key"]], "utf-8")
    (settings,) = (each for each in objects if each["kind"] == "ConfigMap" and "config.toml" in each["data"])
    file = tmp_path / "config.toml"
    file.write_text(settings["data"]["config.toml"].replace(mounted, str(tmp_path)), "utf-8")
    given = {item["name"]: item["value"] for item in pod["containers"][0]["env"]}
    environ = {name: value for name, value in given.items() if name != "HUNKWATCH_STORE__URL_FILE"}

    loaded = load(environ=environ, config=file, required=("langfuse.public_key", "langfuse.secret_key")).settings

    assert [(one.name, one.langfuse.public_key, one.langfuse.secret_key.get_secret_value()) for one in loaded.projects] == [
        ("shop", "pk-lf-1", "sk-lf-1"),
        ("docs.eu", "pk-lf-2", "sk-lf-2"),
    ]
    assert [(one.langfuse.base_url, one.langfuse.timeout.total_seconds()) for one in loaded.projects] == [
        ("https://cloud.langfuse.com", 60),
        ("http://web.langfuse:3000/lf", 90),
    ]


def test_every_verb_in_the_pod_finds_the_settings(render: Callable[[dict[str, Any]], Objects]) -> None:
    """A backfill that somebody starts with ``kubectl exec`` writes what the worker writes: the file is where it is looked for anyway."""
    container = worker_of(render(KEYS_KEPT))["containers"][0]
    (mounted,) = (mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "settings")

    assert (f"{mounted}/config.toml", container["args"][-1]) == (str(SYSTEM_CONFIG), str(SYSTEM_CONFIG))


def test_the_check_is_there_when_its_log_is_read(render: Callable[[dict[str, Any]], Objects]) -> None:
    """``helm test --logs`` asks for the log after the hooks are done: a pod that is deleted when it succeeds has none."""
    check = only(render(KEYS_KEPT), "Pod")["metadata"]["annotations"]

    assert (check["helm.sh/hook"], check["helm.sh/hook-delete-policy"]) == ("test", "before-hook-creation")


def test_the_pod_asks_for_what_the_image_has(render: Callable[[dict[str, Any]], Objects]) -> None:
    """The user, the writable folder and the time to end are those of the Dockerfile and the compose file."""
    image = (ROOT / "deploy" / "docker" / "Dockerfile").read_text("utf-8")
    pod = worker_of(render(KEYS_GIVEN))

    assert f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" in image
    assert "VOLUME /data" in image
    assert "/data" in {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert pod["containers"][0]["image"] == f"hunkwatch:{version('hunkwatch')}"


@pytest.mark.parametrize(
    ("address", "port"),
    [("https://x.example", 443), ("http://x.example/lf", 80), ("http://web:3000", 3000), ("https://[::1]:8443/a", 8443)],
)
def test_the_way_out_is_open_to_the_server_s_port(render: Callable[[dict[str, Any]], Objects], address: str, port: int) -> None:
    """Nothing but name servers and that port, as a client would choose it."""
    values = {"langfuse": {"existingSecret": "keys", "baseUrl": address}, "networkPolicy": {"egress": {"enabled": True}}}

    policy = only(render(values), "NetworkPolicy")["spec"]

    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert [[each["port"] for each in rule["ports"]] for rule in policy["egress"]] == [[53, 53], [port]]


def test_the_way_out_is_open_to_the_server_of_each_project(render: Callable[[dict[str, Any]], Objects]) -> None:
    """Each port once, and none for the address that no project has."""
    egress = {"networkPolicy": {"egress": {"enabled": True}}}
    one = {"projects": [{"name": "a", "existingSecret": "a", "baseUrl": "http://web:3000"}]}

    assert [
        [[each["port"] for each in rule["ports"]] for rule in only(render({**values, **egress}), "NetworkPolicy")["spec"]["egress"]]
        for values in (SEVERAL, one)
    ] == [[[53, 53], [443, 3000, 5432]], [[53, 53], [3000]]]


def test_prometheus_gets_the_alerts_of_the_repository(render: Callable[[dict[str, Any]], Objects]) -> None:
    """The rules and the dashboard are those that are tested elsewhere, and the scrape job has the name that they ask for."""
    objects = render(EVERYTHING)
    (dashboard,) = (each for each in objects if "hunkwatch.json" in each.get("data", {}))

    assert yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text("utf-8")) == only(objects, "PrometheusRule")["spec"]
    assert json.loads((ROOT / "deploy" / "grafana" / "hunkwatch.json").read_text("utf-8")) == json.loads(
        dashboard["data"]["hunkwatch.json"]
    )
    assert only(objects, "ServiceMonitor")["spec"]["endpoints"][0]["relabelings"] == [{"targetLabel": "job", "replacement": "hunkwatch"}]


def test_a_packed_chart_needs_nothing_beside_itself(helm: Any, tmp_path: Path) -> None:
    """What is a link in the repository is a file in the archive."""
    with helm.Chart.load(CHART) as chart:
        archive = Path(chart.save(tmp_path))
    with helm.Chart.load(archive) as chart:
        rendered = chart.render(EVERYTHING, name="release")

    assert "HunkwatchDown" in rendered["hunkwatch/templates/monitoring.yaml"]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "no keys: set langfuse.existingSecret"),
        ({"langfuse": {"publicKey": "pk-lf-1"}}, "no keys: set langfuse.existingSecret"),
        ({**KEYS_GIVEN, "replica": 2}, "replica"),
        ({**KEYS_GIVEN, "settings": {"sweep": {"evry": "1s"}}}, "evry"),
        ({**KEYS_GIVEN, "settings": {"sweep": {"every": "soon"}}}, "every"),
        ({**KEYS_GIVEN, "settings": {"langfuse": {"secret_key": "sk-lf-1"}}}, "secret_key"),
        ({"langfuse": {"publicKey": "sk-lf-1", "secretKey": "pk-lf-1"}}, "publicKey"),
        ({**KEYS_GIVEN, "podDisruptionBudget": {"maxUnavailable": 0}}, "maxUnavailable"),
        ({**KEYS_GIVEN, "projects": [{"name": "a", "existingSecret": "a"}]}, "keys under langfuse are not used beside projects"),
        ({"projects": [{"name": "a", "existingSecret": "a"}, {"name": "a", "existingSecret": "b"}]}, "two projects are called a"),
        ({"projects": [{"name": "a"}]}, "existingSecret"),
        ({"projects": [{"name": "../a", "existingSecret": "a"}]}, "name"),
        ({"projects": [{"name": "a", "existingSecret": "a", "settings": {"secret_key": "sk-lf-1"}}]}, "secret_key"),
    ],
)
def test_what_cannot_work_is_refused_with_its_name(helm: Any, values: dict[str, Any], said: str) -> None:
    """Nothing is installed that the worker would refuse later, and the message names the value."""
    with helm.Chart.load(CHART) as chart, pytest.raises(helm.HelmError) as caught:
        chart.render(values, name="release")

    assert said in str(caught.value)


# ---------------------------------------------------------------- values, schema and words


def paths_of(values: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yield each value by its path; a map that is empty, or of somebody else's names, is one value."""
    for name, value in values.items():
        yield f"{before}{name}"
        if isinstance(value, dict) and value and f"{before}{name}" != "dashboard.labels":
            yield from paths_of(value, f"{before}{name}.")


def schema_of(path: str) -> dict[str, Any] | None:
    """Return what the schema says of a value; the contexts that Kubernetes itself checks are open."""
    at: dict[str, Any] = SCHEMA
    for name in path.split("."):
        if "properties" not in at:
            return {} if at.get("type") == "object" else None
        if name not in at["properties"]:
            return None
        at = at["properties"][name]
    return at


@pytest.mark.parametrize("path", sorted(paths_of(yaml.safe_load(VALUES.read_text("utf-8")))))
def test_every_value_has_a_sentence_and_a_type(path: str) -> None:
    """Nobody has to read a template to know what a value does; groups need no sentence of their own."""
    *groups, name = path.split(".")
    at = VALUES.read_text("utf-8")
    for depth, group in enumerate(groups):
        at = re.split(rf"^{'  ' * depth}{group}:", at, maxsplit=1, flags=re.MULTILINE)[1]
    indent = "  " * len(groups)
    found = re.search(rf"^((?:{indent}#.*\n)*){indent}{name}:(.*)$", at, re.MULTILINE)

    assert found is not None
    assert schema_of(path) is not None
    assert found[2] == "" or re.search(r"\w{3,}.*\.(?:\n|$)", found[1])


def test_the_settings_of_the_schema_are_the_worker_s() -> None:
    """Every setting that the chart does not make itself can be given, and no other."""
    ours = {"langfuse.base_url", "langfuse.public_key", "langfuse.secret_key", "store.url", "http.host", "http.port"}
    sections = SCHEMA["properties"]["settings"]["properties"]

    assert {f"{section}.{key}" for section, of in sections.items() for key in of["properties"]} == set(KEYS) - ours


def test_the_chart_is_of_this_version() -> None:
    """The image that a chart asks for is the one that was built with it."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]

    assert (chart["version"], chart["appVersion"]) == (project, project)

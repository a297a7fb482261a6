"""The scorer as one file for Langfuse's code evaluators, run as Langfuse runs it: alone, in a bare interpreter, with little memory."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hunkwatch import evaluator
from hunkwatch.cli import main
from hunkwatch.core import caveats, evaluate, single
from hunkwatch.core.model import Observation

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.json"))
START = datetime(2026, 4, 1, 8, tzinfo=UTC)
SECONDS, MEMORY = 2, 128 * 2**20
PATCH = "*** Begin Patch\n*** Update File: a\n@@\n-a\n-b\n-c\n+a\n+y\n+z\n@@\n-k\n+l\n*** End Patch"

RUNTIME = """
import json, resource, sys, time
from types import SimpleNamespace

resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
given = json.load(sys.stdin)
began = time.process_time()
names = {}
exec(compile(given["source"], "evaluator", "exec"), names)
told, slowest = [], 0
for row in given["rows"]:
    names["OBSERVATION_TYPE"], names["OBSERVATION_NAME"] = row["type"], row["name"]
    seen = SimpleNamespace(input=row["input"], output=row["output"], metadata=row["metadata"], tool_calls=[])
    result = names["evaluate"](SimpleNamespace(observation=seen, experiment=None))
    told.append([[score.name, score.value, score.data_type, score.comment, score.metadata] for score in result.scores])
    slowest, began = max(slowest, time.process_time() - began), time.process_time()
ours = sorted(name for name in sys.modules if name == "hunkwatch" or name.startswith("hunkwatch."))
json.dump({"told": told, "slowest": slowest, "ours": ours}, sys.stdout)
""".replace("MEMORY", str(MEMORY))
"""What stands in for Langfuse's runtime: no site packages, no path of ours, the memory of its smallest machine."""


def run(*rows: dict[str, Any], source: str = "") -> dict[str, Any]:
    """Evaluate observations with the exported file in a bare interpreter."""
    given = json.dumps({"source": source or evaluator.source("TOOL", "apply_patch"), "rows": rows})
    done = subprocess.run([sys.executable, "-I", "-S", "-c", RUNTIME], input=given, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def observed(given: object, **fields: Any) -> dict[str, Any]:
    """Return what an evaluator gets of an observation, with what its rule selects."""
    return {"type": "TOOL", "name": "apply_patch", "input": given, "output": "Done!", "metadata": None, **fields}


def parsed(text: object) -> object:
    """Return a raw text as a server that parses JSON hands it over."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def of_worker(row: dict[str, Any]) -> dict[str, object]:
    """Return the scores that the worker gives an observation which is alone in its trace."""
    whole = Observation("o", "t", START, row["type"], row["name"], input=row["input"], output=row["output"], metadata=row["metadata"])
    calls = evaluate.grade_observation(whole)
    seen = evaluate.trace("p", calls, now=START + timedelta(days=1), request_grace=timedelta())
    return {f"{score.name}_eval": score.value for score in seen.scores if score.observation_id} or {"patch_shape_eval": "no_call"}


def test_the_file_gives_the_workers_numbers_on_every_recorded_form() -> None:
    """Each golden observation, raw and parsed, scores in the exported file as it scores here; nothing of ours is installed there."""
    rows = []
    for path in GOLDEN:
        row = json.loads(path.read_text("utf-8"))["observation"]
        for read in (lambda value: value, parsed):
            io = {side: read(row[side]) for side in ("input", "output")}
            rows.append(observed(io["input"], type=row["type"], name=row["name"], output=io["output"], metadata=row["metadata"]))

    found = run(*rows)

    assert found["ours"] == []
    assert [of_worker(row) for row in rows] == [{name: value for name, value, *_ in scores} for scores in found["told"]]
    assert {"no_call"} < {value for scores in found["told"] for _, value, *_ in scores}
    assert found["slowest"] < SECONDS


def test_the_scores_are_told_as_langfuse_takes_them() -> None:
    """Names of their own, the type that each value has, a comment that ends with the caveat, and metadata that is JSON."""
    (scores,) = run(observed(PATCH))["told"]

    assert [("blind_rewrite_patch_eval", 0.5), ("retyped_lines_patch_eval", 1.0), ("patch_shape_eval", "blind_rewrite")] == [
        (name, value) for name, value, *_ in scores
    ]
    for name, value, data_type, comment, metadata in scores:
        meaning = caveats.of(name.removesuffix(single.SUFFIX))
        assert data_type == meaning.data_type == ("CATEGORICAL" if isinstance(value, str) else "NUMERIC")
        assert comment.endswith(meaning.caveat)
        assert metadata["scorer"] == evaluate.SCORER
        assert "fingerprint" not in metadata
    assert not {name for name, *_ in scores} & {meaning.name for meaning in caveats.MEANINGS}


def test_the_file_is_small_and_needs_the_standard_library_only() -> None:
    """It stays under what Langfuse takes, is plain ASCII, and imports nothing that Python does not bring."""
    text = evaluator.source("TOOL", "apply_patch")

    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or ""
        for part in [text, *(each for each in _embedded(text))]
        for node in ast.walk(ast.parse(part))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }

    assert len(text.encode()) < evaluator.LARGEST < 256 * 1024
    assert text.isascii()
    assert {name.split(".")[0] for name in imported if not name.startswith("hunkwatch_")} <= sys.stdlib_module_names | {"__future__"}


def _embedded(text: str) -> list[str]:
    (sources,) = [
        node.value for node in ast.parse(text).body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_SOURCES"
    ]
    embedded: dict[str, str] = ast.literal_eval(sources)
    assert len(embedded) > 30
    return list(embedded.values())


def test_a_patch_of_megabytes_stays_within_time_and_memory() -> None:
    """A patch of two megabytes with every line retyped in another order, and one of as many hunks."""
    lines = [f"line {number * 7919 % 90_001}" for number in range(90_000)]
    retyped = "\n".join(["*** Begin Patch\n*** Update File: a\n@@", *(f"-{line}" for line in lines), *(f"+{line}" for line in lines[::-1])])
    hunks = "*** Begin Patch\n*** Update File: a\n" + "@@\n-one line\n+another line\n" * 100_000

    found = run(observed(f"{retyped}\n*** End Patch"), observed(f"{hunks}*** End Patch"))

    assert [scores[0][1] for scores in found["told"]] == [0.0, 1.0]
    assert found["slowest"] < SECONDS


@pytest.mark.parametrize("given", [None, "", "\ud800*** Begin Patch", [[[[]]]], {"input": 7}, 3.5, "[" * 100_000], ids=repr)
def test_whatever_comes_in_one_score_goes_out(given: object) -> None:
    """An evaluator that raises or gives nothing shows up as an error in Langfuse, on every such observation."""
    shown = single.scores("TOOL", "apply_patch", given, None, "no metadata")

    assert shown
    assert {score.name for score in shown} <= {"patch_shape_eval", "blind_rewrite_patch_eval", "retyped_lines_patch_eval"}
    assert len(json.dumps([score._asdict() for score in shown])) < 256_000


def test_the_runtimes_own_classes_are_used() -> None:
    """Langfuse's runtime brings the classes of its contract; a result of another class might be refused."""
    brought = (
        "class Score:\n    def __init__(self, **said):\n        self.__dict__.update(said)\n"
        "class EvaluationResult:\n    def __init__(self, scores):\n"
        "        self.scores = [*scores, Score(**vars(scores[0]) | {'name': 'theirs'})]\n"
    )

    (scores,) = run(observed(PATCH), source=brought + evaluator.source("TOOL", "apply_patch"))["told"]

    assert scores[-1][0] == "theirs"


def test_a_warm_runtime_takes_the_file_again() -> None:
    """The same source is compiled once a call in a process that lives on; the modules of the first time serve again."""
    source = evaluator.source("TOOL", "apply_patch")

    (scores,) = run(observed(PATCH), source=f"{source}\nevaluate_first = evaluate\n{source}")["told"]

    assert scores[0][:2] == ["blind_rewrite_patch_eval", 0.5]


def test_the_verb_writes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On stdout or into a file, for the observations that the rule selects."""
    out = tmp_path / "evaluator.py"

    assert main(["export-evaluator", "--type", "generation", "--name", "", "--out", str(out)]) == 0
    assert main(["export-evaluator"]) == 0

    assert out.read_text("ascii") == evaluator.source("GENERATION", "")
    assert main(["export-evaluator", "--out", str(tmp_path / "no" / "folder")]) == 2
    printed = capsys.readouterr()
    assert printed.out == evaluator.source("TOOL", "apply_patch")
    assert str(out) in printed.err

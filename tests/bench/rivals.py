"""What a user would run instead of the worker, each as a process of its own: ``python rivals.py KIND`` with Langfuse's variables set.

``batched`` is the SDK's ``run_batched_evaluation`` as its defaults are, ``tuned`` the same with a filter on the tool's name and pages of
1,000, ``loop`` the cookbook's loop over traces. Each writes three scores a patch, the first by clinescope's scorer.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import httpx
from clinescope.diff_minimality import score_diff_minimality
from clinescope.world_a import ToolCall, Trace
from langfuse.batch_evaluation import EvaluatorInputs
from langfuse.experiment import Evaluation

from langfuse import Langfuse

BEGIN, END = "*** Begin Patch", "*** End Patch"
BY_NAME = json.dumps([{"type": "string", "column": "name", "operator": "=", "value": "apply_patch"}])


def patch_of(argument: object) -> str:
    """Return the patch in an argument as a quick script would: the field, or what stands between the markers."""
    try:
        value = json.loads(argument) if isinstance(argument, str) else argument
    except ValueError:
        value = argument
    if isinstance(value, dict):
        value = next((each for each in value.values() if isinstance(each, str) and BEGIN in each), "")
    if not isinstance(value, str) or BEGIN not in value:
        return ""
    return value[value.index(BEGIN) : value.rindex(END) + len(END)] if END in value else ""


def numbers(patch: str) -> dict[str, float]:
    """Score a patch three ways."""
    call = ToolCall("call", "apply_patch", {"input": patch}, None, None)
    return {
        "diff_minimality": float(score_diff_minimality(Trace(1, (), (call,), ())).score or 0),
        "added": float(sum(line.startswith("+") for line in patch.split("\n"))),
        "deleted": float(sum(line.startswith("-") for line in patch.split("\n"))),
    }


def evaluator(name: str) -> Any:
    """Return one evaluator of the batched evaluation; it says nothing of what is no patch."""

    def evaluate(*, input: Any, **_others: Any) -> list[Evaluation]:  # noqa: A002 - the SDK's word
        return [Evaluation(name=name, value=numbers(input)[name])] if input else []

    evaluate.__name__ = name
    return evaluate


def batched(client: Langfuse, **how: Any) -> None:
    """Run the SDK's own evaluation."""

    def mapped(*, item: Any) -> EvaluatorInputs:
        return EvaluatorInputs(input=patch_of(item.input), output=None)

    client.run_batched_evaluation(mapper=mapped, evaluators=[evaluator(name) for name in ("diff_minimality", "added", "deleted")], **how)


def loop(client: Langfuse) -> None:
    """Go through traces page by page and read each, as the cookbook's external evaluation does."""
    auth = (os.environ["LANGFUSE_PUBLIC_KEY"], os.environ["LANGFUSE_SECRET_KEY"])
    with httpx.Client(base_url=os.environ["LANGFUSE_BASE_URL"], auth=auth, timeout=60) as http:
        page = 1
        while traces := http.get("/api/public/traces", params={"page": page, "limit": 10}).raise_for_status().json()["data"]:
            for trace in traces:
                whole = http.get(f"/api/public/traces/{trace['id']}").raise_for_status().json()
                for row in whole["observations"]:
                    if patch := patch_of(row["input"]):
                        for name, value in numbers(patch).items():
                            client.create_score(trace_id=trace["id"], observation_id=row["id"], name=name, value=value)
            page += 1


def main(kind: str) -> None:
    """Run one of them to its end."""
    client = Langfuse()
    match kind:
        case "batched":
            batched(client)
        case "tuned":
            batched(client, filter=BY_NAME, fetch_batch_size=1000)
        case _:
            loop(client)
    client.flush()
    client.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])

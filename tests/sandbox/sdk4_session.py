"""What a program with the Langfuse SDK 4 does: traces, a score, a batched evaluation, and the readings of v1. Prints what it saw.

Run by an interpreter of its own that has ``langfuse==4.18.0``: ``python sdk4_session.py BASE_URL``.
"""

import json
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")  # the old SDK's own

from langfuse.batch_evaluation import EvaluatorInputs  # noqa: E402 - the same

from langfuse import Evaluation, Langfuse, propagate_attributes  # noqa: E402 - after its warnings are silenced

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"


def main(base_url: str) -> dict[str, Any]:
    """Write, evaluate, read."""
    client = Langfuse(public_key="pk-lf-demo", secret_key="sk-lf-demo", base_url=base_url)
    with (
        propagate_attributes(trace_name="codex-session", session_id="s1", tags=["lab"]),
        client.start_as_current_observation(name="agent", as_type="agent", input="go") as agent,
        client.start_as_current_observation(name="apply_patch", as_type="tool", input={"input": PATCH}) as tool,
    ):
        trace_id = agent.trace_id
        tool.update(output="Done")
    client.flush()
    client.create_score(name="by_hand", value=0.5, trace_id=trace_id, score_id="score-1")
    client.flush()
    evaluated = client.run_batched_evaluation(
        scope="observations",
        mapper=lambda *, item: EvaluatorInputs(input=item.input, output=item.output, expected_output=None, metadata={}),
        evaluators=[lambda **_: Evaluation(name="by_batch", value=1.0)],
    )
    client.flush()
    trace = client.api.trace.get(trace_id)
    listed = client.api.trace.list(name="codex-session")
    observations = client.api.legacy.observations_v1.get_many(name="apply_patch")
    seen = {
        "evaluated": evaluated.total_items_processed,
        "trace": [
            trace.name,
            trace.session_id,
            sorted(row.name for row in trace.observations),
            sorted(score.name for score in trace.scores),
        ],
        "listed": [row.id == trace_id for row in listed.data],
        "observations": [row.input for row in observations.data],
    }
    client.shutdown()
    return seen


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])))

"""What a program with the Langfuse SDK 4 does around a worker: ``write`` a trace of an agent, or ``read`` the scores of one. Prints JSON.

Run by an interpreter of its own that has ``langfuse==4.18.0``: ``python sdk4_way.py BASE_URL PUBLIC_KEY SECRET_KEY write|read TRACE_ID|-``.
"""

import json
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")  # the old SDK's own

from langfuse import Langfuse, propagate_attributes  # noqa: E402 - after its warnings are silenced

PATCH = "*** Begin Patch\n*** Update File: b.py\n@@\n-a1\n-a2\n-a3\n-a4\n+b1\n+b2\n+b3\n+b4\n*** End Patch"


def write(client: Langfuse) -> dict[str, Any]:
    """Trace an agent that makes one blind patch."""
    with (
        propagate_attributes(trace_name="codex-session"),
        client.start_as_current_observation(name="agent", as_type="agent", input="go") as agent,
        client.start_as_current_observation(name="apply_patch", as_type="tool", input={"input": PATCH}) as tool,
    ):
        tool.update(output="Done")
    client.flush()
    return {"trace": agent.trace_id, "call": tool.id}


def read(client: Langfuse, trace_id: str) -> list[list[Any]]:
    """Read the scores of a trace back, as the SDK shows them."""
    trace = client.api.trace.get(trace_id)
    return [[score.name, score.observation_id, getattr(score, "string_value", None) or score.value] for score in trace.scores]


if __name__ == "__main__":
    base_url, public_key, secret_key, what, trace_id = sys.argv[1:]
    opened = Langfuse(public_key=public_key, secret_key=secret_key, base_url=base_url)
    told = write(opened) if what == "write" else read(opened, trace_id)
    opened.shutdown()
    sys.stdout.write(json.dumps(told))

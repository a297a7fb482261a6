"""Rate limits per bucket and plan, in fixed windows, shared by everybody in the organisation.

The quota that can be used is one less than the limit, as in Langfuse; a server of one's own has none.
"""

from dataclasses import dataclass, field

from hunkwatch.sandbox import moments
from hunkwatch.sandbox.answers import Answer
from hunkwatch.sandbox.habits import Plan

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
Quota = tuple[int, int]
BUCKETS: dict[str, dict[Plan, Quota]] = {
    "ingestion": {Plan.HOBBY: (1000, MINUTE), Plan.CORE: (20_000, MINUTE), Plan.PRO: (20_000, MINUTE)},
    "public-api": {Plan.HOBBY: (30, MINUTE), Plan.CORE: (1000, MINUTE), Plan.PRO: (1000, MINUTE)},
    "public-api-legacy": {Plan.HOBBY: (15, MINUTE), Plan.CORE: (30, MINUTE), Plan.PRO: (100, MINUTE)},
    "legacy-ingestion": {Plan.HOBBY: (100, MINUTE), Plan.CORE: (400, MINUTE), Plan.PRO: (400, MINUTE)},
    "public-api-v2-metrics": {Plan.HOBBY: (100, DAY), Plan.CORE: (100, HOUR), Plan.PRO: (500, HOUR)},
    "score-delete": {Plan.HOBBY: (50, DAY), Plan.CORE: (200, DAY), Plan.PRO: (1000, DAY)},
}
HINT = "Use GET /api/public/v2/observations?fromStartTime=<from>&toStartTime=<to> for high-volume reads."


@dataclass(slots=True)
class Limits:
    """How much of each window is used."""

    _windows: dict[str, tuple[int, int]] = field(default_factory=dict)

    def spend(self, bucket: str, plan: Plan, now: int, *, method: str, path: str) -> None:
        """Take one from the bucket, or raise the 429."""
        quota = BUCKETS[bucket].get(plan)
        if quota is None:
            return
        limit, length = quota
        resets, used = self._windows.get(bucket, (now + length, 0))
        if now >= resets:
            resets, used = now + length, 0
        used += 1
        self._windows[bucket] = resets, used
        if limit - used < 1:
            legacy = f"Rate limit exceeded for {method} {path}. {HINT}" if bucket == "public-api-legacy" else "Rate limit exceeded"
            raise exceeded(limit, resets, now, message=legacy)


def exceeded(limit: int, resets: int, now: int, *, message: str = "Rate limit exceeded") -> Answer:
    """The 429 with its body and headers."""
    wait = max(1, -(-(resets - now) // 1000))
    details = {"retryAfterSeconds": wait, "limit": limit, "remaining": 0, "resetAt": moments.write(resets)}
    headers = {
        "retry-after": str(wait),
        "x-ratelimit-limit": str(limit),
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": moments.write_script(resets),
    }
    return Answer(429, {"message": message, "code": "rate_limited", "details": details}, headers)

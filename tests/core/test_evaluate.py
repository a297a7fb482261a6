"""The facade: which scores exist, what they say, and that nothing depends on order or repetition."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunkwatch.core import evaluate, identity
from hunkwatch.core.model import Call, Evidence, GradedCall, Outcome, Score, Shape
from hunkwatch.core.scoring import SCORERS

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(days=1)
GRACE = timedelta(minutes=10)
SECOND = timedelta(seconds=1)
BLIND = "*** Update File: src/a.py\n@@\n-a\n-b\n-c\n+a\n+y\n+z"
CLEAN = "*** Update File: src/b.py\n@@\n-a\n+b"
NEW = "*** Add File: n.py\n+one\n+\n+two\n+three"


def patch(*sections: str) -> str:
    """Return an envelope around sections."""
    return "\n".join(("*** Begin Patch", *sections, "*** End Patch"))


def call(observation: str = "o1", text: str | None = None, **facts: object) -> GradedCall:
    """Return a graded call; only what is told differs from an execution of a clean patch at the start."""
    known: dict[str, object] = {"trace_id": "t", "observation_id": observation, "start_time": START, "end_time": None, "call_id": None}
    known |= {"index": 0, "producer": "codex", "evidence": Evidence.EXECUTION, "text": patch(CLEAN) if text is None else text, **facts}
    return evaluate.grade(Call(**known))  # type: ignore[arg-type] - a table of facts


def request(observation: str, **facts: object) -> GradedCall:
    """Return a call that a model asked for."""
    return call(observation, evidence=Evidence.REQUEST, **facts)


def score(*calls: GradedCall, now: datetime = LATER, paths: bool = True, also_in: frozenset[str] = frozenset()) -> evaluate.Evaluation:
    """Evaluate the calls as one trace."""
    return evaluate.trace("p", calls, now=now, request_grace=GRACE, paths=paths, also_in=also_in)


def values(*calls: GradedCall) -> dict[tuple[str | None, str], float | str]:
    """Return the value of every score by observation and name."""
    return {(made.observation_id, made.name): made.value for made in score(*calls).scores}


def only(evaluation: evaluate.Evaluation, name: str) -> Score:
    """Return the one score of that name."""
    (found,) = [made for made in evaluation.scores if made.name == name]
    return found


# ---------------------------------------------------------------- which scores exist


def test_one_call_makes_all_six_scores() -> None:
    """A patch with a blind hunk of two gets its three scores, and its trace three of its own."""
    assert values(call(text=patch(BLIND, CLEAN))) == {
        ("o1", "blind_rewrite_patch"): 0.5,
        ("o1", "retyped_lines_patch"): 1.0,
        ("o1", "patch_shape"): "blind_rewrite",
        (None, "blind_rewrite"): 0.5,
        (None, "blind_hunks"): 1.0,
        (None, "retyped_lines"): 1.0,
    }


@pytest.mark.parametrize("text", ["hello", "*** Begin Patch\n" + BLIND, patch(NEW), patch()])
def test_where_nothing_is_counted_only_the_shape_is_told(text: str) -> None:
    """Malformed, truncated, without a changed hunk: no number at all, on the observation or on the trace."""
    assert [name for _, name in values(call(text=text))] == ["patch_shape"]


def test_an_uncounted_call_takes_nothing_from_the_others() -> None:
    """Beside a truncated and an unresolved call, the counted one is pooled alone; the shape tells of the worst."""
    calls = [call("o1", patch(CLEAN)), call("o1", "*** Begin Patch\n" + BLIND, index=1)]
    made = values(*calls)

    assert (made["o1", "patch_shape"], made["o1", "blind_rewrite_patch"], made[None, "blind_rewrite"]) == ("truncated", 1.0, 1.0)


def test_the_trace_is_floored_to_hundredths_and_the_observation_to_quarters() -> None:
    """One blind hunk in three is 0.5 in quarters and 0.66 in hundredths."""
    made = values(call(text=patch(BLIND, CLEAN, CLEAN)))

    assert (made["o1", "blind_rewrite_patch"], made[None, "blind_rewrite"]) == (0.5, 0.66)


def test_past_the_work_bound_only_the_retyped_lines_are_missing() -> None:
    """A call whose retyped lines cannot be counted in bounds makes its trace abstain from that number, and from no other."""
    abstaining = replace(call("o2", patch(BLIND), start_time=LATER), retyped_lines=None)
    made = values(call("o1", patch(BLIND)), abstaining)

    assert [name for observation, name in made if observation != "o1"] == [
        "blind_rewrite_patch",
        "patch_shape",
        "blind_rewrite",
        "blind_hunks",
    ]


def test_no_calls_no_scores() -> None:
    """A trace of which nothing is on record has no score."""
    assert score() == evaluate.Evaluation((), None, ())


# ---------------------------------------------------------------- one call, counted once


def test_records_with_one_id_and_index_are_one_call_where_it_ran() -> None:
    """The tool's span beats the model's answer and the agent's copy; another index is another call."""
    ran = call("tool", call_id="c", start_time=START + SECOND)
    evaluation = score(
        request("llm", call_id="c"), ran, call("agent", call_id="c", start_time=START + 2 * SECOND), call("tool", call_id="c", index=1)
    )

    assert [(counted.observation_id, counted.index) for counted in evaluation.counted] == [("tool", 1), ("tool", 0)]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_an_agents_copy_is_where_a_call_stands_only_if_nothing_else_has_it(order: tuple[int, ...]) -> None:
    """The agent's answer starts first and repeats the calls; the model's own answer beats it, the tool's span beats both."""
    agent = request("agent", call_id="c", flags=("copy",))
    model = request("model", call_id="c", start_time=START + SECOND)
    ran = call("tool", call_id="c", start_time=START + 2 * SECOND)
    places = []
    for known in ([agent], [agent, model], [agent, model, ran]):
        shuffled = sorted(known, key=lambda record: order[[agent, model, ran].index(record)])
        places.append([counted.observation_id for counted in score(*shuffled).counted])

    assert places == [["agent"], ["model"], ["tool"]]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize(
    ("ids", "place"),
    [
        (("c", None, "c"), "tool"),
        (("c", None, None), "tool"),
        (("c", "c", None), "tool"),
        (("c", None), "model"),
    ],
)
def test_an_agents_copy_pairs_with_a_record_that_lacks_its_id(ids: tuple[str | None, ...], place: str, order: tuple[int, ...]) -> None:
    """Of an agent's answer, a model's and a tool's span any may lack the id: it is one call still."""
    records = [
        request("agent", call_id=ids[0], flags=("copy",)),
        request("model", call_id=ids[1], start_time=START + SECOND),
        *(call("tool", call_id=each, start_time=START + 2 * SECOND) for each in ids[2:]),
    ]
    shuffled = sorted(records, key=lambda record: order[records.index(record)])

    assert [counted.observation_id for counted in score(*shuffled).counted] == [place]


def test_an_outcome_is_kept_from_whichever_record_has_it() -> None:
    """The tool's span may not know what the later message says."""
    evaluation = score(call("tool", call_id="c"), request("llm", call_id="c", outcome=Outcome.FAILED))

    assert [counted.outcome for counted in evaluation.counted] == [Outcome.FAILED]


def test_without_ids_requests_and_executions_pair_one_to_one() -> None:
    """Two requests and one execution of the same text are two calls: the earlier request is the one that ran."""
    evaluation = score(request("r1"), request("r2", start_time=START + SECOND), call("e1", start_time=START + 2 * SECOND))

    assert [counted.observation_id for counted in evaluation.counted] == ["r2", "e1"]


def test_another_text_is_another_call() -> None:
    """Without ids only equal texts pair."""
    assert len(score(request("r1"), call("e1", patch(BLIND))).counted) == 2


def test_a_request_with_an_id_pairs_with_an_execution_without_one() -> None:
    """Some tools' spans know no id; a text that ran once ran for the request that asked for it. Two different ids never pair."""
    assert [counted.observation_id for counted in score(request("r", call_id="c"), call("e")).counted] == ["e"]
    assert len(score(request("r", call_id="c"), call("e", call_id="d")).counted) == 2


@pytest.mark.parametrize(("outputs", "calls"), [((True, True), 2), ((True, False), 1), ((False, True), 1), ((False, False), 2)])
def test_two_executions_without_ids_merge_only_if_one_lacks_its_output(outputs: tuple[bool, bool], calls: int) -> None:
    """A span before and a span after are one call; the same patch tried twice is two."""
    evaluation = score(*(call(f"e{at}", has_output=output, start_time=START + at * SECOND) for at, output in enumerate(outputs)))

    assert calls == len(evaluation.counted)


def test_a_copy_that_is_whole_speaks_for_one_that_was_cut() -> None:
    """Where the tool's span holds a cut text, the scores stand there, and count the copy that was read to its end."""
    cut = call("tool", "*** Begin Patch\n" + CLEAN, call_id="c", start_time=START + SECOND)
    (counted,) = score(cut, request("llm", call_id="c", text=patch(CLEAN))).counted

    assert (counted.observation_id, counted.shape, counted.hunks, counted.flags) == ("tool", Shape.NO_BLIND_REWRITE, 1, ("text_from_copy",))


def test_a_request_waits_for_its_grace_and_moves_when_it_ran() -> None:
    """A call that only a model's answer knows is scored there ten minutes after its end; a later execution takes it away."""
    asked = request("llm", end_time=START + SECOND)
    due = START + SECOND + GRACE
    ran = call("tool", start_time=LATER)

    assert score(asked, now=due - SECOND) == evaluate.Evaluation((), due, ())
    assert {made.observation_id for made in score(asked, now=due).scores} == {"llm", None}
    assert {made.observation_id for made in score(asked, ran).scores} == {"tool", None}


def test_what_waits_keeps_nothing_back() -> None:
    """Executions are scored at once; the earliest of the waiting requests says when to look again."""
    evaluation = score(call("tool", patch(BLIND)), request("b", start_time=START + SECOND), request("a"), now=START)

    assert (evaluation.waits_until, [counted.observation_id for counted in evaluation.counted]) == (START + GRACE, ["tool"])


def test_a_call_at_the_end_of_time_waits() -> None:
    """A trace may claim any year; what lies as far ahead as times go only waits."""
    last = datetime.max.replace(tzinfo=UTC)

    assert score(request("llm", start_time=last)) == evaluate.Evaluation((), last, ())


# ---------------------------------------------------------------- file rewrites across calls


def again(first: Outcome, section: str = NEW) -> GradedCall:
    """Return the later of two calls, which adds a file over what the first call left, after evaluation."""
    later = "*** Add File: n.py\n+one\n+\n+2\n+three"
    calls = [call("o1", patch(section), call_id="a", outcome=first), call("o2", patch(later), call_id="b", start_time=START + SECOND)]
    return score(*calls).counted[1]


def test_an_add_over_a_file_of_an_earlier_call_is_a_rewrite() -> None:
    """The second Add of a path is a whole-file rewrite, and the lines that came back unchanged are known, blank ones not counted."""
    rewritten = again(Outcome.UNKNOWN)

    assert (rewritten.shape, rewritten.returned_lines) == (Shape.FILE_REWRITE, 2)


def test_an_add_over_an_updated_or_moved_file_is_a_rewrite_of_unknown_extent() -> None:
    """What an Update left behind is not known from the trace."""
    moved = "*** Update File: m.py\n*** Move to: n.py\n@@\n-a\n+b"

    assert [
        (again(Outcome.APPLIED, section).shape, again(Outcome.APPLIED, section).returned_lines)
        for section in (moved, "*** Update File: n.py\n-a")
    ] == [
        (Shape.FILE_REWRITE, None),
        (Shape.FILE_REWRITE, None),
    ]


AWAY = "*** Update File: n.py\n*** Move to: m.py\n@@\n-one\n+1"


@pytest.mark.parametrize(
    ("sections", "outcome", "expected"),
    [
        ((NEW, AWAY), Outcome.APPLIED, Shape.NEW_FILE),
        ((AWAY,), Outcome.APPLIED, Shape.NEW_FILE),
        ((NEW, AWAY), Outcome.UNKNOWN, Shape.NEW_FILE),
        ((NEW, AWAY), Outcome.FAILED, Shape.FILE_REWRITE),
        ((NEW, AWAY, AWAY.replace("m.py", "x.py").replace("File: n.py", "File: m.py")), Outcome.APPLIED, Shape.NEW_FILE),
        ((NEW, AWAY, NEW), Outcome.APPLIED, Shape.FILE_REWRITE),
        ((NEW, AWAY.replace("m.py", "n.py")), Outcome.APPLIED, Shape.FILE_REWRITE),
        ((NEW, "*** Delete File: n.py"), Outcome.APPLIED, Shape.FILE_REWRITE),
    ],
)
def test_an_add_where_a_file_was_moved_away_is_no_rewrite(sections: tuple[str, ...], outcome: Outcome, expected: Shape) -> None:
    """Nothing is there to be written over, unless the move failed or another file took the place; a deleted file is written anew."""
    outcomes = [Outcome.APPLIED, *[outcome] * len(sections)] if len(sections) > 1 else [outcome]
    earlier = [
        call(f"o{at}", patch(section), call_id=f"c{at}", outcome=outcomes[at], start_time=START + SECOND * at)
        for at, section in enumerate(sections)
    ]
    later = call("o9", patch(NEW), call_id="c9", start_time=START + 9 * SECOND)

    assert score(*earlier, later).counted[-1].shape is expected


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.REJECTED])
def test_a_call_that_was_not_applied_left_no_file(outcome: Outcome) -> None:
    """Adding a file again after the first attempt failed is no rewrite."""
    assert again(outcome).shape is Shape.NEW_FILE


def test_earlier_means_start_then_observation_then_index() -> None:
    """Of calls that started together, the smaller observation id and then the smaller index came first."""
    second, first = call("o1", patch(NEW), call_id="b", index=1), call("o1", patch(NEW), call_id="a")
    other = call("o0", patch(NEW), call_id="z", index=5)
    shapes = [(counted.observation_id, counted.index, counted.shape) for counted in score(second, first, other).counted]

    assert shapes == [("o0", 5, Shape.NEW_FILE), ("o1", 0, Shape.FILE_REWRITE), ("o1", 1, Shape.FILE_REWRITE)]


# ---------------------------------------------------------------- what a score carries


def test_a_score_is_identified_and_dated() -> None:
    """Ids come from project, trace, observation and name; the time and environment are those of the earliest call."""
    evaluation = score(call("o2", start_time=START + SECOND, environment="later"), call("o1", patch(BLIND), environment="first"))
    made = only(evaluation, "blind_rewrite")

    assert (made.id, made.timestamp, made.environment) == (identity.score_id("p", "t", None, "blind_rewrite"), START, "first")
    assert {(found.timestamp, found.environment) for found in evaluation.scores if found.observation_id == "o2"} == {
        (START + SECOND, "later")
    }


def test_a_comment_says_which_hunk_and_what_it_does_not_mean() -> None:
    """Two plain sentences: the file, the hunk, the lines, then the caveat; without paths no file is named anywhere."""
    evaluation = score(call(text=patch(CLEAN, BLIND)))
    expected = (
        "1 of 2 hunks is a blind rewrite: src/a.py hunk 1 (lines 8 to 13 of the patch), 3 deleted lines against 3 added. "
        "Low means that a large block was replaced, which may be necessary, not that the patch is wasteful; high does not mean minimal."
    )

    assert expected == only(evaluation, "blind_rewrite").comment
    assert "src" not in json.dumps(
        [[made.comment, dict(made.metadata)] for made in score(call(text=patch(CLEAN, BLIND)), paths=False).scores]
    )


def test_metadata_always_has_the_same_keys_of_plain_values() -> None:
    """Langfuse merges metadata key by key, so a fact that is absent is said to be absent, and no value is a list or a mapping."""
    calls = [
        call(text=patch(BLIND)),
        call("o2", "hello", call_id="c"),
        call("o3", patch(NEW), call_id="d"),
        call("o4", None or "", call_id="e"),
    ]
    made = score(*calls, also_in=frozenset("c")).scores

    assert len({tuple(found.metadata) for found in made}) == 1
    assert {type(value) for found in made for value in found.metadata.values()} <= {str, int, float, type(None)}
    assert {(found.metadata["scorer"], found.metadata["fingerprint"]) for found in made} == {
        ("1", identity.fingerprint(found)) for found in made
    }


def test_a_call_that_another_trace_has_too_is_flagged() -> None:
    """A copy elsewhere changes no number and is told."""
    plain, copied = (only(score(call(call_id="c"), also_in=also), "blind_rewrite") for also in (frozenset(), frozenset("c")))

    assert (plain.value, plain.metadata["also_in"], copied.metadata["also_in"], copied.metadata["flags"]) == (
        copied.value,
        0,
        1,
        "also_in 1",
    )


def test_comments_and_metadata_stay_small() -> None:
    """A thousand calls with endless paths, ids and flags make no more than a few kilobytes, and any text can be sent."""
    calls = [
        call(
            f"o{at}",
            patch(f"*** Update File: {'é' * 2000}\ud800{at}\n" + BLIND.partition("\n")[2]),
            call_id=f"\ud800{'c' * 500}{at}",
            flags=("f" * 500 + str(at),),
        )
        for at in range(1000)
    ]
    for made in score(*calls).scores[-3:]:
        assert len(json.dumps(made.metadata, ensure_ascii=False)) < 5_000
        assert len(made.comment) < 600


# ---------------------------------------------------------------- for all traces

TEXTS = [
    patch(BLIND),
    patch(CLEAN),
    patch(NEW),
    patch("*** Delete File: n.py", NEW),
    patch(BLIND, NEW),
    "hello",
    "*** Begin Patch\n" + BLIND,
    None,
]
records = st.builds(
    lambda second, **facts: evaluate.grade(Call("t", start_time=START + second * SECOND, end_time=None, environment=f"e{second}", **facts)),
    st.integers(0, 3),
    observation_id=st.sampled_from(["o1", "o2", "o3", "o4", "o5"]),
    call_id=st.sampled_from([None, None, "c", "d"]),
    index=st.integers(0, 1),
    producer=st.just("p"),
    evidence=st.sampled_from(Evidence),
    text=st.sampled_from(TEXTS),
    outcome=st.sampled_from(Outcome),
    has_output=st.booleans(),
    flags=st.sampled_from([(), (), ("copy",)]),
)
traces = st.lists(records, max_size=8, unique_by=lambda made: (made.observation_id, made.call_id, made.index))


@given(traces, st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_order_and_repetition_change_nothing(calls: list[GradedCall], rng: object) -> None:
    """Calls that arrive late, out of order or twice give the same evaluation, to the last fingerprint."""
    expected = score(*calls)
    shuffled = [*calls, *calls]
    rng.shuffle(shuffled)  # type: ignore[attr-defined] - hypothesis gives a random.Random

    assert expected == score(*shuffled)


@given(traces)
@settings(max_examples=150)
def test_a_later_copy_of_a_call_changes_nothing(calls: list[GradedCall]) -> None:
    """A second record of a call that has an id and ran, in another observation, is the same call again."""
    for index, original in enumerate(calls):
        if original.call_id is not None and original.evidence is Evidence.EXECUTION:
            copy = replace(original, observation_id=f"copy{index}", start_time=original.start_time + SECOND)
            assert score(*calls) == score(*calls, copy)


@given(traces, st.timedeltas(timedelta(0), timedelta(minutes=11)))
@settings(max_examples=150)
def test_each_trace_adds_up(calls: list[GradedCall], age: timedelta) -> None:
    """No more calls than records, counts are the sums, each score is in its range and said once, and waiting ends."""
    now = START + age
    evaluation = score(*calls, now=now)
    named = Counter((made.observation_id, made.name) for made in evaluation.scores)
    hunks = sum(counted.hunks for counted in evaluation.counted)

    assert len(evaluation.counted) <= len(calls)
    assert set(named.values()) <= {1}
    assert {name for _, name in named} <= {scorer.name for scorer in SCORERS}
    assert ((None, "blind_rewrite") in named) is (hunks > 0)
    assert evaluation.waits_until is None or evaluation.waits_until > now
    for made in evaluation.scores:
        if made.name in {"blind_rewrite", "blind_rewrite_patch"}:
            assert isinstance(made.value, float)
            assert 0 <= made.value <= 1
            assert (made.value == 1) is (made.metadata["blind_hunks"] == 0)
    assert score(*calls, now=START + timedelta(days=1)).waits_until is None

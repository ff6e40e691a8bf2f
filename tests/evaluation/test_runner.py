"""Policies x splits x workers: the same scores at any number of workers, in any chunks."""

from dataclasses import replace

import numpy as np
import pytest

from tests.evaluation.replaying import drawn_task, made_dataset, taste_pairs
from variegate import LMDH, POLICIES, Catalogue, Policy, evaluation
from variegate.errors import InputError, NotFoundError
from variegate.evaluation import Evaluation, evaluate, runner
from variegate.evaluation.bootstrap import MEASURES
from variegate.evaluation.metrics import Scores, scores_of
from variegate.evaluation.replay import Protocol, ReplayTask, replay, replay_task
from variegate.evaluation.runner import PolicyLike
from variegate.policies import PolicySpec, parse_policy
from variegate.prior import fit_prior

#: Every policy, and options that draw or that search otherwise
POLICY_TEXTS = (
    *POLICIES,
    "lmdp:prior=fit",
    "epsilon-greedy:epsilon=0.5",
    "dc2b:intercept=true",
    "lmdh:search=local,normaliser=none",
)


@pytest.fixture(scope="module")
def task() -> ReplayTask:
    return drawn_task(users=20, items=60)


@pytest.fixture(scope="module")
def alone(task: ReplayTask) -> Evaluation:
    return evaluate(POLICY_TEXTS, task, rounds=4, k=5, seed=3)


@pytest.fixture(scope="module")
def shared(task: ReplayTask) -> Evaluation:
    return evaluate(POLICY_TEXTS, task, rounds=4, k=5, seed=3, workers=3)


def same(ours: Scores, theirs: Scores) -> bool:
    arrays = ("recall", "diversity", "coverage", "novelty", "hits")
    return all(
        getattr(ours, name).tobytes() == getattr(theirs, name).tobytes() for name in arrays
    ) and (ours.label, ours.gini, ours.settings) == (theirs.label, theirs.gini, theirs.settings)


@pytest.mark.parametrize("policy", POLICY_TEXTS)
def test_several_workers_give_the_bits_of_one(
    alone: Evaluation, shared: Evaluation, policy: str
) -> None:
    assert same(alone[policy][0], shared[policy][0])


@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_chunks_do_not_matter(
    task: ReplayTask, alone: Evaluation, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "CHUNK", chunk)

    found = evaluate(["epsilon-greedy"], task, rounds=4, k=5, seed=3)

    assert same(found["epsilon-greedy"][0], alone["epsilon-greedy"][0])


def test_scores_are_those_of_the_plain_replay(task: ReplayTask, alone: Evaluation) -> None:
    plain = replay(parse_policy("lmdh"), task, rounds=4, k=5, seed=3)
    settings = {"policy": "lmdh", "split": 0, "left_out": 0}

    assert same(alone["lmdh"][0], scores_of(plain, task, settings))


def test_each_split_has_scores_of_its_own(task: ReplayTask) -> None:
    smaller = drawn_task(users=3, items=12)

    found = evaluate(["popular", "logrank"], [task, smaller], rounds=2, k=2, workers=2)

    assert [len(scores.recall) for scores in found["logrank"]] == [20, 3]
    assert [scores.settings["split"] for scores in found["logrank"]] == [0, 1]
    alone = evaluate(["popular", "logrank"], smaller, rounds=2, k=2)["popular"][0]
    np.testing.assert_array_equal(found["popular"][1].recall, alone.recall)


def test_data_set_is_split_and_learnt_as_the_protocol_says() -> None:
    dataset, protocol = made_dataset(taste_pairs()), Protocol(d=3)

    found = evaluate(["popular"], dataset, protocol=protocol, splits=2, users=4, rounds=2, k=3)

    for split, scores in enumerate(found["popular"]):
        task = replay_task(dataset, protocol, split=split, users=4)
        expected = scores_of(replay(parse_policy("popular"), task, rounds=2, k=3), task)
        np.testing.assert_array_equal(scores.recall, expected.recall)


@pytest.mark.parametrize("workers", [1, 2])
def test_prior_is_fitted_to_each_split(task: ReplayTask, workers: int) -> None:
    # The same items and test users, other training users.
    other = replace(task, training_likes=tuple(59 - rows[::-1] for rows in task.training_likes))

    found = evaluate(["lmdp:prior=fit"], [task, other], rounds=2, k=3, workers=workers)

    for scores, one in zip(found["lmdp:prior=fit"], (task, other), strict=True):
        spec = PolicySpec("lmdp", {"prior": fit_prior(one.catalogue, one.training_likes)})
        expected = scores_of(replay(spec, one, rounds=2, k=3), one)
        np.testing.assert_array_equal(scores.recall, expected.recall)
    first, second = found["lmdp:prior=fit"]
    assert (first.recall != second.recall).any()


def test_policies_may_be_texts_specs_classes_and_functions(task: ReplayTask) -> None:
    def mine(catalogue: Catalogue) -> Policy:
        return LMDH(catalogue, ridge=2.0)

    policies: dict[str, PolicyLike] = {
        "text": "lmdh:ridge=2",
        "spec": PolicySpec("lmdh", {"ridge": 2.0}),
        "function": mine,
        "class": LMDH,
    }

    found = evaluate(policies, task, rounds=2, k=3)

    assert list(found.scores) == list(policies)
    for name in ("spec", "function"):
        np.testing.assert_array_equal(found[name][0].recall, found["text"][0].recall)
    assert (found["class"][0].recall != found["text"][0].recall).any()


def test_policies_may_depend_on_the_split(task: ReplayTask) -> None:
    splits = [task, drawn_task(users=4, items=20)]
    ridge = {splits[0]: 1.0, splits[1]: 9.0}

    found = evaluate(lambda one: {"lmdh": f"lmdh:ridge={ridge[one]}"}, splits, rounds=2, k=3)

    for scores, one in zip(found["lmdh"], splits, strict=True):
        alone = evaluate([f"lmdh:ridge={ridge[one]}"], one, rounds=2, k=3)
        np.testing.assert_array_equal(scores.recall, alone[f"lmdh:ridge={ridge[one]}"][0].recall)


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_and_scores_are_reported_as_they_come(task: ReplayTask, workers: int) -> None:
    stages: list[tuple[str, int, int]] = []
    kept: dict[tuple[str, int], Scores] = {}

    found = evaluate(
        ["popular", "logrank"],
        task,
        rounds=1,
        k=2,
        workers=workers,
        progress=lambda *stage: stages.append(stage),
        on_scores=lambda policy, split, scores: kept.update({(policy, split): scores}),
    )

    assert stages[-1] == ("Replaying", 40, 40)
    assert [done for _, done, _ in stages] == sorted(done for _, done, _ in stages)
    assert kept == {(policy, 0): found[policy][0] for policy in ("popular", "logrank")}


@pytest.mark.parametrize("workers", [1, 2])
def test_error_in_a_worker_is_raised_as_it_is(task: ReplayTask, workers: int) -> None:
    with pytest.raises(NotFoundError, match=r"got 'growng': did you mean 'growing'\?"):
        evaluate(["lmdh:normaliser=growng"], task, workers=workers)


def test_wrong_policies_are_refused_before_anything_is_learnt() -> None:
    def never() -> list[ReplayTask]:
        raise AssertionError("the splits were asked for")

    with pytest.raises(NotFoundError, match=r"got 'lmhd': did you mean 'lmdh'\?"):
        evaluate(["lmhd"], (never() for _ in range(1)))  # type: ignore[misc]
    with pytest.raises(InputError, match=r"must not be fit in 'lmdt:prior=fit'"):
        evaluate(["lmdt:prior=fit"], (never() for _ in range(1)))  # type: ignore[misc]
    with pytest.raises(InputError, match=r"`policies` must have at least one policy, got none"):
        evaluate({}, drawn_task())


def test_records_and_table_have_every_policy(alone: Evaluation) -> None:
    records = alone.records()

    assert len(records) == len(POLICY_TEXTS) * len(MEASURES) * 4
    last = next(one for one in records if one["policy"] == "lmdh" and one["round"] == 4)
    assert last["measure"] == "recall"
    assert last["low"] < last["mean"] < last["high"]
    assert last["mean"] == alone["lmdh"][0].mean_recall[-1]
    lines = repr(alone).splitlines()
    assert lines[0] == "Evaluation: mean ± standard error after 4 rounds, 20 users, 1 split"
    assert [line.split()[0] for line in lines[2:]] == list(POLICY_TEXTS)
    assert f"{last['mean']:.3f} ±" in lines[2 + POLICY_TEXTS.index("lmdh")]


def test_difference_of_a_policy_and_itself_is_zero(alone: Evaluation) -> None:
    found = alone.difference("lmdh", "lmdh", "recall")

    assert (found.low == 0).all()
    assert found.overall == (0.0, 0.0, 0.0)


def test_other_names_are_not_public() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'fit_bpr'"):
        _ = evaluation.fit_bpr

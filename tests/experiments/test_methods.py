"""The methods: settings that depend on no machine, and the priors that they start from."""

import json
import pickle

import numpy as np
import pytest

from experiments.methods import (
    ABLATIONS,
    ALL_BASELINES,
    DEFAULT_SETTING,
    EASE,
    LMDH,
    METHOD_TITLES,
    METHODS,
    OURS,
    SWEEPS,
    Method,
    sweep_title,
)
from experiments.plan import COMPARED
from tests.evaluation.replaying import drawn_task
from variegate import policies
from variegate.evaluation.replay import FittedPolicy, ReplayTask, replay
from variegate.policies.item_lmdp import ItemLMDP
from variegate.prior import ItemPrior, fit_prior

REPLAY = {"dataset": "ml-100k", "split": 0, "rounds": 30, "k": 10, "users": None}
SWEPT_METHODS = tuple({m.key: m for sweep in SWEEPS.values() for m in sweep}.values())
every_method = pytest.mark.parametrize("method", [*METHODS, *SWEPT_METHODS], ids=lambda m: m.key)


@pytest.fixture(scope="module")
def task() -> ReplayTask:
    return drawn_task(users=4)


def method_of(key: str) -> Method:
    (found,) = [method for method in METHODS if method.key == key]
    return found


def policy_of(method: Method, task: ReplayTask) -> policies.Policy:
    """Return the policy of one user, made as a worker does."""
    make = pickle.loads(pickle.dumps(method.factory))  # noqa: S301
    return (make.for_task(task) if isinstance(make, FittedPolicy) else make)(task.catalogue)


@every_method
def test_method_makes_a_policy_after_pickling(method: Method, task: ReplayTask) -> None:
    policy = policy_of(method, task)

    assert isinstance(getattr(policy, "prior", None), ItemPrior) == (method.prior is not None)
    assert isinstance(policy, ItemLMDP) == (method.policy.name == OURS)


@every_method
def test_settings_of_a_method_are_json(method: Method) -> None:
    settings = method.settings(REPLAY)

    assert json.loads(json.dumps(settings)) == settings


def test_no_two_methods_are_stored_under_the_same_settings() -> None:
    methods = {method.key: method for method in (*METHODS, *SWEPT_METHODS)}

    texts = {json.dumps(method.settings(REPLAY), sort_keys=True) for method in methods.values()}

    assert len(texts) == len(methods)


@pytest.mark.parametrize("policy", COMPARED)
def test_the_papers_methods_share_the_papers_replays(policy: str) -> None:
    (method,) = [method for method in METHODS if method.key == policy]

    assert method.settings(REPLAY) == {**REPLAY, "policy": policy}


def test_settings_of_our_learner_hold_the_options_of_its_prior() -> None:
    settings = method_of(OURS).settings(REPLAY)

    assert settings["policy"] == OURS
    prior = settings["prior"]
    assert isinstance(prior, dict)
    assert set(prior) == set(fit_prior.__kwdefaults__ or {})
    assert None not in prior.values()


def test_our_learner_is_lmdp_with_the_prior_of_the_training_users(task: ReplayTask) -> None:
    prior = fit_prior(task.catalogue, task.training_likes)

    found = replay(method_of(OURS).factory, task, rounds=3, k=4)
    direct = replay(lambda items: policies.LMDP(items, prior=prior), task, rounds=3, k=4)

    np.testing.assert_array_equal(found.lists, direct.lists)


@pytest.mark.parametrize("method", ABLATIONS, ids=lambda method: method.key)
def test_every_ablation_shows_other_lists(method: Method, task: ReplayTask) -> None:
    ours, other = (replay(one.factory, task, rounds=5, k=6) for one in (method_of(OURS), method))

    assert (ours.lists != other.lists).any()


def test_sweep_starts_without_diversity(task: ReplayTask) -> None:
    for method in (OURS, EASE):
        policy = policy_of(SWEEPS[method][0], task)
        slate = policy.recommend(4)

        assert (policy.explain(slate).diversity == 0.0).all(), method


def test_ease_starts_with_the_lists_of_ours_at_the_same_weights(task: ReplayTask) -> None:
    ours = {method.title: policy_of(method, task).recommend(6).ids for method in SWEEPS[OURS]}
    ease = {method.title: policy_of(method, task).recommend(6).ids for method in SWEEPS[EASE]}

    for title in [title for title in ours if title != "diversity 100"]:
        assert ease[f"λ 500, weight {title.removeprefix('diversity ')}"] == ours[title]


def test_every_baseline_ease_and_lmdh_are_swept() -> None:
    assert {*ALL_BASELINES, OURS, LMDH, EASE} == set(SWEEPS)
    assert [m.title for m in SWEEPS[OURS] if m.key == OURS] == [DEFAULT_SETTING]
    # The default of EASE is replayed once.
    assert [m.settings(REPLAY) for m in SWEEPS[EASE] if m.key == EASE] == [
        method_of(EASE).settings(REPLAY)
    ]
    assert all(sweep_title(family) != "" for family in SWEEPS)


def test_default_of_a_sweep_is_the_papers_replay() -> None:
    keys = [method.key for method in SWEEPS["mmr"]]

    assert "mmr" in keys
    assert all(METHOD_TITLES[name] for name in ALL_BASELINES)
    assert SWEEPS["mmr"][keys.index("mmr")].settings(REPLAY) == {**REPLAY, "policy": "mmr"}

"""The methods: explicit options, settings that depend on no machine, one prior per fit."""

import json
import pickle

import numpy as np
import pytest

from experiments.methods import (
    ALL_BASELINES,
    LMDH,
    METHOD_TITLES,
    METHODS,
    OURS,
    RISING_FLOOR,
    SWEEPS,
    SWEPT_METHODS,
    Method,
    PriorPolicy,
    factories,
    sweep_title,
    with_defaults,
)
from experiments.plan import COMPARED
from tests.evaluation.replaying import drawn_task
from variegate import policies
from variegate.evaluation.replay import ReplayTask, replay
from variegate.prior import fit_prior

REPLAY = {"dataset": "ml-100k", "split": 0, "rounds": 30, "k": 10, "users": None}
every_method = pytest.mark.parametrize("method", [*METHODS, *SWEPT_METHODS], ids=lambda m: m.key)


@pytest.fixture(scope="module")
def task() -> ReplayTask:
    plain = drawn_task(users=4)
    return ReplayTask(
        plain.name,
        plain.catalogue,
        plain.likes,
        popularity=plain.popularity,
        training_users=9,
        training_likes=plain.likes,
    )


@every_method
def test_method_makes_a_policy_after_pickling(method: Method, task: ReplayTask) -> None:
    played = task.with_popularity() if method.items == "popularity" else task
    (make,) = factories([method], played)

    policy = pickle.loads(pickle.dumps(make))(played.catalogue)  # noqa: S301

    assert policy.catalogue.d == 4 + (method.items == "popularity")
    assert (getattr(policy, "prior", None) is not None) == (
        method.prior is not None and not method.key.startswith("c2ucb")
    )


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


def test_settings_of_our_learner_hold_its_defaults() -> None:
    (ours,) = [method for method in METHODS if method.key == OURS]
    settings = ours.settings(REPLAY)

    assert settings["policy"] == str(with_defaults(OURS))
    assert {"exploration", "floor"} <= set(ours.policy.options)
    prior = settings["prior"]
    assert isinstance(prior, dict)
    assert set(prior) == set(fit_prior.__kwdefaults__ or {})
    assert None not in prior.values()


def test_our_learner_is_lmdp_with_the_prior_of_the_training_users(task: ReplayTask) -> None:
    popular = task.with_popularity()
    (ours,) = [method for method in METHODS if method.key == OURS]
    (make,) = factories([ours], popular)

    direct = replay(
        lambda items: policies.LMDP(items, prior=popular.fit_prior()), popular, rounds=3, k=4
    )

    np.testing.assert_array_equal(replay(make, popular, rounds=3, k=4).lists, direct.lists)


def test_ablations_have_one_part_and_not_the_others() -> None:
    parts = {method.key: method for method in METHODS}

    assert (parts["prior"].items, parts["prior"].prior) == ("plain", {})
    assert "floor" not in parts["prior"].policy.options
    assert (parts["popularity"].items, parts["popularity"].prior) == ("popularity", None)
    assert (parts["floor"].items, parts["floor"].prior) == ("plain", None)
    assert parts["floor"].policy.options["floor"] == with_defaults(OURS).options["floor"]
    assert parts["lmdp-greedy"].policy.options["exploration"] == 0.0


def test_priors_of_the_same_options_are_fitted_once(task: ReplayTask) -> None:
    popular = task.with_popularity()
    ours = [
        method for method in METHODS if method.prior is not None and method.items == "popularity"
    ]

    made = factories(ours, popular)

    priors = [make.prior for make in made if isinstance(make, PriorPolicy)]
    assert len(priors) == len(ours)
    assert len({id(prior) for prior in priors}) == 1


def test_sweep_starts_from_a_prior_without_diversity(task: ReplayTask) -> None:
    (still, *_others) = SWEEPS[OURS]
    popular = task.with_popularity()
    (make,) = factories([still], popular)

    policy = make(popular.catalogue)

    assert isinstance(policy, policies.LMDH)
    assert policy.prior is not None
    assert policy.prior.mean[-2:].tolist() == [0.0, 0.0]


def test_every_baseline_and_lmdh_are_swept() -> None:
    assert {*ALL_BASELINES, OURS, LMDH} <= set(SWEEPS)
    assert RISING_FLOOR in [method.title for method in SWEEPS[OURS]]
    assert all(sweep_title(family) != "" for family in SWEEPS)


def test_default_of_a_sweep_is_the_papers_replay() -> None:
    keys = [method.key for method in SWEEPS["mmr"]]

    assert "mmr" in keys
    assert all(METHOD_TITLES[name] for name in ALL_BASELINES)
    assert SWEEPS["mmr"][keys.index("mmr")].settings(REPLAY) == {**REPLAY, "policy": "mmr"}

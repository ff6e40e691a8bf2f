"""The simulated experiments: worlds as they are told, and the same numbers every time."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from experiments.beyond.simulated import (
    EXPERIMENTS,
    Size,
    drift,
    prior,
    simulated_experiments,
)
from experiments.beyond.simulated.beginning import LEARNERS, draw_population
from experiments.beyond.simulated.caring import (
    DISTANCES,
    draw_catalogues,
    known_chances,
)
from experiments.beyond.simulated.drifting import KEPT, STRETCH, draw_path
from experiments.beyond.simulated.looking import EXAMINED, seen_clicks
from experiments.beyond.simulated.world import (
    ITEMS,
    K,
    Progress,
    chances,
    draw_items,
    interval,
    most_clicks,
    silent,
    stream,
    taste_of,
)
from variegate.errors import InputError
from variegate.policies import LMDH

FIXTURES = Size(runs=3, rounds=4)
each_experiment = pytest.mark.parametrize("name", EXPERIMENTS)


def played(name: str, *, size: Size = FIXTURES, **options: Any) -> dict[str, Any]:
    if name == "prior":
        options["taught"] = Size(runs=60, rounds=2)
    found = EXPERIMENTS[name].play(size, **options)
    return {field.name: getattr(found, field.name) for field in fields(found)}


@each_experiment
def test_one_seed_is_one_result_and_another_another(name: str) -> None:
    first, again, other = played(name), played(name), played(name, seed=1)

    for field, array in first.items():
        np.testing.assert_array_equal(array, again[field], err_msg=field)
    assert (first["earned"] != other["earned"]).any()


@pytest.mark.parametrize("name", ["attention", pytest.param("prior", marks=pytest.mark.slow)])
def test_workers_change_nothing(name: str) -> None:
    alone, together = played(name), played(name, workers=2)

    for field, array in alone.items():
        np.testing.assert_array_equal(array, together[field], err_msg=field)


@each_experiment
def test_a_run_hangs_on_its_number_alone(name: str) -> None:
    few, more = (played(name, size=Size(runs, 3))["earned"] for runs in (2, 4))

    np.testing.assert_array_equal(few, more[:2])


@each_experiment
def test_all_that_is_found_is_finite_arrays_over_runs(name: str) -> None:
    found = played(name)

    assert all(np.isfinite(array).all() for array in found.values())
    assert found["earned"].shape[0] == found["best"].shape[0] == FIXTURES.runs
    assert found["earned"].shape[-1] == FIXTURES.rounds
    assert (found["earned"] >= 0.0).all()
    assert (found["earned"] <= K).all()


@each_experiment
def test_progress_counts_the_runs(name: str) -> None:
    done: list[int] = []

    played(name, progress=done.append)

    assert sum(done) == FIXTURES.runs


def test_all_experiments_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    stages: dict[str, int] = {}
    asked: list[Size] = []
    small = {
        name: experiment._replace(play=lambda size, **_options: asked.append(size))
        for name, experiment in EXPERIMENTS.items()
    }
    monkeypatch.setattr("experiments.beyond.simulated.EXPERIMENTS", small)

    def stage(name: str, runs: int) -> Progress:
        stages[name] = runs
        return silent

    found = simulated_experiments(quick=True, stage=stage)

    assert list(found) == ["drift", "attention", "distances", "prior"]
    assert asked == [experiment.sizes.quick for experiment in EXPERIMENTS.values()]
    assert stages == {name: e.sizes.quick.runs for name, e in EXPERIMENTS.items()}


def test_a_learner_that_forgets_nothing_is_always_among_them() -> None:
    found = drift(Size(1, 3), forgetting=(0.5,))

    assert found.forgetting.tolist() == [0.5, 1.0]
    assert found.earned.shape == (1, 3, 2, 2, 3)
    np.testing.assert_array_equal(found.gains().mean[..., -1], 0.0)


@pytest.mark.parametrize(
    ("kind", "tastes"), [("still", 1), ("jumps", 3), ("walk", 2 * STRETCH + 1)]
)
def test_how_often_a_taste_changes(kind: str, tastes: int) -> None:
    path = draw_path(kind, 2 * STRETCH + 1, np.random.default_rng(0))

    assert path.shape == (2 * STRETCH + 1, 9)
    assert len(np.unique(path, axis=0)) == tastes


def test_a_wandering_taste_is_as_varied_late_as_early() -> None:
    paths = np.array([draw_path("walk", 200, np.random.default_rng(seed)) for seed in range(400)])

    early, late = paths[:, 0].std(axis=0), paths[:, -1].std(axis=0)

    # Two standard errors of a deviation from 400 draws are 7%, of each of the two.
    np.testing.assert_allclose(late, early, rtol=0.2)
    apart = np.corrcoef(paths[:, 0, 0], paths[:, -1, 0])[0, 1]
    assert apart == pytest.approx(KEPT**199, abs=0.1)


def test_no_chance_of_a_drifting_user_must_be_cut() -> None:
    # The most that z and x can add up to: one topic of 0.7 and a pair at distance 1.
    paths = np.array([draw_path("jumps", 1000, np.random.default_rng(seed)) for seed in range(5)])

    assert (paths >= 0.0).all()
    assert paths[..., :-1].max() + paths[..., -1].max() <= 1.0


@pytest.mark.parametrize(
    ("user", "liked", "expected"),
    [
        ("cascade", [0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 0, 0]),
        ("cascade", [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]),
        ("examined", [1, 1, 1, 1, 1, 1], [1, 0, 0, 1, 0, 0]),
        ("examined", [0, 1, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0]),
    ],
)
def test_clicks_of_those_who_do_not_look_at_all(
    user: str, liked: list[float], expected: list[float]
) -> None:
    looks = np.array([0.99, 0.6, 0.4, 0.2, 0.3, 0.9])

    assert seen_clicks(user, np.array(liked, dtype=float), looks).tolist() == expected


def test_the_chances_of_a_look_are_those_of_the_option() -> None:
    looks = np.random.default_rng(0).random((20_000, K))
    seen = [seen_clicks("examined", np.ones(K), row) for row in looks]

    # Three standard errors of a share of 20,000 are at most 0.011.
    np.testing.assert_allclose(np.mean(seen, axis=0), EXAMINED, atol=0.011)


def test_the_average_distance_is_the_mean_of_the_three() -> None:
    catalogues = draw_catalogues(np.random.default_rng(0), cares=1)

    matrices = [h.matrix() for h in catalogues["all"].distances]
    (average,) = catalogues["average"].distances
    (told,) = catalogues["told"].distances

    # The diagonal is 0 by decree, and within rounding of it in the mean.
    np.testing.assert_allclose(average.matrix(), np.mean(matrices, axis=0), atol=1e-12)
    assert told.name == DISTANCES[1]
    assert catalogues["none"].m == 0


def test_chances_are_the_gains_of_the_taste() -> None:
    catalogue = draw_catalogues(np.random.default_rng(1), cares=0)["all"]
    taste = taste_of(catalogue, np.random.default_rng(2).uniform(0.0, 0.3, 9))
    slate = LMDH(catalogue).recommend(K)

    expected = taste.gains(slate.items)

    np.testing.assert_allclose(known_chances(taste)(slate.items), expected)
    np.testing.assert_allclose(chances(slate, taste), expected)


def test_one_who_knows_the_taste_is_hard_to_beat() -> None:
    rng = np.random.default_rng(3)
    catalogue = draw_items(rng)
    taste = taste_of(catalogue, np.append(rng.uniform(0.0, 0.5, 8), 0.2))

    lists = [rng.choice(ITEMS, K, replace=False) for _ in range(300)]

    assert most_clicks(taste) > max(taste.value(rows) for rows in lists)


def test_users_are_spread_as_their_population_is() -> None:
    population = draw_population(stream(0, 4, 0))
    rng = np.random.default_rng(4)

    tastes = [population.draw_user(rng).preferences for _ in range(20_000)]

    users = np.array([np.append(taste.relevance, taste.diversity) for taste in tastes])
    truth = population.starts["truth"]
    deviations = np.sqrt(np.diag(truth.covariance))
    np.testing.assert_allclose((users.mean(axis=0) - truth.mean) / deviations, 0.0, atol=0.03)
    found = (np.cov(users.T) - truth.covariance) / np.outer(deviations, deviations)
    np.testing.assert_allclose(found, 0.0, atol=0.04)


def test_a_prior_is_fitted_only_to_users_enough() -> None:
    with pytest.raises(InputError, match="at least 50 users"):
        prior(FIXTURES, taught=Size(runs=49, rounds=1))


@pytest.mark.parametrize("learner", LEARNERS)
def test_nobody_is_held_to_a_floor(learner: str) -> None:
    spec, _start = LEARNERS[learner]

    assert getattr(spec(draw_items(np.random.default_rng(0))), "floor", 0) is None


def test_an_interval_is_students() -> None:
    found = interval(np.array([[1.0, 0.0], [3.0, 0.0]]))

    # t of 0.975 with one degree of freedom, times a standard error of 1.
    assert found.mean.tolist() == [2.0, 0.0]
    np.testing.assert_allclose(found.high - found.mean, [12.7062, 0.0], rtol=1e-5)
    np.testing.assert_allclose(found.mean - found.low, [12.7062, 0.0], rtol=1e-5)


def test_one_run_says_nothing_of_the_spread() -> None:
    found = interval(np.array([[1.0]]))

    assert (found.low[0], found.high[0]) == (-np.inf, np.inf)

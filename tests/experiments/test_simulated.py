"""The simulated experiments: worlds as described, and the same numbers every time."""

import pickle
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from experiments.simulated import EXPERIMENTS, cold_start, drift, first_picks, variety
from experiments.simulated.cold_start import LEARNERS, draw_population
from experiments.simulated.drift import CORRELATION, STRETCH, draw_path
from experiments.simulated.examination import EXAMINED, examined_clicks
from experiments.simulated.multi_distance import DISTANCES, draw_catalogues, rows_click_model
from experiments.simulated.world import (
    ITEMS,
    K,
    Size,
    best_clicks,
    click_probabilities,
    draw_items,
    stream,
    taste_of,
)
from variegate.data.films import film_catalogue
from variegate.errors import InputError
from variegate.policies import LMDH

SMALL = Size(runs=2, rounds=3)
each_experiment = pytest.mark.parametrize(
    "name", [name for name in EXPERIMENTS if name not in ("variety", "first_picks")]
)


@pytest.fixture(autouse=True, scope="module")
def few_training_users() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cold_start, "TRAINING", Size(runs=50, rounds=1))
        yield


def played(name: str, *, size: Size = SMALL, **options: Any) -> dict[str, Any]:
    found = EXPERIMENTS[name].play(size, **options)
    return {field.name: getattr(found, field.name) for field in fields(found)}


@each_experiment
def test_results_are_finite_reproducible_arrays_over_runs(name: str) -> None:
    done: list[int] = []

    first, again, other = played(name, progress=done.append), played(name), played(name, seed=1)

    for field, array in first.items():
        assert np.isfinite(array).all()
        np.testing.assert_array_equal(array, again[field], err_msg=field)
    earned = first["earned"]
    assert (earned != other["earned"]).any()
    assert earned.shape[0] == first["best"].shape[0] == SMALL.runs
    assert earned.shape[-1] == SMALL.rounds
    assert ((earned >= 0.0) & (earned <= K)).all()
    assert sum(done) == SMALL.runs


@each_experiment
def test_a_run_depends_on_its_number_alone(name: str) -> None:
    few, more = (played(name, size=Size(runs, 2))["earned"] for runs in (1, 2))

    np.testing.assert_array_equal(few, more[:1])


def test_population_can_be_sent_to_a_worker() -> None:
    population = draw_population(stream(0, 4, 0))

    sent = pickle.loads(pickle.dumps(population))  # noqa: S301

    np.testing.assert_array_equal(sent.starts["truth"].mean, population.starts["truth"].mean)


def test_learner_that_forgets_nothing_is_played_last() -> None:
    found = drift.EXPERIMENT.play(Size(1, 3))

    assert drift.FORGETTING[-1] == 1.0
    assert found.earned.shape == (1, 3, 2, 5, 3)
    np.testing.assert_array_equal(found.gains().mean[..., -1], 0.0)


@pytest.mark.parametrize(
    ("kind", "tastes"), [("still", 1), ("jumps", 3), ("walk", 2 * STRETCH + 1)]
)
def test_how_often_a_taste_changes(kind: str, tastes: int) -> None:
    path = draw_path(kind, 2 * STRETCH + 1, np.random.default_rng(0))

    assert path.shape == (2 * STRETCH + 1, 9)
    assert len(np.unique(path, axis=0)) == tastes


def test_variance_of_a_wandering_taste_is_constant() -> None:
    paths = np.array([draw_path("walk", 200, np.random.default_rng(seed)) for seed in range(400)])

    early, late = paths[:, 0].std(axis=0), paths[:, -1].std(axis=0)

    # Two standard errors of a deviation from 400 draws are 7%, of each of the two.
    np.testing.assert_allclose(late, early, rtol=0.2)
    apart = np.corrcoef(paths[:, 0, 0], paths[:, -1, 0])[0, 1]
    assert apart == pytest.approx(CORRELATION**199, abs=0.1)


def test_no_probability_of_a_drifting_user_is_clipped() -> None:
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
def test_clicks_of_users_who_examine_part_of_a_list(
    user: str, liked: list[float], expected: list[float]
) -> None:
    looks = np.array([0.99, 0.6, 0.4, 0.2, 0.3, 0.9])

    assert examined_clicks(user, np.array(liked, dtype=float), looks).tolist() == expected


def test_positions_are_examined_as_often_as_the_option_says() -> None:
    looks = np.random.default_rng(0).random((20_000, K))
    seen = [examined_clicks("examined", np.ones(K), row) for row in looks]

    # Three standard errors of a share of 20,000 are at most 0.011.
    np.testing.assert_allclose(np.mean(seen, axis=0), EXAMINED, atol=0.011)


def test_the_average_distance_is_the_mean_of_the_three() -> None:
    catalogues = draw_catalogues(np.random.default_rng(0), cares=1)

    matrices = [h.matrix() for h in catalogues["all"].distances]
    (average,) = catalogues["average"].distances
    (right,) = catalogues["right"].distances

    # The diagonal is set to 0, and within rounding of it in the mean.
    np.testing.assert_allclose(average.matrix(), np.mean(matrices, axis=0), atol=1e-12)
    assert right.name == DISTANCES[1]
    assert catalogues["none"].m == 0


def test_click_probabilities_are_the_gains_of_the_taste() -> None:
    catalogue = draw_catalogues(np.random.default_rng(1), cares=0)["all"]
    taste = taste_of(catalogue, np.random.default_rng(2).uniform(0.0, 0.3, 9))
    slate = LMDH(catalogue).recommend(K)

    expected = taste.gains(slate.items)

    np.testing.assert_allclose(rows_click_model(taste)(slate.items), expected)
    np.testing.assert_allclose(click_probabilities(slate, taste), expected)


def test_best_clicks_are_more_than_those_of_random_lists() -> None:
    rng = np.random.default_rng(3)
    catalogue = draw_items(rng)
    taste = taste_of(catalogue, np.append(rng.uniform(0.0, 0.5, 8), 0.2))

    lists = [rng.choice(ITEMS, K, replace=False) for _ in range(300)]

    assert best_clicks(taste) > max(taste.value(rows) for rows in lists)


def test_users_have_the_distribution_of_their_population() -> None:
    population = draw_population(stream(0, 4, 0))
    rng = np.random.default_rng(4)

    tastes = [population.draw_user(rng).preferences for _ in range(20_000)]

    users = np.array([np.append(taste.relevance, taste.diversity) for taste in tastes])
    truth = population.starts["truth"]
    deviations = np.sqrt(np.diag(truth.covariance))
    np.testing.assert_allclose((users.mean(axis=0) - truth.mean) / deviations, 0.0, atol=0.03)
    found = (np.cov(users.T) - truth.covariance) / np.outer(deviations, deviations)
    np.testing.assert_allclose(found, 0.0, atol=0.04)


def test_prior_needs_enough_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_start, "TRAINING", Size(runs=49, rounds=1))

    with pytest.raises(InputError, match="at least 50 users"):
        cold_start.EXPERIMENT.play(SMALL)


@pytest.mark.parametrize("learner", LEARNERS)
def test_no_learner_has_a_floor(learner: str) -> None:
    spec, _start = LEARNERS[learner]

    assert getattr(spec(draw_items(np.random.default_rng(0))), "floor", 0) is None


@pytest.fixture(scope="module")
def viewers() -> variety.Variety:
    return variety.EXPERIMENT.play(Size(runs=40, rounds=10), seed=3)


def test_the_right_statement_about_variety_is_made_of_most_users_and_a_wrong_one_of_few(
    viewers: variety.Variety,
) -> None:
    for kind in variety.USERS:
        assert viewers.right()[kind][:, -1].mean() >= 0.8
        assert viewers.wrong()[kind][:, -1].mean() <= 0.05


def test_viewers_are_drawn_by_the_number_of_their_run(viewers: variety.Variety) -> None:
    two = variety.EXPERIMENT.play(Size(runs=2, rounds=10), seed=3)

    assert (viewers.total[0::2] >= 0.5).all()
    assert (viewers.total[1::2] <= 0.0).all()
    np.testing.assert_array_equal(two.total, viewers.total[:2])
    np.testing.assert_array_equal(two.positive, viewers.positive[:2])
    np.testing.assert_array_equal(two.below_prior, viewers.below_prior[:2])
    assert (two.positive != variety.EXPERIMENT.play(Size(runs=2, rounds=10), seed=4).positive).any()


def test_statements_count_from_the_list_on_that_made_them_and_only_if_sure() -> None:
    # Of a user who wants variety: perhaps, sure, perhaps. Of one who does not: wrong, then right.
    positive = np.array([[0.9, 0.99, 0.9], [0.97, 0.5, 0.5]])
    below_prior = np.array([[0.1, 0.1, 0.1], [0.1, 0.5, 0.96]])

    found = variety.Variety(np.array([0.7, -0.1]), positive, below_prior)

    assert [row.tolist() for row in found.right().values()] == [[[0, 1, 1]], [[0, 0, 1]]]
    assert [row.tolist() for row in found.wrong().values()] == [[[0, 0, 0]], [[1, 1, 1]]]


def test_first_picks_do_not_narrow_the_second_list() -> None:
    found = first_picks.EXPERIMENT.play(Size(runs=20, rounds=1))

    first, second = found.distances.mean(axis=0)
    assert second >= 0.85 * first
    assert found.of_one_series.max() <= 2


def test_films_of_one_series_are_counted_by_their_titles() -> None:
    films = film_catalogue()
    titles = ["Dr. No", "Skyfall", "Batman Begins", "The Dark Knight", "Alien", "GoldenEye"]

    rows = np.array([films.titles.index(title) for title in titles])

    assert first_picks.most_of_one_series(films, rows) == 3
    assert first_picks.most_of_one_series(films, rows[2:5]) == 2

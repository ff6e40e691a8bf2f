"""The prior of a catalogue without training users."""

from typing import Any

import numpy as np
import pytest

from tests.prior.making import made_catalogue
from variegate.errors import InputError
from variegate.prior import default_prior


def test_default_prior_favours_popularity() -> None:
    catalogue = made_catalogue(5, 2).with_features({"popularity": np.ones(5)})

    prior = default_prior(catalogue, variance=0.03, noise=0.2, beta=0.4, beta_variance=0.01)

    assert prior.mean.tolist() == [0.0, 0.0, 0.1, 0.4]
    assert np.array_equal(prior.covariance, np.diag([0.03, 0.03, 0.03, 0.01]))
    assert (prior.noise, prior.users) == (0.2, 0)
    prior.check(catalogue)


@pytest.mark.parametrize("name", ["variance", "noise"])
def test_variances_must_be_positive(name: str) -> None:
    options: dict[str, Any] = {name: 0.0}
    with pytest.raises(InputError, match=f"`{name}` must be a number greater than 0"):
        default_prior(made_catalogue(), **options)


def test_each_distance_can_have_its_own_beta() -> None:
    catalogue = made_catalogue(5, 2).replace(distances=["cosine", "euclidean"])

    prior = default_prior(catalogue, beta=[0.4, 0.1], beta_variance=0.02)

    assert prior.mean.tolist() == [0.0, 0.0, 0.4, 0.1]
    assert np.diag(prior.covariance).tolist() == [0.03, 0.03, 0.02, 0.02]


@pytest.mark.parametrize(
    ("mean", "variance", "words"),
    [
        ([0.1, 0.2], 0.1, r"`beta` must be a number, or one for each of 1 distances, got shape"),
        ("much", 0.1, "`beta` must be an array of numbers"),
        (np.nan, 0.1, "`beta` must be finite, got nan"),
        (0.1, [0.0], "`beta_variance` must be a number greater than 0, got 0.0"),
        (0.1, -1, "`beta_variance` must be a number greater than 0, got -1.0"),
    ],
)
def test_a_beta_that_cannot_be_is_refused(mean: Any, variance: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        default_prior(made_catalogue(), beta=mean, beta_variance=variance)

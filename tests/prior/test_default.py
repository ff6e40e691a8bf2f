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

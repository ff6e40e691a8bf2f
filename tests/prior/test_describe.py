"""A prior's description agrees with its numbers."""

import numpy as np
import pytest

from tests.prior.making import plain_prior
from variegate import Catalogue
from variegate.errors import InputError
from variegate.prior import Prior


def named() -> Prior:
    return Prior(
        np.array([0.5, -0.4, 0.01, 0.35]),
        np.diag([0.04, 0.01, 0.25, 0.0196]),
        0.09,
        ("popularity", "horror", "black\nand white"),
        ("cosine",),
        754,
    )


def test_features_are_reported_by_their_names() -> None:
    assert named().describe() == (
        "fitted to 754 users",
        "most users like: popularity",
        "most users avoid: horror",
        "users differ most in: black and white, popularity, horror",
        "diversity: beta of cosine 0.35 ± 0.14",
        "residual standard deviation: 0.30",
    )


def test_what_items_do_not_differ_in_comes_last() -> None:
    features = [[0.0, 0.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 0.5]]
    catalogue = Catalogue(["a", "b", "c"], features, "cosine", feature_names=named().feature_names)

    assert "users differ most in: popularity, horror, black and white" in named().describe(
        catalogue
    )


def test_features_without_names_are_reported_by_examples() -> None:
    features = [[1.0, 0.1], [-1.0, -0.1], [0.1, 1.0], [-0.1, -1.0]]
    catalogue = Catalogue(range(4), features, "cosine", titles=["Up", "Down", "Left", "Right"])
    prior = Prior(np.array([1.0, 0.0, 0.3]), np.diag([0.01, 0.5, 0.1]), 0.1, *names(catalogue), 9)

    lines = prior.describe(catalogue)

    assert lines[1] == "most users like: items like Up / Left / Right"
    assert lines[2] == (
        "users differ most in: items like Left / Up / Down, items like Up / Left / Right"
    )


def names(catalogue: Catalogue) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return catalogue.feature_names, tuple(h.name for h in catalogue.distances)


def test_a_belief_without_a_direction_tells_none() -> None:
    catalogue = Catalogue(["a", "b"], [[1.0], [1.0]], "cosine")

    assert plain_prior(1).describe(catalogue) == (
        "not fitted",
        "diversity: beta of cosine 0.00 ± 0.71",
        "residual standard deviation: 0.71",
    )


def test_every_distance_has_its_line() -> None:
    lines = plain_prior(1, 3).describe()

    assert sum(line.startswith("diversity: beta of ") for line in lines) == 3


def test_another_catalogue_is_refused() -> None:
    with pytest.raises(InputError, match="`prior` must have the 1 features"):
        named().describe(Catalogue(["a"], [[1.0]], "cosine"))

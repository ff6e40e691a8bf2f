"""Users sampled from a known population, and the sums of their rewards."""

from collections.abc import Iterator

import numpy as np

from variegate import Catalogue
from variegate.arrays import FloatArray, IndexArray
from variegate.prior import Prior


def population(size: int, *, seed: int = 0) -> Prior:
    rng = np.random.default_rng(seed)
    root = rng.normal(scale=0.3, size=(size, size))
    mean = rng.normal(scale=0.5, size=size)
    names = tuple(f"feature {i + 1}" for i in range(size - 1))
    return Prior(mean, root @ root.T + 0.05 * np.eye(size), 0.1, names, ("cosine",))


def drawn_users(
    truth: Prior, users: int, *, rewards: int = 20, seed: int = 1
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Give the sums of users whose rewards are as the model says."""
    rng = np.random.default_rng(seed)
    for _ in range(users):
        weights = rng.multivariate_normal(truth.mean, truth.covariance)
        x = rng.normal(size=(rewards, len(weights)))
        w = x @ weights + rng.normal(scale=np.sqrt(truth.noise), size=rewards)
        yield x.T @ x, w @ x


def plain_prior(d: int, m: int = 1, *, variance: float = 0.5, noise: float = 0.5) -> Prior:
    return Prior(
        np.zeros(d + m),
        variance * np.eye(d + m),
        noise,
        tuple(f"feature {i + 1}" for i in range(d)),
        tuple(["cosine", "genres", "years"][:m]),
    )


def made_catalogue(items: int = 80, d: int = 4, *, seed: int = 2) -> Catalogue:
    features = np.random.default_rng(seed).uniform(-1.0, 1.0, (items, d))
    return Catalogue(range(items), features, "cosine")


def made_likes(catalogue: Catalogue, users: int, *, seed: int = 3) -> list[IndexArray]:
    """Return the likes of users who each have a taste, the first feature being liked by most."""
    rng = np.random.default_rng(seed)
    tastes = rng.normal(scale=0.8, size=(users, catalogue.d)) + np.eye(catalogue.d)[0]
    scores = tastes @ catalogue.features.T + rng.normal(size=(users, len(catalogue)))
    return [np.flatnonzero(row > 1.0) for row in scores]

"""A prior described in text."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.model.catalogue import UNNAMED_FEATURE, Catalogue

if TYPE_CHECKING:
    from variegate.prior.prior import Prior

#: Maximum number of features or titles per line.
MAX_NAMES: Final = 3
#: A weight this many deviations from 0 has the same sign for three users in four.
THREE_IN_FOUR: Final = 0.674


def describe(prior: "Prior", catalogue: Catalogue | None) -> tuple[str, ...]:
    """Return the lines of `Prior.describe`."""
    lines = [f"fitted to {prior.users} users" if prior.users else "not fitted"]
    named = np.array([UNNAMED_FEATURE.fullmatch(name) is None for name in prior.feature_names])
    if named.any():
        lines += _feature_lines(prior, np.flatnonzero(named).tolist(), catalogue)
    if not named.all():
        lines += (
            ["unnamed features: pass a catalogue for examples"]
            if catalogue is None
            else _example_lines(prior, catalogue)
        )
    deviations = np.sqrt(np.diag(prior.covariance))
    for name, mean, deviation in zip(
        prior.distances, prior.mean[prior.d :], deviations[prior.d :], strict=True
    ):
        lines.append(f"diversity: beta of {name} {mean:.2f} ± {deviation:.2f}")
    lines.append(f"residual standard deviation {np.sqrt(prior.noise):.2f}")
    return tuple(lines)


def _feature_lines(prior: "Prior", rows: list[int], catalogue: Catalogue | None) -> Iterator[str]:
    deviations = np.sqrt(np.diag(prior.covariance))[: prior.d]
    mean = prior.mean[: prior.d]
    # A feature's effect on scores is its weight times its spread over the items.
    spread = np.ones(prior.d) if catalogue is None else catalogue.features.std(axis=0)

    def largest(strengths: FloatArray, threshold: float = 0.0) -> list[str]:
        order = sorted(rows, key=lambda row: -strengths[row] * spread[row])
        return [
            " ".join(prior.feature_names[row].split())
            for row in order[:MAX_NAMES]
            if strengths[row] > threshold * deviations[row]
        ]

    for words, names in (
        ("most users like", largest(mean, THREE_IN_FOUR)),
        ("most users avoid", largest(-mean, THREE_IN_FOUR)),
        ("users differ most in", largest(deviations) if len(rows) > 1 else []),
    ):
        if names:
            yield f"{words}: {', '.join(names)}"


def _example_lines(prior: "Prior", catalogue: Catalogue) -> Iterator[str]:
    d, features = prior.d, catalogue.features
    scores = features @ prior.mean[:d]
    if np.ptp(scores) > 0:
        first, last = _ends(scores, catalogue.titles)
        yield f"most users like: {first}; rather than: {last}"
    # Scores are Z theta; along this direction of theta they differ most between users.
    root = np.linalg.cholesky(prior.covariance[:d, :d])
    loadings = (features - features.mean(axis=0)) @ root
    values, vectors = np.linalg.eigh(loadings.T @ loadings)
    if values[-1] > 0:
        along = loadings @ vectors[:, -1]
        # The sign of a direction has no meaning: the most likely item is on the first side.
        first, last = _ends(along * (np.sign(along[np.argmax(scores)]) or 1.0), catalogue.titles)
        share = values[-1] / values.sum()
        yield f"users differ most between: {first}; and: {last} ({share:.0%} of the variance)"


def _ends(scores: FloatArray, titles: Sequence[str]) -> tuple[str, str]:
    order = np.argsort(-scores, kind="stable")
    count = min(MAX_NAMES, len(order) // 2) or 1
    ends = order[:count], order[::-1][:count]
    first, last = (", ".join(" ".join(titles[row].split()) for row in rows) for rows in ends)
    return first, last

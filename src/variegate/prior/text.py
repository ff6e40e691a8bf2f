"""A prior of features' weights described in text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.model.catalogue import Catalogue

if TYPE_CHECKING:
    from variegate.prior.prior import Prior

#: Maximum number of features per line.
MAX_NAMES: Final = 3
#: A weight this many deviations from 0 has the same sign for three users in four.
THREE_IN_FOUR: Final = 0.674


def describe(prior: "Prior", catalogue: Catalogue | None) -> tuple[str, ...]:
    """Return the lines of `Prior.describe`."""
    deviations = np.sqrt(np.diag(prior.covariance))
    lines = [f"fitted to {prior.users} users" if prior.users else "not fitted"]
    lines += _feature_lines(prior, deviations[: prior.d], catalogue)
    for name, mean, deviation in zip(
        prior.distances, prior.mean[prior.d :], deviations[prior.d :], strict=True
    ):
        lines.append(f"diversity: beta of {name} {mean:.2f} ± {deviation:.2f}")
    lines.append(f"residual standard deviation {np.sqrt(prior.noise):.2f}")
    return tuple(lines)


def _feature_lines(
    prior: "Prior", deviations: FloatArray, catalogue: Catalogue | None
) -> Iterator[str]:
    mean, labels = prior.mean[: prior.d], prior.feature_names
    # A feature's effect on scores is its weight times its spread over the items.
    spread = np.ones(prior.d)
    if catalogue is not None:
        labels, spread = catalogue.feature_labels, catalogue.features.std(axis=0)

    def largest(strengths: FloatArray, threshold: float = 0.0) -> list[str]:
        order = np.argsort(-strengths * spread, kind="stable")[:MAX_NAMES]
        return [
            " ".join(labels[row].split())
            for row in order
            if strengths[row] > threshold * deviations[row]
        ]

    for words, names in (
        ("most users like", largest(mean, THREE_IN_FOUR)),
        ("most users avoid", largest(-mean, THREE_IN_FOUR)),
        ("users differ most in", largest(deviations) if prior.d > 1 else []),
    ):
        if names:
            yield f"{words}: {', '.join(names)}"

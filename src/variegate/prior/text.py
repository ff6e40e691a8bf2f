"""What a prior says, in words."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.model.catalogue import Catalogue

if TYPE_CHECKING:
    from variegate.prior.prior import Prior

#: At most so many features or titles are told of a kind.
MOST: Final = 3
#: A weight this many deviations from 0 has the same sign for three users in four.
MOST_USERS: Final = 0.674
#: What a catalogue calls features that were given no names.
UNNAMED: Final = re.compile(r"(feature|taste) \d+")


def described(prior: "Prior", catalogue: Catalogue | None) -> tuple[str, ...]:
    """Return the lines of `Prior.describe`."""
    lines = [f"fitted on {prior.users} users" if prior.users else "made by hand"]
    named = np.array([UNNAMED.fullmatch(name) is None for name in prior.feature_names])
    if named.any():
        lines += _of_features(prior, np.flatnonzero(named).tolist(), catalogue)
    if not named.all():
        lines += ["features without names: a catalogue gives examples"]
        if catalogue is not None:
            lines[-1:] = _by_example(prior, catalogue)
    deviations = np.sqrt(np.diag(prior.covariance))
    for name, mean, deviation in zip(
        prior.distances, prior.mean[prior.d :], deviations[prior.d :], strict=True
    ):
        lines.append(f"variety: beta of {name} {mean:.2f} ± {deviation:.2f}")
    lines.append(f"a reward is {np.sqrt(prior.noise):.2f} off what the model says")
    return tuple(lines)


def _of_features(prior: "Prior", rows: list[int], catalogue: Catalogue | None) -> Iterator[str]:
    deviations = np.sqrt(np.diag(prior.covariance))[: prior.d]
    mean = prior.mean[: prior.d]
    # What a feature does to scores is its weight times how far items differ in it.
    spread = np.ones(prior.d) if catalogue is None else catalogue.features.std(axis=0)

    def told(strengths: FloatArray, least: float = 0.0) -> list[str]:
        order = sorted(rows, key=lambda row: -strengths[row] * spread[row])
        return [
            " ".join(prior.feature_names[row].split())
            for row in order[:MOST]
            if strengths[row] > least * deviations[row]
        ]

    for words, names in (
        ("most users like", told(mean, MOST_USERS)),
        ("most users pass by", told(-mean, MOST_USERS)),
        ("they differ most in", told(deviations) if len(rows) > 1 else []),
    ):
        if names:
            yield f"{words}: {', '.join(names)}"


def _by_example(prior: "Prior", catalogue: Catalogue) -> Iterator[str]:
    d, features = prior.d, catalogue.features
    scores = features @ prior.mean[:d]
    if np.ptp(scores) > 0:
        first, last = _ends(scores, catalogue.titles)
        yield f"most users like: {first}; rather than: {last}"
    # Scores are Z theta; along this direction of theta they differ most from user to user.
    root = np.linalg.cholesky(prior.covariance[:d, :d])
    loadings = (features - features.mean(axis=0)) @ root
    values, vectors = np.linalg.eigh(loadings.T @ loadings)
    if values[-1] > 0:
        along = loadings @ vectors[:, -1]
        # The sign of a direction means nothing: the likeliest item stands on the first side.
        first, last = _ends(along * (np.sign(along[np.argmax(scores)]) or 1.0), catalogue.titles)
        share = values[-1] / values.sum()
        yield f"they differ most between: {first}; and: {last} ({share:.0%} of all difference)"


def _ends(scores: FloatArray, titles: Sequence[str]) -> tuple[str, str]:
    order = np.argsort(-scores, kind="stable")
    most = min(MOST, len(order) // 2) or 1
    ends = order[:most], order[::-1][:most]
    first, last = (", ".join(" ".join(titles[row].split()) for row in rows) for rows in ends)
    return first, last

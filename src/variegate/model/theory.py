"""The confidence width of Lemma 2 and the regret bound of Theorem 2, as corrected.

In the paper's Theorem 2 the norm of eta multiplies the wrong term, and features are assumed to have
length at most 1 (errata E6 to E8 in docs/explanation/paper.md); these are the corrected forms.
"""

from dataclasses import dataclass
from math import log, sqrt

from variegate.arrays import check_choice, check_fraction, check_not_negative, check_positive


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """Parameters of the confidence width of Lemma 2, for ``exploration=Confidence(...)``.

    Parameters
    ----------
    delta
        The probability that the true mean lies outside the interval.
    preference_norm
        A bound on the length of eta.
    observations
        The number n K of observations; by default, those made so far.
    """

    delta: float = 0.05
    preference_norm: float = 1.0
    observations: int | None = None

    def __post_init__(self) -> None:
        check_positive(delta=self.delta)
        check_fraction(delta=self.delta)
        check_not_negative(preference_norm=self.preference_norm)
        if self.observations is not None:
            check_not_negative(observations=self.observations)


def check_exploration(exploration: "float | str | Confidence") -> "float | Confidence":
    """Return a fixed width, or the `Confidence` from which to compute it."""
    if isinstance(exploration, Confidence):
        return exploration
    if isinstance(exploration, str):
        check_choice("exploration", exploration, ("theory",))
        return Confidence()
    check_not_negative(exploration=exploration)
    return float(exploration)


def confidence_width(
    size: int,
    observations: float,
    *,
    ridge: float,
    delta: float = 0.05,
    preference_norm: float = 1.0,
    feature_norm: float = 1.0,
) -> float:
    """Return the smallest alpha that Lemma 2 allows.

    Parameters
    ----------
    size
        Number of weights d + m.
    observations
        n K: rounds times items per list.
    ridge
        lambda, greater than 0.
    delta
        The probability that some true mean lies outside its interval.
    preference_norm, feature_norm
        Bounds on the lengths of eta and of zeta.

    Examples
    --------
    >>> round(confidence_width(11, 30 * 10, ridge=50.0), 3)
    10.354
    """
    check_positive(size=size, ridge=ridge, delta=delta, feature_norm=feature_norm)
    check_not_negative(observations=observations, preference_norm=preference_norm)
    check_fraction(delta=delta)
    growth = size * log(1.0 + observations * feature_norm**2 / (size * ridge))
    return sqrt(growth + 2.0 * log(1.0 / delta)) + sqrt(ridge) * preference_norm


def regret_bound(
    size: int,
    rounds: int,
    k: int,
    *,
    ridge: float,
    delta: float | None = None,
    preference_norm: float = 1.0,
    feature_norm: float = 1.0,
    gamma: float = 0.25,
) -> float:
    """Return Theorem 2's bound on the gamma-scaled regret of `rounds` lists of `k`.

    `delta` is 1 / (rounds k) by default, as the paper proposes. The proof assumes that greedy is
    within gamma of the best list *under the upper bounds*, which is not guaranteed (E10).
    """
    check_positive(rounds=rounds, k=k, gamma=gamma)
    observations = rounds * k
    delta = 1.0 / observations if delta is None else delta
    alpha = confidence_width(
        size,
        observations,
        ridge=ridge,
        delta=delta,
        preference_norm=preference_norm,
        feature_norm=feature_norm,
    )
    square = feature_norm**2
    growth = size * log(1.0 + observations * square / (size * ridge))
    shrink = ridge * log(1.0 + square / ridge) / square
    return 2.0 * alpha * k / gamma * sqrt(rounds * growth / shrink) + observations * delta

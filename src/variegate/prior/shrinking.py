"""Expectation maximisation of a population's spread, held to a target by a few pseudo-users."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from variegate.arrays import FloatArray

#: EM ends when a step raises the evidence by less than this for each user.
LEAST_GAIN: Final = 1e-6


class Belief(NamedTuple):
    """Users' weights ~ N(mean, covariance), and the variance of a reward around them."""

    mean: FloatArray
    covariance: FloatArray
    noise: float


class Moments(NamedTuple):
    """What the users' data say under a belief, summed over users."""

    #: The log of the data's marginal likelihood
    evidence: float
    users: int
    #: Of the users' weights less the belief's mean, (p,), and of their squares, (p, p)
    first: FloatArray
    second: FloatArray
    #: Squared errors of the rewards, and how many rewards they are of
    residual: float
    rewards: float


class Fit(NamedTuple):
    """Where EM ended, and the penalised evidence before each step and at the end."""

    belief: Belief
    evidence: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """Pseudo-users who stand for what is believed without data, as conjugate priors do."""

    target: Belief
    #: How many pseudo-users speak for the target's mean, for its covariance, and how many
    #: pseudo-rewards for its noise
    of_mean: float
    of_covariance: float
    of_noise: float

    def updated(self, belief: Belief, moments: Moments) -> Belief:
        """Return the belief that maximises the expected log likelihood and the penalty."""
        apart = self.target.mean - belief.mean
        shift = (moments.first + self.of_mean * apart) / (moments.users + self.of_mean)
        cross = np.outer(moments.first, shift)
        scatter = moments.second - cross - cross.T + moments.users * np.outer(shift, shift)
        pulled = self.of_mean * np.outer(apart - shift, apart - shift)
        held = self.of_covariance * self.target.covariance
        covariance = (scatter + pulled + held) / (moments.users + self.of_covariance)
        errors = moments.residual + self.of_noise * self.target.noise
        counted = moments.rewards + self.of_noise
        noise = errors / counted if counted > 0 else belief.noise
        return Belief(belief.mean + shift, (covariance + covariance.T) / 2, float(noise))

    def penalty(self, belief: Belief) -> float:
        """Return the log density of a belief under the pseudo-users, up to a constant."""
        _, volume = np.linalg.slogdet(belief.covariance)
        apart = belief.mean - self.target.mean
        spread = self.of_covariance * self.target.covariance + self.of_mean * np.outer(apart, apart)
        far = float(np.trace(np.linalg.solve(belief.covariance, spread)))
        noisy = np.log(belief.noise) + self.target.noise / belief.noise
        return -0.5 * float(self.of_covariance * volume + far + self.of_noise * noisy)


def maximised(
    start: Belief,
    expectation: Callable[[Belief], Moments],
    shrinkage: Shrinkage,
    *,
    iterations: int,
) -> Fit:
    """Return the belief that EM climbs to from `start`: each step raises the evidence."""
    belief, history = start, list[float]()
    for _ in range(iterations):
        moments = expectation(belief)
        history.append(moments.evidence + shrinkage.penalty(belief))
        if len(history) > 1 and history[-1] - history[-2] < LEAST_GAIN * moments.users:
            return Fit(belief, tuple(history))
        belief = shrinkage.updated(belief, moments)
    history.append(expectation(belief).evidence + shrinkage.penalty(belief))
    return Fit(belief, tuple(history))

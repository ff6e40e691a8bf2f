"""What a policy believes of a person, sorted by how sure it is."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from variegate.policies import Policy
from variegate.prior import Prior

#: The strength from which on a weight is a lean: low, for even the first picks are worth telling.
LEAST_LEAN: Final = 1 / 8
#: Less than this is rounding.
LEAST_LEARNT: Final = 1e-9


@dataclass(frozen=True)
class Belief:
    """One weight with its 95% interval, by the name of its feature or distance."""

    name: str
    weight: float
    low: float
    high: float
    #: What was believed of it before anything was seen: what others like is not what one likes
    before: float = 0.0

    @property
    def half_width(self) -> float:
        """How far the interval reaches to either side."""
        return (self.high - self.low) / 2

    @property
    def is_sure(self) -> bool:
        """Whether the interval leaves 0 out, and not only because that was so from the start."""
        leaves_out = self.low > 0 or self.high < 0
        return leaves_out and (self.before == 0.0 or abs(self._learnt) > LEAST_LEARNT)

    @property
    def strength(self) -> float:
        """The weight's size in half widths of its interval: above 1, it is sure.

        Of a weight that is not sure, what was believed from the start does not count.
        """
        if not self.half_width > 0:
            return float(self.is_sure)
        size = abs(self.weight)
        if self.before != 0.0 and not self.is_sure:
            size = min(size, abs(self._learnt)) if self._learnt * self.weight > 0 else 0.0
        return size / self.half_width

    @property
    def _learnt(self) -> float:
        return self.weight - self.before


@dataclass(frozen=True)
class Taste:
    """The strongest weights of features, each group strongest first."""

    #: Sure, and above 0
    likes: tuple[Belief, ...]
    #: Sure, and below 0
    avoids: tuple[Belief, ...]
    #: Not sure, either way
    leans: tuple[Belief, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.likes or self.avoids or self.leans)


def taste_of(policy: Policy, *, most: int = 5) -> Taste:
    """Return what the policy believes of the features, at most `most` in a group."""
    wants = policy.preferences
    low, high = wants.relevance_interval
    before = _before(policy)
    beliefs = [
        Belief(name, float(wants.relevance[i]), float(low[i]), float(high[i]), before[i])
        for i, name in enumerate(policy.catalogue.feature_names)
    ]
    order = np.argsort(-np.abs(wants.relevance), kind="stable")
    ranked = [beliefs[place] for place in order]
    likes = [belief for belief in ranked if belief.is_sure and belief.weight > 0]
    avoids = [belief for belief in ranked if belief.is_sure and belief.weight < 0]
    leans = [b for b in ranked if not b.is_sure and b.strength > LEAST_LEAN]
    return Taste(tuple(likes[:most]), tuple(avoids[:most]), tuple(leans[:most]))


def variety_of(policy: Policy) -> tuple[Belief, ...]:
    """Return what the policy believes of the wish for variety (beta), one belief a distance."""
    wants = policy.preferences
    low, high = wants.diversity_interval
    before = _before(policy)[policy.catalogue.d :]
    return tuple(
        Belief(h.name, float(wants.diversity[i]), float(low[i]), float(high[i]), before[i])
        for i, h in enumerate(policy.catalogue.distances)
    )


def _before(policy: Policy) -> list[float]:
    """Return what a policy believes of the weights, theta before beta, of somebody new."""
    before = np.zeros(policy.catalogue.d + policy.catalogue.m)
    prior = getattr(policy, "prior", None)
    if isinstance(prior, Prior):
        before[: len(prior.mean)] = prior.mean
    found: list[float] = before.tolist()
    return found

"""What a policy believes of a person, sorted by how sure it is."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from variegate.policies import Policy

#: The strength from which on a weight is a lean: low, for even the first picks are worth telling.
LEAST_LEAN: Final = 1 / 8


@dataclass(frozen=True)
class Belief:
    """One weight with its 95% interval, by the name of its feature or distance."""

    name: str
    weight: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """How far the interval reaches to either side."""
        return (self.high - self.low) / 2

    @property
    def is_sure(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0

    @property
    def strength(self) -> float:
        """The weight's size in half widths of its interval: above 1, it is sure."""
        return abs(self.weight) / self.half_width if self.half_width > 0 else float(self.is_sure)


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
    beliefs = [
        Belief(name, float(wants.relevance[i]), float(low[i]), float(high[i]))
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
    return tuple(
        Belief(h.name, float(wants.diversity[i]), float(low[i]), float(high[i]))
        for i, h in enumerate(policy.catalogue.distances)
    )

"""What a policy has learnt of a user: weights with intervals, and sentences about them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from variegate.policies import Policy
from variegate.prior import Prior

#: Minimum strength of an uncertain weight to be shown: low, so that the first picks show.
MIN_STRENGTH: Final = 1 / 8
#: Smaller differences are rounding.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True)
class WeightEstimate:
    """One weight with its 95% interval, by the name of its feature or distance."""

    name: str
    weight: float
    low: float
    high: float
    #: The prior mean: what others like is not what this user likes
    before: float = 0.0

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def is_sure(self) -> bool:
        """Whether the interval excludes 0, and not only because the prior did."""
        excludes_zero = self.low > 0 or self.high < 0
        return excludes_zero and (self.before == 0.0 or abs(self._learnt) > _ROUNDING)

    @property
    def strength(self) -> float:
        """The weight's size in half widths of its interval: above 1, it is sure.

        The prior mean does not count towards a weight that is not sure.
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
    likes: tuple[WeightEstimate, ...]
    #: Sure, and below 0
    avoids: tuple[WeightEstimate, ...]
    #: Not sure, above or below 0
    leans: tuple[WeightEstimate, ...]

    @property
    def is_empty(self) -> bool:
        """Whether all groups are empty."""
        return not (self.likes or self.avoids or self.leans)


def learnt_taste(policy: Policy, *, max_weights: int = 5) -> Taste:
    """Return the strongest weights of features that a policy has learnt, per group."""
    wants = policy.preferences
    low, high = wants.relevance_interval
    before = _prior_mean(policy)
    weights = [
        WeightEstimate(name, float(wants.relevance[i]), float(low[i]), float(high[i]), before[i])
        for i, name in enumerate(policy.catalogue.feature_names)
    ]
    order = np.argsort(-np.abs(wants.relevance), kind="stable")
    ranked = [weights[place] for place in order]
    likes = [weight for weight in ranked if weight.is_sure and weight.weight > 0]
    avoids = [weight for weight in ranked if weight.is_sure and weight.weight < 0]
    leans = [b for b in ranked if not b.is_sure and b.strength > MIN_STRENGTH]
    return Taste(
        tuple(likes[:max_weights]), tuple(avoids[:max_weights]), tuple(leans[:max_weights])
    )


def learnt_diversity(policy: Policy) -> tuple[WeightEstimate, ...]:
    """Return the weights of diversity (beta) that a policy has learnt, one per distance."""
    wants = policy.preferences
    low, high = wants.diversity_interval
    before = _prior_mean(policy)[policy.catalogue.d :]
    return tuple(
        WeightEstimate(h.name, float(wants.diversity[i]), float(low[i]), float(high[i]), before[i])
        for i, h in enumerate(policy.catalogue.distances)
    )


def _prior_mean(policy: Policy) -> list[float]:
    """Return the prior mean of a policy's weights, theta before beta; 0 without a prior."""
    before = np.zeros(policy.catalogue.d + policy.catalogue.m)
    prior = getattr(policy, "prior", None)
    if isinstance(prior, Prior):
        before[: len(prior.mean)] = prior.mean
    found: list[float] = before.tolist()
    return found


#: Minimum strength of a weight of diversity to be described. Of forty users who picked at random,
#: 9% of the distances reached it after six lists; with 1/4 it was 21%.
MIN_DIVERSITY_STRENGTH: Final = 1 / 3


def describe_taste(taste: Taste) -> str:
    """Return what a user likes, in sentences.

    Examples
    --------
    >>> red, blue = WeightEstimate("red", 0.5, 0.1, 0.9), WeightEstimate("blue", -0.1, -0.3, 0.1)
    >>> describe_taste(Taste(likes=(red,), avoids=(), leans=(blue,)))
    'You like red. Perhaps you skip blue.'
    >>> describe_taste(Taste((), (), ()))
    'What you like is not clear yet.'
    """
    sure = _likes(taste.likes, taste.avoids)
    leaning = _likes(*_by_sign(taste.leans))
    parts = [f"You {sure}."] * bool(sure) + [f"Perhaps you {leaning}."] * bool(leaning)
    return " ".join(parts) or "What you like is not clear yet."


def describe_diversity(weights: Sequence[WeightEstimate]) -> str:
    """Return the desired diversity, one weight per distance, in sentences.

    Examples
    --------
    >>> genres = WeightEstimate("genres", 0.5, 0.1, 0.9)
    >>> years = WeightEstimate("years", -0.6, -0.9, -0.3)
    >>> describe_diversity([genres, years, WeightEstimate("countries", 0.2, -0.1, 0.5)])
    'You like a mix of genres, alike in years. Perhaps you like a mix of countries.'
    >>> describe_diversity([genres, WeightEstimate("price", 0.0, -0.9, 0.9)])
    'You like a mix of genres. What you want of price is not clear yet.'
    """
    clear = [weight for weight in weights if weight.strength >= MIN_DIVERSITY_STRENGTH]
    unclear = [weight for weight in weights if weight.strength < MIN_DIVERSITY_STRENGTH]
    if not clear:
        return "How varied you like it is not clear yet."
    sure = _mix(*_by_sign(weight for weight in clear if weight.is_sure))
    leaning = _mix(*_by_sign(weight for weight in clear if not weight.is_sure))
    parts = [f"You like {sure}."] * bool(sure) + [f"Perhaps you like {leaning}."] * bool(leaning)
    if unclear:
        parts.append(f"What you want of {_joined(unclear)} is not clear yet.")
    return " ".join(parts)


def describe_diversity_weight(weight: WeightEstimate) -> str:
    """Return the desired diversity by one distance, in a few words.

    Examples
    --------
    >>> describe_diversity_weight(WeightEstimate("genres", 0.3, -0.1, 0.7))
    'perhaps more variety'
    """
    if weight.strength < MIN_DIVERSITY_STRENGTH:
        return "not clear yet"
    wanted = "more variety" if weight.weight > 0 else "less variety"
    return wanted if weight.is_sure else f"perhaps {wanted}"


def _likes(liked: Sequence[WeightEstimate], passed: Sequence[WeightEstimate]) -> str:
    both = (("like", liked), ("skip", passed))
    return " and ".join(f"{verb} {_joined(weights)}" for verb, weights in both if weights)


def _mix(varied: Sequence[WeightEstimate], alike: Sequence[WeightEstimate]) -> str:
    if not alike:
        return f"a mix of {_joined(varied)}" if varied else ""
    kept = f"alike in {_joined(alike)}"
    return f"a mix of {_joined(varied)}, {kept}" if varied else f"lists {kept}"


def _by_sign(
    weights: Iterable[WeightEstimate],
) -> tuple[list[WeightEstimate], list[WeightEstimate]]:
    """Return the positive weights, and the others."""
    known = list(weights)
    return [b for b in known if b.weight > 0], [b for b in known if b.weight <= 0]


def _joined(weights: Sequence[WeightEstimate]) -> str:
    names = [" ".join(weight.name.split()) for weight in weights]
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]

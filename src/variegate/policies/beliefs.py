"""What a policy has learnt of a user: weights with intervals, and sentences about them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist
from typing import Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.policies import Policy
from variegate.policies.item_lmdp import ItemLMDP
from variegate.policies.ridge_policy import NORMAL_95

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
    """Return the strongest weights of features that a policy has learnt, per group.

    LMDP with a prior of items has no weights of features: the items whose relevance rose most
    are examples of what the user likes.
    """
    if isinstance(policy, ItemLMDP):
        return _likely_items(policy)
    wants, before = policy.preferences, policy.prior_preferences.relevance
    labels = policy.catalogue.feature_labels
    weights = _estimates(labels, wants.relevance, wants.relevance_interval, before)
    order = np.argsort(-np.abs(wants.relevance), kind="stable")
    ranked = [weights[place] for place in order]
    likes = [weight for weight in ranked if weight.is_sure and weight.weight > 0]
    avoids = [weight for weight in ranked if weight.is_sure and weight.weight < 0]
    leans = [b for b in ranked if not b.is_sure and b.strength > MIN_STRENGTH]
    return Taste(
        tuple(likes[:max_weights]), tuple(avoids[:max_weights]), tuple(leans[:max_weights])
    )


def _likely_items(policy: ItemLMDP) -> Taste:
    rows, rises, deviations = policy.likely_items()
    titles, half = policy.catalogue.titles, NORMAL_95 * deviations
    columns = ([titles[row] for row in rows], rises, rises - half, rises + half)
    weights = [
        WeightEstimate(title, float(rise), float(low), float(high))
        for title, rise, low, high in zip(*columns, strict=True)
    ]
    sure = tuple(weight for weight in weights if weight.is_sure)
    return Taste(sure, (), tuple(weight for weight in weights if not weight.is_sure))


def learnt_diversity(policy: Policy) -> tuple[WeightEstimate, ...]:
    """Return the weights of diversity (beta) that a policy has learnt, one per distance."""
    wants, before = policy.preferences, policy.prior_preferences.diversity
    names = [h.name for h in policy.catalogue.distances]
    return _estimates(names, wants.diversity, wants.diversity_interval, before)


def _estimates(
    names: Sequence[str], weights: FloatArray, interval: FloatArray, before: FloatArray
) -> tuple[WeightEstimate, ...]:
    columns = (weights.tolist(), *interval.tolist(), before.tolist())
    return tuple(map(WeightEstimate, names, *columns))


#: Probability from which a statement about the total is sure, and from which it is made at all.
SURE: Final = 0.95
LIKELY: Final = 0.8


class Statement(StrEnum):
    """What can be said of the total preference for variety."""

    VARIED = "you like varied lists"
    SOME = "you like some variety, but less than most"
    LESS = "you like less variety than most"
    SIMILAR = "you like lists of similar items"


@dataclass(frozen=True)
class TotalDiversity:
    """The total weight of diversity (the sum of beta), and what the feedback says of it.

    The interval is that of the posterior. The probabilities are those of the feedback alone, see
    `Policy.total_diversity_likelihood`: no prior can make a statement by itself, and none can hide
    one. They allow for users who pick more or fewer items whatever these are.
    """

    weight: float
    low: float
    high: float
    #: The probability that the total is above 0
    positive: float = 0.5
    #: The probability that it is below the prior's: what users want on average
    below_prior: float = 0.5

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def statement(self) -> Statement | None:
        """The statement that is sure (a probability of at least 0.95), or else likely (0.8)."""
        return self._statement_at(SURE) or self._statement_at(LIKELY)

    @property
    def probability(self) -> float:
        """The probability of the statement; 0 without one."""
        return {
            None: 0.0,
            Statement.VARIED: self.positive,
            Statement.SOME: min(self.positive, self.below_prior),
            Statement.LESS: self.below_prior,
            Statement.SIMILAR: 1.0 - self.positive,
        }[self.statement]

    @property
    def is_sure(self) -> bool:
        """Whether the statement is sure."""
        return self.probability >= SURE

    def _statement_at(self, probability: float) -> Statement | None:
        if 1.0 - self.positive >= probability:
            return Statement.SIMILAR
        is_less = self.below_prior >= probability
        if self.positive >= probability:
            return Statement.SOME if is_less else Statement.VARIED
        return Statement.LESS if is_less else None


def learnt_total_diversity(policy: Policy) -> TotalDiversity:
    """Return the total weight of diversity that a policy has learnt."""
    wants, usual = policy.preferences, policy.prior_preferences.total_diversity
    mean, deviation = policy.total_diversity_likelihood()
    low, high = wants.total_diversity_interval.tolist()
    normal = NormalDist()
    positive, below_prior = normal.cdf(mean / deviation), normal.cdf((usual - mean) / deviation)
    return TotalDiversity(wants.total_diversity, low, high, positive, below_prior)


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


def describe_total_diversity(total: TotalDiversity) -> str:
    """Return the total preference for variety as a sentence, with how sure it is.

    Examples
    --------
    >>> describe_total_diversity(TotalDiversity(0.6, 0.2, 1.0, positive=0.991, below_prior=0.1))
    'You like varied lists (99% sure).'
    >>> describe_total_diversity(TotalDiversity(0.1, -0.3, 0.5, positive=0.7, below_prior=0.9))
    'Perhaps you like less variety than most (90% sure).'
    >>> describe_total_diversity(TotalDiversity(0.2, -0.3, 0.7, positive=0.7))
    'How varied you like it is not clear yet.'
    """
    if total.statement is None:
        return "How varied you like it is not clear yet."
    words = total.statement if total.is_sure else f"perhaps {total.statement}"
    percent = min(int(100 * total.probability), 99)  # no probability is certain
    return f"{words[0].upper()}{words[1:]} ({percent}% sure)."


def describe_diversity(total: TotalDiversity, weights: Sequence[WeightEstimate]) -> str:
    """Return the desired diversity in sentences: the total, then the distances that are known.

    Examples
    --------
    >>> total = TotalDiversity(0.6, 0.2, 1.0, positive=0.98)
    >>> genres = WeightEstimate("genres", 0.5, 0.1, 0.9)
    >>> years = WeightEstimate("years", -0.6, -0.9, -0.3)
    >>> describe_diversity(total, [genres, years, WeightEstimate("price", 0.0, -0.9, 0.9)])
    'You like varied lists (98% sure). You like a mix of genres, alike in years.'
    """
    clear = [weight for weight in weights if weight.strength >= MIN_DIVERSITY_STRENGTH]
    sure = _mix(*_by_sign(weight for weight in clear if weight.is_sure))
    leaning = _mix(*_by_sign(weight for weight in clear if not weight.is_sure))
    parts = [describe_total_diversity(total)]
    if len(weights) > 1:  # a single distance is the total
        parts += [f"You like {sure}."] * bool(sure) + [f"Perhaps you like {leaning}."] * bool(
            leaning
        )
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

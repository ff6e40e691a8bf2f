"""What a policy believes of a person, sorted by how sure it is."""

from collections.abc import Iterable, Sequence
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


#: The strength of a belief from which on a lean is told. Forty who picked at random got one for 9%
#: of the distances after six lists; with 1/4 it would have been 21%.
LEAST_VARIETY: Final = 1 / 3


def likes_in_words(taste: Taste) -> str:
    """Return what is believed of the features, in sentences.

    Examples
    --------
    >>> red, blue = Belief("red", 0.5, 0.1, 0.9), Belief("blue", -0.1, -0.3, 0.1)
    >>> likes_in_words(Taste(likes=(red,), avoids=(), leans=(blue,)))
    'You like red. Perhaps you pass by blue.'
    >>> likes_in_words(Taste((), (), ()))
    'What you like is not clear yet.'
    """
    sure = _likes(taste.likes, taste.avoids)
    leaning = _likes(*_by_sign(taste.leans))
    told = [f"You {sure}."] * bool(sure) + [f"Perhaps you {leaning}."] * bool(leaning)
    return " ".join(told) or "What you like is not clear yet."


def variety_in_words(varieties: Sequence[Belief]) -> str:
    """Return what is believed of the wish for variety, one belief a distance, in sentences.

    Examples
    --------
    >>> genres, years = Belief("genres", 0.5, 0.1, 0.9), Belief("years", -0.6, -0.9, -0.3)
    >>> variety_in_words([genres, years, Belief("countries", 0.2, -0.1, 0.5)])
    'You like a mix of genres, alike in years. Perhaps you like a mix of countries.'
    >>> variety_in_words([genres, Belief("price", 0.0, -0.9, 0.9)])
    'You like a mix of genres. What you want of price is not clear yet.'
    """
    clear = [belief for belief in varieties if belief.strength >= LEAST_VARIETY]
    unclear = [belief for belief in varieties if belief.strength < LEAST_VARIETY]
    if not clear:
        return "How varied you like it is not clear yet."
    sure = _mix(*_by_sign(belief for belief in clear if belief.is_sure))
    leaning = _mix(*_by_sign(belief for belief in clear if not belief.is_sure))
    told = [f"You like {sure}."] * bool(sure) + [f"Perhaps you like {leaning}."] * bool(leaning)
    if unclear:
        told.append(f"What you want of {_recommend(unclear)} is not clear yet.")
    return " ".join(told)


def wish_in_words(belief: Belief) -> str:
    """Return what is believed of the wish for one kind of variety, in a few words.

    Examples
    --------
    >>> wish_in_words(Belief("genres", 0.3, -0.1, 0.7))
    'perhaps more variety'
    """
    if belief.strength < LEAST_VARIETY:
        return "not clear yet"
    wanted = "more variety" if belief.weight > 0 else "less variety"
    return wanted if belief.is_sure else f"perhaps {wanted}"


def _likes(liked: Sequence[Belief], passed: Sequence[Belief]) -> str:
    told = (("like", liked), ("pass by", passed))
    return " and ".join(f"{verb} {_recommend(beliefs)}" for verb, beliefs in told if beliefs)


def _mix(varied: Sequence[Belief], alike: Sequence[Belief]) -> str:
    if not alike:
        return f"a mix of {_recommend(varied)}" if varied else ""
    kept = f"alike in {_recommend(alike)}"
    return f"a mix of {_recommend(varied)}, {kept}" if varied else f"lists {kept}"


def _by_sign(beliefs: Iterable[Belief]) -> tuple[list[Belief], list[Belief]]:
    """Return the beliefs in a wish for more, and those in one for less."""
    known = list(beliefs)
    return [b for b in known if b.weight > 0], [b for b in known if b.weight <= 0]


def _recommend(beliefs: Sequence[Belief]) -> str:
    names = [" ".join(belief.name.split()) for belief in beliefs]
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]

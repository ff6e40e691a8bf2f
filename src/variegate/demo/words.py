"""What a policy believes of a person, in sentences."""

from collections.abc import Iterable, Sequence
from typing import Final

from variegate.demo.beliefs import Belief, Taste

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

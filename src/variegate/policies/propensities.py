"""Lists in which chance now and then takes a turn, with how likely each of their items was.

Such lists make a log from which other policies can be valued without a bias; see
`variegate.evaluation.offpolicy`.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_count,
    check_fraction,
    generator,
)
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Gains, Normaliser
from variegate.model.search import SEARCHES, greedy
from variegate.model.slate import Slate
from variegate.policies.base import Policy, finite_slate
from variegate.policies.dial import Dial


def explore_slate(
    policy: Policy,
    k: int,
    chance: float,
    candidates: ArrayLike | None = None,
    exclude: ArrayLike | None = None,
    rng: Any = None,
    dial: Dial | None = None,
) -> tuple[Slate, FloatArray]:
    """Return a list with random items in some positions, and the propensities, (K,).

    A propensity is the chance with which this very item came to stand in its position, given
    the items above it: ``chance`` by the number of candidates left, and ``1 - chance`` more if
    the policy itself would have put it there. A policy that draws what a list goes by (`lmdt`)
    draws it a number of times and follows one of these plans, each as likely; then it is
    ``1 - chance`` times the share of the plans that would have put it there, each of them
    counted as it fits the items above. That is exact given the plans.

    Parameters
    ----------
    policy
        One that chooses the same list every time (not `draws`) or by plans, by greedy search.
    k, candidates, exclude, dial
        As for `Policy.recommend`.
    chance
        How likely, position by position, any of the candidates left is taken in place of the
        policy's choice; from 0 to 1.
    rng
        A NumPy generator or a seed.

    Examples
    --------
    >>> from variegate import LMDH, Catalogue
    >>> items = Catalogue(list("abc"), [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "cosine")
    >>> slate, propensities = explore_slate(LMDH(items), 2, chance=0.3, rng=1)
    >>> slate.ids, propensities.round(2)
    (('c', 'a'), array([0.8 , 0.85]))
    """
    _check_policy(policy)
    check_fraction(chance=chance)
    free = policy.catalogue.candidate_mask(candidates, exclude)
    left = int(np.count_nonzero(free))
    k = check_count(k, left)
    policy = policy if dial is None else policy._under(dial)
    draw = generator(rng)
    if isinstance(policy, Planning):
        drawn, propensities = planned_slate(policy, free, k, chance, draw)
        return finite_slate(drawn), propensities
    uniforms = draw.random(k) < chance
    plain = finite_slate(policy._recommend(free, k, None))
    if not uniforms.any():
        slate, is_choice = plain, np.ones(k, dtype=np.bool_)
    else:
        slate, is_choice = _walked(policy, free, plain, uniforms, draw)
        slate = finite_slate(slate)
    return slate, chance / (left - np.arange(k)) + np.where(is_choice, 1.0 - chance, 0.0)


def slate_propensities(
    policy: Policy,
    items: ArrayLike,
    chance: float,
    candidates: ArrayLike | None = None,
    exclude: ArrayLike | None = None,
    rng: Any = None,
    dial: Dial | None = None,
) -> tuple[FloatArray, IndexArray]:
    """Return how likely `explore_slate` is to put each of `items` in its position, (K,).

    Each is the chance given the items above it, 0 for what is no candidate. Beside it stands
    the policy's own choice below the same items, (K,).

    For a policy that draws (`lmdt`) both are given plans drawn here: the mean of a list's
    chance, over such draws, is its chance whatever is drawn, so an estimate that multiplies
    by it stays unbiased. The choice is that of one of the plans, as likely as each fits the
    items above.

    Parameters
    ----------
    policy, chance, candidates, exclude, dial
        As for `explore_slate`.
    items
        Rows of a list, whoever made it; no longer than there are candidates.
    rng
        A NumPy generator or a seed, for a policy that draws.

    Examples
    --------
    >>> from variegate import LMDH, Catalogue
    >>> items = Catalogue(list("abc"), [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "cosine")
    >>> chances, choices = slate_propensities(LMDH(items), [2, 1], chance=0.3)
    >>> chances.round(2), choices
    (array([0.8 , 0.15]), array([2, 0]))
    """
    _check_policy(policy)
    check_fraction(chance=chance)
    free = policy.catalogue.candidate_mask(candidates, exclude)
    rows = np.asarray(items, dtype=np.intp)
    k = check_count(len(rows), int(np.count_nonzero(free)))
    policy = policy if dial is None else policy._under(dial)
    if isinstance(policy, Planning):
        return planned_chances(policy, free, rows, chance, generator(rng))
    walk, chances = GreedyPath(policy, free, policy._recommend(free, k, None)), np.zeros(k)
    left, choices = free.copy(), np.empty(k, dtype=np.intp)
    for position, row in enumerate(rows.tolist()):
        choices[position] = walk.choice()
        if left[row]:
            by_choice = 1.0 - chance if row == choices[position] else 0.0
            chances[position] = chance / np.count_nonzero(left) + by_choice
        left[row] = False
        walk.take(row)
    return chances, choices


def choices_below(
    policy: Policy,
    k: int,
    prefixes: IndexArray,
    candidates: ArrayLike | None = None,
    dial: Dial | None = None,
) -> IndexArray:
    """Return the policy's own choice in each position of lists of `k` that begin so, (M, p + 1).

    Each is the choice given the rows above it; the last one is that below the whole beginning.

    Parameters
    ----------
    policy, k, candidates, dial
        As for `explore_slate`; the policy must not draw.
    prefixes
        Rows of the first p positions, p less than `k`, (M, p).
    """
    _check_policy(policy)
    if policy.draws:
        raise InputError(
            f"`policy` must choose the same list every time, got {policy.name}, which draws"
        )
    free = policy.catalogue.candidate_mask(candidates)
    k = check_count(k, int(np.count_nonzero(free)))
    policy = policy if dial is None else policy._under(dial)
    plain = policy._recommend(free, k, None)
    choices = np.empty((len(prefixes), prefixes.shape[1] + 1), dtype=np.intp)
    for chosen, prefix in zip(choices, prefixes.tolist(), strict=True):
        walk = GreedyPath(policy, free, plain)
        for position, row in enumerate(prefix):
            chosen[position] = walk.choice()
            walk.take(row)
        chosen[-1] = walk.choice()
    return choices


def _check_policy(policy: Policy) -> None:
    if policy.draws and not isinstance(policy, Planning):
        raise InputError(
            f"`policy` must choose the same list every time, got {policy.name}, which draws"
        )
    if policy._search is not greedy:
        names = [name for name, search in SEARCHES.items() if search is policy._search]
        raise InputError(
            f"`policy` must search greedily, got {policy.name} with {', '.join(names)} search: "
            "it does not choose item by item"
        )


class GreedyPath:
    """What a policy would take next, whatever was taken so far.

    As long as that is the beginning of the policy's plain list, it is the plain list's next
    item, so that rounding, or a shortlist, cannot make the policy contradict itself: its
    choice is a function of the items above, which is what a propensity speaks of.
    """

    def __init__(self, policy: Policy, free: MaskArray, plain: Slate) -> None:
        self._policy, self._free, self._plain = policy, free, plain
        self.items: list[int] = []
        self._elsewhere: OffPath | None = None

    def choice(self) -> int:
        """Return the row that the policy would take now."""
        if self._elsewhere is None:
            return int(self._plain.items[len(self.items)])
        return self._elsewhere.best()

    def take(self, row: int) -> float:
        """Put a row into the next position, and return what the policy scores it there."""
        position = len(self.items)
        if self._elsewhere is None and row == self._plain.items[position]:
            score = float(self._plain.scores[position])
        else:
            if self._elsewhere is None or not self._elsewhere.has(row):
                rows = self._policy._choices(self._free, len(self._plain))
                self._elsewhere = OffPath(self._policy, rows, self.items, row, len(self._plain))
            score = self._elsewhere.take(row)
        self.items.append(row)
        return score


class OffPath:
    """The candidates as a policy scores them, once a list has left the plain one."""

    def __init__(
        self, policy: Policy, rows: IndexArray, above: list[int], row: int, k: int
    ) -> None:
        # What chance took from beyond a shortlist is scored with the others, but is no choice.
        self._rows = rows
        shown = np.array([*above, row], dtype=np.intp)
        if not all(map(self.has, shown)):
            self._rows = np.union1d(rows, shown)
        self._is_open = np.isin(self._rows, rows, assume_unique=True)
        self._scorer = policy._scorer(self._rows, k, None)
        self._scores: FloatArray | None = None
        for earlier in above:
            self._close(earlier)

    def has(self, row: int) -> bool:
        """Return whether `row` is scored here."""
        place = int(np.searchsorted(self._rows, row))
        return place < len(self._rows) and bool(self._rows[place] == row)

    def best(self) -> int:
        """Return the row that the policy would take next, the first one of equals."""
        return int(self._rows[np.argmax(np.where(self._is_open, self._now(), -np.inf))])

    def take(self, row: int) -> float:
        """Take `row`, and return its score."""
        score = float(self._now()[np.searchsorted(self._rows, row)])
        self._close(row)
        return score

    def _now(self) -> FloatArray:
        if self._scores is None:
            self._scores = self._scorer.scores()
        return self._scores

    def _close(self, row: int) -> None:
        place = int(np.searchsorted(self._rows, row))
        self._scorer.take(place)
        self._is_open[place], self._scores = False, None


def _walked(
    policy: Policy, free: MaskArray, plain: Slate, uniforms: MaskArray, draw: np.random.Generator
) -> tuple[Slate, MaskArray]:
    """Return the list that the coins lead to, and where it has the policy's own choice."""
    walk, k = GreedyPath(policy, free, plain), len(plain)
    rows = np.flatnonzero(free)
    scores, is_choice = np.empty(k), np.empty(k, dtype=np.bool_)
    for position in range(k):
        choice = walk.choice()
        row = _any_left(rows, walk.items, draw) if uniforms[position] else choice
        is_choice[position] = row == choice
        scores[position] = walk.take(row)
    return policy._slate(np.array(walk.items, dtype=np.intp), scores), is_choice


def _any_left(rows: IndexArray, taken: list[int], draw: np.random.Generator) -> int:
    """Return one of the sorted `rows`, but none that was `taken`; each is as likely."""
    place = int(draw.integers(len(rows) - len(taken)))
    for gone in np.sort(np.searchsorted(rows, taken)).tolist():
        place += gone <= place
    return int(rows[place])


@runtime_checkable
class Planning(Protocol):
    """A policy that draws weights once a list, and then chooses item by item, greedily."""

    catalogue: Catalogue
    normaliser: Normaliser

    def _plans(self, k: int, rng: np.random.Generator) -> FloatArray:
        """Draw the weights eta of some lists of `k`, each as likely, one a row, (N, d + m)."""

    def _planned_rows(self, plans: FloatArray, free: MaskArray, k: int) -> IndexArray:
        """Return the rows of those `free` that the plans' lists are chosen from, sorted."""

    def _slate(self, items: IndexArray, scores: FloatArray) -> Slate:
        """Return a list as the policy makes its own."""


class Plans:
    """What each plan would take next while a list grows, and how likely each is followed.

    Parameters
    ----------
    weights
        What the plans go by, one a row, (N, d + m).
    free
        Which items are candidates, (L,).
    others
        Rows that may be taken though no plan chooses them.
    k
        Items in the list.
    """

    def __init__(
        self, policy: Planning, weights: FloatArray, free: MaskArray, others: IndexArray, k: int
    ) -> None:
        chosen_from = policy._planned_rows(weights, free, k)
        self._rows = np.union1d(chosen_from, others)
        self._gains = Gains(policy.catalogue, self._rows, k, policy.normaliser)
        self._theta, self._beta = np.split(weights, [policy.catalogue.d], axis=1)
        # z stays as it is while the list grows, so its share of the scores does too.
        self._open_scores_of_z = self._theta @ self._gains.z.T
        self._open_scores_of_z[:, ~np.isin(self._rows, chosen_from, assume_unique=True)] = -np.inf
        self._left = free.copy()
        #: How likely it is each of them that is followed, given the items taken so far, (N,)
        self.likely: FloatArray = np.full(len(weights), 1.0 / len(weights))
        #: The row that each plan would take now, (N,)
        self.choices = self._best()

    def take(self, row: int, chance: float) -> float:
        """Put a row into the next position, and return how likely it was to get there.

        That is 0 for what is no candidate, and then it is no news of which plan is followed.
        """
        propensity = 0.0
        if self._left[row]:
            by_chance = chance / np.count_nonzero(self._left)
            terms = by_chance + (1.0 - chance) * (self.choices == row)
            propensity = float(self.likely @ terms)
            if propensity > 0.0:
                self.likely = self.likely * terms / propensity
        place = self._place(row)
        self._gains.take(place)
        self._open_scores_of_z[:, place], self._left[row] = -np.inf, False
        self.choices = self._best()
        return min(propensity, 1.0)  # which rounding may exceed

    def score(self, plan: int, row: int) -> float:
        """Return what a plan scores a row in the next position."""
        z, x = self._gains.z[self._place(row)], self._gains.x[self._place(row)]
        return float(self._theta[plan] @ z + self._beta[plan] @ x)

    def _place(self, row: int) -> int:
        return int(np.searchsorted(self._rows, row))

    def _best(self) -> IndexArray:
        """Return the row with each plan's highest score, the first one of equals, (N,)."""
        scores = self._open_scores_of_z
        # By columns: a product of matrices this thin takes several times as long.
        for beta, x in zip(self._beta.T, self._gains.x.T, strict=True):
            scores = scores + np.multiply.outer(beta, x)
        best: IndexArray = self._rows[np.argmax(scores, axis=1)]
        return best


def planned_slate(
    policy: Planning, free: MaskArray, k: int, chance: float, draw: np.random.Generator
) -> tuple[Slate, FloatArray]:
    """Return what `explore_slate` promises, for a policy that plans."""
    weights = policy._plans(k, draw)
    followed = int(draw.integers(len(weights)))
    uniforms = draw.random(k) < chance
    # The first of these that is not taken yet is any of those left, each as likely.
    any_left = draw.choice(np.flatnonzero(free), k, replace=False)
    plans = Plans(policy, weights, free, any_left, k)
    items: list[int] = []
    scores, propensities = np.empty(k), np.empty(k)
    for position in range(k):
        row = int(plans.choices[followed])
        if uniforms[position]:
            row = next(one for one in any_left.tolist() if one not in items)
        scores[position] = plans.score(followed, row)
        propensities[position] = plans.take(row, chance)
        items.append(row)
    return policy._slate(np.array(items, dtype=np.intp), scores), propensities


def planned_chances(
    policy: Planning, free: MaskArray, rows: IndexArray, chance: float, draw: np.random.Generator
) -> tuple[FloatArray, IndexArray]:
    """Return what `slate_propensities` promises, for a policy that plans."""
    k = len(rows)
    plans = Plans(policy, policy._plans(k, draw), free, rows, k)
    chances, choices = np.empty(k), np.empty(k, dtype=np.intp)
    for position, row in enumerate(rows.tolist()):
        choices[position] = draw.choice(plans.choices, p=plans.likely)
        chances[position] = plans.take(row, chance)
    return chances, choices

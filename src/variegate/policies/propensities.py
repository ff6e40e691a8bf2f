"""Slates with random exploration and known propensities.

Such slates make a log from which other policies can be evaluated without bias; see
`variegate.evaluation.offpolicy`.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    as_generator,
    check_count,
    check_fraction,
)
from variegate.errors import InputError
from variegate.model.candidates import Candidates
from variegate.model.gains import Gains
from variegate.model.search import SEARCHES, greedy
from variegate.model.slate import Slate
from variegate.policies.base import Policy, finite_slate
from variegate.policies.dial import Dial
from variegate.policies.lmdt import LMDT


def explore_slate(
    policy: Policy,
    k: int,
    epsilon: float,
    candidates: ArrayLike | Candidates | None = None,
    exclude: ArrayLike | None = None,
    rng: Any = None,
    dial: Dial | None = None,
) -> tuple[Slate, FloatArray]:
    """Return a list with random items in some positions, and the propensities, (K,).

    The propensity of an item is the probability that it is placed in its position, given the
    items above it: ``epsilon`` divided by the number of candidates left, plus ``1 - epsilon`` if
    it is the policy's own choice there. LMDT samples `LMDT.n_samples` weights and follows one of
    the samples, each with the same probability; ``1 - epsilon`` is then multiplied by the
    posterior probability, given the items above, of the samples that choose the item. Given the
    samples, this is exact.

    Parameters
    ----------
    policy
        A policy that is not stochastic, or an LMDT, with greedy search.
    k, candidates, exclude, dial
        As for `Policy.recommend`.
    epsilon
        Probability, for each position, that a random candidate replaces the policy's choice.
    rng
        A NumPy generator or a seed.

    Examples
    --------
    >>> from variegate import LMDH, Catalogue
    >>> items = Catalogue(list("abc"), [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "cosine")
    >>> slate, propensities = explore_slate(LMDH(items), 2, epsilon=0.3, rng=1)
    >>> slate.ids, propensities.round(2)
    (('c', 'a'), array([0.8 , 0.85]))
    """
    if isinstance(candidates, Candidates):
        over = policy._over(policy._offered(candidates, None, {}))
        found, propensities = explore_slate(over, k, epsilon, candidates.free, None, rng, dial)
        return candidates.slate(found.items, found.scores, found.diversity), propensities
    _check_policy(policy)
    check_fraction(epsilon=epsilon)
    free = policy.catalogue.candidate_mask(candidates, exclude)
    left = int(np.count_nonzero(free))
    k = check_count(k, left)
    policy = policy._under_dial(dial)
    draw = as_generator(rng)
    if isinstance(policy, LMDT):
        sampled, propensities = _explore_samples(policy, free, k, epsilon, draw)
        return finite_slate(sampled), propensities
    explores = draw.random(k) < epsilon
    greedy_slate = finite_slate(policy._recommend(free, k, None))
    if not explores.any():
        slate, is_choice = greedy_slate, np.ones(k, dtype=np.bool_)
    else:
        slate, is_choice = _explore_path(policy, free, greedy_slate, explores, draw)
        slate = finite_slate(slate)
    return slate, epsilon / (left - np.arange(k)) + np.where(is_choice, 1.0 - epsilon, 0.0)


def slate_propensities(
    policy: Policy,
    items: ArrayLike,
    epsilon: float,
    candidates: ArrayLike | None = None,
    exclude: ArrayLike | None = None,
    rng: Any = None,
    dial: Dial | None = None,
) -> tuple[FloatArray, IndexArray]:
    """Return the propensities of `items` under `explore_slate`, and the policy's choices.

    The propensity of each item, (K,), is given the items above it; it is 0 for an item that is
    not a candidate. The policy's own choice is given the same items, (K,).

    For LMDT both depend on weights sampled here. The mean over such samples of a list's
    probability is its true probability, so an estimate that multiplies by it stays unbiased.
    The choice is that of one sample, drawn from their posterior given the items above.

    Parameters
    ----------
    policy, epsilon, candidates, exclude, dial
        As for `explore_slate`.
    items
        Rows of any list; at most as many as there are candidates.
    rng
        A NumPy generator or a seed, for LMDT.

    Examples
    --------
    >>> from variegate import LMDH, Catalogue
    >>> items = Catalogue(list("abc"), [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "cosine")
    >>> propensities, choices = slate_propensities(LMDH(items), [2, 1], epsilon=0.3)
    >>> propensities.round(2), choices
    (array([0.8 , 0.15]), array([2, 0]))
    """
    _check_policy(policy)
    check_fraction(epsilon=epsilon)
    free = policy.catalogue.candidate_mask(candidates, exclude)
    rows = np.asarray(items, dtype=np.intp)
    k = check_count(len(rows), int(np.count_nonzero(free)))
    policy = policy._under_dial(dial)
    if isinstance(policy, LMDT):
        return _sampled_propensities(policy, free, rows, epsilon, as_generator(rng))
    path, propensities = GreedyPath(policy, free, policy._recommend(free, k, None)), np.zeros(k)
    left, choices = free.copy(), np.empty(k, dtype=np.intp)
    for position, row in enumerate(rows.tolist()):
        choices[position] = path.choice()
        if left[row]:
            by_choice = 1.0 - epsilon if row == choices[position] else 0.0
            propensities[position] = epsilon / np.count_nonzero(left) + by_choice
        left[row] = False
        path.take(row)
    return propensities, choices


def choices_below(
    policy: Policy,
    k: int,
    prefixes: IndexArray,
    candidates: ArrayLike | None = None,
    dial: Dial | None = None,
) -> IndexArray:
    """Return the policy's own choices in lists of `k` with given first items, (M, p + 1).

    Each choice is given the rows above it; the last one is that below the whole prefix.

    Parameters
    ----------
    policy, k, candidates, dial
        As for `explore_slate`; the policy must not be stochastic.
    prefixes
        Rows of the first p positions, p less than `k`, (M, p).
    """
    _check_policy(policy)
    if policy.is_stochastic:
        raise _stochastic(policy)
    free = policy.catalogue.candidate_mask(candidates)
    k = check_count(k, int(np.count_nonzero(free)))
    policy = policy._under_dial(dial)
    greedy_slate = policy._recommend(free, k, None)
    choices = np.empty((len(prefixes), prefixes.shape[1] + 1), dtype=np.intp)
    for chosen, prefix in zip(choices, prefixes.tolist(), strict=True):
        path = GreedyPath(policy, free, greedy_slate)
        for position, row in enumerate(prefix):
            chosen[position] = path.choice()
            path.take(row)
        chosen[-1] = path.choice()
    return choices


def has_propensities(policy: Policy) -> bool:
    """Return whether `explore_slate` knows the propensities of the policy's lists."""
    return not policy.is_stochastic or isinstance(policy, LMDT)


def _check_policy(policy: Policy) -> None:
    if not has_propensities(policy):
        raise _stochastic(policy)
    if policy._search is not greedy:
        names = [name for name, search in SEARCHES.items() if search is policy._search]
        raise InputError(
            f"`policy` must search greedily, got {policy.name} with {', '.join(names)} search: "
            "it does not choose item by item"
        )


def _stochastic(policy: Policy) -> InputError:
    return InputError(
        f"`policy` must choose the same list every time, got {policy.name}, which is stochastic"
    )


class GreedyPath:
    """The policy's next choice, given any items taken so far.

    While these are the beginning of the policy's greedy list, the choice is the next item of
    that list, so that rounding or a shortlist cannot make the policy contradict itself: the
    choice is a function of the items above, as propensities require.
    """

    def __init__(self, policy: Policy, free: MaskArray, greedy_slate: Slate) -> None:
        self._policy, self._free, self._greedy = policy, free, greedy_slate
        self.items: list[int] = []
        self._off_path: OffPath | None = None

    def choice(self) -> int:
        """Return the row that the policy would take now."""
        if self._off_path is None:
            return int(self._greedy.items[len(self.items)])
        return self._off_path.best()

    def take(self, row: int) -> float:
        """Put a row into the next position and return the policy's score of it there."""
        position = len(self.items)
        if self._off_path is None and row == self._greedy.items[position]:
            score = float(self._greedy.scores[position])
        else:
            if self._off_path is None or not self._off_path.has(row):
                k = len(self._greedy)
                rows = self._policy._candidates(self._free, k)
                self._off_path = OffPath(self._policy, rows, self.items, row, k)
            score = self._off_path.take(row)
        self.items.append(row)
        return score


class OffPath:
    """The policy's scores of the candidates after a list has left the greedy one."""

    def __init__(
        self, policy: Policy, rows: IndexArray, above: list[int], row: int, k: int
    ) -> None:
        # A random item from outside a shortlist is scored with the others, but is no choice.
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
        """Return the row that the policy would take next, the first in case of ties."""
        return int(self._rows[np.argmax(np.where(self._is_open, self._current(), -np.inf))])

    def take(self, row: int) -> float:
        """Take `row` and return its score."""
        score = float(self._current()[np.searchsorted(self._rows, row)])
        self._close(row)
        return score

    def _current(self) -> FloatArray:
        if self._scores is None:
            self._scores = self._scorer.scores()
        return self._scores

    def _close(self, row: int) -> None:
        place = int(np.searchsorted(self._rows, row))
        self._scorer.take(place)
        self._is_open[place], self._scores = False, None


def _explore_path(
    policy: Policy,
    free: MaskArray,
    greedy_slate: Slate,
    explores: MaskArray,
    draw: np.random.Generator,
) -> tuple[Slate, MaskArray]:
    """Return the list with random items where it `explores`, and where it has the choice."""
    path, k = GreedyPath(policy, free, greedy_slate), len(greedy_slate)
    rows = np.flatnonzero(free)
    scores, is_choice = np.empty(k), np.empty(k, dtype=np.bool_)
    for position in range(k):
        choice = path.choice()
        row = _random_row(rows, path.items, draw) if explores[position] else choice
        is_choice[position] = row == choice
        scores[position] = path.take(row)
    return policy._slate(np.array(path.items, dtype=np.intp), scores), is_choice


def _random_row(rows: IndexArray, taken: list[int], draw: np.random.Generator) -> int:
    """Return one of the sorted `rows` that is not `taken`, each with the same probability."""
    place = int(draw.integers(len(rows) - len(taken)))
    for gone in np.sort(np.searchsorted(rows, taken)).tolist():
        place += gone <= place
    return int(rows[place])


class SampledPaths:
    """The next choice of each sample of LMDT's weights, and each sample's probability.

    Parameters
    ----------
    samples
        The weights, one row per sample, (N, d + m).
    free
        Which items are candidates, (L,).
    others
        Rows that may be taken although no sample chooses them.
    k
        Items in the list.
    """

    def __init__(
        self, policy: LMDT, samples: FloatArray, free: MaskArray, others: IndexArray, k: int
    ) -> None:
        chosen_from = policy._candidates_of(samples, free, k)
        self._rows = np.union1d(chosen_from, others)
        self._gains = Gains(policy.catalogue, self._rows, k, policy.normaliser)
        self._theta, self._beta = np.split(samples, [policy.catalogue.d], axis=1)
        # z does not change while the list grows, so its part of the scores does not either.
        self._open_scores_of_z = self._theta @ self._gains.z.T
        self._open_scores_of_z[:, ~np.isin(self._rows, chosen_from, assume_unique=True)] = -np.inf
        self._left = free.copy()
        #: Posterior probability of each sample, given the items taken so far, (N,)
        self.posterior: FloatArray = np.full(len(samples), 1.0 / len(samples))
        #: The row that each sample would take now, (N,)
        self.choices = self._best()

    def take(self, row: int, epsilon: float) -> float:
        """Put a row into the next position and return its propensity there.

        It is 0 for a row that is not a candidate, which leaves the posterior unchanged.
        """
        propensity = 0.0
        if self._left[row]:
            at_random = epsilon / np.count_nonzero(self._left)
            likelihoods = at_random + (1.0 - epsilon) * (self.choices == row)
            propensity = float(self.posterior @ likelihoods)
            if propensity > 0.0:
                self.posterior = self.posterior * likelihoods / propensity
        place = self._place(row)
        self._gains.take(place)
        self._open_scores_of_z[:, place], self._left[row] = -np.inf, False
        self.choices = self._best()
        return min(propensity, 1.0)  # rounding can exceed it

    def score(self, sample: int, row: int) -> float:
        """Return the score of a row in the next position under one sample."""
        z, x = self._gains.z[self._place(row)], self._gains.x[self._place(row)]
        return float(self._theta[sample] @ z + self._beta[sample] @ x)

    def _place(self, row: int) -> int:
        return int(np.searchsorted(self._rows, row))

    def _best(self) -> IndexArray:
        """Return the row with each sample's highest score, the first in case of ties, (N,)."""
        scores = self._open_scores_of_z
        # By columns: a product of matrices this thin takes several times as long.
        for beta, x in zip(self._beta.T, self._gains.x.T, strict=True):
            scores = scores + np.multiply.outer(beta, x)
        best: IndexArray = self._rows[np.argmax(scores, axis=1)]
        return best


def _explore_samples(
    policy: LMDT, free: MaskArray, k: int, epsilon: float, draw: np.random.Generator
) -> tuple[Slate, FloatArray]:
    """Return the result of `explore_slate` for LMDT."""
    samples = policy._sample_weights(k, draw)
    followed = int(draw.integers(len(samples)))
    explores = draw.random(k) < epsilon
    # The first of these that is not taken yet is uniform over the candidates left.
    shuffled = draw.choice(np.flatnonzero(free), k, replace=False)
    paths = SampledPaths(policy, samples, free, shuffled, k)
    items: list[int] = []
    scores, propensities = np.empty(k), np.empty(k)
    for position in range(k):
        row = int(paths.choices[followed])
        if explores[position]:
            row = next(one for one in shuffled.tolist() if one not in items)
        scores[position] = paths.score(followed, row)
        propensities[position] = paths.take(row, epsilon)
        items.append(row)
    return policy._slate(np.array(items, dtype=np.intp), scores), propensities


def _sampled_propensities(
    policy: LMDT, free: MaskArray, rows: IndexArray, epsilon: float, draw: np.random.Generator
) -> tuple[FloatArray, IndexArray]:
    """Return the result of `slate_propensities` for LMDT."""
    k = len(rows)
    samples = policy._sample_weights(k, draw)
    paths = SampledPaths(policy, samples, free, rows, k)
    propensities, choices = np.empty(k), np.empty(k, dtype=np.intp)
    for position, row in enumerate(rows.tolist()):
        choices[position] = draw.choice(paths.choices, p=paths.posterior)
        propensities[position] = paths.take(row, epsilon)
    return propensities, choices

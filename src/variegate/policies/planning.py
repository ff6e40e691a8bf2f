"""Policies that draw, as a few plans that were drawn beforehand, of which a list follows one.

Given the plans nothing is left to guess: how likely each item was in its position is a sum over
them. So what a log says of such a list is exact, and an estimate from it has no bias, whichever
plans were drawn.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.model.catalogue import Catalogue
from variegate.model.gains import Gains, Normaliser
from variegate.model.slate import Slate


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

"""Algorithm 2 with the paper's block matrices, transcribed line by line: the reference of LMDH.

It shares no code with the rest of the package: LMDH uses sums of concatenated features, updated
gains and compiled loops instead. Where the printed lines are wrong (errata E1 to E4 in
docs/explanation/paper.md), the code has the corrected ones, with a comment.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# Defined here and not imported from `variegate.arrays`, to depend on nothing.
FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.intp]

#: The m distances between n candidates: m matrices (n, n), or a function that gives the
#: distances from one candidate to all, (m, n).
Distances: TypeAlias = Sequence[FloatArray] | Callable[[int], FloatArray]
#: Returns the factor of the distances of the item at a position (from 1).
Factor: TypeAlias = Callable[[int], float]


def unscaled(_position: int) -> float:
    """Return 1: Eq. 5 as printed."""
    return 1.0


@dataclass(frozen=True, eq=False)
class Selection:
    """A list A_t in its order, with the gains of line 8 of each item when it was picked (E4)."""

    #: Which of the candidates, (K,)
    places: IndexArray
    #: z_a, (K, d)
    z: FloatArray
    #: x_a, (K, m)
    x: FloatArray
    #: mu_a, (K,)
    scores: FloatArray


class _Lines4To14:
    """Lines 2 and 4 to 14, from the statistics that both ways of learning maintain."""

    def __init__(self, d: int, m: int, ridge: float, exploration: float) -> None:
        self.exploration = exploration
        # line 2; H and M only ever enter lines 4 and 9 by their inverses
        self.H_inverse: FloatArray = np.eye(d) / ridge
        self.M_inverse: FloatArray = np.eye(m) / ridge
        self.B: FloatArray = np.zeros((d, m))
        self.u: FloatArray = np.zeros(d)
        self.y: FloatArray = np.zeros(m)

    @property
    def theta(self) -> FloatArray:
        """The relevance estimate of line 4, (d,)."""
        return self.H_inverse @ self.u

    @property
    def beta(self) -> FloatArray:
        """The diversity estimate of line 4, (m,)."""
        return self.M_inverse @ (self.y - self.B.T @ self.theta)

    def variance(self, z: FloatArray, x: FloatArray) -> FloatArray:
        """Return v_a of items with gains z (..., d) and x (..., m): line 9, term by term."""
        H_inverse, M_inverse, B = self.H_inverse, self.M_inverse, self.B
        cross = H_inverse @ B @ M_inverse
        v: FloatArray = (
            ((z @ H_inverse) * z).sum(axis=-1)
            - 2.0 * ((z @ cross) * x).sum(axis=-1)
            + ((x @ M_inverse) * x).sum(axis=-1)
            + ((x @ (M_inverse @ B.T @ cross)) * x).sum(axis=-1)
        )
        return v

    def scores(self, z: FloatArray, x: FloatArray) -> FloatArray:
        """Return mu_a of each row of z (n, d) and x (n, m): lines 9 and 10."""
        v = np.maximum(self.variance(z, x), 0.0)  # rounding can go below 0
        mu: FloatArray = z @ self.theta + x @ self.beta + self.exploration * np.sqrt(v)
        return mu

    def recommend(
        self, z: FloatArray, distances: Distances, k: int, factor: Factor = unscaled
    ) -> Selection:
        """Return the list of `k` that lines 5 to 14 pick; ties go to the first candidate.

        Parameters
        ----------
        z
            Relevance gains of the candidates E_t, (n, d).
        distances
            Between the candidates.
        k
            The number of items to pick, at most n.
        factor
            How the distances at each position are scaled; not scaled by default.
        """
        places: list[int] = []  # line 5
        sums = np.zeros((len(z), len(self.y)))
        chosen_x, chosen_scores = np.zeros((k, len(self.y))), np.zeros(k)
        for position in range(1, k + 1):  # line 6
            x = factor(position) * sums  # line 8
            mu = self.scores(z, x)  # lines 9 and 10
            mu[places] = -np.inf  # line 7: only items of E_t that are not in A_t
            best = int(np.argmax(mu))  # line 12
            chosen_x[position - 1], chosen_scores[position - 1] = x[best], mu[best]
            places.append(best)  # line 13
            sums = sums + _from_item(distances, best).reshape(-1, len(z)).T
        return Selection(np.array(places, dtype=np.intp), z[places], chosen_x, chosen_scores)


class BlockLMDH(_Lines4To14):
    """Algorithm 2 as corrected, learning a whole list at a time.

    Parameters
    ----------
    d, m
        Number of relevance features and of distances; m may be 0.
    ridge
        lambda.
    exploration
        alpha.
    """

    def __init__(self, d: int, m: int, ridge: float, exploration: float) -> None:
        super().__init__(d, m, ridge, exploration)
        self.H: FloatArray = ridge * np.eye(d)  # line 2
        self.M: FloatArray = ridge * np.eye(m)

    def learn(self, z: FloatArray, x: FloatArray, w: FloatArray) -> None:
        """Learn from the rewards w (K,) of a list with gains z (K, d) and x (K, m)."""
        H = self.H + self.B @ self.M_inverse @ self.B.T  # line 16
        u = self.u + self.B @ self.M_inverse @ self.y  # line 17
        self.M = self.M + sum(np.outer(x_a, x_a) for x_a in x)  # line 18
        self.B = self.B + sum(np.outer(z_a, x_a) for z_a, x_a in zip(z, x, strict=True))  # line 19
        self.y = self.y + sum(w_a * x_a for w_a, x_a in zip(w, x, strict=True))  # line 20, E3
        self.M_inverse = np.linalg.inv(self.M).astype(np.float64, copy=False)
        # line 21; the paper forgets to sum z_a z_a' over the list (E1)
        H = H + sum(np.outer(z_a, z_a) for z_a in z)
        self.H = H - self.B @ self.M_inverse @ self.B.T
        # line 22; the paper forgets the rewards that relevance earned, w_a z_a (E2)
        u = u + sum(w_a * z_a for w_a, z_a in zip(w, z, strict=True))
        self.u = u - self.B @ self.M_inverse @ self.y
        self.H_inverse = np.linalg.inv(self.H).astype(np.float64, copy=False)


class RankOneLMDH(_Lines4To14):
    """The same learner, one observation at a time and without inverting a matrix.

    This is how lines 16 to 22 reach the cost that the paper claims, d^2 + m^2 + d m per
    observation (E16). Parameters are those of `BlockLMDH`.
    """

    def learn(self, z: FloatArray, x: FloatArray, w: FloatArray) -> None:
        """Learn from the rewards w (K,) of a list with gains z (K, d) and x (K, m)."""
        for z_a, x_a, w_a in zip(z, x, w, strict=True):
            self._observe(z_a, x_a, float(w_a))

    def _observe(self, z: FloatArray, x: FloatArray, w: float) -> None:
        M_x = self.M_inverse @ x
        s = 1.0 + x @ M_x
        g = z - self.B @ M_x  # the part of z that x does not explain
        r = w - M_x @ self.y  # the part of the reward that diversity does not explain
        H_g = self.H_inverse @ g
        self.H_inverse = self.H_inverse - np.outer(H_g, H_g) / (s + g @ H_g)
        self.u = self.u + g * (r / s)
        self.M_inverse = self.M_inverse - np.outer(M_x, M_x) / s
        self.B = self.B + np.outer(z, x)
        self.y = self.y + w * x


def _from_item(distances: Distances, item: int) -> FloatArray:
    """Return what `item` adds to Delta_V of each candidate (Eq. 7), (m, n)."""
    if callable(distances):
        return distances(item)
    return np.array([h[item] for h in distances])

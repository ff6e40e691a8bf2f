"""The pseudo-inverse estimator for whole lists (Swaminathan et al. 2017).

It assumes that the expected total reward of a list is a sum of one unknown number for each pair of
a position and an item. Then no probability of the whole list is needed: with Gamma, the
(K L, K L) matrix of the probabilities that two pairs are in one logged list, and q, the
probabilities of the target's pairs, the weight of a list s is q' Gamma^+ 1_s. It is of the order of
one over the probability of the rarest pair, where `sips` multiplies over all positions.

Gamma must be known, and three logging policies are supported: positions that are filled
independently, lists drawn uniformly without repeats, and lists of `explore_slate`.
"""

from dataclasses import dataclass
from itertools import permutations
from math import perm
from typing import Final, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_count, check_numbers
from variegate.errors import InputError
from variegate.evaluation.offpolicy.estimators import (
    Estimate,
    Options,
    marginal_ratios,
    weighted_estimate,
)
from variegate.evaluation.offpolicy.logs import SlateLog
from variegate.policies import Dial, Policy, choices_below

#: The maximum number of prefixes (all positions but the last) to enumerate: about a second.
MAX_PREFIXES: Final = 2_000
#: The maximum number of pairs of position and candidate: the time grows with its cube.
MAX_PAIRS: Final = 500


def pi(log: SlateLog, weights: ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Weigh each list's total by its pseudo-inverse weight.

    Unbiased if the expected total of a list is a sum over pairs of position and item, and the
    logging policy can show every list that the target can. The rewards of single positions do not
    matter. Where items interact it is biased, and more data do not help.

    Parameters
    ----------
    weights
        From `pi_weights_independent`, `pi_weights_uniform` or `SlatePairs.weight`, (n,). They
        may be negative, and their mean is near 1.
    options
        See `Options`. Self-normalised it is the paper's wPI.
    """
    numbers = check_numbers("weights", weights, ndim=1)
    if numbers.shape != (len(log),):
        raise InputError(f"`weights` must have {len(log)} entries, got {len(numbers)}")
    if not numbers.any():
        raise InputError("`weights` must not all be 0: the log has nothing that the target shows")
    return weighted_estimate(numbers[:, None], log.totals[:, None], **options)


def pi_weights_independent(
    log: SlateLog, target_marginals: ArrayLike, logging_marginals: ArrayLike
) -> FloatArray:
    """Return the weights for logging that fills each position independently of the others, (n,).

    Parameters
    ----------
    target_marginals, logging_marginals
        Each policy's probability of the logged item in its position, (n, K).
    """
    ratios = marginal_ratios(log, target_marginals, logging_marginals)
    weights: FloatArray = ratios.sum(axis=1) - (log.k - 1)
    return weights


def pi_weights_uniform(log: SlateLog, target_marginals: ArrayLike, count: ArrayLike) -> FloatArray:
    """Return the weights for lists drawn uniformly from `count` candidates, (n,).

    Parameters
    ----------
    target_marginals
        The target's marginal probability of each item in each position, (n, K, L).
    count
        The number of candidates, one number or (n,).
    """
    marginals = check_numbers("target_marginals", target_marginals, ndim=3)
    if marginals.shape[:2] != log.items.shape or marginals.shape[2] <= log.items.max():
        raise InputError(
            f"`target_marginals` must have shape {log.items.shape} and a column for each item, "
            f"got {marginals.shape}"
        )
    counts = np.broadcast_to(np.asarray(count, dtype=np.int64), len(log))
    if (counts < log.k).any():
        raise InputError(f"`count` must be at least {log.k}, got {counts.min()}")
    return np.array(
        [
            uniform_weight(items, one, int(n))
            for items, one, n in zip(log.items, marginals, counts, strict=True)
        ]
    )


def uniform_weight(items: IndexArray, target_marginals: FloatArray, count: int) -> float:
    """Return the weight of one list drawn uniformly; `target_marginals` is (K, L).

    Gamma's eigenspaces are known: constants (eigenvalue K / n), item effects
    ((n - K) / (n (n - 1))), interactions (1 / (n - 1)), and position effects (0).
    """
    k = len(items)
    in_place = float(target_marginals[np.arange(k), items].sum())
    anywhere = float(target_marginals[:, items].sum())
    weight = 1.0 + (count - 1) * (in_place - anywhere / k)
    if count > k:
        weight += count * (count - 1) / (count - k) * (anywhere - k * k / count) / k
    return weight


@dataclass(frozen=True, eq=False)
class SlatePairs:
    """Probabilities of pairs of position and item, and of two such pairs, in a policy's list."""

    #: The rows of the candidates, sorted, (N,)
    rows: IndexArray
    #: Gamma: probability of two pairs in one list, (K N, K N)
    joint: FloatArray

    @property
    def marginals(self) -> FloatArray:
        """The probability of each item in each position, (K, N)."""
        diagonal: FloatArray = np.diagonal(self.joint).reshape(-1, len(self.rows))
        return diagonal

    def solution(self, items: IndexArray) -> FloatArray:
        """Return Gamma^+ 1_s for a list of rows, (K, N).

        Every list of the candidates must be possible, as with any mix greater than 0.
        """
        k, size = len(items), len(self.rows)
        indicator = _indicator(self.rows, items)
        # Gamma's null space is known, and 1_s is orthogonal to it: filled up, Gamma is regular.
        null = _null_space(k, size)
        found: FloatArray = solve(self.joint + null @ null.T, indicator, assume_a="pos")
        return found.reshape(k, size)

    def weight(self, items: IndexArray, target_marginals: FloatArray) -> float:
        """Return the weight of a logged list; `target_marginals` is (K, N)."""
        return float((self.solution(items) * target_marginals).sum())


def is_enumerable(count: int, k: int) -> bool:
    """Return whether lists of `k` of `count` candidates are few enough for `slate_pairs`."""
    return k * count <= MAX_PAIRS and perm(count, k - 1) <= MAX_PREFIXES


def slate_pairs(
    policy: Policy,
    k: int,
    mix: float,
    candidates: MaskArray | None = None,
    dial: Dial | None = None,
) -> SlatePairs:
    """Return the exact probabilities of pairs in the lists of `explore_slate`.

    All prefixes of a list are enumerated, L (L - 1) ... of them without the last position, whose
    probabilities follow from the others. There can be at most `MAX_PREFIXES`.

    Parameters
    ----------
    policy, k, candidates, dial
        As for `explore_slate`; the policy must be deterministic.
    mix
        The probability with which each position takes a random candidate.
    """
    rows = policy.catalogue.candidates(candidates)
    k = check_count(k, len(rows))
    if mix == 0.0:
        one = _indicator(rows, policy.recommend(k, candidates=candidates, dial=dial).items)
        return SlatePairs(rows, np.outer(one, one))
    if not is_enumerable(len(rows), k):
        raise InputError(
            f"`pi` must have at most {MAX_PREFIXES} prefixes of a list and {MAX_PAIRS} pairs of "
            f"position and candidate, got lists of {k} of {len(rows)}: use rips or dr"
        )
    prefixes = np.array(list(permutations(range(len(rows)), k - 1)), dtype=np.intp)
    prefixes = prefixes.reshape(perm(len(rows), k - 1), k - 1)
    own = choices_below(policy, k, rows[prefixes], candidates, dial)
    left = len(rows) - np.arange(k - 1)
    probabilities = (mix / left + (1.0 - mix) * (rows[prefixes] == own[:, :-1])).prod(axis=1)
    choices = np.searchsorted(rows, own[:, -1])
    return SlatePairs(rows, _joint(prefixes, probabilities, choices, mix, len(rows)))


def _indicator(rows: IndexArray, items: IndexArray) -> FloatArray:
    """Return 1_s of a list, (K N,)."""
    indicator = np.zeros((len(items), len(rows)))
    indicator[np.arange(len(items)), np.searchsorted(rows, items)] = 1.0
    return indicator.ravel()


def _null_space(k: int, size: int) -> FloatArray:
    """Return columns that span the null space of Gamma, (K N, ...).

    Every position has one item, so effects of positions that add up to 0 change no list's sum;
    where all items are shown, neither do such effects of items.
    """
    null = np.kron(_differences(k), np.ones((size, 1))).astype(np.float64)
    if size == k:
        null = np.hstack([null, np.kron(np.ones((k, 1)), _differences(size))])
    return null


def _differences(count: int) -> FloatArray:
    """Return columns that span the vectors whose sum is 0, (count, count - 1)."""
    differences: FloatArray = np.eye(count)[:, 1:] - np.eye(count)[:, :1]
    return differences


def _joint(
    prefixes: IndexArray, probabilities: FloatArray, choices: IndexArray, mix: float, size: int
) -> FloatArray:
    """Return Gamma from each prefix's probability and the policy's choice below it."""
    k = prefixes.shape[1] + 1
    joint = np.zeros((k, size, k, size))
    last, left = k - 1, size - (k - 1)
    for j, a in enumerate(prefixes.T):
        for i, b in enumerate(prefixes.T):
            np.add.at(joint, (j, a, i, b), probabilities)
    for j, a in enumerate(prefixes.T):
        own = np.zeros((size, size))
        np.add.at(own, (a, choices), probabilities)
        marginal = np.diagonal(joint[j, :, j])[:, None]
        # A random last item is any that is not above.
        random = (marginal - joint[j, :, :last].sum(axis=1)) / left
        joint[j, :, last] = mix * random + (1.0 - mix) * own
        joint[last, :, j] = joint[j, :, last].T
    above = sum((np.diagonal(joint[j, :, j]) for j in range(last)), start=np.zeros(size))
    by_choice = np.bincount(choices, weights=probabilities, minlength=size)
    np.fill_diagonal(joint[last, :, last], mix * (1.0 - above) / left + (1.0 - mix) * by_choice)
    return joint.reshape(k * size, k * size)

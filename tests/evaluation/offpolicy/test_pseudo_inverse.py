"""The pseudo-inverse estimator on logs with known truth: every list is enumerated."""

from functools import cache
from itertools import permutations

import numpy as np
import pytest

from variegate import LMDH, Catalogue, Policy, make_policy
from variegate.arrays import FloatArray, IndexArray
from variegate.errors import InputError
from variegate.evaluation.offpolicy import (
    SlateLog,
    pi,
    pi_weights_independent,
    pi_weights_uniform,
    rips,
    sips,
    slate_log,
    slate_pairs,
    target_of_lists,
)
from variegate.evaluation.offpolicy.pseudo_inverse import SlatePairs
from variegate.policies import Dial, slate_propensities

ITEMS, K, MIX = 7, 3, 0.4
LISTS: IndexArray = np.array(list(permutations(range(ITEMS), K)))
#: What each pair of position and item adds to a list, (K, ITEMS)
WORTH: FloatArray = np.random.default_rng(4).uniform(0.0, 0.6, (K, ITEMS))


@cache
def logging_policy() -> LMDH:
    features = np.random.default_rng(2).normal(size=(ITEMS, 3))
    policy = LMDH(Catalogue(range(ITEMS), features, "cosine"), ridge=1.0)
    policy.update(policy.recommend(K), [1, 0, 1])
    return policy


def far_policy() -> Policy:
    """Return a policy that shows nothing in the place where the logging policy does."""
    own = logging_policy().recommend(ITEMS).items
    popularity = np.empty(ITEMS)
    popularity[own] = np.arange(ITEMS)
    return make_policy("popular", logging_policy().catalogue, popularity=popularity)


@cache
def propensities() -> FloatArray:
    """Return how likely each item of each list is, given those above, (n, K)."""
    return np.array([slate_propensities(logging_policy(), one, MIX)[0] for one in LISTS])


def chances() -> FloatArray:
    """Return how likely the logging policy shows each list."""
    likely: FloatArray = propensities().prod(axis=1)
    return likely


def indicators(lists: IndexArray, items: int) -> FloatArray:
    """Return 1_s of each list, (n, K * items)."""
    found: FloatArray = np.eye(items)[lists].reshape(len(lists), -1)
    return found


def additive(lists: IndexArray) -> FloatArray:
    """Return what each position adds to the expected total, (n, K)."""
    earned: FloatArray = WORTH[np.arange(K), lists]
    return earned


def interacting(lists: IndexArray) -> FloatArray:
    """Return the same for users who are bored by items near the one above."""
    apart = np.abs(np.diff(lists, axis=1, prepend=lists[:, :1] + ITEMS)) / ITEMS
    earned: FloatArray = additive(lists) * apart
    return earned


def drawn_log(seed: int, n: int) -> tuple[SlateLog, IndexArray]:
    """Draw lists of the logging policy with additive clicks; return which of `LISTS` they are."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(LISTS), n, p=chances())
    clicks = rng.random((n, K)) < additive(LISTS[rows])
    return slate_log(LISTS[rows], clicks, propensities()[rows]), rows


def weights_by_list(pairs: SlatePairs, target: FloatArray) -> FloatArray:
    return np.array([pairs.weight(one, target) for one in LISTS])


@pytest.mark.parametrize(("items", "k"), [(5, 1), (6, 2), (5, 3), (4, 4)])
@pytest.mark.parametrize("dial", [None, Dial(scale=0.0)])
def test_pairs_are_those_of_all_lists(items: int, k: int, dial: Dial | None) -> None:
    features = np.random.default_rng(1).normal(size=(items, 3))
    policy = LMDH(Catalogue(range(items), features, "cosine"), ridge=1.0)
    policy.update(policy.recommend(3), [1, 0, 1])
    lists = np.array(list(permutations(range(items), k)))
    likely = np.array([slate_propensities(policy, one, MIX, dial=dial)[0].prod() for one in lists])
    shown = indicators(lists, items)

    found = slate_pairs(policy, k, MIX, dial=dial)

    gamma = (shown * likely[:, None]).T @ shown
    np.testing.assert_allclose(found.joint, gamma, atol=1e-13)
    inverse = np.linalg.pinv(gamma, rcond=1e-12, hermitian=True)
    for one, indicator in zip(lists[:5], shown, strict=False):
        np.testing.assert_allclose(found.solution(one).ravel(), inverse @ indicator, atol=1e-7)


def test_candidates_are_the_only_rows() -> None:
    free = np.array([True, False, True, True, True, False, True])

    found = slate_pairs(logging_policy(), K, MIX, free)

    np.testing.assert_array_equal(found.rows, np.flatnonzero(free))
    np.testing.assert_allclose(found.marginals.sum(axis=1), 1.0)


@pytest.mark.parametrize("target_mix", [0.0, 0.2, 1.0])
def test_the_expected_estimate_is_the_truth_if_lists_are_additive(target_mix: float) -> None:
    target = slate_pairs(far_policy(), K, target_mix).marginals
    weights = weights_by_list(slate_pairs(logging_policy(), K, MIX), target)

    expected = float(chances() @ (weights * additive(LISTS).sum(axis=1)))

    assert chances() @ weights == pytest.approx(1.0, abs=1e-9)
    assert expected == pytest.approx(float((target * WORTH).sum()), abs=1e-9)


def test_the_expected_estimate_is_biased_if_items_interact() -> None:
    shown = far_policy().recommend(K).items
    target = slate_pairs(far_policy(), K, 0.0).marginals
    weights = weights_by_list(slate_pairs(logging_policy(), K, MIX), target)

    expected = float(chances() @ (weights * interacting(LISTS).sum(axis=1)))

    truth = float(interacting(shown[None]).sum())
    # No number of lists takes this away; see docs/how-to/evaluation.md.
    assert truth == pytest.approx(0.910, abs=1e-3)
    assert expected == pytest.approx(0.755, abs=1e-3)


def test_weights_vary_far_less_than_those_of_whole_lists() -> None:
    shown = far_policy().recommend(K).items
    target = slate_pairs(far_policy(), K, 0.0).marginals
    weights = weights_by_list(slate_pairs(logging_policy(), K, MIX), target)
    (rarest,) = chances()[(shown == LISTS).all(axis=1)]

    # The mean square of the weights; measured: 66 and 3,281.
    assert float(chances() @ weights**2) < 0.05 / rarest


def test_estimates_of_many_logs_scatter_around_the_truth_as_they_say() -> None:
    policy, n = far_policy(), 300
    target = slate_pairs(policy, K, 0.0).marginals
    pairs = slate_pairs(logging_policy(), K, MIX)
    weights = weights_by_list(pairs, target)
    truth = float((target * WORTH).sum())
    found, theirs = [], []
    for seed in range(100):
        log, rows = drawn_log(seed, n)
        found.append(pi(log, weights[rows]))
        theirs.append((log.items == policy.recommend(K).items).all(axis=1) @ log.totals)

    values, errors = np.array([(one.value, one.standard_error) for one in found]).T
    assert abs(values.mean() - truth) < 3.0 * values.std() / 10.0
    assert 0.8 < errors.mean() / values.std() < 1.2
    # Most logs have no list of the target's at all, so that sips and rips have no estimate.
    assert np.count_nonzero(theirs) < 20


def test_the_variance_is_far_below_that_of_other_estimators() -> None:
    policy = far_policy()
    target = slate_pairs(policy, K, 0.0).marginals
    weights = weights_by_list(slate_pairs(logging_policy(), K, MIX), target)
    log, rows = drawn_log(0, 40_000)
    lists = target_of_lists(log, np.tile(policy.recommend(K).items, (len(log), 1)))

    ours = pi(log, weights[rows])
    normalised = pi(log, weights[rows], self_normalised=True)

    truth = float((target * WORTH).sum())
    for one in (ours, normalised):
        assert abs(one.value - truth) < 3.0 * one.standard_error
    # Measured: 0.025 and 0.090 of their variance.
    assert ours.standard_error**2 < 0.05 * sips(log, lists).standard_error ** 2
    assert ours.standard_error**2 < 0.15 * rips(log, lists).standard_error ** 2


@pytest.mark.parametrize(("items", "k"), [(5, 1), (6, 3), (4, 4)])
def test_weights_of_uniform_lists_are_those_of_the_pseudo_inverse(items: int, k: int) -> None:
    lists = np.array(list(permutations(range(items), k)))
    shown = indicators(lists, items)
    inverse = np.linalg.pinv(shown.T @ shown / len(lists), hermitian=True)
    likely = np.random.default_rng(3).dirichlet(np.ones(len(lists)))
    target = likely @ shown
    uniform = 1.0 / (items - np.arange(k))
    log = slate_log(lists, np.zeros(lists.shape), np.tile(uniform, (len(lists), 1)))

    found = pi_weights_uniform(log, np.tile(target.reshape(k, items), (len(lists), 1, 1)), items)

    np.testing.assert_allclose(found, shown @ inverse @ target, atol=1e-9)


def test_weights_of_independent_positions_are_those_of_the_pseudo_inverse() -> None:
    # Repeats are allowed here, which a log cannot hold: each position has items of its own.
    first, second = np.array([0.2, 0.8]), np.array([0.5, 0.1, 0.4])
    target = np.array([0.7, 0.3, 0.1, 0.6, 0.3])
    lists = np.array([(a, 2 + b) for a in range(2) for b in range(3)])
    shown = np.eye(5)[lists].sum(axis=1)
    likely = np.multiply.outer(first, second).ravel()
    inverse = np.linalg.pinv((shown * likely[:, None]).T @ shown, hermitian=True)
    logged = np.concatenate([first, second])[lists]
    log = slate_log(lists, np.zeros(lists.shape), logged)

    found = pi_weights_independent(log, target[lists], logged)

    np.testing.assert_allclose(found, shown @ inverse @ target, atol=1e-9)


LOG = slate_log([[0, 1], [1, 0]], [[1, 0], [0, 0]], [[0.5, 1.0]] * 2)


def test_weights_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="`weights` must have 2 entries, got 1"):
        pi(LOG, [1.0])
    with pytest.raises(InputError, match="`weights` must not all be 0: the log has nothing"):
        pi(LOG, [0.0, 0.0])
    with pytest.raises(InputError, match=r"`target_marginals` must have shape \(2, 2\) and a col"):
        pi_weights_uniform(LOG, np.zeros((2, 2, 1)), 2)
    with pytest.raises(InputError, match="`count` must be at least 2, got 1"):
        pi_weights_uniform(LOG, np.zeros((2, 2, 2)), 1)
    with pytest.raises(InputError, match="`logging_marginals` must be greater than 0"):
        pi_weights_independent(LOG, [[1.0, 1.0]] * 2, np.zeros((2, 2)))


def test_lists_that_are_too_many_are_refused() -> None:
    large = LMDH(Catalogue(range(60), np.random.default_rng(0).normal(size=(60, 2)), "cosine"))

    with pytest.raises(InputError, match=r"2000 prefixes .*, got lists of 3 of 60: use rips"):
        slate_pairs(large, 3, 0.1)


def test_policies_that_draw_are_refused() -> None:
    policy = make_policy("lmdt", logging_policy().catalogue)

    with pytest.raises(InputError, match="must choose the same list every time, got lmdt"):
        slate_pairs(policy, 2, 0.1)

"""Algorithm 2: the policy, the paper's blocks and textbook ridge regression are one learner."""

from collections.abc import Callable

import numpy as np
import pytest

from variegate.arrays import FloatArray
from variegate.kernels.algorithm2 import BlockLMDH, RankOneLMDH
from variegate.model.catalogue import Catalogue
from variegate.model.distances import Distance, difference
from variegate.model.gains import Gains, Normaliser
from variegate.policies import LMDH, CombLinUCB

L, D, K, ROUNDS = 30, 5, 4, 14
# lambda = 1 hides a matrix mistaken for its inverse, so it is never the only case.
RIDGES = [0.1, 1.0, 50.0]
FACTORS: dict[Normaliser, Callable[[int], float]] = {
    "none": lambda _position: 1.0,
    "fixed": lambda _position: 2.0 / (K * (K - 1)),
    "growing": lambda position: 2.0 / (position * (position - 1)) if position > 1 else 1.0,
}


def catalogue_with(m: int) -> Catalogue:
    """Thirty items with the first m of three distances, one with data of its own."""
    rng = np.random.default_rng(5)
    years = difference(rng.integers(1950, 2020, L).astype(float))
    distances: list[str | Distance] = ["cosine", years, "angular"]
    return Catalogue(range(L), rng.uniform(-1, 1, (L, D)), distances[:m])


def observations(m: int, n: int = 60) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Some z (n, d), x (n, m) and w (n,)."""
    rng = np.random.default_rng(m)
    z, x = rng.uniform(-1, 1, (n, D)), rng.uniform(0, 3, (n, m))
    return z, x, (rng.random(n) < 0.4).astype(float)


def joint_estimate(
    z: FloatArray, x: FloatArray, w: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """The textbook: one matrix Phi over d + m features, inverted whole."""
    zeta = np.hstack([z, x])
    phi = ridge * np.eye(zeta.shape[1]) + zeta.T @ zeta
    P = np.asarray(np.linalg.inv(phi), dtype=np.float64)
    return P @ (zeta.T @ w), P


def taught(learner: BlockLMDH | RankOneLMDH, m: int, batch: int = K) -> BlockLMDH | RankOneLMDH:
    """The learner after all `observations`, a list of `batch` at a time."""
    z, x, w = observations(m)
    for start in range(0, len(w), batch):
        rows = slice(start, start + batch)
        learner.learn(z[rows], x[rows], w[rows])
    return learner


@pytest.mark.parametrize("normaliser", list(FACTORS))
@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("m", [0, 1, 3])
def test_policy_picks_and_learns_as_the_block_form(
    m: int, ridge: float, normaliser: Normaliser
) -> None:
    catalogue, rng = catalogue_with(m), np.random.default_rng(8)
    policy = LMDH(catalogue, ridge=ridge, exploration=1.5, normaliser=normaliser)
    block = BlockLMDH(D, m, ridge, 1.5)
    tables = [h.matrix() for h in catalogue.distances]
    for _ in range(ROUNDS):
        rows = np.sort(rng.choice(L, 20, replace=False))

        slate = policy.recommend(K, rows)
        among = [table[np.ix_(rows, rows)] for table in tables]
        chosen = block.recommend(catalogue.features[rows], among, K, FACTORS[normaliser])

        np.testing.assert_array_equal(slate.items, rows[chosen.places])
        np.testing.assert_allclose(slate.scores, chosen.scores, rtol=0, atol=1e-9)
        np.testing.assert_allclose(slate.diversity, chosen.x, rtol=0, atol=1e-9)
        clicks = (rng.random(K) < 0.4).astype(float)
        policy.update(slate, clicks)
        block.learn(chosen.z, chosen.x, clicks)
        np.testing.assert_allclose(policy.preferences.relevance, block.theta, rtol=0, atol=1e-9)
        np.testing.assert_allclose(policy.preferences.diversity, block.beta, rtol=0, atol=1e-9)


@pytest.mark.parametrize("learner", [BlockLMDH, RankOneLMDH])
@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("m", [0, 1, 3])
def test_block_forms_are_joint_ridge_regression(
    m: int, ridge: float, learner: type[BlockLMDH] | type[RankOneLMDH]
) -> None:
    block = taught(learner(D, m, ridge, 1.0), m)

    eta, P = joint_estimate(*observations(m), ridge)

    np.testing.assert_allclose(np.append(block.theta, block.beta), eta, rtol=0, atol=1e-9)
    z, x, _w = observations(m + 1, n=20)
    zeta = np.hstack([z, x[:, :m]])
    variances = [block.variance(zeta_a[:D], zeta_a[D:]) for zeta_a in zeta]
    expected = np.einsum("ni,ij,nj->n", zeta, P, zeta)
    np.testing.assert_allclose(variances, expected, rtol=0, atol=1e-9)
    scores = block.scores(zeta[:, :D], zeta[:, D:])
    np.testing.assert_allclose(scores, zeta @ eta + np.sqrt(expected), rtol=0, atol=1e-9)


@pytest.mark.parametrize("m", [0, 1, 3])
def test_rank_one_recursion_is_the_batch(m: int) -> None:
    block, rank_one = BlockLMDH(D, m, 2.0, 1.0), RankOneLMDH(D, m, 2.0, 1.0)

    taught(block, m, batch=6)
    taught(rank_one, m, batch=6)

    for name in ("H_inverse", "M_inverse", "B", "u", "y"):
        np.testing.assert_allclose(
            getattr(rank_one, name), getattr(block, name), rtol=0, atol=1e-11, err_msg=name
        )


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("m", [0, 1, 3])
def test_h_stays_positive_definite_and_v_above_zero(m: int, ridge: float) -> None:
    block = BlockLMDH(D, m, ridge, 1.0)
    z, x, w = observations(m)
    smallest = []
    for start in range(0, len(w), K):
        rows = slice(start, start + K)
        block.learn(z[rows], x[rows], w[rows])
        smallest.append(np.linalg.eigvalsh(block.H).min())
        variances = [block.variance(z_a, x_a) for z_a, x_a in zip(z, x, strict=True)]
        assert min(variances) > 0

    # H is a Schur complement of Phi, whose eigenvalues never fall below lambda.
    assert min(smallest) >= ridge - 1e-9


def test_without_distances_lmdh_is_comblinucb() -> None:
    catalogue, rng = catalogue_with(0), np.random.default_rng(2)
    lmdh = LMDH(catalogue, ridge=4.0, exploration=0.8)
    comblin = CombLinUCB(catalogue, prior_deviation=0.5, noise_deviation=1.0, exploration=0.8)
    for _ in range(ROUNDS):
        ours, theirs = lmdh.recommend(K), comblin.recommend(K)
        np.testing.assert_array_equal(ours.items, theirs.items)
        np.testing.assert_allclose(ours.scores, theirs.scores, rtol=0, atol=1e-12)
        assert (np.diff(ours.scores) <= 0).all()  # the top K, best first
        clicks = (rng.random(K) < 0.4).astype(float)
        lmdh.update(ours, clicks)
        comblin.update(theirs, clicks)


@pytest.mark.parametrize("normaliser", list(FACTORS))
def test_gains_kept_as_the_list_grows_are_those_summed_again(normaliser: Normaliser) -> None:
    catalogue = catalogue_with(3)
    tables = [h.matrix() for h in catalogue.distances]
    gains = Gains(catalogue, np.arange(L), K, normaliser)
    taken: list[int] = []
    for position, place in enumerate((7, 0, 29, 13), start=1):
        direct = np.stack([table[:, taken].sum(axis=1) for table in tables], axis=1)
        scaled = direct * FACTORS[normaliser](position)
        np.testing.assert_allclose(gains.x, scaled, rtol=0, atol=1e-12)
        gains.take(place)
        taken.append(place)


def test_a_function_of_rows_serves_for_the_matrices() -> None:
    catalogue = catalogue_with(3)
    tables = np.array([h.matrix() for h in catalogue.distances])
    block = BlockLMDH(D, 3, 1.0, 1.0)

    by_tables = block.recommend(catalogue.features, list(tables), K)
    by_rows = block.recommend(catalogue.features, lambda place: tables[:, place], K)

    np.testing.assert_array_equal(by_rows.places, by_tables.places)
    np.testing.assert_array_equal(by_rows.x, by_tables.x)


class WithoutRewards(BlockLMDH):
    """Line 22 as printed: u gets no w_a z_a (E2)."""

    def learn(self, z: FloatArray, x: FloatArray, w: FloatArray) -> None:
        super().learn(z, x, w)
        self.u = self.u - w @ z


class WithoutSum(BlockLMDH):
    """Line 21 as printed: H gets z_a z_a' of one item (E1)."""

    def learn(self, z: FloatArray, x: FloatArray, w: FloatArray) -> None:
        super().learn(z, x, w)
        self.H = self.H - z[:-1].T @ z[:-1]
        self.H_inverse = np.linalg.inv(self.H).astype(np.float64, copy=False)


def test_line_22_as_printed_does_not_learn_what_the_user_wants() -> None:
    printed = taught(WithoutRewards(D, 1, 1.0, 1.0), 1)

    eta, _P = joint_estimate(*observations(1), 1.0)

    assert np.abs(np.append(printed.theta, printed.beta) - eta).max() > 0.1


def test_line_22_as_printed_never_learns_from_relevance_alone() -> None:
    printed = taught(WithoutRewards(D, 0, 1.0, 1.0), 0)

    np.testing.assert_allclose(printed.theta, np.zeros(D), rtol=0, atol=1e-12)
    assert np.abs(taught(BlockLMDH(D, 0, 1.0, 1.0), 0).theta).max() > 0.1


def test_line_21_as_printed_leaves_h_indefinite_and_v_below_zero() -> None:
    z, x = np.array([[3.0], [3.0], [0.1]]), np.array([[0.0], [2.0], [4.0]])
    printed, corrected = WithoutSum(1, 1, 1.0, 1.0), BlockLMDH(1, 1, 1.0, 1.0)

    printed.learn(z, x, np.ones(3))
    corrected.learn(z, x, np.ones(3))

    # M = 1 + 4 + 16 and B = 6 + 0.4, so H loses 6.4^2 / 21 = 1.95 of 1 + 0.01 or of 1 + 18.01.
    np.testing.assert_allclose(printed.H, [[1.01 - 6.4**2 / 21]])
    np.testing.assert_allclose(corrected.H, [[19.01 - 6.4**2 / 21]])
    assert (
        printed.variance(np.ones(1), np.zeros(1)) < 0 < corrected.variance(np.ones(1), np.zeros(1))
    )

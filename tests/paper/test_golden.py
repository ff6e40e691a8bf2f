"""Small runs worked out by two independent routes, number by number.

Five items in the plane, lists of two, shown items taken out, ties to the lowest row.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pytest

from variegate.arrays import FloatArray, unit_rows
from variegate.kernels.algorithm2 import BlockLMDH
from variegate.model.catalogue import Catalogue
from variegate.model.distances import custom
from variegate.model.ridge import unpacked
from variegate.model.search import greedy
from variegate.model.utility import Utility
from variegate.policies import C2UCB, LMDH, LSB, Policy
from variegate.policies.dpp import Determinant, similarity_root
from variegate.policies.logistic import Posterior, update_posterior
from variegate.policies.mmr import MarginalRelevance

ITEMS = np.array([[0.9, 0.1], [0.8, 0.3], [0.1, 0.9], [-0.5, 0.6], [0.4, -0.7]])
TOPICS = np.array([[0.9, 0.1], [0.8, 0.3], [0.1, 0.9], [0.5, 0.6], [0.4, 0.7]])
RELEVANCE = np.array([0.8, 0.7, 0.6, 0.3, 0.5])
Numbers: TypeAlias = FloatArray | float | list[float] | list[list[float]]
CLICKS = ([1.0, 0.0], [0.0, 1.0])


def assert_digits(actual: Numbers, printed: Numbers, *, digits: int = 8) -> None:
    """Hold `actual` to the last printed digit."""
    np.testing.assert_allclose(np.asarray(actual), printed, rtol=0, atol=0.5 * 10.0**-digits)


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue(range(5), ITEMS, "cosine")


def first_scores(policy: Policy, rows: list[int]) -> list[float]:
    """What each row scores with nothing taken."""
    return [float(policy.recommend(1, [row]).scores[0]) for row in rows]


def second_scores(policy: Policy, first: int, rows: list[int]) -> list[float]:
    """What each row scores after `first`, which outscores each of them."""
    slates = [policy.recommend(2, [first, row]) for row in rows]
    assert all(
        slate.items.tolist() == [first, row] for slate, row in zip(slates, rows, strict=True)
    )
    return [float(slate.scores[1]) for slate in slates]


def after_round_1(policy: Policy) -> list[int]:
    """Play round 1; return what it showed."""
    slate = policy.recommend(2)
    policy.update(slate, CLICKS[0])
    return [int(item) for item in slate.items]


def after_round_2(policy: Policy) -> list[int]:
    """Play both rounds; return what the second showed."""
    slate = policy.recommend(2, exclude=after_round_1(policy))
    policy.update(slate, CLICKS[1])
    return [int(item) for item in slate.items]


def learnt_sums(policy: Policy, ridge: float) -> tuple[FloatArray, FloatArray]:
    """The matrix and the vector that a state stands for."""
    arrays = policy.state().arrays
    size = len(arrays["response"])
    return unpacked(arrays["gram"], size) + ridge * np.eye(size), arrays["response"]


class TestLMDH:
    @pytest.fixture
    def policy(self, catalogue: Catalogue) -> LMDH:
        return LMDH(catalogue, ridge=2.0, exploration=1.0, normaliser="none")

    def test_first_round(self, policy: LMDH) -> None:
        assert_digits(
            first_scores(policy, [0, 1, 2, 3, 4]),
            [0.64031242, 0.60415230, 0.64031242, 0.55226805, 0.57008771],
        )
        assert_digits(second_scores(policy, 0, [1, 2, 4]), [0.60454021, 0.84532870, 0.71180760])
        slate = policy.recommend(2)
        assert slate.items.tolist() == [0, 3]
        assert_digits(slate.scores, [0.64031242, 1.22819876])

    def test_second_round(self, policy: LMDH) -> None:
        shown = after_round_1(policy)
        wants = policy.preferences
        assert_digits(wants.relevance, [0.30868446, 0.05256581])
        assert_digits(wants.diversity, [0.04323182])
        assert_digits(first_scores(policy, [1, 2, 4]), [0.77643305, 0.69262554, 0.61223490])
        assert_digits(second_scores(policy, 1, [2, 4]), [0.70735124, 0.90426897])
        assert policy.recommend(2, exclude=shown).items.tolist() == [1, 4]

    def test_end(self, policy: LMDH) -> None:
        after_round_2(policy)
        phi, q = learnt_sums(policy, 2.0)
        M, B, y = phi[2:, 2:], phi[:2, 2:], q[2:]
        wants = policy.preferences
        assert_digits(
            np.append(wants.relevance, wants.diversity), [0.34759252, -0.19803400, 0.20750066]
        )
        assert_block_end(End(phi[:2, :2] - B @ B.T / M, M, B, q[:2] - B @ y / M[0, 0], y))

    def test_block_form_ends_the_same(self) -> None:
        block = BlockLMDH(2, 1, ridge=2.0, exploration=1.0)
        free = np.arange(5)
        for clicks in CLICKS:
            units = unit_rows(ITEMS[free])
            chosen = block.recommend(ITEMS[free], [1.0 - units @ units.T], 2)
            block.learn(chosen.z, chosen.x, np.array(clicks))
            free = np.delete(free, chosen.places)
        assert free.tolist() == [2]
        assert_digits(np.append(block.theta, block.beta), [0.34759252, -0.19803400, 0.20750066])
        assert_block_end(End(block.H, block.M, block.B, block.u, block.y))


@dataclass(frozen=True, eq=False)
class End:
    """The paper's statistics after both rounds."""

    H: FloatArray
    M: FloatArray
    B: FloatArray
    u: FloatArray
    y: FloatArray


def assert_block_end(end: End) -> None:
    assert_digits(end.H, [[3.82220641, -0.22054162], [-0.22054162, 2.92703853]])
    assert_digits(end.M, [[5.11306724]])
    assert_digits(end.B, [[-0.43959204], [0.34264200]])
    assert_digits(end.u, [1.37224511, -0.65631178])
    assert_digits(end.y, [0.84031116])


class TestC2UCB:
    @pytest.fixture
    def policy(self, catalogue: Catalogue) -> C2UCB:
        return C2UCB(catalogue, ridge=2.0, exploration=1.0, entropy_weight=0.1, noise_deviation=1.0)

    def test_first_round(self, policy: C2UCB) -> None:
        assert_digits(
            first_scores(policy, [0, 1, 2, 3, 4]),
            [0.81214810, 0.77345222, 0.81214810, 0.71797361, 0.73702033],
        )
        assert_digits(
            second_scores(policy, 0, [1, 2, 3, 4]),
            [0.76361187, 0.81165662, 0.71530844, 0.73560008],
        )
        assert policy.recommend(2).items.tolist() == [0, 2]

    def test_second_round(self, policy: C2UCB) -> None:
        shown = after_round_1(policy)
        assert_digits(policy.preferences.relevance, [0.31818182, 0.01515152])
        assert_digits(first_scores(policy, [1, 3, 4]), [0.92740501, 0.49615674, 0.77773152])
        assert_digits(second_scores(policy, 1, [3, 4]), [0.49528025, 0.77751912])
        assert policy.recommend(2, exclude=shown).items.tolist() == [1, 4]

    def test_end(self, policy: C2UCB) -> None:
        after_round_2(policy)
        V, b = learnt_sums(policy, 2.0)
        assert_digits(V, [[3.62, 0.14], [0.14, 3.40]])
        assert_digits(b, [1.3, -0.6])


class TestLSB:
    @pytest.fixture
    def policy(self, catalogue: Catalogue) -> LSB:
        return LSB(catalogue, topics=TOPICS, ridge=2.0, exploration=1.0)

    def test_first_round(self, policy: LSB) -> None:
        slate = policy.recommend(2)
        assert slate.items.tolist() == [0, 2]
        assert_digits(slate.scores, [0.64031242, 0.57280014])
        assert_digits(slate.coverage, [[0.9, 0.1], [0.01, 0.81]])

    def test_second_round(self, policy: LSB) -> None:
        shown = after_round_1(policy)
        slate = policy.recommend(2, exclude=shown)
        assert_digits(policy.topic_weights, [0.31937415, 0.02575650])
        assert slate.items.tolist() == [1, 4]
        assert_digits(slate.scores, [0.76874603, 0.34053630])
        assert_digits(slate.coverage, [[0.8, 0.3], [0.08, 0.49]])

    def test_end(self, policy: LSB) -> None:
        after_round_2(policy)
        M, b = learnt_sums(policy, 2.0)
        assert_digits(M, [[3.4565, 0.3773], [0.3773, 2.9962]])
        assert_digits(b, [0.98, 0.59])


def test_determinantal_point_process() -> None:
    root = similarity_root(unit_rows(ITEMS), shifted=True)
    places, scores = greedy(Determinant(3.0 * RELEVANCE, root), 3)
    assert places.tolist() == [0, 2, 4]
    assert_digits(np.cumsum(scores), [4.8, 7.93509933, 9.85196205])


def test_jaakkola_jordan() -> None:
    start = Posterior(np.eye(2), np.zeros(2))
    belief, xi = update_posterior(
        start, ITEMS[[0, 2]], np.array([1.0, 0.0]), max_iterations=1000, tolerance=1e-12
    )
    assert_digits(belief.mean, [0.34765103, -0.34765103])
    assert_digits(belief.covariance, [[0.83933040, -0.02979719], [-0.02979719, 0.83933040]])
    assert_digits(xi, [0.87191664, 0.87191664])


def test_maximal_marginal_relevance() -> None:
    places, scores = greedy(MarginalRelevance(0.9 * RELEVANCE, unit_rows(ITEMS), 0.1, "mean"), 3)
    assert places.tolist() == [0, 1, 2]
    assert_digits(scores, [0.72, 0.533062, 0.506406], digits=6)


@pytest.mark.parametrize(
    ("search", "rows", "value"),
    [
        ("greedy", [4, 0, 3], 4.6),
        ("non-oblivious", [4, 2, 3], 4.7),
        ("local", [4, 2, 3], 4.7),
        ("exhaustive", [2, 3, 4], 4.7),
    ],
)
def test_max_sum_diversification(search: str, rows: list[int], value: float) -> None:
    table = np.zeros((5, 5))
    table[np.triu_indices(5, 1)] = [0.8, 0.7, 0.9, 0.9, 0.9, 0.7, 0.5, 1.0, 1.0, 0.9]
    table += table.T
    h = custom(lambda a, b: b @ table @ a, np.eye(5), name="table", largest=1.0, is_metric=True)
    taste = Utility(Catalogue(range(5), [[0.5], [0.3], [0.4], [0.4], [1.0]], h), [1.0], [1.0])

    best = taste.best(3, search=search)

    assert best.tolist() == rows
    assert_digits(taste.value(best), value)

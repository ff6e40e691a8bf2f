"""Catalogues of every awkward kind, policies with every option, and how lists are compared."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from variegate import Catalogue, Policy, Slate, make_policy
from variegate.arrays import FloatArray, MaskArray

D = 5

#: Every policy whose list is compiled, with options that change how: name, options.
POLICIES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "MMR": ("mmr", {}),
    "MMR, max": ("mmr", {"similarity": "max", "trade_off": 0.5}),
    "MMR, likeness alone": ("mmr", {"trade_off": 0.0}),
    "C2UCB": ("c2ucb", {}),
    "C2UCB, much entropy": ("c2ucb", {"entropy_weight": 2.0, "ridge": 1.0, "prior_variance": 9.0}),
    "C2UCB, history": ("c2ucb", {"condition_on_history": True, "noise_deviation": 0.3}),
    "C2UCB, theory": ("c2ucb", {"exploration": "theory"}),
    "DC2B": ("dc2b", {}),
    "DC2B, cosine": ("dc2b", {"similarity": "cosine"}),
    "DC2B, sigmoid": ("dc2b", {"quality": "sigmoid", "intercept": True}),
    "DC2B, jitter": ("dc2b", {"beyond_rank": "jitter", "sharpness": 0.5}),
    "DC2B, sharp draw": ("dc2b", {"sharpness_of": "posterior", "sharpness": 2.0}),
    "LSB": ("lsb", {}),
    "LSB, no exploration": ("lsb", {"ridge": 1.0, "exploration": 0.0}),
    "LogRank": ("logrank", {}),
    "epsilon-greedy": ("epsilon-greedy", {"epsilon": 0.4}),
    "CombLinUCB": ("comblinucb", {}),
    "CombLinTS": ("comblints", {}),
    "Popular": ("popular", {}),
    "LMDT": ("lmdt", {}),
    "LMDT, much drawn": ("lmdt", {"exploration": 4.0, "floor": 0.0, "normaliser": "none"}),
}

each_policy = pytest.mark.parametrize("called", list(POLICIES))


def policy_of(called: str, catalogue: Catalogue) -> Policy:
    """Return a new policy of those above."""
    name, options = POLICIES[called]
    return make_policy(name, catalogue, **options)


def _clustered(rng: np.random.Generator, items: int) -> FloatArray:
    centres = rng.normal(size=(4, D))
    return centres[rng.integers(4, size=items)] + 0.05 * rng.normal(size=(items, D))


def _with_zeros(rng: np.random.Generator, items: int) -> FloatArray:
    return rng.normal(size=(items, D)) * (rng.random((items, 1)) < 0.6)


#: Features of each kind for a number of items, (L, D).
FEATURES: Mapping[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "random": lambda rng, items: rng.uniform(-1.0, 1.0, (items, D)),
    "topics": lambda rng, items: rng.uniform(0.0, 1.0, (items, D)) ** 4,
    "clustered": _clustered,
    "equal": lambda rng, items: np.repeat(rng.normal(size=(-(-items // 3), D)), 3, axis=0)[:items],
    "zeros among them": _with_zeros,
    "all zero": lambda rng, items: np.zeros((items, D)),  # noqa: ARG005
    "constant": lambda rng, items: np.tile(rng.normal(size=D), (items, 1)),
    "a line": lambda rng, items: np.outer(rng.normal(size=items), rng.normal(size=D)),
    "a plane": lambda rng, items: rng.normal(size=(items, 2)) @ rng.normal(size=(2, D)),
    "unlike sizes": lambda rng, items: (
        rng.normal(size=(items, D)) * 10.0 ** rng.integers(-4, 2, (items, 1))
    ),
    "tiny": lambda rng, items: 1e-12 * rng.normal(size=(items, D)),
}


def catalogue_of(kind: str, items: int, seed: int = 0, distances: Any = "cosine") -> Catalogue:
    """Return a seeded catalogue of a kind of those above."""
    rng = np.random.default_rng([seed, items])
    popularity = rng.integers(0, 6, items).tolist()
    features = FEATURES[kind](rng, items)
    return Catalogue(range(items), features, distances, attributes={"popularity": popularity})


def played(policy: Policy, rounds: int, k: int) -> Policy:
    """Return the policy after `rounds` lists of `k`, clicked at random."""
    rng = np.random.default_rng(rounds)
    for _ in range(rounds):
        policy.update(policy.recommend(k, rng=rng), rng.integers(0, 2, k))
    return policy


def reference_list(policy: Policy, free: MaskArray, k: int, seed: int) -> Slate:
    """Return the list of the NumPy reference: greedy search over the policy's scorer."""
    return policy._search_slate(free, k, seed)


def assert_greedy(policy: Policy, slate: Slate, free: MaskArray, seed: int) -> None:
    """Hold each pick of a compiled list to the reference's scores, given the picks above it.

    So one tie that rounding broke the other way does not excuse the picks below it. The items
    must be the reference's but where scores differ by less than one part in a million; both
    are in double precision, so less than one in a thousand million is asked for.
    """
    rows, k = np.flatnonzero(free), len(slate)
    scorer = policy._scorer(rows, k, seed)
    left = np.ones(len(rows), dtype=bool)
    for position, place in enumerate(np.searchsorted(rows, slate.items)):
        scores = scorer.scores()
        best = scores[left].max()
        assert left[place], f"{slate.items[position]} at {position} was taken or no candidate"
        assert scores[place] == pytest.approx(best, rel=1e-9, abs=1e-12), position
        left[place] = False
        scorer.take(int(place))


def assert_same(slate: Slate, reference: Slate) -> None:
    """Hold a whole slate to the reference's, number by number."""
    assert slate.items.tolist() == reference.items.tolist()
    assert slate.ids == reference.ids
    for name in ("relevance", "diversity", "scores", "coverage"):
        np.testing.assert_allclose(
            getattr(slate, name), getattr(reference, name), rtol=1e-9, atol=1e-12, err_msg=name
        )

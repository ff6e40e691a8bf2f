"""Hostile but type-correct arrays for every compiled loop that Python calls.

A compiled loop that reads outside its arrays ends the process, so this runs as one of its own:
`python -m tests.kernels.hostile [examples]`. It exits with 0 if every call gave rows that are
distinct candidates, or an error of variegate's own. With NUMBA_BOUNDSCHECK=1 (and a
NUMBA_CACHE_DIR of its own) numba raises at the first index that is out of range.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from variegate import Catalogue, Policy, fit_prior, make_policy
from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import VariegateError
from variegate.kernels import lmdh_list, upper_bounds
from variegate.kernels.baselines import (
    Linear,
    Quality,
    c2ucb_list,
    dc2b_list,
    list_gains,
    lsb_list,
    mmr_list,
    top_list,
    top_of,
)
from variegate.kernels.bounds import bound_parts
from variegate.kernels.cells import add_distances
from variegate.kernels.layout import Layout, unit_features
from variegate.kernels.lmdh import lmdh_lists
from variegate.kernels.vectors import vector_list
from variegate.model.distances import Distance, jaccard
from variegate.model.gains import normalising_factors
from variegate.model.ridge import Estimate, Ridge, check_sums
from variegate.model.shortlist import Shortlist
from variegate.policies.registry import POLICIES
from variegate.policies.state import State
from variegate.prior import Observations, Prior

#: Numbers at which arithmetic ends, or single precision does.
ODD = (
    *(0.0, -0.0, 1.0, -1.0, 5e-324, -1e-320, 1e-200, 1e-45, 1e-30, 1e15, 1e19, 3e38, 1e39),
    *(1e60, 1e100, 1e154, 1e220, 1e300, 1.7e308, -1.7e308, np.nan, np.inf, -np.inf),
)
numbers = st.sampled_from(ODD)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def arrays(draw: Any, *shape: int) -> FloatArray:
    """Sane numbers, some or all of them odd, or all of one odd size."""
    rng = np.random.default_rng(draw(seeds))
    table, kind = rng.normal(size=shape), draw(st.sampled_from(("sane", "some", "all", "size")))
    if kind == "some" and table.size:
        table.flat[rng.integers(table.size)] = draw(numbers)
    elif kind == "all":
        table[:] = rng.choice(ODD, shape)
    elif kind == "size":
        table *= draw(numbers)
    return table


@cache
def catalogue(items: int, d: int, m: int, scale: float) -> Catalogue:
    """Return a catalogue in which some items are equal and some are zero."""
    rng = np.random.default_rng([items, d, m])
    features = scale * rng.normal(size=(items, d))
    features[items // 2] = features[0]
    features[-1] = 0.0
    labels = jaccard([{"a"}, {"b"}, {"a", "b"}] * items, name="labels").among(np.arange(items))
    popularity = rng.integers(0, 4, items).tolist()
    distances: list[str | Distance] = ["cosine", labels, "euclidean"]
    return Catalogue(range(items), features, distances[:m], attributes={"popularity": popularity})


@st.composite
def catalogues(draw: Any) -> Catalogue:
    return catalogue(
        draw(st.sampled_from((1, 3, 256, 300, 2000))),
        draw(st.sampled_from((1, 5))),
        draw(st.sampled_from((0, 1, 3))),
        draw(st.sampled_from((1.0, 1e-30, 1e14, 0.0))),
    )


def layout_and_free(draw: Any) -> tuple[Catalogue, Layout, MaskArray, int]:
    items = draw(catalogues())
    layout = items.layout
    assert layout is not None
    share = draw(st.sampled_from((0.0, 0.02, 0.5, 1.0)))
    free = np.random.default_rng(draw(seeds)).random(len(items)) < share
    return items, layout, free, draw(st.sampled_from((0, 1, 2, 10, 301)))


def check_rows(rows: IndexArray, free: MaskArray, k: int) -> None:
    assert rows.shape == (k,)
    assert len(set(rows.tolist())) == k
    assert all(0 <= row < len(free) for row in rows.tolist())
    assert free[rows].all()


def belief_of(draw: Any, size: int) -> Linear:
    return Linear(draw(arrays(size)), draw(arrays(size, size)), draw(numbers))


def call_lmdh(draw: Any) -> None:
    items, layout, free, k = layout_and_free(draw)
    belief = belief_of(draw, items.d + items.m)
    found = lmdh_list(layout, free, *belief, draw(arrays(k)))
    if found is not None:
        check_rows(found[0], free, k)


def call_lists(draw: Any) -> None:
    items, layout, free, k = layout_and_free(draw)
    users, size = draw(st.integers(0, 3)), items.d + items.m
    weights, roots = draw(arrays(users, size)), draw(arrays(users, size, size))
    found = lmdh_lists(layout, free, weights, roots, draw(arrays(users)), draw(arrays(k)))
    for rows, is_whole in zip(found[0], found[3], strict=True):
        if is_whole:
            check_rows(rows, free, k)


def call_vectors(draw: Any) -> None:
    items, _layout, free, k = layout_and_free(draw)
    wide = draw(arrays(len(items), draw(st.sampled_from((0, 1, 9, 70)))))
    vectors = wide.astype(draw(st.sampled_from((np.float32, np.float64))))
    belief = belief_of(draw, items.d + 1)
    found = vector_list(items.features, vectors, free, *belief, draw(arrays(k)))
    if found is not None:
        check_rows(found[0], free, k)


def call_top(draw: Any) -> None:
    items, layout, free, k = layout_and_free(draw)
    squashed = draw(st.booleans())
    check_rows(top_list(layout, free, k, belief_of(draw, items.d), squashed=squashed)[0], free, k)


def call_top_of(draw: Any) -> None:
    items, _layout, free, k = layout_and_free(draw)
    check_rows(top_of(draw(arrays(len(items))), free, k)[0], free, k)


def call_posterior(draw: Any) -> None:
    n, likes = (
        draw(st.sampled_from((1, 7, 50))),
        np.random.default_rng(draw(seeds)).random((9, 6)) < 0.5,
    )
    items = Catalogue(list("abcdef"), np.eye(6), "cosine")
    fitted = fit_prior(items, likes, noise=draw(st.sampled_from((1e-6, 0.2, 1e6))))
    prior = fitted.for_catalogue(items.with_items(["g", "h"], np.eye(6)[:2]))
    rows = np.array(draw(st.lists(st.integers(0, 7), min_size=n, max_size=n)), dtype=np.intp)
    seen = Observations(rows, draw(arrays(n)), draw(arrays(n, 1)), draw(arrays(n)))
    assert prior.posterior(seen).relevance.shape == (8,)
    assert prior.posterior_deviations(seen, np.arange(3)).shape == (3,)


def call_mmr(draw: Any) -> None:
    items, layout, free, k = layout_and_free(draw)
    likeness, units = draw(st.sampled_from(("mean", "max"))), unit_features(layout, items.distances)
    user, share = draw(arrays(items.d)), draw(numbers)
    check_rows(mmr_list(layout, units, free, k, user, share, likeness)[0], free, k)


def call_entropy(draw: Any) -> None:
    items, layout, free, k = layout_and_free(draw)
    belief, Q = belief_of(draw, items.d), draw(arrays(items.d, items.d))
    found = c2ucb_list(layout, free, k, belief, Q, draw(numbers), draw(numbers))
    check_rows(found[0], free, k)


def call_determinant(draw: Any) -> None:
    items, layout, free, k = layout_and_free(draw)
    quality = Quality(draw(arrays(items.d)), draw(numbers), draw(numbers), draw(st.booleans()))
    units, shifted, jitter = (
        unit_features(layout, items.distances),
        draw(st.booleans()),
        draw(numbers),
    )
    found = dc2b_list(layout, units, free, k, quality, shifted=shifted, jitter=jitter)
    check_rows(found[0], free, k)


def call_coverage(draw: Any) -> None:
    items, layout, free, k = layout_and_free(draw)
    topics = draw(st.none() | arrays(len(items), items.d))
    check_rows(lsb_list(layout, free, k, belief_of(draw, items.d), topics)[0], free, k)


def call_gains(draw: Any) -> None:
    items, layout, _free, k = layout_and_free(draw)
    rows = np.array(draw(st.lists(st.integers(-2, len(items) + 1), max_size=5)), dtype=np.intp)
    assert list_gains(layout, rows, draw(arrays(k))).shape == (len(rows), items.m)
    assert all(0 <= row < len(items) for row in rows.tolist())


def call_bounds(draw: Any) -> None:
    n, m, odd = draw(st.integers(0, 5)), draw(st.integers(0, 3)), draw(st.integers(0, 6))
    parts = [(n,), (n,), (n, m), (m,), (m, m), (n, m)]
    if odd < 6:  # one that does not fit the others
        parts[odd] = tuple(size + draw(st.integers(-1, 1)) for size in parts[odd])
    if all(size >= 0 for shape in parts for size in shape):
        tables = [draw(arrays(*shape)) for shape in parts]
        bounds: Callable[..., FloatArray] = upper_bounds
        assert len(bounds(*tables, draw(numbers))) == len(tables[5])


def call_rows(draw: Any) -> None:
    items = catalogue(300, 5, 3, 1.0)
    h = items.distances[draw(st.integers(0, 2))]
    n, width, column = draw(st.integers(0, 3)), draw(st.integers(0, 4)), draw(st.integers(-1, 3))
    rows = draw(arrays(n, h.rows.shape[1])).astype(np.float32)
    row = draw(arrays(draw(st.sampled_from((width, h.rows.shape[1]))))).astype(np.float32)
    add_distances(h, rows, row, column, np.zeros((n, 3)))
    bound_parts(draw(arrays(n, width)), draw(arrays(column + 2)), draw(arrays(width, width)))


@cache
def shortlist() -> Shortlist:
    return Shortlist.build(catalogue(300, 5, 1, 1.0), cells=20, effort=1e-3)


def call_shortlist(draw: Any) -> None:
    few, k = shortlist(), draw(st.integers(1, 4))
    belief = Estimate(draw(arrays(6)), draw(arrays(6, 6)))
    free = np.random.default_rng(draw(seeds)).random(300) < 0.9
    rows = few.candidates(belief, draw(numbers), normalising_factors("growing", k), free)
    assert free[rows].all()


def call_ridge(draw: Any) -> None:
    size, n = draw(st.sampled_from((1, 3, 50))), draw(st.integers(0, 3))
    ridge = Ridge(size, draw(numbers))
    ridge.learn(draw(arrays(n, draw(st.sampled_from((size, size + 1))))), draw(arrays(n)))
    belief = ridge.estimate()
    assert np.isfinite(belief.mean).all()
    assert np.isfinite(belief.deviations).all()


def call_sums(draw: Any) -> None:
    n, p, more = draw(st.integers(0, 2)), draw(st.integers(0, 3)), draw(st.sampled_from((0, 0, 1)))
    check_sums(draw(arrays(n, p * (p + 1) // 2 + more)), draw(arrays(n, p)))


@st.composite
def states(draw: Any, name: str) -> tuple[Policy, State]:
    """Return a policy, and a state of it in which numbers are odd."""
    items, options = draw(catalogues()), dict[str, Any]()
    if name in ("lmdp", "lmdt") and draw(st.booleans()):
        p = items.d + items.m
        names = items.feature_names, tuple(h.name for h in items.distances)
        variances = np.abs(draw(arrays(p)))
        options["prior"] = Prior(draw(arrays(p)), np.diag(variances), draw(numbers), *names)
    if name == "c2ucb":
        options["condition_on_history"] = draw(st.booleans())
    policy = make_policy(name, items, **options)
    k = min(3, len(items))
    policy.update(policy.recommend(k, rng=0), [1.0] * k)
    learnt = policy.state()
    chosen = draw(st.sets(st.sampled_from(sorted(learnt.arrays) or [""])))
    odd = {n: draw(arrays(*a.shape)) if n in chosen else a for n, a in learnt.arrays.items()}
    if "gram" in odd and draw(st.booleans()):  # as sums of squares are, but for their size
        scale = draw(st.sampled_from((1e-320, 1e-100, 1e30, 1e150, 1e219)))
        odd |= {"gram": learnt.arrays["gram"] * scale, "response": odd["response"]}
    return policy, State(learnt.policy, odd)


def call_policy(name: str) -> Callable[[Any], None]:
    """Return a call whose state is refused, or else gives finite numbers only."""

    def call(draw: Any) -> None:
        policy, state = draw(states(name))
        policy.restore(State.from_bytes(state.to_bytes()))
        try:
            use(policy, draw(st.integers(1, min(4, len(policy.catalogue)))), draw(seeds))
        except VariegateError as error:
            raise AssertionError("a state that was taken is of no use") from error

    return call


def use(policy: Policy, k: int, seed: int) -> None:
    slate = policy.recommend(k, rng=seed)
    check_rows(slate.items, np.ones(len(policy.catalogue), dtype=bool), k)
    explained, believed = policy.explain(slate), policy.preferences
    parts = explained.relevance, explained.diversity, explained.exploration
    for part in (slate.scores, slate.diversity, *parts, *vars(believed).values()):
        assert np.isfinite(part).all()
    policy.update(slate, np.random.default_rng(seed).random(k))
    policy.restore(policy.state())


#: Every function that Python calls in `variegate.kernels.loops`, and what calls it here.
ENTRIES: Mapping[str, Callable[[Any], None]] = {
    "cells.fill_upper_bounds": call_bounds,
    "cells.fill_scores": call_shortlist,
    "lsb.fill_list": call_coverage,
    "dc2b.fill_list": call_determinant,
    "c2ucb.fill_list": call_entropy,
    "distances.fill_gains": call_gains,
    "pruning.select_list": call_lmdh,
    "pruning.select_lists": call_lists,
    "mmr.fill_list": call_mmr,
    "cells.add_row_distances": call_rows,
    "cells.fill_parts": call_rows,
    "ridge.solved": call_ridge,
    "ridge.sums_fit": call_sums,
    "ridge.sums_with": call_ridge,
    "rows.add_posterior": call_posterior,
    "rows.add_product": call_posterior,
    "rows.best_mean": call_posterior,
    "rows.extend": call_posterior,
    "rows.n_common": call_posterior,
    "rows.whiten": call_posterior,
    "top.fill_given": call_top_of,
    "top.fill_linear": call_top,
    "vectors.select_from_vectors": call_vectors,
}


def run(examples: int) -> None:
    """Call each with so many hostile arguments."""
    calls = {call.__name__: call for call in ENTRIES.values()}
    calls |= {f"policy {name}": call_policy(name) for name in POLICIES}
    for name, call in calls.items():
        attempt(call, examples)
        sys.stdout.write(f"{name}: no crash\n")
        sys.stdout.flush()


def attempt(call: Callable[[Any], None], examples: int) -> None:
    """Call with hostile arguments; an error of variegate's own is an answer."""

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def attempted(data: Any) -> None:
        with suppress(VariegateError):
            call(data.draw)

    attempted()


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of overflow, which is what is asked for
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 100)

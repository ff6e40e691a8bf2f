"""Distances of all pairs that are kept: when they are, and that no list depends on it."""

import numpy as np
import pytest

from variegate.kernels import layout as layout_module
from variegate.kernels import lmdh_list
from variegate.kernels.layout import MIN_PAIR_WIDTH, Layout, layout_of
from variegate.model.catalogue import Catalogue
from variegate.model.gains import normalising_factors

K = 6


def laid_out(items: int, width: int = MIN_PAIR_WIDTH) -> Layout:
    rng = np.random.default_rng(items)
    names = [str(row) for row in range(items)]
    catalogue = Catalogue(names, rng.normal(size=(items, width)), ["cosine", "euclidean"])
    layout = layout_of(catalogue.features, catalogue.distances)
    assert layout is not None
    return layout


def listed(layout: Layout, seed: int) -> tuple[np.ndarray, ...]:
    size = layout.items.z_rows.shape[1] + len(layout.largest)
    rng = np.random.default_rng(seed)
    root = np.tril(rng.normal(size=(size, size))) + 2.0 * np.eye(size)
    free = rng.random(len(layout)) < 0.9
    factors = normalising_factors("none", K)
    found = lmdh_list(layout, free, rng.normal(size=size), root, 0.3, factors)
    assert found is not None
    return found


def test_pairs_are_kept_once_as_many_were_worked_out_one_by_one() -> None:
    layout = laid_out(4 * K)
    kept = [len(layout.pairs.for_list(layout.items, K)) for _ in range(5)]
    assert kept == [0, 0, 0, 4 * K, 4 * K]


@pytest.mark.parametrize("seed", range(20))
def test_a_list_is_the_same_with_kept_pairs_as_without(seed: int) -> None:
    kept, fresh = laid_out(300), laid_out(300)
    kept.pairs.for_list(kept.items, 300)
    for with_pairs, without in zip(listed(kept, seed), listed(fresh, seed), strict=True):
        np.testing.assert_array_equal(with_pairs, without)
    assert len(kept.pairs.for_list(kept.items, K)) == 300
    assert len(fresh.pairs.for_list(fresh.items, 0)) == 0


def test_pairs_hold_the_distances_of_the_catalogue() -> None:
    layout = laid_out(300)
    table = layout.pairs.for_list(layout.items, 300)
    z = layout.items.z_rows
    by_item = table[7].transpose(1, 0, 2).reshape(2, -1)[:, :300]
    far = np.linalg.norm(z - z[7], axis=1) / layout.items.scales[1]
    np.testing.assert_allclose(by_item[1], far, rtol=1e-5, atol=1e-3)


def test_pairs_are_not_kept_where_distances_are_quick_to_work_out() -> None:
    layout = laid_out(50, width=MIN_PAIR_WIDTH // 2 - 1)
    assert len(layout.pairs.for_list(layout.items, 1000)) == 0


def test_pairs_are_not_kept_where_they_would_take_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = laid_out(50)
    monkeypatch.setattr(
        layout_module, "MAX_PAIR_BYTES", 4 * 50 * layout.items.sizes_blocks.size - 1
    )
    assert len(layout.pairs.for_list(layout.items, 1000)) == 0

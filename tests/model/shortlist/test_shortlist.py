"""Building, extending, saving and loading a shortlist."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.model.shortlist.making import EFFORT, candidates, clustered, played, shop_of
from variegate import LMDH, Catalogue
from variegate.errors import DataError, InputError
from variegate.model.shortlist import Shortlist


def test_the_same_seed_gives_the_same_cells_and_lists(
    shop: Catalogue, shortlist: Shortlist
) -> None:
    again, other = (Shortlist.build(shop, effort=EFFORT, rng=rng) for rng in (0, 1))

    for name, array in vars(shortlist._cells.partition).items():
        np.testing.assert_array_equal(getattr(again._cells.partition, name), array)
    assert not np.array_equal(other._cells.partition.leaders, shortlist._cells.partition.leaders)
    lists = [played(LMDH(shop, shortlist=s), 3).recommend(10).ids for s in (shortlist, again)]
    assert lists[0] == lists[1]


def test_every_item_is_in_the_cell_of_the_nearest_centre(
    shop: Catalogue, shortlist: Shortlist
) -> None:
    partition = shortlist._cells.partition
    # Centres moved to the mean of their items once more, so a few items are nearer another.
    apart = np.linalg.norm(shop.features[:, None] - partition.centres[None, :], axis=2)

    assert np.mean(apart.argmin(axis=1) == partition.cell_of) > 0.9


def test_cells_have_their_means_spreads_and_leaders(shop: Catalogue, shortlist: Shortlist) -> None:
    partition = shortlist._cells.partition
    here = np.flatnonzero(partition.cell_of == 7)
    off = shop.features[here] - shop.features[here].mean(axis=0)

    np.testing.assert_allclose(partition.centres[7], shop.features[here].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(partition.spreads[7], np.sqrt(np.mean(off**2)), rtol=1e-9)
    assert partition.leaders[7] == here[np.argmin((off**2).sum(axis=1))]


def test_it_says_what_it_is(shortlist: Shortlist, shop: Catalogue) -> None:
    assert repr(shortlist) == f"Shortlist({len(shortlist._cells)} cells of {shop})"
    assert len(shortlist) == 5_000
    assert shortlist.nbytes > shop.features.nbytes // 2


def test_one_cell_will_do(shop: Catalogue) -> None:
    one = Shortlist.build(shop, cells=1, effort=EFFORT)

    assert len(LMDH(shop, shortlist=one).recommend(10)) == 10


def test_new_items_are_found(shop: Catalogue, shortlist: Shortlist) -> None:
    larger = shop.with_items(["new"], 2.0 * shop.features[:1])
    grown = shortlist.with_items(larger)

    assert LMDH(larger, shortlist=grown).recommend(10).ids[0] == "new"
    assert grown.effort == shortlist.effort
    assert len(shortlist) == 5_000


def test_extending_leaves_the_cells_as_they_are(shop: Catalogue, shortlist: Shortlist) -> None:
    old, new = shortlist._cells.partition, clustered(100, seed=1)
    grown = shortlist.with_items(shop.with_items([f"new {n}" for n in range(100)], new))
    partition = grown._cells.partition
    apart = np.linalg.norm(new[:, None] - old.centres[None, :], axis=2)

    np.testing.assert_array_equal(partition.centres, old.centres)
    np.testing.assert_array_equal(partition.cell_of[:5_000], old.cell_of)
    np.testing.assert_array_equal(partition.cell_of[5_000:], apart.argmin(axis=1))


@pytest.mark.parametrize("items", [4_999, 6_000])
def test_only_a_catalogue_that_grew_from_its_own_extends_it(
    items: int, shortlist: Shortlist
) -> None:
    with pytest.raises(InputError, match=r"`catalogue` must begin with the items of .*, got"):
        shortlist.with_items(shop_of(clustered(items)))


def test_a_saved_shortlist_comes_back(
    shop: Catalogue, shortlist: Shortlist, tmp_path: Path
) -> None:
    shortlist.save(tmp_path / "shop.cells")
    back = Shortlist.load(tmp_path / "shop.cells", shop, effort=EFFORT)
    policy = played(LMDH(shop), 3)

    np.testing.assert_array_equal(candidates(back, policy), candidates(shortlist, policy))
    assert [path.name for path in tmp_path.iterdir()] == ["shop.cells"]


def test_another_catalogue_s_cells_are_refused(shortlist: Shortlist, tmp_path: Path) -> None:
    shortlist.save(tmp_path / "cells")

    with pytest.raises(DataError, match="cells: the cells of another catalogue: build them for"):
        Shortlist.load(tmp_path / "cells", shop_of(clustered(seed=1)))


def changed(path: Path, **arrays: np.ndarray) -> None:
    with np.load(path) as stored:
        kept = dict(stored)
    with path.open("wb") as file:
        np.savez(file, **{**kept, **arrays})


def header(**fields: object) -> np.ndarray:
    return np.frombuffer(json.dumps(fields).encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"format": "variegate catalogue"}, "not a file of variegate's shortlist format"),
        (
            {"format": "variegate shortlist", "version": 9},
            "version 9 of the shortlist format, and this variegate reads version 1: build it again",
        ),
    ],
)
def test_files_of_another_format_are_refused(
    fields: dict[str, object], words: str, shop: Catalogue, shortlist: Shortlist, tmp_path: Path
) -> None:
    shortlist.save(tmp_path / "cells")
    changed(tmp_path / "cells", header=header(**fields))

    with pytest.raises(DataError, match=f"cells: {words}"):
        Shortlist.load(tmp_path / "cells", shop)


@pytest.mark.parametrize(
    "arrays",
    [
        {"cell_of": np.full(5_000, 10**6)},
        {"cell_of": np.zeros(4_999, dtype=np.int64)},
        {"spreads": np.array([np.nan])},
        {"leaders": np.array([-1])},
    ],
)
def test_damaged_files_are_refused(
    arrays: dict[str, np.ndarray], shop: Catalogue, shortlist: Shortlist, tmp_path: Path
) -> None:
    shortlist.save(tmp_path / "cells")
    changed(tmp_path / "cells", **arrays)

    with pytest.raises(DataError, match="cells: not a complete shortlist file: its arrays are"):
        Shortlist.load(tmp_path / "cells", shop)


def test_a_missing_file_is_reported(shop: Catalogue, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no shortlist at .*nowhere"):
        Shortlist.load(tmp_path / "nowhere", shop)


@pytest.mark.parametrize("cells", [0, 5_001])
def test_there_are_from_one_cell_to_one_an_item(cells: int, shop: Catalogue) -> None:
    with pytest.raises(
        InputError, match=rf"`cells` must be from 1 to 5000 \(the items\), got {cells}"
    ):
        Shortlist.build(shop, cells=cells)


@pytest.mark.parametrize("effort", [0.0, -1.0, float("nan")])
def test_effort_is_greater_than_zero(effort: float, shop: Catalogue) -> None:
    with pytest.raises(InputError, match="`effort` must be a number greater than 0"):
        Shortlist.build(shop, effort=effort)


def test_features_too_large_for_single_precision_are_refused() -> None:
    with pytest.raises(InputError, match=r"`catalogue` must have features of at most 1e\+15"):
        Shortlist.build(shop_of(1e20 * clustered(10)))


def test_a_policy_takes_no_other_catalogue_s_shortlist(shortlist: Shortlist) -> None:
    with pytest.raises(InputError, match=r"`shortlist` must be of Catalogue\(10 items"):
        LMDH(shop_of(clustered(10)), shortlist=shortlist)


def test_a_policy_takes_nothing_else_for_a_shortlist(shop: Catalogue) -> None:
    with pytest.raises(InputError, match="`shortlist` must be a Shortlist or None, got 5"):
        LMDH(shop, shortlist=5)  # type: ignore[arg-type]

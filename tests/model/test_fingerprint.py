"""What makes a catalogue the same to what was learnt, and how a difference is described."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from tests.engine.shop import catalogue
from variegate import Catalogue
from variegate.data.build import content_catalogue
from variegate.data.films import film_catalogue
from variegate.errors import DataError
from variegate.model.distances import difference, hamming, jaccard
from variegate.model.fingerprint import Fingerprint
from variegate.model.item_table import ItemTable


def table() -> ItemTable:
    return ItemTable(
        ("a", "b", "c"),
        ("A", "B", "C"),
        numbers={"price": np.array([1.0, 2.0, 5.0])},
        lists={"tags": (("x",), ("y",), ("x", "z"))},
    )


def result(before: Catalogue, now: Catalogue) -> tuple[str, ...]:
    return before.fingerprint.differences(now.fingerprint)


@pytest.mark.parametrize("made", [catalogue, lambda: content_catalogue(table())])
def test_a_file_has_the_fingerprint_of_what_was_saved(made: object, tmp_path: Path) -> None:
    before: Catalogue = made()  # type: ignore[operator]
    before.save(tmp_path / "c.npz")
    again = Catalogue.load(tmp_path / "c.npz")
    assert again.fingerprint == before.fingerprint
    assert Fingerprint.from_json(before.fingerprint.to_json()) == before.fingerprint


def test_another_process_finds_the_same() -> None:
    pytest.importorskip("bokeh_sampledata", reason="the extra `films` is not installed")
    code = (
        "from variegate.data import film_catalogue as f; print(f(films=40).fingerprint.to_json())"
    )
    run = [sys.executable, "-c", code]
    printed = subprocess.run(run, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == str(film_catalogue(films=40).fingerprint.to_json())


def test_the_last_digits_do_not_count() -> None:
    before = catalogue()
    nearly = before.with_changes(before.ids, np.nextafter(before.features, 9.0))
    assert nearly.fingerprint == before.fingerprint
    zeros = [Catalogue(["a"], [[zero, 1.0]], "cosine") for zero in (0.0, -0.0)]
    assert result(*zeros) == ()


def test_titles_and_attributes_are_no_part_of_it() -> None:
    ids, features = ["a", "b"], np.eye(2)
    one = Catalogue(ids, features, "cosine")
    two = Catalogue(ids, features, "cosine", titles=["A", "B"], attributes={"year": [1, 2]})
    assert one.fingerprint == two.fingerprint


def test_what_differs_is_reported() -> None:
    before = catalogue()
    ids, others = list(before.ids), list(before.distances[1:])
    years = np.array(before.attributes["year"], dtype=float)

    def made(features: np.ndarray = before.features, distances: object = None, **more: object):  # type: ignore[no-untyped-def]
        names = more.pop("feature_names", before.feature_names)
        chosen = ["cosine", *others] if distances is None else distances
        return Catalogue(more.pop("ids", ids), features, chosen, feature_names=names, **more)  # type: ignore[arg-type]

    assert result(before, made()) == ()
    assert result(before, made(before.features * 1.001)) == ("features of the same items differ",)
    assert result(before, made(ids=ids[::-1])) == ("its items are others, or in another order",)
    assert result(before, before.first(21)) == ("3 items are gone: it has 21, and there were 24",)
    assert result(before, made(feature_names="abcd")) == ("the features have other names",)
    wider = before.with_features({"more": range(24)})
    assert "it has 5 features, and there were 4" in result(before, wider)
    scaled = [*others[:1], difference(years, scale=9.0, name="years"), *others[2:]]
    assert result(before, made(distances=["cosine", *scaled])) == ("distance years differs",)
    assert result(before, made(distances=["angular", *others])) == (
        "distance cosine is gone",
        "distance angular is new",
    )
    assert result(before, made(distances=[*others, "cosine"])) == (
        "the distances are in another order",
    )
    assert result(before, made(mean_user=[0.0, 0.0, 0.0, 1.0])) == ("the mean user differs",)
    assert result(before, made(feature_scale=2.0)) == ("the scale of the features differs",)


def test_an_encoder_may_come_but_not_change() -> None:
    made = content_catalogue(table())
    bare = Catalogue(
        made.ids,
        made.features,
        ["cosine", *made.distances[1:]],
        feature_names=made.feature_names,
    )
    assert result(bare, made) == ()
    assert result(made, bare) == ("the encoder differs",)
    assert made.encoder is not None
    shares = tuple(share / 2 for share in made.encoder.shares)
    other = Catalogue(
        made.ids,
        made.features,
        ["cosine", *made.distances[1:]],
        feature_names=made.feature_names,
        encoder=replace(made.encoder, shares=shares),
        sources=made.sources,
    )
    assert result(made, other) == ("the encoder differs",)


def test_labels_count_by_what_they_say() -> None:
    sets, brands = [{"b"}, {"b", "c"}], ["k", "l"]
    small = Catalogue(["x", "y"], np.eye(2), [jaccard(sets, name="g"), hamming(brands, name="b")])
    large = Catalogue(
        ["x", "y", "z"],
        np.vstack([np.eye(2), np.ones(2)]),
        [jaccard([*sets, {"a"}], name="g"), hamming([*brands, "a"], name="b")],
    )
    assert small.fingerprint.differences(large.fingerprint_of_first(2)) == ()
    assert large.first(2).fingerprint == small.fingerprint


def test_a_growing_catalogue_keeps_the_fingerprint_of_its_first_items() -> None:
    small = content_catalogue(table())
    grown = small.with_items(
        ["d"],
        small.features[:1],
        {
            "price": difference([9.0], name="price"),
            "tags": jaccard([{"a", "q"}], name="tags"),
        },
    )
    assert grown.fingerprint_of_first(3) == small.fingerprint != grown.fingerprint


def test_which_catalogues_can_stand_for_each_other() -> None:
    before = catalogue()
    other = before.with_changes(before.ids, before.features + 1.0)
    assert before.fingerprint.means_the_same(other.fingerprint)
    assert not before.fingerprint.means_the_same(before.first(5).fingerprint)


def test_a_fingerprint_of_another_kind_is_refused() -> None:
    with pytest.raises(DataError, match="not a fingerprint of this version: 1"):
        Fingerprint.from_json({"version": 1})


def test_many_items_take_no_time_and_no_copy() -> None:
    rng = np.random.default_rng(0)
    large = Catalogue(range(100_000), rng.random((100_000, 64)), "cosine")
    start = perf_counter()
    assert large.fingerprint is large.fingerprint
    assert perf_counter() - start < 2.0

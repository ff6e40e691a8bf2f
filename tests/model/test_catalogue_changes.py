"""Items that change: the catalogue afterwards is the one built again with the same data."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from variegate import LMDH, Catalogue, Policy, make_policy
from variegate.arrays import FloatArray
from variegate.errors import InputError, NotFoundError
from variegate.kernels.layout import layout_of
from variegate.model.distances import (
    Distance,
    cosine,
    custom,
    difference,
    euclidean,
    hamming,
    jaccard,
)

Item = tuple[list[float], set[str], float, str, list[float]]
LABELS = ("a", "b", "c", "d")

numbers = st.integers(-4, 4).map(float)
items = st.tuples(
    st.lists(numbers, min_size=3, max_size=3),
    st.sets(st.sampled_from(LABELS)),
    numbers,
    st.sampled_from(LABELS),
    st.lists(numbers, min_size=2, max_size=2),
)


def own_distances(rows: list[Item]) -> dict[str, Distance]:
    """Return a distance of each kind with data of its own."""
    return {
        "tags": jaccard([tags for _, tags, *_ in rows], name="tags"),
        "price": difference([row[2] for row in rows], scale=8.0, name="price"),
        "maker": hamming([row[3] for row in rows], name="maker"),
        "shape": cosine(np.array([row[4] for row in rows]).reshape(-1, 2), name="shape"),
    }


def catalogue_of(rows: list[Item]) -> Catalogue:
    on_features = [cosine(), euclidean(scale=3.0)]
    return Catalogue(
        range(len(rows)),
        [z for z, *_ in rows],
        [*on_features, *own_distances(rows).values()],
        titles=[f"{row[3]} {row[2]}" for row in rows],
        attributes={"price": [row[2] for row in rows]},
    )


def taught(policy: Policy) -> Policy:
    k = min(3, len(policy.catalogue))
    slate = policy.recommend(k)
    policy.update(slate, np.arange(k) % 2)
    return policy


def assert_same_lists(one: Catalogue, other: Catalogue, name: str) -> None:
    """Hold lists over two catalogues to each other, and the compiled one to the reference."""
    first, second = taught(make_policy(name, one)), taught(make_policy(name, other))
    k, free = len(one), np.ones(len(one), dtype=bool)
    found, expected = first.recommend(k), second.recommend(k)
    assert found.ids == expected.ids
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.diversity, expected.diversity)
    reference = first._search_slate(free, k, None)
    np.testing.assert_allclose(found.scores, reference.scores, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.sort(found.items), np.sort(reference.items))


@pytest.mark.parametrize("name", ["lmdh", "mmr", "lsb", "linucb"])
@given(data=st.data(), rows=st.lists(items, min_size=2, max_size=7))
@settings(deadline=None, max_examples=25)
def test_lists_are_those_of_a_catalogue_built_again(
    name: str, rows: list[Item], data: st.DataObject
) -> None:
    changed = data.draw(st.lists(st.integers(0, len(rows) - 1), unique=True, max_size=4))
    new = [data.draw(items) for _ in changed]
    before = catalogue_of(rows)
    assert before.layout is not None  # made before, so that a stale one would be seen

    after = before.with_changes(
        changed,
        np.array([z for z, *_ in new]).reshape(-1, 3),
        own_distances(new),
        [f"{row[3]} {row[2]}" for row in new],
        {"price": [row[2] for row in new]},
    )

    rebuilt = catalogue_of(
        [dict(zip(changed, new, strict=True)).get(i, r) for i, r in enumerate(rows)]
    )
    assert (after.ids, after.titles) == (rebuilt.ids, rebuilt.titles)
    assert after.attributes == rebuilt.attributes
    np.testing.assert_array_equal(after.features, rebuilt.features)
    for h, same in zip(after.distances, rebuilt.distances, strict=True):
        np.testing.assert_array_equal(h.matrix(), same.matrix())
    assert_same_lists(after, rebuilt, name)


@given(rows=st.lists(items, min_size=1, max_size=5), new=st.lists(items, min_size=1, max_size=3))
@settings(deadline=None, max_examples=25)
def test_lists_of_a_grown_catalogue_are_those_of_one_built_again(
    rows: list[Item], new: list[Item]
) -> None:
    grown = catalogue_of(rows).with_items(
        range(len(rows), len(rows) + len(new)), [z for z, *_ in new], own_distances(new)
    )

    assert_same_lists(grown, catalogue_of([*rows, *new]), "lmdh")


def shop() -> Catalogue:
    return Catalogue(
        ["a", "b", "c"],
        [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]],
        [
            "cosine",
            jaccard([{"x"}, {"x", "y"}, set()], name="tags"),
            hamming(list("fgf"), name="land"),
        ],
        ["A", "B", "C"],
        {"year": [1990, 2000, 2010], "price": [1, 2, 3]},
        feature_names=["one", "two"],
        mean_user=[0.1, 0.2],
        feature_scale=3.0,
    )


def test_what_is_not_given_stays() -> None:
    before = shop()

    after = before.with_changes(["b"], [[0.0, 2.0]], attributes={"year": [None]})

    assert (after.ids, after.titles) == (before.ids, before.titles)
    assert after.attributes == {"year": (1990, None, 2010), "price": (1, 2, 3)}
    assert (after.feature_names, after.feature_scale) == (before.feature_names, 3.0)
    assert after.mean_user is not None
    assert after.mean_user.tolist() == [0.1, 0.2]
    assert after.features.tolist() == [[1.0, 0.0], [0.0, 2.0], [0.0, 1.0]]
    assert after.distances[0].from_item(1).tolist() == [1.0, 0.0, 0.0]
    assert after.distances[1].matrix().tolist() == before.distances[1].matrix().tolist()
    assert after.distances[2] is before.distances[2]
    assert before.features[1].tolist() == [0.6, 0.8]


def test_labels_that_nobody_had_are_welcome() -> None:
    after = shop().with_changes(
        ["c", "a"],
        np.eye(2),
        {"tags": jaccard([{"new", "y"}, {"y"}]), "land": hamming(["zz", "g"])},
    )

    np.testing.assert_allclose(after.distances[1].from_item(1), [0.5, 0.0, 2 / 3])
    assert after.distances[2].from_item(1).tolist() == [0.0, 0.0, 1.0]
    assert after.features.tolist() == [[0.0, 1.0], [0.6, 0.8], [1.0, 0.0]]


def test_slates_and_states_of_before_are_good_afterwards() -> None:
    before = shop()
    policy = taught(LMDH(before, ridge=1.0))
    slate = policy.recommend(2)

    later = LMDH(before.with_changes(slate.ids, [[9.0, 9.0]] * 2), ridge=1.0)
    later.restore(policy.state())
    later.update(slate, [1, 0])
    policy.update(slate, [1, 0])

    assert later.state() == policy.state()


def test_nothing_of_the_old_layout_is_kept() -> None:
    before = shop()
    assert before.layout is not None
    assert before.largest_norm == 1.0
    assert before.rows(["c"]).tolist() == [2]

    after = before.with_changes(["b"], [[3.0, 4.0]])

    expected = layout_of(after.features, after.distances)
    assert after.layout is not None
    assert expected is not None
    for found, right in zip(after.layout.items, expected.items, strict=True):
        np.testing.assert_array_equal(found, right)
    assert after.largest_norm == after.layout.longest == 5.0
    assert after.candidates(after.rows(["b", "c"])).tolist() == [1, 2]


def test_popular_goes_by_the_new_numbers() -> None:
    plain = Catalogue(["a", "b"], np.eye(2), [], attributes={"popularity": [1, 2]})
    assert make_policy("popular", plain).recommend(1).ids == ("b",)

    after = plain.with_changes(["a"], [[1.0, 0.0]], attributes={"popularity": [3]})

    assert make_policy("popular", after).recommend(1).ids == ("a",)


def test_what_it_holds_cannot_be_written_to() -> None:
    features = np.eye(2)
    after = shop().with_changes(["a", "b"], features)
    features[:] = 7.0

    assert after.features[:2].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="read-only"):
        after.features[0, 0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        after.distances[0].rows[0, 0] = 9.0


def test_a_changed_catalogue_is_saved_as_any_other(tmp_path: Any) -> None:
    after = shop().with_changes(["b"], [[0.0, 2.0]], {"tags": jaccard([{"new"}])})
    after.save(tmp_path / "shop.npz")

    again = Catalogue.load(tmp_path / "shop.npz")

    np.testing.assert_array_equal(again.features, after.features)
    for h, same in zip(again.distances, after.distances, strict=True):
        np.testing.assert_array_equal(h.matrix(), same.matrix())


def far(point: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray(np.abs(points - point).sum(axis=1))


def test_a_distance_of_ones_own_changes_with_its_data() -> None:
    own = custom(far, [[0.0], [1.0]], name="own", largest=9.0)
    before = Catalogue(["a", "b"], np.eye(2), own)

    after = before.with_changes(
        ["b"], [[0.0, 1.0]], {"own": custom(far, [[5.0]], name="own", largest=9.0)}
    )

    assert after.distances[0].from_item(0).tolist() == [0.0, 5.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ids": "ab"}, r"`ids` must be one id for each item, got the text 'ab'"),
        ({"ids": ["b", "b"], "features": np.eye(2)}, r"`ids` must be distinct, got 'b' twice"),
        ({"features": [[1.0]]}, r"`features` must have 2 columns, got 1"),
        ({"features": np.eye(2)}, r"`features` must have 1 rows, got 2"),
        ({"features": [[1.0, np.nan]]}, r"`features` must be finite, got nan at \[0, 1\]"),
        ({"features": [[1.0, 1e200]]}, r"`features` must be at most 1e\+100 in size"),
        ({"titles": ["B", "C"]}, r"`titles` must have 1 entries, got 2"),
        ({"attributes": {"year": []}}, r"`attributes\['year'\]` must have 1 entries, got 0"),
        ({"distances": {"tags": hamming(["x"])}}, r"`tags` is jaccard, got hamming"),
        (
            {"distances": {"tags": jaccard([["x"], ["y"]])}},
            r"distance `tags` must have data for 1 items, got 2",
        ),
        (
            {"distances": {"cosine": cosine([[1.0, 2.0]])}},
            r"distance `cosine` is computed on the features and takes no data",
        ),
    ],
    ids=lambda value: str(next(iter(value))) if isinstance(value, dict) else "",
)
def test_what_it_does_not_change_by(change: dict[str, Any], words: str) -> None:
    options: dict[str, Any] = {"ids": ["b"], "features": [[1.0, 1.0]]}

    with pytest.raises(InputError, match=words):
        shop().with_changes(**(options | change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ids": ["zz"]}, "no item 'zz' in the catalogue"),
        ({"distances": {"tag": jaccard([["x"]])}}, r"`distances` .* did you mean 'tags'\?"),
        ({"attributes": {"yaer": [1]}}, r"`attributes` .* did you mean 'year'\?"),
    ],
    ids=["ids", "distances", "attributes"],
)
def test_names_that_nobody_knows(change: dict[str, Any], words: str) -> None:
    options: dict[str, Any] = {"ids": ["b"], "features": [[1.0, 1.0]]}

    with pytest.raises(NotFoundError, match=words):
        shop().with_changes(**(options | change))

"""Lists under constraints: greedy among what can still be completed, or an error that says why."""

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policies.making import NAMES, make_named
from variegate import LMDH, AtLeast, Catalogue, Constraints, Recommender, open_catalogue
from variegate.errors import InputError
from variegate.policies import Policy, make_policy

BRANDS = ["A", "A", "A", "A", "B", "B", "C", None]
TAGS = [["new"], [], ["new", "sale"], ["sale"], ["old"], None, ["sale"], ["new"]]
PRICES = [5, 10, 15, 20, 25, 30, 35, 40]


def shop() -> Catalogue:
    """Return eight items, the best first for a policy that learnt nothing."""
    rng = np.random.default_rng(3)
    features = rng.uniform(0.1, 1.0, (8, 2)) * np.linspace(2.0, 0.5, 8)[:, None]
    return Catalogue(
        [f"p{row}" for row in range(8)],
        features,
        "cosine",
        attributes={"brand": BRANDS, "tags": TAGS, "price": PRICES},
    )


CHEAP = {"attribute": "price", "<=": 10}
NEW = {"attribute": "tags", "=": "new"}


def values(slate: Any, column: list[Any]) -> Counter[Any]:
    rows = [column[row] for row in slate.items]
    return Counter(v for one in rows for v in (one if isinstance(one, list) else [one]))


def test_at_most_counts_each_value() -> None:
    policy = LMDH(shop())
    assert max(values(policy.recommend(5), BRANDS).values()) > 2
    slate = policy.recommend(5, constraints=Constraints(at_most={"brand": 2, "tags": 1}))
    assert max(values(slate, BRANDS).values()) <= 2
    assert max(count for tag, count in values(slate, TAGS).items() if tag) <= 1
    assert slate.relaxed == ()


def test_a_list_that_meets_its_constraints_anyway_does_not_change() -> None:
    policy = LMDH(shop())
    plain = policy.recommend(3)
    slate = policy.recommend(3, constraints=Constraints(at_most={"price": 1}))
    assert (slate.ids, slate.scores.tolist()) == (plain.ids, plain.scores.tolist())


def test_at_least_waits_until_the_positions_are_just_enough() -> None:
    policy = LMDH(shop())
    plain = policy.recommend(4, exclude=[0, 1])
    dear = {"attribute": "price", ">=": 35}
    slate = policy.recommend(
        4, exclude=[0, 1], constraints=Constraints(at_least=[AtLeast(dear, 2)])
    )
    assert slate.ids[:2] == plain.ids[:2]
    assert set(slate.ids[2:]) == {"p6", "p7"}


def test_an_item_that_meets_two_conditions_counts_for_both() -> None:
    policy = LMDH(shop())
    both = Constraints(at_least=[AtLeast(NEW, 1), AtLeast({"attribute": "tags", "=": "sale"}, 1)])
    assert policy.recommend(1, constraints=both).ids == ("p2",)


def test_pins_are_at_their_positions_and_above_the_others() -> None:
    policy = LMDH(shop())
    slate = policy.recommend(3, constraints=Constraints(pins={1: "p7", 3: "p6"}))
    assert (slate.ids[0], slate.ids[2]) == ("p7", "p6")
    # The item below is the best given p7, and its gains are those of a list in this order.
    again = policy.as_slate(slate.items, slate.scores)
    assert np.allclose(slate.diversity, again.diversity)
    second = policy._scorer(np.arange(8), 3, None)
    second.take(7)
    scores = second.scores()
    scores[[6, 7]] = -np.inf
    assert slate.items[1] == np.argmax(scores)
    assert slate.scores[1] == pytest.approx(scores.max())


def test_pins_below_count_before_they_are_reached() -> None:
    slate = LMDH(shop()).recommend(3, constraints=Constraints(at_most={"brand": 1}, pins={3: "p3"}))
    assert sorted(BRANDS[row] or "" for row in slate.items) in (
        ["", "A", "B"],
        ["A", "B", "C"],
        ["", "A", "C"],
    )
    assert slate.ids[2] == "p3"


@pytest.mark.parametrize(
    ("constraints", "k", "words", "relaxed"),
    [
        (
            Constraints(at_most={"brand": 1}),
            6,
            "^`constraints.at_most.brand`: 1 is not possible, 2 would do: change the constraints",
            [("at_most.brand", 1, 2)],
        ),
        (
            Constraints(at_least=[AtLeast(CHEAP, 3)]),
            4,
            "^`constraints.at_least.0`: 3 is not possible, 2 at most: change",
            [("at_least.0", 3, 2)],
        ),
        (
            Constraints(at_least=[AtLeast(CHEAP, 9)]),
            4,
            "^`constraints.at_least.0`: 9 is not possible, 2 at most",
            [("at_least.0", 9, 2)],
        ),
        (
            Constraints(at_most={"brand": 1}, at_least=[AtLeast(CHEAP, 2)]),
            2,
            "^`constraints.at_least.0`: 2 is not possible, 1 at most",
            [("at_least.0", 2, 1)],
        ),
        (
            Constraints(pins={1: "nope", 9: "p1", 2: "p0"}),
            3,
            "^`constraints.pins.1`: 'nope' is not among the candidates; `constraints.pins.9`: the "
            "list has 3 positions only",
            [("pins.1", "nope", None), ("pins.9", "p1", None)],
        ),
        (
            Constraints(at_most={"brand": 1}, pins={1: "p0", 2: "p1"}),
            3,
            "^`constraints.at_most.brand`: 1 is not possible, 2 would do",
            [("at_most.brand", 1, 2)],
        ),
    ],
)
def test_constraints_that_cannot_be_met_are_refused_or_relaxed(
    constraints: Constraints, k: int, words: str, relaxed: list[tuple[Any, ...]]
) -> None:
    policy = LMDH(shop())
    with pytest.raises(InputError, match=words):
        policy.recommend(k, constraints=constraints)
    loose = Constraints.from_dict({**constraints.to_dict(), "relax": True})
    slate = policy.recommend(k, constraints=loose)
    assert (len(set(slate.ids)), list(slate.relaxed)) == (k, relaxed)


def test_an_excluded_pin_is_not_placed() -> None:
    with pytest.raises(InputError, match=r"`constraints.pins.1`: 'p1' is not among the candidates"):
        LMDH(shop()).recommend(2, exclude=[1], constraints=Constraints(pins={1: "p1"}))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"at_most": {"brand": 0}}, "`constraints.at_most.brand` must be a whole .* 1, got 0"),
        ({"at_most": {"brand": True}}, "`constraints.at_most.brand` must be a whole .* got True"),
        (
            {"at_least": [AtLeast(CHEAP, -1)]},
            "`constraints.at_least.0.n` must be a whole .* got -1",
        ),
        ({"pins": {0: "p1"}}, "`constraints.pins.0` must be a whole number of at least 1, got 0"),
        ({"pins": {1: "p1", 2: "p1"}}, "`constraints.pins` must be distinct, got 'p1' twice"),
        (
            {"at_least": [AtLeast({"not": 1}, 1)]},
            "`constraints.at_least.0.where.not` must be an ob",
        ),
        (
            {"at_most": {"a": 0}, "pins": {-1: "x"}},
            "`constraints.at_most.a` must .*; `constraints.pins.-1` must ",
        ),
        (
            {"at_most": {str(n): 1 for n in range(101)}},
            "`constraints.at_most` must be at most 100, got 101",
        ),
    ],
)
def test_wrong_constraints_are_refused_all_at_once(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Constraints(**wrong)


def test_unknown_attributes_are_refused_all_at_once() -> None:
    asked = Constraints(at_most={"brnd": 1}, at_least=[AtLeast({"attribute": "x", "=": 1}, 1)])
    with pytest.raises(InputError) as refusal:
        LMDH(shop()).recommend(2, constraints=asked)
    assert "`constraints.at_most` must name one of brand" in str(refusal.value)
    assert "`constraints.at_least.0.where` must name one of brand" in str(refusal.value)


def test_a_search_that_does_not_go_item_by_item_takes_none() -> None:
    with pytest.raises(InputError, match="must be None for lmdh with local search, which does not"):
        LMDH(shop(), search="local").recommend(2, constraints=Constraints())


def test_constraints_survive_json() -> None:
    asked = Constraints({"brand": 2}, (AtLeast(NEW, 1),), {3: "p1"}, True)
    assert Constraints.from_dict(asked.to_dict()) == asked
    assert Constraints().to_dict() == {}


def test_a_recommender_takes_constraints() -> None:
    slate = Recommender(shop(), "lmdp").recommend("ann", 3, constraints=Constraints(pins={2: "p7"}))
    assert (slate.ids[1], slate.user_id) == ("p7", "ann")


def test_candidates_with_scores_keep_to_constraints() -> None:
    policy = make_policy("lmdp", shop().with_score())
    asked = Constraints({"brand": 1}, pins={2: "p6"})
    slate = policy.recommend(3, [0, 1, 2, 4, 6], scores=[5, 4, 3, 2, 1], constraints=asked)
    assert max(values(slate, BRANDS).values()) == 1
    assert (slate.ids[0], slate.ids[1]) == ("p0", "p6")


def test_candidates_of_an_open_catalogue_keep_to_constraints() -> None:
    policy = make_policy("lmdp", open_catalogue(distances="cosine"))
    asked = Constraints({"brand": 1}, relax=True)
    slate = policy.recommend(
        3,
        ["x", "y", "z", "w"],
        scores=[9, 8, 7, 1],
        vectors=np.eye(4),
        attributes={"brand": ["A", "A", "B", "B"]},
        constraints=asked,
    )
    assert slate.relaxed == (("at_most.brand", 1, 2),)
    slate = policy.recommend(
        2,
        ["x", "y", "z", "w"],
        scores=[9, 8, 7, 1],
        vectors=np.eye(4),
        attributes={"brand": ["A", "A", "B", "B"]},
        constraints=asked,
    )
    assert sorted(slate.ids) == ["x", "z"]


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_keeps_to_constraints_and_learns_from_the_list(name: str) -> None:
    policy = make_named(name, shop())
    asked = Constraints({"brand": 1}, (AtLeast(NEW, 1),), {2: "p6"})
    slate = policy.recommend(3, rng=1, constraints=asked)
    assert max(n for brand, n in values(slate, BRANDS).items() if brand) == 1
    assert values(slate, TAGS)["new"] >= 1
    assert slate.ids[1] == "p6"
    policy.update(slate, [1, 0, 1])


def meets(rows: tuple[int, ...], items: Catalogue, asked: Constraints) -> bool:
    """Return whether a whole list meets constraints, by counting."""
    if any(items.ids[rows[position - 1]] != item for position, item in asked.pins.items()):
        return False
    for name, n in asked.at_most.items():
        counts = Counter(value for row in rows for value in set(items.attributes[name][row]))
        if max(counts.values(), default=0) > n:
            return False
    masks = [(items.where(one.where), one.n) for one in asked.at_least]
    return all(mask[list(rows)].sum() >= n for mask, n in masks)


def expected(policy: Policy, k: int, asked: Constraints) -> list[int] | None:
    """Return the list by its definition: the best item of each position that can be completed."""
    items = policy.catalogue
    whole = [rows for rows in permutations(range(len(items)), k) if meets(rows, items, asked)]
    if not whole:
        return None
    scorer, rows = policy._scorer(np.arange(len(items)), k, None), list[int]()
    for position in range(k):
        possible = sorted({one[position] for one in whole})
        scores = scorer.scores()
        rows.append(max(possible, key=lambda row: (scores[row], -row)))
        whole = [one for one in whole if one[position] == rows[-1]]
        scorer.take(rows[-1])
    return rows


_sets = st.lists(st.sets(st.sampled_from("xyz"), max_size=2), min_size=6, max_size=6)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 5),
    a=_sets,
    b=_sets,
    k=st.integers(1, 4),
    at_most=st.dictionaries(st.sampled_from("ab"), st.integers(1, 2)),
    needs=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(1, 2)), max_size=3
    ),
    pins=st.dictionaries(st.integers(1, 4), st.integers(0, 5), max_size=2),
    name=st.sampled_from(["lmdh", "mmr", "popular"]),
)
def test_a_list_is_greedy_among_what_can_be_completed(
    seed: int,
    a: list[set[str]],
    b: list[set[str]],
    k: int,
    at_most: dict[str, int],
    needs: list[tuple[str, str, int]],
    pins: dict[int, int],
    name: str,
) -> None:
    rng = np.random.default_rng(seed)
    # One more item has every value, so that no condition is about values that nothing has.
    columns = {"a": [*a, set("xyz")], "b": [*b, set("xyz")]}
    items = Catalogue(
        range(7), rng.normal(size=(7, 3)), "cosine", attributes=columns, mean_user=np.ones(3)
    )
    distinct = {p: str(i) for p, i in pins.items() if p <= k and list(pins.values()).count(i) == 1}
    asked = Constraints(
        at_most,
        tuple(AtLeast({"attribute": name, "=": value}, n) for name, value, n in needs),
        distinct,
    )
    policy = make_policy(name, items)
    rows = expected(policy, k, asked)
    if rows is None:
        with pytest.raises(InputError, match="constraints"):
            policy.recommend(k, constraints=asked)
        slate = policy.recommend(
            k, constraints=Constraints(asked.at_most, asked.at_least, asked.pins, True)
        )
        assert len(slate) == k
        assert slate.relaxed
    else:
        assert policy.recommend(k, constraints=asked).items.tolist() == rows

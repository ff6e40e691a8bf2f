"""Conditions on attributes: what each operator selects, and errors that say everything at once."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from variegate.conditions import MAX_DEPTH, MAX_TESTS, MAX_VALUES
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.model.filters import N_MASKS, Column

SHOP = Catalogue(
    list("abcde"),
    np.eye(5),
    [],
    attributes={
        "price": [30, 15.5, None, float("nan"), 15],
        "brand": ["Acme", "", "Zeta", "acme", None],
        "tags": [["new", "sale"], (), None, {"sale"}, ["old"]],
        "new": [True, False, None, True, np.bool_(False)],
        "mixed": [1, True, "1", np.float64(1.0), [1, "x"]],
        "empty": [None] * 5,
    },
)
ALL = "abcde"


def found(condition: dict[str, Any], shop: Catalogue = SHOP) -> str:
    return "".join(np.array(shop.ids)[shop.where(condition)])


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ({"attribute": "price", "=": 15}, "e"),
        ({"attribute": "price", "<": 15.5}, "e"),
        ({"attribute": "price", "<=": 15.5}, "be"),
        ({"attribute": "price", ">": 15}, "ab"),
        ({"attribute": "price", ">=": 15}, "abe"),
        ({"attribute": "price", ">": 15, "<": 30}, "b"),
        ({"attribute": "price", "exists": True}, "abe"),
        ({"attribute": "price", "exists": False}, "cd"),
        ({"attribute": "brand", "=": "Acme"}, "a"),
        ({"attribute": "brand", "in": ["Acme", "Zeta", "nobody"]}, "ac"),
        ({"attribute": "brand", "not in": ["Acme", "Zeta"]}, "bde"),
        ({"attribute": "brand", "in": []}, ""),
        ({"attribute": "brand", "not in": []}, ALL),
        ({"attribute": "brand", ">=": "B"}, "cd"),
        ({"attribute": "tags", "=": "sale"}, "ad"),
        ({"attribute": "tags", "in": ["new", "old"]}, "ae"),
        ({"attribute": "tags", "not in": ["sale"]}, "bce"),
        ({"attribute": "tags", "exists": False}, "bc"),
        ({"attribute": "new", "=": True}, "ad"),
        ({"attribute": "new", "=": False}, "be"),
        ({"attribute": "mixed", "=": 1}, "ade"),
        ({"attribute": "mixed", "=": True}, "b"),
        ({"attribute": "mixed", "=": "1"}, "c"),
        ({"attribute": "mixed", "<": 2}, "ade"),
        ({"attribute": "empty", ">": 3}, ""),
        ({"not": {"attribute": "price", "<": 20}}, "acd"),
        ({"and": [{"attribute": "price", "<": 20}, {"attribute": "tags", "=": "old"}]}, "e"),
        ({"or": [{"attribute": "price", ">": 20}, {"attribute": "tags", "=": "old"}]}, "ae"),
        ({"not": {"or": [{"not": {"attribute": "new", "=": True}}]}}, "ad"),
        ({"attribute": "price", "=": np.int64(30)}, "a"),
        ({"attribute": "price", "<=": np.float64(15.5)}, "be"),
    ],
)
def test_each_operator_selects_what_it_says(condition: dict[str, Any], ids: str) -> None:
    assert found(condition) == ids


_FORM = r"an object such as \{.*\}"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (5, rf"^`where` must be {_FORM}, got 5$"),
        ({}, rf"^`where` must be {_FORM}, got \{{\}}$"),
        ({"price": 3}, rf'^`where` must be {_FORM}, got the key "price"$'),
        ({"and": [], "or": []}, rf"^`where` must be {_FORM}, got several keys$"),
        ({"or": []}, r"^`where.or` must be a list of at least one condition, got \[\]$"),
        ({"and": {"not": 1}}, r"^`where.and` must be a list of at least one condition, got"),
        ({"attribute": "price"}, "^`where` must compare by at least one of =, in, not in,"),
        ({"attribute": 3, "=": 1}, "^`where.attribute` must be text, got 3$"),
        ({"attribute": "price", "~": 1, "=": 1}, '^`where` must compare by one of =, .* got "~"$'),
        ({"attribute": "price", "in": 3}, "^`where.in` must be a list of values, got 3$"),
        (
            {"attribute": "price", "in": [1, [2]]},
            r"^`where.in.1` must be text, a number, true or false, got \[2\]$",
        ),
        (
            {"attribute": "price", "=": None},
            "^`where.=` must be text, a number, true or false, got null: `exists` finds items",
        ),
        ({"attribute": "price", "<": True}, "^`where.<` must be a number or text, got true$"),
        ({"attribute": "price", ">": float("nan")}, "^`where.>` must be a number or text, got NaN"),
        ({"attribute": "price", "exists": 1}, "^`where.exists` must be true or false, got 1$"),
        (
            {"attribute": "prize", "=": 1},
            "^`where` must name one of price, brand, .* got 'prize': did you mean 'price'[?]$",
        ),
        (
            {"attribute": "price", "in": ["15"]},
            "^`where`: attribute 'price' has numbers, so `in` cannot compare it with '15'$",
        ),
        (
            {"attribute": "brand", "<": 3},
            "^`where`: attribute 'brand' has text, so `<` cannot compare it with 3$",
        ),
    ],
)
def test_a_wrong_condition_is_refused(condition: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        SHOP.where(condition)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InputError) as refusal:
        SHOP.where({"and": [{"attribute": "price", "<": None}, {"not": {"tags": 1}}, 7]})
    for name in ("`where.and.0.<`", "`where.and.1.not`", "`where.and.2`"):
        assert name in str(refusal.value)
    with pytest.raises(InputError, match=r"'a'.*'b'"):
        SHOP.where({"or": [{"attribute": "a", "=": 1}, {"attribute": "b", "=": 1}]})
    with pytest.raises(InputError, match=r"`where.or.9` must .* \(and 2 more\)$"):
        SHOP.where({"or": [1] * 12})


def test_a_condition_has_limits() -> None:
    deep: dict[str, Any] = {"attribute": "price", "=": 30}
    for _ in range(MAX_DEPTH):
        deep = {"not": deep}
    with pytest.raises(InputError, match=f"must be nested less deeply, at most {MAX_DEPTH} levels"):
        SHOP.where(deep)
    assert found(deep["not"]) == "bcde"
    with pytest.raises(InputError, match=f"at most {MAX_TESTS} comparisons, got {MAX_TESTS + 1}$"):
        SHOP.where({"or": [{"attribute": "price", "=": 1}] * (MAX_TESTS + 1)})
    with pytest.raises(InputError, match=f"at most {MAX_VALUES} values, got {MAX_VALUES + 1}$"):
        SHOP.where({"attribute": "price", "in": list(range(MAX_VALUES + 1))})


def test_items_without_attributes_cannot_be_filtered() -> None:
    shop = Catalogue(["a", "b"], np.eye(2), [])
    with pytest.raises(InputError, match=r"^`where`: the items have no attributes, got 'price'$"):
        shop.where({"attribute": "price", "=": 1})


def test_a_mask_is_kept_read_only_and_makes_room_for_others() -> None:
    shop = Catalogue(["a", "b"], np.eye(2), [], attributes={"price": [1, 2]})
    first = shop.where({"attribute": "price", "=": 1})
    assert shop.where({"attribute": "price", "=": 1}) is first
    # In Python 1 == True, but they are not the same value here.
    with pytest.raises(InputError, match="cannot compare it with True"):
        shop.where({"attribute": "price", "=": True})
    with pytest.raises(ValueError, match="read-only"):
        first[0] = False
    for number in range(N_MASKS):
        shop.where({"attribute": "price", "<": number})
    assert shop.where({"attribute": "price", "=": 1}) is not first


def test_a_mask_is_a_list_of_candidates() -> None:
    from variegate import LMDH

    shop = Catalogue(list("abc"), np.eye(3), "cosine", attributes={"price": [1, 2, 3]})
    slate = LMDH(shop).recommend(2, shop.where({"attribute": "price", ">": 1}))
    assert sorted(slate.ids) == ["b", "c"]


_values = st.one_of(
    st.none(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 2.0]),
    st.sampled_from("xyz"),
    st.booleans(),
)
_COMPARE: dict[str, Any] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _kind(value: Any) -> str:
    return "bool" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


@given(
    column=st.lists(st.one_of(_values, st.lists(_values, max_size=3)), min_size=1, max_size=8),
    operator=st.sampled_from(sorted(_COMPARE)),
    value=st.one_of(st.integers(-3, 3), st.sampled_from([0.5, 1.5]), st.sampled_from("xyz")),
)
def test_a_comparison_holds_where_it_does_for_a_value_of_the_same_kind(
    column: list[Any], operator: str, value: Any
) -> None:
    rows = [one if isinstance(one, list) else [one] for one in column]
    expected = [
        any(
            one is not None and _kind(one) == _kind(value) and _COMPARE[operator](one, value)
            for one in row
        )
        for row in rows
    ]
    # One more item has a value of the kind, so that the comparison is never refused.
    shop = Catalogue(
        range(len(column) + 1), np.eye(len(column) + 1), [], attributes={"c": [*column, value]}
    )
    assert shop.where({"attribute": "c", operator: value})[:-1].tolist() == expected


def test_columns_that_do_not_change_are_indexed_once() -> None:
    shop = SHOP.with_changes(["a"], SHOP.features[[0]])
    found({"attribute": "brand", "=": "Acme"}, shop)
    found({"attribute": "price", "<": 20}, shop)

    later = shop.with_changes(["b"], shop.features[[1]], attributes={"price": [99]})

    assert later.attribute_index.column("brand") is shop.attribute_index.column("brand")
    assert found({"attribute": "price", "<": 20}, later) == "e"
    assert found({"attribute": "price", "<": 20}, shop) == "be"


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, float("nan"), 2**53 + 1]),
    st.sampled_from(["", "x", "y"]),
    st.lists(st.sampled_from([1, "x", "z", True]), max_size=3),
)


@given(
    column=st.lists(_VALUES, min_size=1, max_size=8),
    changes=st.dictionaries(st.integers(0, 7), _VALUES, max_size=4),
    more=st.lists(_VALUES, max_size=4),
)
def test_updated_column_is_that_of_all_values(
    column: list[Any], changes: dict[int, Any], more: list[Any]
) -> None:
    after = [*column, *more]
    rows = [*(row for row in changes if row < len(column)), *range(len(column), len(after))]
    for row in rows[: len(rows) - len(more)]:
        after[row] = changes[row]

    found = Column.of(column).updated(len(after), np.array(rows, int), [after[r] for r in rows])

    wanted = Column.of(after)
    assert (found.size, found.values) == (wanted.size, wanted.values)
    assert found.rows.tolist() == wanted.rows.tolist()
    assert found.codes.tolist() == wanted.codes.tolist()
    assert [found.has_kind(n) for n in range(3)] == [wanted.has_kind(n) for n in range(3)]


def test_only_new_items_are_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = SHOP.with_changes(["a"], SHOP.features[[0]])
    found({"attribute": "tags", "=": "sale"}, shop)
    monkeypatch.setattr(Column, "of", None)
    later = shop.with_items(["f"], np.ones((1, 5)), attributes={"tags": [["sale"]]})
    assert found({"attribute": "tags", "=": "sale"}, later) == "adf"


def test_whole_numbers_beyond_those_of_floats_stay_apart() -> None:
    shop = Catalogue(list("ab"), np.eye(2), [], attributes={"n": [2**53, 2**53 + 1]})

    assert found({"attribute": "n", "=": 2**53 + 1}, shop) == "b"

"""Conditions evaluated on the attributes of a catalogue, from columns that are indexed once."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.conditions import (
    AllOf,
    Condition,
    Not,
    Scalar,
    Test,
    condition_key,
    parse_condition,
)
from variegate.errors import InputError, join_problems

#: Masks of conditions that a catalogue keeps.
N_MASKS: Final = 64
#: The kinds of values, in the order in which a column sorts them.
KINDS: Final = ("true or false", "numbers", "text")


_KIND_OF: Final = {bool: 0, int: 1, float: 1, str: 2}


class Column:
    """The values of one attribute, as sorted codes: a comparison selects a range of them."""

    def __init__(self, size: int, coded: "_Coded") -> None:
        self.size: Final = size
        #: The row and the code of each value, sorted by row
        self.rows: Final = coded.rows
        self.codes: Final = coded.codes
        #: The distinct values, by kind and in their order
        self.values: Final = coded.values
        self._starts: Final = coded.starts

    @classmethod
    def of(cls, values: Sequence[Any]) -> "Column":
        """Return the column of one value per item.

        A list, a tuple or a set has any number of values; None, nan, empty text and an empty list
        are missing values. Anything but text, a number or a boolean counts as its text.
        """
        return cls(len(values), _coded(values))

    def updated(self, size: int, rows: IndexArray, values: Sequence[Any]) -> "Column":
        """Return the column of `size` items with other values at the distinct `rows`.

        Only these values are coded, which takes a small part of the time that all would.
        """
        before = _Coded(self.rows, self.codes, self.values, self._starts)
        both = _merged(before, rows, _coded(values), size)
        return Column(size, both)

    @cached_property
    def _by_code(self) -> tuple[IndexArray, IndexArray]:
        """The rows sorted by code, and where each code begins: a comparison reads what it finds."""
        order = np.argsort(self.codes, kind="stable")
        starts = np.searchsorted(self.codes[order], np.arange(len(self.values) + 1))
        return self.rows[order], starts

    @cached_property
    def sets(self) -> IndexArray:
        """A number for the set of values of each item, equal for equal sets, (L,)."""
        numbers = np.full(self.size, -1)
        numbers[self.rows] = self.codes
        known: dict[tuple[int, ...], int] = {}
        for row in np.flatnonzero(np.bincount(self.rows, minlength=self.size) > 1).tolist():
            values = tuple(self.codes_of(row).tolist())
            is_one = len(values) == 1
            numbers[row] = (
                values[0] if is_one else known.setdefault(values, len(self.values) + len(known))
            )
        return numbers

    def codes_of(self, row: int) -> IndexArray:
        """Return the distinct codes of an item, sorted."""
        start, stop = np.searchsorted(self.rows, [row, row + 1])
        return np.unique(self.codes[start:stop])

    def rows_of(self, code: int) -> IndexArray:
        """Return the rows of the items with a code."""
        rows, starts = self._by_code
        return rows[starts[code] : starts[code + 1]]

    def has_kind(self, kind: int) -> bool:
        """Return whether any value is of this kind."""
        return self._starts[kind] < self._starts[kind + 1]

    def mask(self, operator: str, value: Scalar | tuple[Scalar, ...]) -> MaskArray:
        """Return the items for which the comparison holds, (L,).

        It holds for an item with several values if it does for one of them; ``not in`` holds
        where ``in`` does not.
        """
        if operator == "exists":
            has_value = self._items([(0, len(self.values))])
            return has_value if value else ~has_value
        if isinstance(value, tuple):
            found = self._items([self._range("=", one) for one in value])
            return ~found if operator == "not in" else found
        return self._items([self._range(operator, value)])

    def _items(self, ranges: Iterable[tuple[int, int]]) -> MaskArray:
        """Return the items with a code in one of the ranges, from the first to before the last."""
        rows, starts = self._by_code
        mask = np.zeros(self.size, dtype=np.bool_)
        for first, end in ranges:
            mask[rows[starts[first] : starts[end]]] = True
        return mask

    def _range(self, operator: str, value: Scalar) -> tuple[int, int]:
        """Return the first code for which a comparison holds, and the one after the last."""
        kind = _KIND_OF[type(value)]
        first, end = self._starts[kind], self._starts[kind + 1]
        low = bisect_left(self.values, value, first, end)
        high = bisect_right(self.values, value, first, end)
        ranges = {
            "=": (low, high),
            "<": (first, low),
            "<=": (first, high),
            ">": (high, end),
            ">=": (low, end),
        }
        return ranges[operator]


class _Coded(NamedTuple):
    """Values by their codes; `starts` are the first codes of each kind, and their number."""

    rows: IndexArray
    codes: IndexArray
    values: list[Scalar]
    starts: list[int]


def _coded(values: Sequence[Any]) -> _Coded:
    numbers = _as_numbers(values)
    return _coded_one_by_one(values) if numbers is None else _coded_numbers(numbers)


def _merged(old: _Coded, rows: IndexArray, new: _Coded, size: int) -> _Coded:
    """Return the codes of `size` items: those of `new` at `rows`, and the others as they were."""
    # Where a new value is among the old ones, or where it comes between them.
    kinds = [_KIND_OF[type(value)] for value in new.values]
    places = np.array(
        [
            bisect_left(old.values, value, old.starts[kind], old.starts[kind + 1])
            for value, kind in zip(new.values, kinds, strict=True)
        ],
        dtype=np.intp,
    )
    is_known = np.array(
        [
            place < old.starts[kind + 1] and old.values[place] == value
            for value, kind, place in zip(new.values, kinds, places.tolist(), strict=True)
        ],
        dtype=np.bool_,
    )
    more = places[~is_known]
    numbers = np.arange(len(old.values))
    moved = numbers + np.searchsorted(more, numbers, side="right")
    code_of = np.empty(len(new.values), dtype=np.intp)
    code_of[is_known] = moved[places[is_known]]
    code_of[~is_known] = more + np.arange(len(more))
    values = np.empty(len(old.values) + len(more), dtype=object)
    values[moved], values[code_of] = old.values, new.values
    added = np.bincount(np.array(kinds, dtype=np.intp)[~is_known], minlength=len(KINDS))
    starts = np.array(old.starts) + np.concatenate([[0], np.cumsum(added)])
    is_kept = np.ones(size, dtype=np.bool_)
    is_kept[rows] = False
    kept = is_kept[old.rows]
    all_rows = np.concatenate([old.rows[kept], rows[new.rows]])
    codes = np.concatenate([moved[old.codes[kept]], code_of[new.codes]])
    order = np.argsort(all_rows, kind="stable")
    return _used(_Coded(all_rows[order], codes[order], values.tolist(), starts.tolist()))


def _used(coded: _Coded) -> _Coded:
    """Return the codes without the values that no item has any more."""
    is_used = np.bincount(coded.codes, minlength=len(coded.values)) > 0
    if is_used.all():
        return coded
    values = [value for value, used in zip(coded.values, is_used.tolist(), strict=True) if used]
    before = np.concatenate([[0], np.cumsum(is_used)])
    return _Coded(coded.rows, before[coded.codes], values, before[np.array(coded.starts)].tolist())


def _as_numbers(values: Sequence[Any]) -> FloatArray | None:
    """Return values of which all are numbers or missing, nan where missing; None for others."""
    if not set(map(type, values)) <= {float, int, np.float64, type(None)}:
        return None
    numbers = np.array(values, dtype=np.float64)
    # Larger whole numbers could become equal.
    return numbers if (np.abs(numbers[~np.isnan(numbers)]) < 2.0**53).all() else None


def _coded_numbers(numbers: FloatArray) -> _Coded:
    """Return the codes of numbers: prices, years. Many times as fast as one by one."""
    rows = np.flatnonzero(~np.isnan(numbers))
    distinct, codes = np.unique(numbers[rows], return_inverse=True)
    return _Coded(rows, codes, distinct.tolist(), [0, 0, len(distinct), len(distinct)])


def _coded_one_by_one(values: Sequence[Any]) -> _Coded:
    pairs = [(row, one) for row, value in enumerate(values) for one in _plain_values(value)]
    flat = [one for _, one in pairs]
    rows = np.array([row for row, _ in pairs], dtype=np.intp)
    codes = np.empty(len(flat), dtype=np.intp)
    kinds = np.array([_KIND_OF[type(one)] for one in flat])
    known, starts = list[Scalar](), [0]
    for kind in range(len(KINDS)):
        places = np.flatnonzero(kinds == kind)
        own = [flat[place] for place in places.tolist()]
        distinct: list[Any] = sorted(set(own))
        code_of = {one: code for code, one in enumerate(distinct, start=starts[-1])}
        codes[places] = [code_of[one] for one in own]
        known.extend(distinct)
        starts.append(len(known))
    return _Coded(rows, codes, known, starts)


def _plain_values(value: Any) -> Iterable[Scalar]:
    """Return the values of one item, without the missing ones."""
    if type(value) is str:
        return (value,) if value else ()
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain for one in value for plain in _plain_values(one)]
    if isinstance(value, np.generic):
        value = value.item()
    # A value that does not equal itself is nan.
    if value is None or value == "" or value != value:
        return ()
    for kind in (bool, int, float):
        if isinstance(value, kind):
            return (kind(value),)
    return (str(value),)


class AttributeIndex:
    """The columns of a catalogue's attributes, and the masks of recent conditions.

    Both are made when a condition first needs them. Items that change are another catalogue with
    another index, which reuses the columns that did not change.
    """

    def __init__(self, attributes: Mapping[str, Sequence[Any]], size: int) -> None:
        self._attributes, self._size = attributes, size
        self._columns: dict[str, Column] = {}
        self._masks: dict[str, MaskArray] = {}

    def mask(self, plain: Any, name: str = "where") -> MaskArray:
        """Return the items that meet a condition, read-only, (L,).

        Raises InputError with everything that is wrong with the condition.
        """
        key = condition_key(plain) if isinstance(plain, Mapping) else ""
        known = self._masks.get(key)
        if known is not None:
            return known
        condition = parse_condition(plain, name)
        problems = list(dict.fromkeys(self.problems(condition, name)))
        if problems:
            raise InputError(join_problems(problems))
        mask = self._evaluated(condition)
        mask.setflags(write=False)
        if len(self._masks) >= N_MASKS:
            # The oldest goes: requests repeat few conditions, and a shared dict needs no lock.
            self._masks.pop(next(iter(self._masks)), None)
        self._masks[key] = mask
        return mask

    def problems(self, condition: Condition, name: str) -> Iterator[str]:
        """Yield what these attributes cannot be compared by."""
        if isinstance(condition, Test):
            yield from self._test_problems(condition, name)
        elif isinstance(condition, Not):
            yield from self.problems(condition.part, name)
        else:
            for part in condition.parts:
                yield from self.problems(part, name)

    def unknown_attribute(self, attribute: str, name: str) -> str | None:
        """Return what is wrong with the name of an attribute, or None."""
        if attribute in self._attributes:
            return None
        known = list(self._attributes)
        if not known:
            return f"`{name}`: the items have no attributes, got {attribute!r}"
        near = get_close_matches(attribute, known, n=1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        return f"`{name}` must name one of {', '.join(known)}, got {attribute!r}{hint}"

    def _test_problems(self, test: Test, name: str) -> Iterator[str]:
        unknown = self.unknown_attribute(test.attribute, name)
        if unknown is not None:
            yield unknown
            return
        if test.operator == "exists":
            return
        column = self.column(test.attribute)
        values = test.value if isinstance(test.value, tuple) else (test.value,)
        # A typing error in the type would otherwise select nothing, for ever and silently.
        for value in values:
            if len(column.values) and not column.has_kind(_KIND_OF[type(value)]):
                kinds = " and ".join(k for at, k in enumerate(KINDS) if column.has_kind(at))
                yield (
                    f"`{name}`: attribute {test.attribute!r} has {kinds}, so `{test.operator}` "
                    f"cannot compare it with {value!r:.80}"
                )

    def column(self, attribute: str) -> Column:
        """Return the column of an attribute, which is made once."""
        known = self._columns.get(attribute)
        if known is None:
            known = self._columns[attribute] = Column.of(self._attributes[attribute])
        return known

    def reuse(self, other: "AttributeIndex", rows: IndexArray) -> None:
        """Take over the columns that another index has made, with other values at `rows` only."""
        for name, column in other._columns.copy().items():
            values = self._attributes[name]
            if values is not other._attributes[name]:
                column = column.updated(self._size, rows, [values[row] for row in rows.tolist()])
            self._columns[name] = column

    def _evaluated(self, condition: Condition) -> MaskArray:
        if isinstance(condition, Test):
            return self.column(condition.attribute).mask(condition.operator, condition.value)
        if isinstance(condition, Not):
            return ~self._evaluated(condition.part)
        masks = map(self._evaluated, condition.parts)
        join = np.logical_and if isinstance(condition, AllOf) else np.logical_or
        return np.asarray(join.reduce(list(masks)), dtype=np.bool_)

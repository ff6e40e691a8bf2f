"""Constraints on a list: at most n per value, at least n of a condition, items at positions."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import IndexArray, MaskArray
from variegate.conditions import parse_condition
from variegate.errors import InputError, join_problems
from variegate.model.catalogue import Catalogue
from variegate.model.filters import AttributeIndex, Column

#: Constraints of one list, of each kind.
MAX_CONSTRAINTS: Final = 100


@dataclass(frozen=True)
class AtLeast:
    """At least `n` items of a list meet the condition `where`; see `parse_condition`."""

    where: Mapping[str, Any]
    n: int


@dataclass(frozen=True)
class Constraints:
    """What a list must meet.

    Parameters
    ----------
    at_most
        Maximum number of items per value, by attribute: ``{"brand": 2}``. An item with several
        values counts for each of them, one without a value for none.
    at_least
        Minimum numbers of items that meet conditions.
    pins
        Ids of items by position, which counts from 1. The items below a pinned one are chosen
        given that it is above them.
    relax
        Whether constraints that cannot be met are relaxed, as little as possible: first pins are
        dropped that are not among the candidates, then `at_most` is raised and `at_least` lowered,
        each in the given order. The slate has what was relaxed. By default an error says it.

    Examples
    --------
    >>> Constraints(at_most={"brand": 2}, pins={1: "tea"})
    Constraints(at_most={'brand': 2}, at_least=(), pins={1: 'tea'}, relax=False)
    """

    at_most: Mapping[str, int] = field(default_factory=dict)
    at_least: Sequence[AtLeast] = ()
    pins: Mapping[int, str] = field(default_factory=dict)
    relax: bool = False

    def __post_init__(self) -> None:
        problems = [
            f"`constraints.{name}` must be at most {MAX_CONSTRAINTS}, got {len(parts)}"
            for name, parts in (("at_most", self.at_most), ("at_least", self.at_least))
            if len(parts) > MAX_CONSTRAINTS
        ]
        counts = {f"at_most.{name}": n for name, n in self.at_most.items()}
        counts |= {f"at_least.{at}.n": one.n for at, one in enumerate(self.at_least)}
        counts |= {f"pins.{position}": position for position in self.pins}
        problems += [
            f"`constraints.{name}` must be a whole number of at least 1, got {n!r}"
            for name, n in counts.items()
            if not _is_count(n)
        ]
        twice = sorted({item for item in self.pins.values() if _count(self.pins, item) > 1})
        problems += [f"`constraints.pins` must be distinct, got {item!r} twice" for item in twice]
        for at, one in enumerate(self.at_least):
            try:
                parse_condition(one.where, f"constraints.at_least.{at}.where")
            except InputError as error:
                problems.append(str(error))
        if problems:
            raise InputError(join_problems(problems))

    def to_dict(self) -> dict[str, Any]:
        """Return the constraints as JSON can hold them, without default values."""
        plain = {
            "at_most": dict(self.at_most),
            "at_least": [{"where": dict(one.where), "n": one.n} for one in self.at_least],
            "pins": {str(position): item for position, item in self.pins.items()},
            "relax": self.relax,
        }
        return {name: value for name, value in plain.items() if value}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Constraints":
        """Return the constraints that `to_dict` wrote."""
        return cls(
            plain.get("at_most", {}),
            tuple(AtLeast(**one) for one in plain.get("at_least", ())),
            {int(position): item for position, item in plain.get("pins", {}).items()},
            plain.get("relax", False),
        )


class Relaxed(NamedTuple):
    """A constraint that could not be met, and what a list meets in its place.

    Parameters
    ----------
    constraint
        Such as ``at_most.brand``, ``at_least.0`` or ``pins.1``.
    asked
        The number, or the item of a pin.
    used
        The number in its place; None for a pin, which is dropped.
    """

    constraint: str
    asked: int | str
    used: int | None

    def __str__(self) -> str:
        if self.used is None:
            return f"`constraints.{self.constraint}`: {self.asked!r} is not among the candidates"
        possible = (
            f"{self.used} would do" if self.used > int(self.asked) else f"{self.used} at most"
        )
        return f"`constraints.{self.constraint}`: {self.asked} is not possible, {possible}"


@dataclass(frozen=True, eq=False)
class ListProblem:
    """Constraints on one list, in rows of the catalogue.

    Parameters
    ----------
    free
        The candidates, among them the pinned ones, (L,).
    k
        Items in the list.
    pins
        Rows by position, which counts from 0.
    at_most
        Names, columns and maximum numbers.
    at_least
        Names, the items that meet the condition, and minimum numbers.
    """

    free: MaskArray
    k: int
    pins: Mapping[int, int]
    at_most: tuple[tuple[str, Column, int], ...]
    at_least: tuple[tuple[str, MaskArray, int], ...]

    @cached_property
    def kinds(self) -> IndexArray:
        """A number for each item, equal for those that the constraints cannot tell apart, (L,)."""
        kinds = np.zeros(len(self.free), dtype=np.intp)
        sets = [column.sets for _, column, _ in self.at_most]
        for numbers in (*sets, *(mask for _, mask, _ in self.at_least)):
            part = numbers.astype(np.intp) + 1
            kinds = np.unique(kinds * (part.max(initial=0) + 1) + part, return_inverse=True)[1]
        return kinds


def attribute_problems(index: AttributeIndex, constraints: Constraints) -> Iterator[str]:
    """Yield what is wrong with the attributes that constraints are about."""
    for name in constraints.at_most:
        unknown = index.unknown_attribute(name, "constraints.at_most")
        if unknown is not None:
            yield unknown
    for at, one in enumerate(constraints.at_least):
        try:
            index.mask(one.where, f"constraints.at_least.{at}.where")
        except InputError as error:
            yield str(error)


def list_problem(
    catalogue: Catalogue, constraints: Constraints, free: MaskArray, k: int
) -> tuple[ListProblem, list[Relaxed]]:
    """Return the constraints in rows, without the pins that cannot be met, and those.

    Raises InputError for attributes that the items do not have.
    """
    problems = list(attribute_problems(catalogue.attribute_index, constraints))
    if problems:
        raise InputError(join_problems(problems))
    index = catalogue.attribute_index
    masks = [index.mask(one.where) for one in constraints.at_least]
    rows = dict(zip(constraints.pins, catalogue.find_rows(constraints.pins.values()), strict=True))
    pins, dropped = dict[int, int](), list[Relaxed]()
    for position, item in constraints.pins.items():
        row = int(rows[position])
        if row >= 0 and free[row] and position <= k:
            pins[position - 1] = row
        else:
            dropped.append(Relaxed(f"pins.{position}", item, None))
    at_most = [
        (f"at_most.{name}", index.column(name), n) for name, n in constraints.at_most.items()
    ]
    needs = [
        (f"at_least.{at}", mask, one.n)
        for at, (mask, one) in enumerate(zip(masks, constraints.at_least, strict=True))
    ]
    return ListProblem(free, k, pins, tuple(at_most), tuple(needs)), dropped


class Progress:
    """What a list in the making can still take, so that its constraints can be met.

    The pinned items count from the start, since each gets its position for certain.
    """

    def __init__(self, problem: ListProblem) -> None:
        self.problem: Final = problem
        self._columns = [column for _, column, _ in problem.at_most]
        self._groups = _stacked([mask for _, mask, _ in problem.at_least], len(problem.free))
        #: How many more items each value of each attribute may have
        self.capacities = [np.full(len(c.values), n) for _, c, n in problem.at_most]
        #: How many more items each condition needs, (G,)
        self.unmet = np.array([n for _, _, n in problem.at_least], dtype=np.intp)
        #: Positions that are left
        self.left = problem.k
        #: Candidates that no constraint of `at_most` forbids, (L,)
        self.open = problem.free.copy()
        for row in problem.pins.values():
            self.take(row)

    @property
    def exceeds(self) -> bool:
        """Whether some value has more items than it may have."""
        return any((capacity < 0).any() for capacity in self.capacities)

    @property
    def is_met(self) -> bool:
        """Whether the list is complete and meets its constraints."""
        return self.left == 0 and not self.unmet.any() and not self.exceeds

    def take(self, row: int) -> None:
        """Count an item."""
        self.left -= 1
        self.open[row] = False
        self.unmet = np.maximum(self.unmet - self._groups[:, row], 0)
        for column, capacity in zip(self._columns, self.capacities, strict=True):
            for code in column.codes_of(row).tolist():
                capacity[code] -= 1
                if capacity[code] == 0:
                    self.open[column.rows_of(code)] = False

    def after(self, row: int) -> "Progress":
        """Return the progress after one more item."""
        other = copy(self)
        other.open, other.capacities = self.open.copy(), [c.copy() for c in self.capacities]
        other.take(row)
        return other

    def choices(self) -> MaskArray:
        """Return candidates for the next position, (L,): all with which the rest can be met.

        There may be others: only a lower bound on the number of items that `at_least` still needs
        is known, which overlapping conditions can share.
        """
        total = int(self.unmet.sum())
        if total < self.left:
            return self.open
        is_unmet = self.unmet > 0
        groups, unmet = self._groups[is_unmet], self.unmet[is_unmet]
        served = groups.sum(axis=0)
        most = max(int(served[self.open].max(initial=0)), 1)
        each = (unmet[:, None] - groups).max(axis=0)
        bound = np.maximum(each, -((served - total) // most))
        choices: MaskArray = self.open & (bound < self.left)
        return choices

    def memberships(self, row: int) -> tuple[list[IndexArray], NDArray[np.bool_]]:
        """Return the values of an item by attribute, and the conditions that it meets."""
        return [column.codes_of(row) for column in self._columns], self._groups[:, row]


def _stacked(masks: Sequence[MaskArray], size: int) -> MaskArray:
    return np.array(masks, dtype=np.bool_).reshape(len(masks), size)


def _count(pins: Mapping[int, str], item: str) -> int:
    return sum(one == item for one in pins.values())


def _is_count(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and n >= 1

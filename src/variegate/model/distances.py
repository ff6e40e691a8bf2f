"""Distances between items: h of Eq. 5, their formulas and their data."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    check_numbers,
    check_positive,
    read_only_copy,
    set_read_only,
    unit_rows,
)
from variegate.errors import InputError

#: Returns the distances from one prepared row (w,) to many (n, w), as (n,).
Between: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class Formula:
    """A kind of distance, computed in two steps so that the work on all items is done once.

    Parameters
    ----------
    name
        Its name in files, commands and reports.
    is_metric
        Whether it satisfies the triangle inequality, which Theorem 1 requires.
    prepare
        Converts the items' data (L, w) into the form that `between` takes.
    between
        Returns the distances from one prepared row to many.
    largest
        The largest possible value, or None if it depends on the data.
    """

    name: str
    is_metric: bool
    prepare: Callable[[FloatArray], FloatArray]
    between: Between
    largest: float | None


def _cosines(point: FloatArray, points: FloatArray) -> FloatArray:
    cosines: FloatArray = np.clip(points @ point, -1.0, 1.0)
    return cosines


def _one_minus_cosine(point: FloatArray, points: FloatArray) -> FloatArray:
    distances: FloatArray = 1.0 - _cosines(point, points)
    return distances


def _angle(point: FloatArray, points: FloatArray) -> FloatArray:
    # From |a - b| = 2 sin(angle / 2) and |a + b| = 2 cos(angle / 2): arccos would lose half the
    # digits near angles 0 and pi. A zero row has cosine 0, so its angle is a right angle.
    apart, together = (np.linalg.norm(points + sign * point, axis=1) for sign in (-1.0, 1.0))
    angles = 2.0 * np.arctan2(apart, together) / np.pi
    directionless = ~points.any(axis=1) | ~point.any()
    shares: FloatArray = np.where(directionless, 0.5, angles)
    return shares


def _length(point: FloatArray, points: FloatArray) -> FloatArray:
    return _lengths(points - point)


def _lengths(rows: FloatArray) -> FloatArray:
    """Return the length of each row, also if its squares overflow or underflow."""
    with np.errstate(over="ignore", under="ignore"):
        lengths: FloatArray = np.linalg.norm(rows, axis=1)
    doubtful = ~((lengths > 1e-140) & (lengths < 1e140))
    # Scaled by powers of 2, which rounds nothing.
    _, powers = np.frexp(np.abs(rows[doubtful]).max(axis=1, initial=0.0))
    scaled = np.ldexp(rows[doubtful], -powers[:, None])
    lengths[doubtful] = np.ldexp(np.linalg.norm(scaled, axis=1), powers)
    return lengths


def _unlike(point: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray(points[:, 0] != point[0], dtype=np.float64)


def _outside_both(point: FloatArray, points: FloatArray) -> FloatArray:
    shared = points @ point
    either = points.sum(axis=1) + point.sum() - shared
    overlap = np.divide(shared, either, out=np.ones_like(shared), where=either > 0)
    distances: FloatArray = 1.0 - overlap
    return distances


def diagonal(rows: FloatArray) -> float:
    """Return the diagonal of the bounding box of the rows, an upper bound on distances."""
    # The same sum as for the distances: another order could round to less than one of them.
    return float(_lengths(np.ptp(rows, axis=0)[None])[0]) if len(rows) else 0.0


#: The kinds of distance that can be saved, by name.
FORMULAS: Final[Mapping[str, Formula]] = MappingProxyType(
    {
        formula.name: formula
        for formula in (
            Formula("cosine", False, unit_rows, _one_minus_cosine, 2.0),
            Formula("angular", True, unit_rows, _angle, 1.0),
            Formula("euclidean", True, np.asarray, _length, None),
            Formula("difference", True, np.asarray, _length, None),
            Formula("hamming", True, np.asarray, _unlike, 1.0),
            Formula("jaccard", True, np.asarray, _outside_both, 1.0),
        )
    }
)


@dataclass(frozen=True, eq=False)
class Distance:
    """One h_i of the model: a formula, the items' data, and a scale.

    Make one with `cosine`, `angular`, `euclidean`, `difference`, `hamming`, `jaccard` or
    `custom`. Distances are divided by `scale`. An item's distance to itself is 0.
    """

    formula: Formula
    name: str
    #: Prepared data, one row per item; None until a catalogue sets its features.
    data: FloatArray | None = None
    scale: float = 1.0
    #: The distinct labels: of the columns (Jaccard) or of the codes (Hamming).
    labels: tuple[str, ...] = ()
    #: Whether the data are the catalogue's own features.
    on_features: bool = False

    @property
    def is_metric(self) -> bool:
        """Whether it satisfies the triangle inequality."""
        return self.formula.is_metric

    @property
    def largest(self) -> float:
        """The largest value that it can take between these items."""
        largest = self.formula.largest
        return (diagonal(self.rows) if largest is None else largest) / self.scale

    @property
    def rows(self) -> FloatArray:
        """The prepared data, one row per item, (L, w)."""
        if self.data is None:
            raise InputError(f"distance `{self.name}` has no data yet: give it to a Catalogue")
        return self.data

    def __len__(self) -> int:
        return len(self.rows)

    def bound_to(self, features: FloatArray) -> "Distance":
        """Return this distance with `features` as its data, unless it has its own data."""
        if self.data is not None:
            return self
        return replace(self, data=read_only_copy(self.formula.prepare(features)), on_features=True)

    def among(self, items: IndexArray) -> "Distance":
        """Return the distance over `items` only, renumbered in their order."""
        return replace(self, data=self.rows[items])

    def from_item(self, item: int) -> FloatArray:
        """Return the distances from `item` to every item, (L,); 0 to itself."""
        distances = self.formula.between(self.rows[item], self.rows)
        distances = distances / self.scale if self.scale != 1.0 else distances
        distances[item] = 0.0
        return distances

    def matrix(self) -> FloatArray:
        """Return all distances, (L, L)."""
        return np.array([self.from_item(item) for item in range(len(self))]).reshape(
            len(self), len(self)
        )

    def with_items(self, more: "Distance") -> "Distance":
        """Return the distance over these items followed by those of `more`.

        `more` must be of the same kind; new labels get new columns or codes, so that the distances
        between the old items do not change.
        """
        return self._with_data(more, np.arange(len(self), len(self) + len(more)))

    def with_changes(self, items: IndexArray, more: "Distance") -> "Distance":
        """Return the distance with the data of `more` in place of those of `items`, in order.

        `more` is as for `with_items`. Labels that no item has any longer are kept.
        """
        if len(more) != len(items):
            raise InputError(
                f"distance `{self.name}` must have data for {len(items)} items, got {len(more)}"
            )
        return self._with_data(more, items)

    def _with_data(self, more: "Distance", items: IndexArray) -> "Distance":
        """Return the distance with the data of `more` at the rows `items`, also beyond the end."""
        if more.formula.name != self.formula.name:
            raise InputError(
                f"distance `{self.name}` is {self.formula.name}, got {more.formula.name}"
            )
        old, (new, labels) = self.rows, _recoded(more, self)
        width = len(labels) if self.formula.name == "jaccard" else old.shape[1]
        if new.shape[1] != width:
            raise InputError(
                f"distance `{self.name}` has {width} columns of data, got {new.shape[1]}"
            )
        data = np.zeros((max(len(old), int(items.max(initial=-1)) + 1), width))
        data[: len(old), : old.shape[1]] = old
        data[items] = new
        return replace(self, data=set_read_only(data), labels=labels)


def _recoded(more: Distance, old: Distance) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the data of `more` under the labels of `old` and, after those, its own new ones."""
    labels = old.labels + tuple(label for label in more.labels if label not in old.labels)
    if old.formula.name not in ("hamming", "jaccard"):
        return more.rows, labels
    codes = np.array([labels.index(label) for label in more.labels], dtype=np.intp)
    if old.formula.name == "hamming":
        return codes[more.rows.astype(np.intp)].astype(np.float64), labels
    table = np.zeros((len(more), len(labels)))
    table[:, codes] = more.rows
    return table, labels


def cosine(data: ArrayLike | None = None, *, name: str = "cosine") -> Distance:
    """Return 1 - cos of the angle between two items' vectors, from 0 to 2.

    Not a metric. A zero vector has no direction: its cosine with any other item is 0.

    Examples
    --------
    >>> cosine([[1, 0], [0, 2], [3, 0]]).matrix()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    return _on_vectors("cosine", data, name)


def angular(data: ArrayLike | None = None, *, name: str = "angular") -> Distance:
    """Return the angle between two items' vectors divided by pi, from 0 to 1."""
    return _on_vectors("angular", data, name)


def euclidean(
    data: ArrayLike | None = None, *, scale: float = 1.0, name: str = "euclidean"
) -> Distance:
    """Return the length of the difference of two items' vectors, divided by `scale`."""
    check_positive(scale=scale)
    return replace(_on_vectors("euclidean", data, name), scale=float(scale))


def difference(
    values: ArrayLike, *, scale: float | None = None, name: str = "difference"
) -> Distance:
    """Return the absolute difference of two items' numbers (years, prices), over `scale`.

    `scale` is the range of `values` by default, so that the largest distance is 1; it does not
    change when items outside the range are added.

    Examples
    --------
    >>> difference([1990, 2000, 2010]).matrix()[0]
    array([0. , 0.5, 1. ])
    """
    column = check_numbers("values", values, ndim=1).reshape(-1, 1)
    if scale is None:
        scale = float(np.ptp(column)) if len(column) else 1.0
        scale = scale or 1.0
    check_positive(scale=scale)
    return Distance(FORMULAS["difference"], name, read_only_copy(column), float(scale))


def hamming(values: Sequence[str], *, name: str = "hamming") -> Distance:
    """Return 1 where two items' labels (country, brand) differ and 0 where they agree.

    Examples
    --------
    >>> hamming(["fr", "jp", "fr"]).matrix()[0]
    array([0., 1., 0.])
    """
    labels, codes = _coded(_texts("values", values))
    column = np.array([[codes[str(value)]] for value in values], dtype=np.float64).reshape(-1, 1)
    return Distance(FORMULAS["hamming"], name, read_only_copy(column), labels=labels)


def jaccard(sets: Sequence[Iterable[str]], *, name: str = "jaccard") -> Distance:
    """Return 1 - |a & b| / |a | b| of two items' sets of labels (genres, tags); a metric.

    Two items without any label are 0 apart.

    Examples
    --------
    >>> jaccard([{"drama"}, {"drama", "war"}, {"comedy"}]).matrix()[0]
    array([0. , 0.5, 1. ])
    """
    members = [_texts(f"sets[{row}]", labels) for row, labels in enumerate(sets)]
    labels, codes = _coded(label for member in members for label in member)
    table = np.zeros((len(members), len(labels)))
    for row, member in enumerate(members):
        table[row, [codes[label] for label in member]] = 1.0
    return Distance(FORMULAS["jaccard"], name, read_only_copy(table), labels=labels)


def custom(
    between: Between,
    data: ArrayLike | None = None,
    *,
    name: str,
    largest: float,
    is_metric: bool = False,
) -> Distance:
    """Return a custom distance: `between(point, points)` returns (n,) from (w,) and (n, w).

    A saved catalogue has its data and name but not the function: pass it to `Catalogue.load`.
    """
    check_positive(largest=largest)
    formula = Formula("custom", is_metric, np.asarray, between, float(largest))
    rows = None if data is None else read_only_copy(check_numbers("data", data, ndim=2))
    return Distance(formula, name, rows)


def _on_vectors(kind: str, data: ArrayLike | None, name: str) -> Distance:
    formula = FORMULAS[kind]
    if data is None:
        return Distance(formula, name)
    rows = formula.prepare(check_numbers("data", data, ndim=2))
    return Distance(formula, name, read_only_copy(rows))


def _texts(name: str, values: Iterable[str]) -> list[str]:
    if isinstance(values, str):
        raise InputError(f"`{name}` must be a collection of labels, got the text {values!r}")
    return [str(value) for value in values]


def _coded(values: Iterable[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    labels = tuple(sorted(set(values)))
    return labels, {label: code for code, label in enumerate(labels)}


#: Squares of larger numbers, summed, overflow; see `Catalogue`.
LARGEST: Final = 1e100


def distance_of_values(like: Distance, values: Sequence[Any]) -> Distance:
    """Return a distance of the same kind as `like` over new items, from one JSON value per item.

    `Catalogue.with_items` and `Catalogue.with_changes` take the result. Labels may be new.

    Parameters
    ----------
    like
        A distance of the catalogue, with its own data.
    values
        For each item: Jaccard a list of labels, Hamming a label, difference a number, and
        cosine, angular, Euclidean and custom distances a list of numbers. Labels are text or
        numbers.

    Examples
    --------
    >>> genres = jaccard([["drama"], ["drama", "war"]], name="genres")
    >>> new = distance_of_values(genres, [["war", "anime"]])
    >>> genres.with_items(new).labels
    ('drama', 'war', 'anime')
    """
    if like.on_features:
        raise InputError(f"distance `{like.name}` is computed on the features and takes no data")
    if isinstance(values, (str, Mapping)) or not isinstance(values, Sequence):
        raise InputError(f"`values` must be a list with a value for each item, got {values!r}")
    wrong = wrong_value(like, values)
    if wrong is not None:
        place, wanted = wrong
        raise InputError(
            f"distance `{like.name}` must have {wanted} for each item, "
            f"got {_shown(values[place])} for item {place}"
        )
    made = _kind_of(like).make(values, like)
    return replace(made, name=like.name, scale=like.scale)


def wrong_value(like: Distance, values: Sequence[Any]) -> tuple[int, str] | None:
    """Return the place of the first value that a distance cannot have, and what would do."""
    kind = _kind_of(like)
    for place, value in enumerate(values):
        if not kind.fits(value, like):
            return place, kind.wanted(like)
    return None


def _kind_of(like: Distance) -> "_Kind":
    return _KINDS.get(like.formula.name, _VECTOR)


class _Kind(NamedTuple):
    """How values of one kind are checked, described and converted to a distance."""

    fits: Callable[[Any, Distance], bool]
    wanted: Callable[[Distance], str]
    make: Callable[[Sequence[Any], Distance], Distance]


def _is_number(value: Any) -> bool:
    is_real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_real and -LARGEST <= value <= LARGEST


def _is_label(value: Any) -> bool:
    return isinstance(value, str) or _is_number(value)


def _is_list_of(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, (list, tuple, set, frozenset)) and all(map(fits, value))


def _is_vector(value: Any, like: Distance) -> bool:
    is_ordered = isinstance(value, (list, tuple)) and len(value) == like.rows.shape[1]
    return is_ordered and all(map(_is_number, value))


def _of_vectors(values: Sequence[Any], like: Distance) -> Distance:
    rows = np.array(values, dtype=np.float64).reshape(len(values), like.rows.shape[1])
    return replace(like, data=read_only_copy(like.formula.prepare(rows)))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


_VECTOR: Final = _Kind(
    _is_vector, lambda like: f"a list of {like.rows.shape[1]} numbers", _of_vectors
)
#: By formula; other formulas take vectors.
_KINDS: Final[Mapping[str, _Kind]] = MappingProxyType(
    {
        "jaccard": _Kind(
            lambda value, _like: _is_list_of(value, _is_label),
            lambda _like: "a list of labels",
            lambda values, _like: jaccard(values),
        ),
        "hamming": _Kind(
            lambda value, _like: _is_label(value),
            lambda _like: "a label",
            lambda values, _like: hamming(values),
        ),
        "difference": _Kind(
            lambda value, _like: _is_number(value),
            lambda _like: "a number",
            lambda values, like: difference(values, scale=like.scale),
        ),
    }
)

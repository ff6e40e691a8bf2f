"""A distance over the items of a catalogue."""

from dataclasses import dataclass, replace

import numpy as np

from variegate.arrays import FloatArray, IndexArray, frozen
from variegate.distances.formulas import Formula, diagonal
from variegate.errors import InputError


@dataclass(frozen=True, eq=False)
class Distance:
    """One h_i of the model: a formula, the items' data, and a scale.

    Make one with `cosine`, `angular`, `euclidean`, `difference`, `hamming`, `jaccard` or
    `custom`. Distances are divided by `scale`. An item's distance to itself is 0.
    """

    formula: Formula
    name: str
    #: Prepared data, one row an item; None until a catalogue fills in its features.
    data: FloatArray | None = None
    scale: float = 1.0
    #: The distinct labels that the columns stand for (Jaccard) or the codes count (Hamming).
    labels: tuple[str, ...] = ()
    #: Whether the data are the catalogue's own features.
    on_features: bool = False

    @property
    def is_metric(self) -> bool:
        """Whether it keeps the triangle inequality."""
        return self.formula.is_metric

    @property
    def largest(self) -> float:
        """The largest value that it can take between these items."""
        largest = self.formula.largest
        return (diagonal(self.rows) if largest is None else largest) / self.scale

    @property
    def rows(self) -> FloatArray:
        """The prepared data, one row an item, (L, w)."""
        if self.data is None:
            raise InputError(f"distance `{self.name}` has no data yet: give it to a Catalogue")
        return self.data

    def __len__(self) -> int:
        return len(self.rows)

    def bound_to(self, features: FloatArray) -> "Distance":
        """Return this distance with `features` as its data, unless it has data of its own."""
        if self.data is not None:
            return self
        return replace(self, data=frozen(self.formula.prepare(features)), on_features=True)

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

    def extended(self, more: "Distance") -> "Distance":
        """Return the distance over these items followed by those of `more`.

        `more` must be of the same kind; labels that these items have not seen get new columns
        or codes, so that the distances between the old items stay what they were.
        """
        if more.formula.name != self.formula.name:
            raise InputError(
                f"distance `{self.name}` is {self.formula.name}, got {more.formula.name}"
            )
        old, new, labels = _merged(self, more)
        if old.shape[1] != new.shape[1]:
            raise InputError(
                f"distance `{self.name}` has {old.shape[1]} columns of data, got {new.shape[1]}"
            )
        return replace(self, data=frozen(np.vstack([old, new])), labels=labels)


def _merged(old: Distance, more: Distance) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    """Bring the data of both under one set of labels, those of `old` first."""
    labels = old.labels + tuple(label for label in more.labels if label not in old.labels)
    if old.formula.name == "hamming":
        codes = np.array([labels.index(label) for label in more.labels], dtype=np.float64)
        return old.rows, codes[more.rows.astype(np.intp)], labels
    if old.formula.name != "jaccard":
        return old.rows, more.rows, labels
    wider = np.hstack([old.rows, np.zeros((len(old), len(labels) - len(old.labels)))])
    table = np.zeros((len(more), len(labels)))
    table[:, [labels.index(label) for label in more.labels]] = more.rows
    return wider, table, labels

"""A distance over the items of a catalogue."""

from dataclasses import dataclass, replace

import numpy as np

from variegate.arrays import FloatArray, IndexArray, frozen, sealed
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
        return self._with_data(more, np.arange(len(self), len(self) + len(more)))

    def changed(self, items: IndexArray, more: "Distance") -> "Distance":
        """Return the distance with the data of `more` in place of those of `items`, in order.

        `more` is as for `extended`. Labels that no item has any longer do no harm and stay.
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
        return replace(self, data=sealed(data), labels=labels)


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

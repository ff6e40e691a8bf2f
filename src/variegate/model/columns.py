"""Fitted columns: features from a column of numbers, labels or text."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, MaskArray, unit_rows
from variegate.errors import InputError, MissingExtraError

#: Number of quantiles stored for a column of numbers, with linear interpolation between them.
KNOTS = 21


@dataclass(frozen=True)
class NumberColumn:
    """A number as its quantile in the table: -1 the smallest, 0 the median, 1 the largest.

    Quantiles are robust to outliers. An unknown number is 0, and one outside the table's range is
    clipped to it.
    """

    kind: ClassVar[str] = "number"
    column: str
    #: Values in increasing order, and the position of each in [-1, 1]
    knots: tuple[float, ...]
    places: tuple[float, ...]

    @classmethod
    def fit(cls, column: str, values: ArrayLike) -> "NumberColumn | None":
        """Fit the quantiles to the table's values; None if no value is known."""
        numbers = finite_or_nan(column, values)
        known = numbers[~np.isnan(numbers)]
        if not known.size:
            return None
        quantiles = np.quantile(known, np.linspace(0.0, 1.0, KNOTS))
        knots, group = np.unique(quantiles, return_inverse=True)
        # Many equal values are several quantiles at once: they get the mean of these.
        ranks = np.bincount(group, weights=np.arange(KNOTS)) / np.bincount(group)
        places = 2.0 * ranks / (KNOTS - 1) - 1.0
        return cls(column, tuple(map(float, knots)), tuple(map(float, places)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its features: the column's name."""
        return (self.column,)

    def block(self, values: ArrayLike) -> FloatArray:
        """Return the features, (n, 1)."""
        numbers = finite_or_nan(self.column, values)
        places = np.interp(numbers, self.knots, self.places)
        return np.where(np.isnan(numbers), 0.0, places).reshape(-1, 1)

    def known(self, values: ArrayLike, _block: FloatArray) -> MaskArray:
        """Return which items' numbers are known, (n,)."""
        return np.asarray(~np.isnan(finite_or_nan(self.column, values)), dtype=np.bool_)


@dataclass(frozen=True)
class LabelColumn:
    """Labels as one feature each, with an item's features normalised to length 1.

    Each frequent label has a feature. An item with only rare or new labels has the feature
    "other", if the table had such items. Labels are weighted by log(1 + items / items with it), so
    two items that share "Western" are more similar than two that share "Drama".
    """

    #: "category" (one label per item) or "list" (any number of them)
    kind: str
    column: str
    labels: tuple[str, ...]
    #: The weight of each label, and of "other" after them if there is one
    weights: tuple[float, ...]
    #: The one of `labels` that represents all others
    rest: str | None = None

    @classmethod
    def fit(cls, kind: str, column: str, values: Sequence[Any], most: int) -> "LabelColumn | None":
        """Find the frequent labels; None if no item has any."""
        sets = _label_sets(values)
        counts = Counter(label for labels in sets for label in labels)
        if not counts:
            return None
        frequent = sorted(counts, key=lambda label: (-counts[label], label))[:most]
        others = sum(1 for labels in sets if labels and labels.isdisjoint(frequent))
        sizes = [counts[label] for label in frequent] + [others] * (others > 0)
        weights = tuple(float(np.log1p(len(sets) / size)) for size in sizes)
        return cls(kind, column, tuple(frequent), weights)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its features, with the column's name."""
        has_other = len(self.weights) > len(self.labels)
        return tuple(f"{self.column}: {label}" for label in (*self.labels, *["other"] * has_other))

    def block(self, values: Sequence[Any]) -> FloatArray:
        """Return the features, (n, labels), each row of length 1 or 0."""
        place = {label: number for number, label in enumerate(self.labels)}
        table = np.zeros((len(values), len(self.weights)))
        for row, labels in enumerate(_label_sets(values)):
            rest = self.rest
            known = {label if rest is None or label in place else rest for label in labels}
            places = [place[label] for label in known if label in place]
            if labels and not places and len(self.weights) > len(self.labels):
                places = [len(self.labels)]
            table[row, places] = 1.0
        return unit_rows(table * np.array(self.weights))

    def known(self, _values: Sequence[Any], block: FloatArray) -> MaskArray:
        """Return which items have a label that has a feature, (n,)."""
        return np.asarray(block.any(axis=1), dtype=np.bool_)


def finite_or_nan(column: str, values: ArrayLike) -> FloatArray:
    """Return a column of numbers, with nan for unknown values, or raise InputError."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"column `{column}` must hold numbers: {error}") from None
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise InputError(
            f"column `{column}` must hold finite numbers, or nan where not known, "
            f"got {numbers[row]} in row {row}"
        )
    return numbers


def _label_sets(values: Sequence[Any]) -> list[set[str]]:
    """Return each item's labels; a category is a set of one, or an empty set if unknown."""
    return [
        {labels} - {""} if isinstance(labels, str) else {str(label) for label in labels} - {""}
        for labels in values
    ]


#: Number of words used: the most frequent ones suffice, and keep a saved encoder small.
MAX_WORDS = 5000
#: From this many items on, a word must occur in two of them and in at most half.
MANY_ITEMS = 50


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Text as a few latent dimensions, with an item's features normalised to length 1.

    TF-IDF without English stop words, then a seeded SVD with `dimensions` components, each named
    after its heaviest words. A table with no more words than that has one feature per word.
    """

    kind: ClassVar[str] = "text"
    column: str
    words: tuple[str, ...]
    #: The inverse document frequency of each word, (words,)
    rarity: FloatArray
    #: The weight of each word in each dimension, (dimensions, words)
    directions: FloatArray

    @classmethod
    def fit(cls, column: str, values: Sequence[str], dimensions: int) -> "TextColumn | None":
        """Fit words and dimensions to the table's texts; None if there is no word."""
        many = len(values) >= MANY_ITEMS
        limits = {"min_df": 2, "max_df": 0.5} if many else {}
        vectoriser = _vectoriser(max_features=MAX_WORDS, **limits)
        try:
            table = vectoriser.fit_transform(values)
        except ValueError:  # no words are left
            return None
        words = tuple(map(str, vectoriser.get_feature_names_out()))
        return cls(column, words, np.asarray(vectoriser.idf_), _directions(table, dimensions))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its features: the column's name and up to three of the heaviest words."""
        tops = [np.argsort(-row, kind="stable")[:3] for row in self.directions]
        return tuple(
            f"{self.column}: " + ", ".join(self.words[word] for word in top if row[word] > 0)
            for row, top in zip(self.directions, tops, strict=True)
        )

    def block(self, values: Sequence[str]) -> FloatArray:
        """Return the features, (n, dimensions), each row of length 1 or 0."""
        vectoriser = _vectoriser(vocabulary=list(self.words))
        vectoriser.idf_ = self.rarity
        return unit_rows(np.asarray(vectoriser.transform(values) @ self.directions.T))

    def known(self, _values: Sequence[str], block: FloatArray) -> MaskArray:
        """Return which items have a word that is known, (n,)."""
        return np.asarray(block.any(axis=1), dtype=np.bool_)


def _directions(table: Any, dimensions: int) -> FloatArray:
    words = table.shape[1]
    if words <= dimensions:
        return np.eye(words)
    svd = _sklearn("decomposition").TruncatedSVD(
        min(dimensions, table.shape[0]), n_iter=7, random_state=0
    )
    directions: FloatArray = svd.fit(table).components_
    # The sign of an SVD component is arbitrary: the heaviest word is made positive.
    heaviest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), heaviest])
    signed: FloatArray = directions * signs[:, None]
    return signed


def _vectoriser(**settings: Any) -> Any:
    return _sklearn("feature_extraction.text").TfidfVectorizer(
        stop_words="english", sublinear_tf=True, **settings
    )


def _sklearn(part: str) -> Any:
    try:
        return import_module(f"sklearn.{part}")
    except ImportError:
        raise MissingExtraError(
            "columns of text need scikit-learn: pip install 'variegate[content]'"
        ) from None

"""How a column of free text becomes features: TF-IDF, then a few directions by SVD."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from variegate.arrays import FloatArray, MaskArray
from variegate.distances.formulas import unit_rows
from variegate.errors import MissingExtraError

#: The most frequent words are enough to tell items apart, and keep a saved encoder small.
MOST_WORDS = 5000
#: From this many items on, a word must stand in two of them and in no more than half.
MANY_ITEMS = 50


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Text as a few directions of meaning, an item's together of length 1.

    Words count by TF-IDF (English stop words left out); `dimensions` directions are found by
    a seeded SVD, each named after the words that weigh most in it. A table with no more words
    than that has a feature a word.
    """

    kind: ClassVar[str] = "text"
    column: str
    words: tuple[str, ...]
    #: The weight of each word by how few items have it, (words,)
    rarity: FloatArray
    #: What each direction makes of each word, (dimensions, words)
    directions: FloatArray

    @classmethod
    def fitted(cls, column: str, values: Sequence[str], dimensions: int) -> "TextColumn | None":
        """Learn words and directions from the table's texts; None where there is no word."""
        many = len(values) >= MANY_ITEMS
        limits = {"min_df": 2, "max_df": 0.5} if many else {}
        vectoriser = _vectoriser(max_features=MOST_WORDS, **limits)
        try:
            table = vectoriser.fit_transform(values)
        except ValueError:  # its word for "no words are left"
            return None
        words = tuple(map(str, vectoriser.get_feature_names_out()))
        return cls(column, words, np.asarray(vectoriser.idf_), _directions(table, dimensions))

    @property
    def names(self) -> tuple[str, ...]:
        """What its features mean: the column's name and the heaviest words, at most three."""
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
    # A direction and its opposite are the same to an SVD: the heaviest word is made positive.
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

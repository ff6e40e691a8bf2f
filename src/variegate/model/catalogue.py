"""The ground set E: items with their relevance features and their distances."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_choice,
    check_count,
    check_numbers,
    check_positive,
    read_only_copy,
)
from variegate.errors import InputError, NotFoundError
from variegate.kernels.layout import Layout, layout_of
from variegate.model.catalogue_changes import (
    encoded_distances,
    encoded_features,
    with_attributes,
    with_changes,
    with_features,
    with_items,
)
from variegate.model.catalogue_checks import (
    as_texts,
    check_distances,
    check_features,
    check_ids,
    check_rows,
)
from variegate.model.catalogue_file import read_catalogue, write_catalogue
from variegate.model.distances import Distance
from variegate.model.encoder import Encoder, Source
from variegate.model.filters import AttributeIndex
from variegate.model.fingerprint import Fingerprint, fingerprint_of
from variegate.model.scores import SCORE

#: Names of embedding and SVD features, which mean nothing to a reader.
UNNAMED_FEATURE: Final = re.compile(r"feature \d+")
#: Titles that describe such a feature.
N_EXAMPLES: Final = 3


class Catalogue:
    """The items that can be recommended. Immutable: `with_items` and `with_changes` return others.

    Parameters
    ----------
    ids
        One distinct id per item; they are converted to text.
    features
        Relevance features z, one row per item, (L, d), at most 512: what a user learns grows with
        the square of d. Long vectors serve the distances; see `vector_catalogue`.
    distances
        One distance or several (m of them), each by its name ("cosine", "angular",
        "euclidean": computed on `features`) or as a `Distance` with its own data.
        With an empty list the model is of relevance alone.
    titles
        The title of each item; its id by default.
    attributes
        Other columns to show, by name, such as ``{"year": [...]}``.
    feature_names
        The meaning of each feature, (d,).
    mean_user
        The mean of the training users' vectors, which LogRank ranks by, (d,).
    feature_scale
        The number that the features were divided by after `mean_user` was learnt.
    encoder
        Computes features from attributes, for items that are added or changed later.
    sources
        Compute the data of distances from attributes, by the distance's name.
    is_open
        Whether there are no items, since each request has its own; see `open_catalogue`.

    Examples
    --------
    >>> from variegate.model.distances import jaccard
    >>> films = Catalogue(
    ...     ["alien", "heat"],
    ...     [[1.0, 0.0], [0.2, 0.9]],
    ...     ["cosine", jaccard([{"horror"}, {"crime"}], name="genres")],
    ... )
    >>> films
    Catalogue(2 items, 2 features, distances: cosine, genres)
    """

    def __init__(
        self,
        ids: Iterable[object],
        features: ArrayLike,
        distances: str | Distance | Sequence[str | Distance],
        titles: Iterable[str] | None = None,
        attributes: Mapping[str, Sequence[Any]] | None = None,
        *,
        feature_names: Iterable[str] | None = None,
        mean_user: ArrayLike | None = None,
        feature_scale: float = 1.0,
        encoder: Encoder | None = None,
        sources: Mapping[str, Source] | None = None,
        is_open: bool = False,
    ) -> None:
        self.is_open: Final = is_open
        self.ids: Final = check_ids(ids, is_open=is_open)
        self.features: Final = check_features(features, len(self.ids))
        self.distances: Final = check_distances(distances, self.features)
        self.titles: Final = self.ids if titles is None else as_texts(titles, "titles")
        self.attributes: Final = MappingProxyType(
            {str(name): tuple(column) for name, column in (attributes or {}).items()}
        )
        self.feature_names: Final = (
            tuple(f"feature {i + 1}" for i in range(self.d))
            if feature_names is None
            else tuple(map(str, feature_names))
        )
        self.mean_user: Final = (
            None
            if mean_user is None
            else read_only_copy(check_numbers("mean_user", mean_user, ndim=1))
        )
        check_positive(feature_scale=feature_scale)
        self.feature_scale: Final = float(feature_scale)
        self.encoder: Final = encoder
        self.sources: Final = MappingProxyType(dict(sources or {}))
        self._check_lengths()

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        names = ", ".join(h.name for h in self.distances) or "none"
        items = "open" if self.is_open else f"{len(self)} items"
        return f"Catalogue({items}, {self.d} features, distances: {names})"

    @property
    def d(self) -> int:
        """The number of relevance features."""
        return int(self.features.shape[1])

    @property
    def m(self) -> int:
        """The number of distances."""
        return len(self.distances)

    @cached_property
    def score_column(self) -> int | None:
        """The feature that the scores of a request fill; None if there is none."""
        computed = () if self.encoder is None else self.encoder.names
        names = self.feature_names
        return names.index(SCORE) if SCORE in names and SCORE not in computed else None

    @cached_property
    def largest_norm(self) -> float:
        """The length of the longest feature vector."""
        return float(np.linalg.norm(self.features, axis=1).max(initial=0.0))

    @cached_property
    def feature_labels(self) -> tuple[str, ...]:
        """What to call each feature: its name, or example titles if it has only a number."""
        labels = list(self.feature_names)
        for column, name in enumerate(self.feature_names):
            if UNNAMED_FEATURE.fullmatch(name):
                top = _largest(self.features[:, column], N_EXAMPLES)
                labels[column] = f"items like {' / '.join(self.titles[row] for row in top)}"
            elif name == SCORE:
                labels[column] = "what the ranker scores high"
        return tuple(labels)

    @cached_property
    def layout(self) -> Layout | None:
        """The items as the compiled loops read them; None if these cannot handle a distance."""
        return layout_of(self.features, self.distances)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Digests of everything that learnt states depend on."""
        return self.fingerprint_of_first(len(self))

    @cached_property
    def attribute_index(self) -> AttributeIndex:
        """The attributes, as conditions and constraints need them."""
        return AttributeIndex(self.attributes, len(self))

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self.ids)}

    def rows(self, ids: Iterable[object]) -> IndexArray:
        """Return the row number of each id, in their order."""
        try:
            return np.array([self._row_of[str(item)] for item in ids], dtype=np.intp)
        except KeyError as error:
            raise NotFoundError(f"no item {error.args[0]!r} in the catalogue") from None

    def find_rows(self, ids: Iterable[object]) -> IndexArray:
        """Return the row number of each id, in their order, and -1 for an unknown one."""
        return np.array([self._row_of.get(str(item), -1) for item in ids], dtype=np.intp)

    def candidates(
        self, candidates: ArrayLike | None = None, exclude: ArrayLike | None = None
    ) -> IndexArray:
        """Return the rows of `candidates` (all by default) minus those of `exclude`, sorted.

        Both are lists of row numbers, or masks with a boolean per item.
        """
        return np.flatnonzero(self.candidate_mask(candidates, exclude))

    def candidate_mask(
        self, candidates: ArrayLike | None = None, exclude: ArrayLike | None = None
    ) -> MaskArray:
        """Return the same as `candidates`, as a mask, (L,)."""
        if candidates is None:
            free = np.empty(len(self), dtype=np.bool_)
            free.fill(True)  # np.ones takes longer for a small catalogue
        elif getattr(candidates, "dtype", None) == np.bool_ and np.shape(candidates) == (
            len(self),
        ):
            free = np.array(candidates)
        else:
            free = np.zeros(len(self), dtype=np.bool_)
            free[check_rows("candidates", candidates, len(self))] = True
        if exclude is not None:
            free[check_rows("exclude", exclude, len(self))] = False
        return free

    def where(self, condition: Mapping[str, Any]) -> MaskArray:
        """Return the items whose attributes meet a condition, as a mask for `candidates`, (L,).

        See `parse_condition` for its form. Masks are kept, so that a condition costs once.

        Examples
        --------
        >>> shop = Catalogue(["a", "b"], [[1.0], [0.5]], [], attributes={"price": [30, 15]})
        >>> shop.where({"attribute": "price", "<=": 20})
        array([False,  True])
        """
        return self.attribute_index.mask(condition)

    def first(self, items: int) -> "Catalogue":
        """Return the catalogue of the first `items` only."""
        if items == len(self):
            return self
        check_count(items, len(self), name="items", of="the catalogue's items")
        return self.replace(
            ids=self.ids[:items],
            features=self.features[:items],
            distances=[replace(h, data=h.rows[:items]) for h in self.distances],
            titles=self.titles[:items],
            attributes={name: column[:items] for name, column in self.attributes.items()},
        )

    def fingerprint_of_first(self, items: int) -> Fingerprint:
        """Return the fingerprint of the catalogue of the first `items` only."""
        return fingerprint_of(self, items)

    def with_items(
        self,
        ids: Iterable[object],
        features: ArrayLike,
        distances: Mapping[str, Distance] | None = None,
        titles: Iterable[str] | None = None,
        attributes: Mapping[str, Sequence[Any]] | None = None,
    ) -> "Catalogue":
        """Return a catalogue with more items after these.

        Rows, features and distances of these items do not change, so states and slates of this
        catalogue are valid in the larger one. `distances` holds the new items' data by the
        distance's name; those computed on the features need none. Attributes that are not given
        are None for the new items.

        Examples
        --------
        >>> shop = Catalogue(["a"], [[1.0, 0.0]], "cosine")
        >>> shop.with_items(["b"], [[0.0, 1.0]])
        Catalogue(2 items, 2 features, distances: cosine)
        """
        return with_items(self, as_texts(ids), features, distances or {}, titles, attributes or {})

    def with_changes(
        self,
        ids: Iterable[object],
        features: ArrayLike,
        distances: Mapping[str, Distance] | None = None,
        titles: Iterable[str] | None = None,
        attributes: Mapping[str, Sequence[Any]] | None = None,
    ) -> "Catalogue":
        """Return a catalogue in which the items `ids` have new data.

        Rows keep their numbers, so states and slates of this catalogue are valid in the new
        one; feedback on earlier slates is learnt with the features their items had then.
        `distances` holds the items' new data by the distance's name, as in `with_items`.
        Distances with data of their own, titles and attributes that are not given do not change.

        Examples
        --------
        >>> shop = Catalogue(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], "cosine", titles=["A", "B"])
        >>> shop.with_changes(["b"], [[1.0, 1.0]]).titles
        ('A', 'B')
        """
        rows = self.rows(as_texts(ids))
        return with_changes(self, rows, features, distances or {}, titles, attributes or {})

    def with_features(self, columns: Mapping[str, ArrayLike]) -> "Catalogue":
        """Return a catalogue with more features by name, one value per item, after the others.

        Distances do not change: those computed on the features keep the old ones as data of
        their own, so that `with_items` and `with_changes` then require data for them. The mean
        user gets zeros.

        Examples
        --------
        >>> shop = Catalogue(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], "cosine")
        >>> shop.with_features({"popularity": [0.5, 1.0]}).feature_names
        ('feature 1', 'feature 2', 'popularity')
        """
        return with_features(self, columns)

    def with_score(self) -> "Catalogue":
        """Return a catalogue with the feature ``score``, which the scores of a request fill.

        It is 0 for every item: without scores in a request it has no effect.

        Examples
        --------
        >>> shop = Catalogue(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], "cosine").with_score()
        >>> shop.feature_names
        ('feature 1', 'feature 2', 'score')
        """
        return with_features(self, {SCORE: np.zeros(len(self))})

    def with_attributes(
        self, ids: Iterable[object], attributes: Mapping[str, Sequence[Any]]
    ) -> "Catalogue":
        """Return a catalogue in which the items `ids` have new attributes.

        Features and distances that are computed from these attributes (`encoder`, `sources`)
        change with them. Attributes that are not named do not change.

        Examples
        --------
        >>> from variegate.data import ItemTable, content_catalogue
        >>> table = ItemTable(("a", "b"), ("A", "B"), lists={"tags": (("new",), ("old",))})
        >>> content_catalogue(table).with_attributes(["b"], {"tags": [["new"]]}).features
        array([[1., 0.],
               [1., 0.]])
        """
        return with_attributes(self, as_texts(ids), attributes)

    def encoded_features(
        self,
        ids: Sequence[str],
        attributes: Mapping[str, Sequence[Any]],
        *,
        changed: Collection[str] | None = None,
        before: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the features encoded from attributes, (items, d), or None without an encoder.

        Parameters
        ----------
        ids
            Names of the items in errors.
        attributes
            Columns by name, one value per item, None if unknown.
        changed
            The attributes whose values changed; all by default.
        before
            The items' features; those encoded from unchanged attributes are kept.
        """
        return encoded_features(self, ids, attributes, changed, before)

    def encoded_distances(
        self,
        items: int,
        attributes: Mapping[str, Sequence[Any]],
        *,
        changed: Collection[str] | None = None,
    ) -> dict[str, list[Any]]:
        """Return the values encoded from attributes, as `distance_of_values` takes them.

        Only distances that are computed from an attribute in `changed`, by name. `attributes`
        are as for `encoded_features`.
        """
        return encoded_distances(self, items, attributes, changed)

    def save(self, path: str | Path) -> None:
        """Write the catalogue to `path` atomically: arrays and JSON, no pickle."""
        write_catalogue(path, self)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        functions: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] | None = None,
    ) -> "Catalogue":
        """Read a catalogue that `save` wrote.

        `functions` holds the `between` of each `custom` distance, by the distance's name:
        a file holds data, never code.
        """
        return cls(**read_catalogue(path, functions or {}))

    def replace(self, **changes: Any) -> "Catalogue":
        """Return a catalogue with some of the constructor's arguments replaced."""
        return Catalogue(**{**self._arguments(), **changes})

    def reuse_index(self, other: "Catalogue", rows: IndexArray) -> "Catalogue":
        """Take over the indexed attributes of a catalogue that differs in `rows` only."""
        if "attribute_index" in vars(other):
            self.attribute_index.reuse(other.attribute_index, rows)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the catalogue for worker processes."""
        return _from_arguments, (self._arguments(),)

    def _arguments(self) -> dict[str, Any]:
        return {
            "ids": self.ids,
            "features": self.features,
            "distances": self.distances,
            "titles": self.titles,
            "attributes": dict(self.attributes),
            "feature_names": self.feature_names,
            "mean_user": self.mean_user,
            "feature_scale": self.feature_scale,
            "encoder": self.encoder,
            "sources": dict(self.sources),
            "is_open": self.is_open,
        }

    def _check_lengths(self) -> None:
        columns = {
            "titles": self.titles,
            **{f"attributes[{n!r}]": c for n, c in self.attributes.items()},
        }
        for name, column in columns.items():
            if len(column) != len(self):
                raise InputError(f"`{name}` must have {len(self)} entries, got {len(column)}")
        if len(self.feature_names) != self.d:
            raise InputError(
                f"`feature_names` must have {self.d} entries, got {len(self.feature_names)}"
            )
        if self.mean_user is not None and self.mean_user.shape != (self.d,):
            raise InputError(f"`mean_user` must have shape ({self.d},), got {self.mean_user.shape}")
        self._check_encoder()

    def _check_encoder(self) -> None:
        """Raise InputError if the encoder or a source does not fit the features and distances."""
        encoder, names = self.encoder, self.feature_names
        if encoder is not None and encoder.names != names[: len(encoder.names)]:
            raise InputError(
                f"`encoder` must give the features {list(names)[:5]} (the first of {len(names)}), "
                f"got {list(encoder.names)[:5]} (of {len(encoder.names)})"
            )
        own = [h.name for h in self.distances if not h.on_features]
        for name in self.sources:
            check_choice("sources", name, own)


def _from_arguments(arguments: dict[str, Any]) -> Catalogue:
    return Catalogue(**arguments)


def _largest(values: FloatArray, count: int) -> list[int]:
    """Return the rows of the largest values, largest first: faster than sorting a long column."""
    left, rows = values.copy(), []
    for _ in range(min(count, len(values))):
        rows.append(int(left.argmax()))
        left[rows[-1]] = -np.inf
    return rows

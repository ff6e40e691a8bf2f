"""The ground set E: items with their relevance features and their distances."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
    check_count,
    check_numbers,
    check_positive,
    read_only_copy,
)
from variegate.errors import InputError, NotFoundError
from variegate.kernels.layout import Layout, layout_of
from variegate.model.catalogue_changes import (
    check_encoding,
    encoded_distances,
    encoded_features,
    first_of,
    with_attributes,
    with_changes,
    with_columns,
    with_items,
)
from variegate.model.catalogue_checks import (
    checked_distances,
    checked_features,
    checked_ids,
    id_texts,
    selected_rows,
)
from variegate.model.catalogue_file import Contents, read_catalogue, write_catalogue
from variegate.model.distances import Distance
from variegate.model.encoder import Encoder, Source
from variegate.model.fingerprint import Fingerprint, fingerprint_of


class Catalogue:
    """The items that can be recommended. It never changes: `extended` and `changed` make others.

    Parameters
    ----------
    ids
        One distinct id an item; they are kept as text.
    features
        Relevance features z, one row an item, (L, d).
    distances
        One distance or several (m of them), each by its name ("cosine", "angular",
        "euclidean": worked out on `features`) or as a `Distance` with its own data.
        An empty list asks for a model of relevance alone.
    titles
        What to call each item; its id if not given.
    attributes
        Anything else worth showing, a column by name, such as ``{"year": [...]}``.
    feature_names
        What each feature means, (d,).
    mean_user
        The mean of the training users' vectors, which LogRank ranks by, (d,).
    feature_scale
        The number that the features were divided by after `mean_user` was learnt.
    encoder
        How the features are made from attributes, for items that are added or changed later.
    sources
        How distances with data of their own are made from attributes, by the distance's name.

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
    ) -> None:
        self.ids: Final = checked_ids(ids)
        self.features: Final = checked_features(features, len(self.ids))
        self.distances: Final = checked_distances(distances, self.features)
        self.titles: Final = self.ids if titles is None else tuple(map(str, titles))
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
        return f"Catalogue({len(self)} items, {self.d} features, distances: {names})"

    @property
    def d(self) -> int:
        """The number of relevance features."""
        return int(self.features.shape[1])

    @property
    def m(self) -> int:
        """The number of distances."""
        return len(self.distances)

    @cached_property
    def largest_norm(self) -> float:
        """The length of the longest feature vector."""
        return float(np.linalg.norm(self.features, axis=1).max())

    @cached_property
    def layout(self) -> Layout | None:
        """The items as the compiled loops read them; None where those do not know a distance."""
        return layout_of(self.features, self.distances)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What makes this catalogue the same as another to what users have learnt."""
        return self.fingerprint_of_first(len(self))

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self.ids)}

    def rows(self, ids: Iterable[object]) -> IndexArray:
        """Return the row number of each id, in their order."""
        try:
            return np.array([self._row_of[str(item)] for item in ids], dtype=np.intp)
        except KeyError as error:
            raise NotFoundError(f"no item {error.args[0]!r} in {self}") from None

    def rows_or_none(self, ids: Iterable[object]) -> IndexArray:
        """Return the row number of each id, in their order, and -1 for one that is not here."""
        return np.array([self._row_of.get(str(item), -1) for item in ids], dtype=np.intp)

    def candidates(
        self, candidates: ArrayLike | None = None, exclude: ArrayLike | None = None
    ) -> IndexArray:
        """Return the rows of `candidates` (all, if not given) less those of `exclude`, sorted.

        Either is a list of row numbers or a mask with one yes or no for each item.
        """
        return np.flatnonzero(self.candidate_mask(candidates, exclude))

    def candidate_mask(
        self, candidates: ArrayLike | None = None, exclude: ArrayLike | None = None
    ) -> MaskArray:
        """Return the same as `candidates`, as one yes or no for each item, (L,)."""
        if candidates is None:
            free = np.ones(len(self), dtype=np.bool_)
        elif getattr(candidates, "dtype", None) == np.bool_ and np.shape(candidates) == (
            len(self),
        ):
            free = np.array(candidates)
        else:
            free = np.zeros(len(self), dtype=np.bool_)
            free[selected_rows("candidates", candidates, len(self))] = True
        if exclude is not None:
            free[selected_rows("exclude", exclude, len(self))] = False
        return free

    def first(self, items: int) -> "Catalogue":
        """Return the catalogue of the first `items` alone."""
        check_count(items, len(self), name="items", of="the catalogue's items")
        return self if items == len(self) else _made_of(first_of(self._contents(), items))

    def fingerprint_of_first(self, items: int) -> Fingerprint:
        """Return the fingerprint of the catalogue of the first `items` alone."""
        return fingerprint_of(self._contents(), items)

    def extended(
        self,
        ids: Iterable[object],
        features: ArrayLike,
        distances: Mapping[str, Distance] | None = None,
        titles: Iterable[str] | None = None,
        attributes: Mapping[str, Sequence[Any]] | None = None,
    ) -> "Catalogue":
        """Return a catalogue with more items after these.

        Rows, features and distances of these items stay as they are, so states and slates of
        this catalogue are valid in the larger one. `distances` holds the new items' data by
        the distance's name; those worked out on the features need none. Attributes that are
        not given are None for the new items.

        Examples
        --------
        >>> shop = Catalogue(["a"], [[1.0, 0.0]], "cosine")
        >>> shop.extended(["b"], [[0.0, 1.0]])
        Catalogue(2 items, 2 features, distances: cosine)
        """
        more = ids, features, distances or {}, titles, attributes or {}
        return _made_of(with_items(self._contents(), *more))

    def changed(
        self,
        ids: Iterable[object],
        features: ArrayLike,
        distances: Mapping[str, Distance] | None = None,
        titles: Iterable[str] | None = None,
        attributes: Mapping[str, Sequence[Any]] | None = None,
    ) -> "Catalogue":
        """Return a catalogue in which the items `ids` have other data.

        Rows keep their numbers, so states and slates of this catalogue are valid in the new
        one, and slates given before teach what their items were then. `distances` holds the
        items' new data by the distance's name, as in `extended`. Distances with data of their
        own, titles and attributes that are not given stay as they are.

        Examples
        --------
        >>> shop = Catalogue(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], "cosine", titles=["A", "B"])
        >>> shop.changed(["b"], [[1.0, 1.0]]).titles
        ('A', 'B')
        """
        data = features, distances or {}, titles, attributes or {}
        return _made_of(with_changes(self._contents(), self.rows(id_texts(ids)), *data))

    def with_features(self, columns: Mapping[str, ArrayLike]) -> "Catalogue":
        """Return a catalogue with more features by name, a value an item, after the others.

        Distances stay what they were: those worked out on the features keep the former ones as
        data of their own, so that `extended` and `changed` ask for their data from then on.
        The mean user gets zeros.

        Examples
        --------
        >>> shop = Catalogue(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], "cosine")
        >>> shop.with_features({"popularity": [0.5, 1.0]}).feature_names
        ('feature 1', 'feature 2', 'popularity')
        """
        return _made_of(with_columns(self._contents(), columns))

    def with_attributes(
        self, ids: Iterable[object], attributes: Mapping[str, Sequence[Any]]
    ) -> "Catalogue":
        """Return a catalogue in which the items `ids` have other attributes.

        Features and distances that are made from these attributes (`encoder`, `sources`) change
        with them; other attributes are labels only. Attributes that are not named stay.

        Examples
        --------
        >>> from variegate.data import ItemTable, content_catalogue
        >>> table = ItemTable(("a", "b"), ("A", "B"), lists={"tags": (("new",), ("old",))})
        >>> content_catalogue(table).with_attributes(["b"], {"tags": [["new"]]}).features
        array([[1., 0.],
               [1., 0.]])
        """
        names = id_texts(ids)
        return _made_of(with_attributes(self._contents(), names, self.rows(names), attributes))

    def encoded_features(
        self,
        ids: Sequence[str],
        attributes: Mapping[str, Sequence[Any]],
        *,
        changed: Collection[str] | None = None,
        before: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return the features that items' attributes come to, (items, d), None without an encoder.

        Parameters
        ----------
        ids
            What to call the items in an error.
        attributes
            Columns by name, a value an item, None where it is not known.
        changed
            The attributes that have other values than before; all, if not given.
        before
            The items' features, which keep what is made from nothing that changed.
        """
        return encoded_features(self._contents(), ids, attributes, changed, before)

    def encoded_distances(
        self,
        items: int,
        attributes: Mapping[str, Sequence[Any]],
        *,
        changed: Collection[str] | None = None,
    ) -> dict[str, list[Any]]:
        """Return the values that attributes come to, as `distance_of_values` takes them.

        They are of the distances that are made from an attribute that `changed`, by name.
        `attributes` are as for `encoded_features`.
        """
        return encoded_distances(self._contents(), items, attributes, changed)

    def save(self, path: str | Path) -> None:
        """Write the catalogue to `path`, whole or not at all: arrays and JSON, no pickle."""
        write_catalogue(path, self._contents())

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        functions: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] | None = None,
    ) -> "Catalogue":
        """Read a catalogue that `save` wrote.

        `functions` holds the `between` of each `custom` distance, by the distance's name:
        a file keeps data, never code.
        """
        return _made_of(read_catalogue(path, functions or {}))

    def __reduce__(self) -> tuple[Any, ...]:
        """Let workers of other processes have the catalogue."""
        return _made_of, (self._contents(),)

    def _contents(self) -> Contents:
        return Contents(
            self.ids,
            self.features,
            self.distances,
            self.titles,
            dict(self.attributes),
            self.feature_names,
            self.mean_user,
            self.feature_scale,
            self.encoder,
            dict(self.sources),
        )

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
        check_encoding(self._contents())


def _made_of(contents: Contents) -> Catalogue:
    return Catalogue(
        contents.ids,
        contents.features,
        contents.distances,
        contents.titles,
        contents.attributes,
        feature_names=contents.feature_names,
        mean_user=contents.mean_user,
        feature_scale=contents.feature_scale,
        encoder=contents.encoder,
        sources=contents.sources,
    )

"""Candidates that come with a request: another ranker's items, with their scores."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    check_choice,
    check_numbers,
    read_only_copy,
)
from variegate.errors import InputError, NotFoundError, join_problems
from variegate.model.catalogue import Catalogue
from variegate.model.catalogue_checks import LARGEST_FEATURE, check_ids, check_rows
from variegate.model.distances import FORMULAS, Distance, distance_of_values
from variegate.model.scores import SCORE, NormalisedScores, ScoresLike, normalise_scores
from variegate.model.slate import Slate

#: Distances that are computed from an item's vector; the others from its attribute of their name.
ON_VECTORS: Final = ("cosine", "angular", "euclidean")


def open_catalogue(
    features: Iterable[str] = (), distances: str | Distance | Sequence[str | Distance] = "cosine"
) -> Catalogue:
    """Return a catalogue without items, for a ranker that brings its candidates to each request.

    The first feature is ``score``, which the scores of a request fill. What users learn is stored
    as for any other catalogue; of the items, nothing is stored but the lists.

    Parameters
    ----------
    features
        Names of further features of the candidates, on a scale of about -1 to 1.
    distances
        "cosine", "angular" or "euclidean" for the candidates' vectors; or distances without data,
        such as ``jaccard([], name="genres")``, for the attribute of that name. With an empty list
        only relevance is learnt.

    Examples
    --------
    >>> open_catalogue()
    Catalogue(open, 1 features, distances: cosine)
    >>> from variegate.model.distances import jaccard
    >>> open_catalogue(["freshness"], ["cosine", jaccard([], name="genres")]).feature_names
    ('score', 'freshness')
    """
    if isinstance(features, str):
        raise InputError(f"`features` must be a list of names, got the text {features!r}")
    names = (SCORE, *map(str, features))
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"`features` must be distinct, and not `score`, got {name!r} twice")
    if isinstance(distances, (str, Distance)):
        distances = [distances]
    empty = [_without_items(h) for h in distances]
    return Catalogue((), np.zeros((0, len(names))), empty, feature_names=names, is_open=True)


def _without_items(h: str | Distance) -> Distance:
    if isinstance(h, str):
        check_choice("distances", h, ON_VECTORS)
        return Distance(FORMULAS[h], h, read_only_copy(np.zeros((0, 0))))
    if h.data is not None and len(h):
        raise InputError(f"distance `{h.name}` must have no items, got data of {len(h)}")
    if h.formula.name not in FORMULAS:
        raise InputError(f"distance `{h.name}` must be of a kind in {', '.join(FORMULAS)}")
    return h if h.data is not None else _renamed(h)


def _renamed(h: Distance) -> Distance:
    return Distance(h.formula, h.name, read_only_copy(np.zeros((0, 0))), h.scale)


class Offer(TypedDict, total=False):
    """What a request can say about its candidates; see `own_candidates`."""

    scores: ScoresLike | None
    features: Mapping[str, ArrayLike] | None
    vectors: ArrayLike | None
    attributes: Mapping[str, Sequence[Any]] | None


@dataclass(frozen=True, eq=False)
class Candidates:
    """The items that one request offers; `own_candidates` and `scored_candidates` make one."""

    #: The catalogue that the request is made to
    base: Catalogue
    ids: tuple[str, ...]
    #: Rows in that catalogue; in an open one, places in the request, (n,)
    rows: IndexArray
    #: z, with the request's scores in their column, (n, d)
    features: FloatArray
    #: Which may be chosen, (n,)
    free: MaskArray
    #: What the caller should know about the scores
    notes: tuple[str, ...]
    #: Vectors and attributes that came with the request
    given_vectors: NDArray[np.floating] | None = None
    given_attributes: Mapping[str, Sequence[Any]] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def vectors(self) -> NDArray[np.floating] | None:
        """What cosines are computed from, (n, w); None unless the only distance is a cosine."""
        distances = self.base.distances
        if len(distances) != 1 or distances[0].formula.name != "cosine":
            return None
        return self.given_vectors if self.base.is_open else distances[0].rows[self.rows]

    @cached_property
    def catalogue(self) -> Catalogue:
        """These items as a catalogue of their own, with checked data."""
        return Catalogue(
            self.ids,
            self.features,
            [self._distance(h) for h in self.base.distances],
            feature_names=self.base.feature_names,
        )

    @property
    def attributes(self) -> Mapping[str, Sequence[Any]]:
        """What constraints are about: the attributes of the request, or of the catalogue."""
        if self.base.is_open:
            return self.given_attributes or {}
        rows = self.rows.tolist()
        return {
            name: [column[row] for row in rows] for name, column in self.base.attributes.items()
        }

    def slate(self, places: IndexArray, scores: FloatArray, x: FloatArray) -> Slate:
        """Return the items at these places as a slate of the request."""
        ids = tuple([self.ids[place] for place in places.tolist()])
        none = np.zeros((len(places), 0))
        z = self.features[places]
        return Slate(self.rows[places], ids, z, x, scores, none, notes=self.notes)

    def _distance(self, h: Distance) -> Distance:
        if not self.base.is_open:
            return h.among(self.rows)
        if h.formula.name in ON_VECTORS:
            data = check_numbers("vectors", self.given_vectors, ndim=2)  # type: ignore[arg-type]
            return Distance(h.formula, h.name, read_only_copy(h.formula.prepare(data)), h.scale)
        values = (self.given_attributes or {})[h.name]
        try:
            return distance_of_values(h, list(values))
        except InputError as error:
            raise InputError(f"`attributes`: {error}") from None


def offered_candidates(
    catalogue: Catalogue,
    candidates: Any,
    exclude: Any,
    offer: Offer,
) -> Candidates:
    """Return the candidates of a request that has its own items or scores, neither None."""
    if isinstance(candidates, Candidates):
        if candidates.base is not catalogue:
            raise InputError(f"`candidates` must be of {catalogue}, got some of {candidates.base}")
        return candidates
    _check_offer(offer)
    if catalogue.is_open:
        return own_candidates(catalogue, candidates, exclude=exclude, **offer)
    for name in ("features", "vectors", "attributes"):
        if offer.get(name) is not None:
            raise InputError(
                f"`{name}` must be None for {catalogue}: its items have their own; "
                "`open_catalogue` is for items that come with a request"
            )
    return scored_candidates(catalogue, offer["scores"], candidates, exclude)


def _check_offer(offer: Offer) -> None:
    for name in offer.keys() - Offer.__annotations__.keys():
        raise TypeError(f"recommend() got an unexpected keyword argument {name!r}")
    for name in ("features", "attributes"):
        given = offer.get(name)
        if given is not None and not isinstance(given, Mapping):
            raise InputError(f"`{name}` must map names to columns, got {given!r:.80}")


def own_candidates(
    catalogue: Catalogue,
    ids: Iterable[object] | None,
    *,
    scores: ScoresLike | None = None,
    features: Mapping[str, ArrayLike] | None = None,
    vectors: ArrayLike | None = None,
    attributes: Mapping[str, Sequence[Any]] | None = None,
    exclude: Iterable[object] | None = None,
) -> Candidates:
    """Return the candidates of a request to an open catalogue, or raise InputError.

    Parameters
    ----------
    ids
        Distinct ids, (n,).
    scores
        A ranker's scores on any scale, None or nan where there is none; see `normalise_scores`.
    features
        Further features by name, (n,) each; 0 by default.
    vectors
        For distances on vectors, (n, w).
    attributes
        For the other distances, by the name of the distance: a value per candidate.
    exclude
        Ids that must not be chosen; those that are no candidates are ignored.
    """
    if ids is None:
        raise InputError(f"`candidates` must be the ids to choose from, got None: {catalogue}")
    ids = _as_list(ids)
    try:
        known = _checked_ids(ids)
        n = len(known)
        columns, notes = _features(catalogue, n, scores, features or {})
        _check_attributes(catalogue, n, attributes or {})
        array = _vectors(catalogue, n, vectors)
    except (InputError, NotFoundError) as error:
        given: Offer = {
            "scores": scores,
            "features": features,
            "vectors": vectors,
            "attributes": attributes,
        }
        problems = list(_problems(catalogue, ids, given))
        if len(problems) == 1:
            raise
        raise InputError(join_problems(problems)) from error
    free = _not_excluded(known, exclude)
    return Candidates(catalogue, known, np.arange(n), columns, free, notes, array, attributes)


def _problems(catalogue: Catalogue, ids: Sequence[object], offer: Offer) -> Iterator[str]:
    """Yield everything that is wrong with the candidates of a request."""
    n = len(ids)
    checks: list[Callable[[], object]] = [
        partial(_checked_ids, ids),
        partial(_features, catalogue, n, offer.get("scores"), {}),
    ]
    for name, values in (offer.get("features") or {}).items():
        checks.append(partial(_features, catalogue, n, None, {name: values}))
    checks.append(partial(_check_attributes, catalogue, n, offer.get("attributes") or {}))
    checks.append(partial(_vectors, catalogue, n, offer.get("vectors")))
    for check in checks:
        try:
            check()
        except (InputError, NotFoundError) as error:
            yield str(error)


def scored_candidates(
    catalogue: Catalogue,
    scores: ScoresLike | None,
    candidates: ArrayLike | None = None,
    exclude: ArrayLike | None = None,
) -> Candidates:
    """Return items of the catalogue with a request's scores, or raise InputError.

    Parameters
    ----------
    scores
        One per row of `candidates`; with a mask, or for all items, one per item of the catalogue.
    candidates
        Distinct rows, or a mask; all items by default.
    exclude
        Rows, or a mask, that must not be chosen.
    """
    place = catalogue.score_column
    if place is None:
        raise InputError(
            f"`scores` must be None for {catalogue}, which has no feature `score`: "
            "`catalogue.with_score()` has one"
        )
    rows = (
        np.arange(len(catalogue))
        if candidates is None
        else check_rows("candidates", candidates, len(catalogue))
    )
    if len(np.unique(rows)) < len(rows):
        raise InputError("`candidates` must be distinct rows if they have scores")
    given = np.asarray(() if scores is None else scores)
    if getattr(candidates, "dtype", None) == np.bool_ and given.shape == (len(catalogue),):
        given = given[rows]
    normalised = _normalised(given, len(rows))
    z = catalogue.features[rows]
    z[:, place] = normalised.values
    free = catalogue.candidate_mask(None, exclude)[rows]
    ids = tuple([catalogue.ids[row] for row in rows.tolist()])
    return Candidates(catalogue, ids, rows, z, free, normalised.notes)


def _as_list(ids: Iterable[object]) -> Sequence[object]:
    try:
        return ids if isinstance(ids, str) else tuple(ids)
    except TypeError:
        raise InputError(f"`candidates` must be a list of ids, got {ids!r}") from None


def _checked_ids(ids: Sequence[Any]) -> tuple[str, ...]:
    given: Sequence[Any] = () if isinstance(ids, str) else ids
    try:
        "".join(given)  # the fastest way to see that all are text
    except TypeError:
        given = tuple(map(str, given))
    distinct = set(given)
    if not given or len(distinct) < len(given) or "" in distinct:
        try:
            check_ids(ids if isinstance(ids, str) else given)
        except InputError as error:
            raise InputError(str(error).replace("`ids`", "`candidates`")) from None
    return tuple(given)


def _normalised(scores: ScoresLike, n: int) -> NormalisedScores:
    normalised = normalise_scores(scores)
    if len(normalised.values) != n:
        raise InputError(
            f"`scores` must have one number for each of {n} candidates, got "
            f"{len(normalised.values)}"
        )
    return normalised


def _features(
    catalogue: Catalogue, n: int, scores: ScoresLike | None, features: Mapping[str, ArrayLike]
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return z (n, d), and notes about the scores."""
    z, notes = np.zeros((n, catalogue.d)), tuple[str, ...]()
    if scores is not None:
        z[:, 0], notes = _normalised(scores, n)
    if features and not catalogue.feature_names[1:]:
        raise InputError(f"`features` must be None for {catalogue}: it has none besides the score")
    for name, values in features.items():
        column = catalogue.feature_names.index(
            check_choice("features", name, catalogue.feature_names[1:])
        )
        numbers = check_numbers(f"features[{name!r}]", values, ndim=1)
        if len(numbers) != n:
            raise InputError(f"`features[{name!r}]` must have {n} numbers, got {len(numbers)}")
        if not (np.abs(numbers) <= LARGEST_FEATURE).all():
            raise InputError(f"`features[{name!r}]` must be at most {LARGEST_FEATURE:g} in size")
        z[:, column] = numbers
    return z, notes


def _vectors(
    catalogue: Catalogue, n: int, vectors: ArrayLike | None
) -> NDArray[np.floating] | None:
    """Return the vectors in C order and in their own precision; they may not be finite."""
    names = [h.name for h in catalogue.distances if h.formula.name in ON_VECTORS]
    if vectors is None:
        if names:
            raise InputError(f"`vectors` must be given for the distance {names[0]!r}")
        return None
    if not names:
        raise InputError(f"`vectors` must be None for {catalogue}: no distance uses them")
    try:
        array = np.asarray(vectors)
    except ValueError:  # rows of several lengths
        raise InputError("`vectors` must have rows of one length") from None
    if array.dtype not in (np.float32, np.float64):
        array = check_numbers("vectors", vectors, ndim=2)
    if array.ndim != 2 or len(array) != n or not array.shape[1]:
        raise InputError(
            f"`vectors` must have {n} rows (one for each candidate) and at least 1 column, got "
            f"shape {array.shape}"
        )
    return np.ascontiguousarray(array)


def _check_attributes(
    catalogue: Catalogue, n: int, attributes: Mapping[str, Sequence[Any]]
) -> None:
    for h in catalogue.distances:
        if h.formula.name in ON_VECTORS:
            continue
        if h.name not in attributes:
            raise InputError(f"`attributes` must have a column for the distance {h.name!r}")
    for name, values in attributes.items():
        if len(values) != n:
            raise InputError(f"`attributes[{name!r}]` must have {n} values, got {len(values)}")


def _not_excluded(ids: tuple[str, ...], exclude: Iterable[object] | None) -> MaskArray:
    if exclude is None:
        return np.ones(len(ids), dtype=np.bool_)
    left_out = set(map(str, exclude))
    return np.array([item not in left_out for item in ids], dtype=np.bool_)

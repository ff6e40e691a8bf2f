"""What a request says about its candidates: a ranker's scores, or items that it brings itself."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from variegate.conditions import parse_condition
from variegate.engine.codecs import format_value
from variegate.engine.selection import Limits
from variegate.errors import InputError, join_problems
from variegate.model.candidates import ON_VECTORS, Candidates, own_candidates
from variegate.model.catalogue import Catalogue
from variegate.model.constraints import Constraints, attribute_problems
from variegate.model.distances import Distance, wrong_value
from variegate.model.filters import AttributeIndex

#: Little-endian, as in a request.
VECTOR_TYPE: Final = np.dtype("<f4")


@dataclass(frozen=True, slots=True)
class ItemOffer:
    """Data of the candidates of a request, in the order of their ids.

    Parameters
    ----------
    scores
        A ranker's, None where there is none; None if no candidate has one.
    features
        Further features by name; 0 where a candidate has none.
    vectors
        All vectors, row by row, as float32; empty if there are none.
    attributes
        Values by name; None where a candidate has none.
    """

    scores: tuple[float | None, ...] | None = None
    features: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    vectors: bytes = b""
    attributes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def vector_rows(self, n: int) -> NDArray[np.float32] | None:
        """Return the vectors of `n` candidates, (n, w); None if there are none."""
        if not self.vectors:
            return None
        # A copy: compiled loops are warmed for arrays that may be written to.
        return np.frombuffer(self.vectors, VECTOR_TYPE).reshape(n, -1).astype(np.float32)

    def attributes_of(self, place: int) -> dict[str, Any]:
        """Return the attributes of one candidate that have a value."""
        found = {name: values[place] for name, values in self.attributes.items()}
        return {name: value for name, value in found.items() if value is not None}


class OpenRequest(Limits, Protocol):
    """What a request to an open catalogue has."""

    @property
    def constraints(self) -> Constraints | None: ...

    @property
    def offer(self) -> ItemOffer | None: ...


class OfferedScores(NamedTuple):
    """The known candidates of a request to a catalogue, with their scores."""

    ids: tuple[str, ...]
    scores: tuple[float | None, ...]


def own_items(catalogue: Catalogue, request: OpenRequest, max_candidates: int) -> Candidates:
    """Return the items that a request to an open catalogue brings and allows, or raise InputError.

    All that is wrong with them is in the message.
    """
    ids, offer = request.candidates or (), request.offer or ItemOffer()
    problems = list(_own_problems(catalogue, ids, offer, max_candidates))
    if problems:
        raise InputError(join_problems(problems))
    found = own_candidates(
        catalogue,
        ids,
        scores=offer.scores,
        features={name: np.array(values) for name, values in offer.features.items()},
        vectors=offer.vector_rows(len(ids)),
        attributes=dict(offer.attributes),
        exclude=request.exclude,
    )
    if request.where is not None:
        meets = AttributeIndex(offer.attributes, len(ids)).mask(request.where)
        found = replace(found, free=found.free & meets)
    if not found.free.any():
        raise InputError("`candidates`, `exclude` and `where` must leave an item to choose")
    return found


def check_own_items(catalogue: Catalogue, request: OpenRequest, max_candidates: int) -> None:
    """Raise InputError with all that is wrong with the items that a request brings."""
    ids, offer = request.candidates or (), request.offer or ItemOffer()
    index = AttributeIndex(offer.attributes, len(ids))
    problems = list(_own_problems(catalogue, ids, offer, max_candidates))
    for h in catalogue.distances:
        if h.name in offer.attributes and h.formula.name not in ON_VECTORS:
            problems += _value_problems(h, offer.attributes[h.name])
    if request.where is not None:
        problems += index.problems(parse_condition(request.where), "where")
    if request.constraints is not None:
        problems += attribute_problems(index, request.constraints)
    if problems:
        raise InputError(join_problems(problems))
    own_items(catalogue, request, max_candidates)


def _value_problems(h: Distance, values: tuple[Any, ...]) -> Iterator[str]:
    wrong = wrong_value(h, values)
    if wrong is not None:
        place, wanted = wrong
        name = f"`candidates.{place}.attributes.{h.name}`"
        yield f"{name} must be {wanted}, got {format_value(values[place])}"


def check_scores(catalogue: Catalogue, offer: ItemOffer) -> None:
    """Raise InputError for what items of a catalogue cannot have in a request."""
    problems = [
        f"`candidates.0.{name}` must be left out: the items of this catalogue have their own, and "
        "a request can only bring scores"
        for name, given in (
            ("features", offer.features),
            ("vector", offer.vectors),
            ("attributes", offer.attributes),
        )
        if given
    ]
    if offer.scores is not None and catalogue.score_column is None:
        problems.append(
            "`candidates.0.score` must be left out: the catalogue has no feature `score`; "
            "`variegate build scored` makes one that has"
        )
    if problems:
        raise InputError(join_problems(problems))


def known_scores(catalogue: Catalogue, ids: tuple[str, ...], offer: ItemOffer) -> OfferedScores:
    """Return the candidates that the catalogue has, with their scores."""
    rows = catalogue.find_rows(ids).tolist()
    pairs = zip(ids, offer.scores or (None,) * len(ids), rows, strict=True)
    known = [(item, score) for item, score, row in pairs if row >= 0]
    return OfferedScores(tuple(item for item, _ in known), tuple(score for _, score in known))


def _own_problems(
    catalogue: Catalogue, ids: tuple[str, ...], offer: ItemOffer, max_candidates: int
) -> Iterator[str]:
    if not ids:
        yield (
            "`candidates` must be the items to choose from, each with its `score` and what the "
            "distances need: the catalogue is open and has none of its own"
        )
        return
    if len(ids) > max_candidates:
        yield f"`candidates` must be at most {max_candidates} items, got {len(ids)}"
    known = catalogue.feature_names[1:]
    for name in offer.features.keys() - set(known):
        which = f"one of {', '.join(known)}" if known else "left out: there are none"
        yield f"`candidates.features` must be {which}, got {name!r:.80}"
    yield from _distance_problems(catalogue, offer)


def _distance_problems(catalogue: Catalogue, offer: ItemOffer) -> Iterator[str]:
    on_vectors = [h.name for h in catalogue.distances if h.formula.name in ON_VECTORS]
    if on_vectors and not offer.vectors:
        yield f"`candidates.0.vector` is missing: the distance {on_vectors[0]!r} needs it"
    if offer.vectors and not on_vectors:
        yield "`candidates.0.vector` must be left out: no distance uses it"
    for h in catalogue.distances:
        if h.name not in on_vectors and h.name not in offer.attributes:
            yield f"`candidates.0.attributes` must have {h.name!r}: the distance needs it"

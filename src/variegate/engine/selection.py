"""Which items a request allows: its candidates, exclusions and condition, and what was seen."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from variegate.arrays import IndexArray, MaskArray
from variegate.engine.catalogue import CatalogueSnapshot
from variegate.engine.terms import Terms
from variegate.errors import InputError, join_problems
from variegate.model.catalogue import Catalogue


class Limits(Protocol):
    """What a request limits its items by."""

    @property
    def candidates(self) -> tuple[str, ...] | None: ...
    @property
    def exclude(self) -> tuple[str, ...]: ...
    @property
    def where(self) -> Mapping[str, Any] | None: ...
    @property
    def strict(self) -> bool: ...


class Selection(NamedTuple):
    """What a request allows. The mask must not be changed: it may be the snapshot's."""

    #: The items, seen or not, (L,)
    allowed: MaskArray
    #: The known ids of the request
    candidates: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


def select_items(snapshot: CatalogueSnapshot, request: Limits, *, max_candidates: int) -> Selection:
    """Return the items that a request allows, or raise InputError if there are none."""
    candidates, exclude = request.candidates, request.exclude
    if candidates is None and not exclude and request.where is None:
        return Selection(snapshot.active)
    _check(snapshot.catalogue, request, max_candidates)
    known = None if candidates is None else _known(snapshot.catalogue, candidates)
    excluded = _known(snapshot.catalogue, exclude)
    if candidates and not known:
        raise InputError(f"`candidates` must have a known id, got {len(candidates)}, all unknown")
    rows = snapshot.catalogue.rows
    allowed = allowed_items(
        snapshot, None if known is None else rows(known), rows(excluded), request.where
    )
    if not allowed.any():
        raise InputError(
            "`candidates`, `exclude` and `where` must leave an item that is not retired"
        )
    return Selection(allowed, known, excluded)


def allowed_items(
    snapshot: CatalogueSnapshot,
    candidates: IndexArray | None,
    exclude: IndexArray,
    where: Mapping[str, Any] | None = None,
) -> MaskArray:
    """Return the items of `candidates`, if given, that meet `where` and are not retired, (L,)."""
    allowed = snapshot.active.copy()
    if candidates is not None:
        is_candidate = np.zeros_like(allowed)
        is_candidate[candidates] = True
        allowed &= is_candidate
    if where is not None:
        allowed &= snapshot.catalogue.where(where)
    allowed[exclude] = False
    return allowed


def without_seen(allowed: MaskArray, seen: IndexArray, k: int) -> tuple[MaskArray, bool]:
    """Return the allowed items without the seen ones, and whether some of those had to return.

    Where fewer than `k` are left, the items seen longest ago return; `seen` is oldest first.
    """
    free = allowed.copy()
    free[seen] = False
    missing = k - int(np.count_nonzero(free))
    if missing > 0:
        free[seen[allowed[seen]][:missing]] = True
    return free, missing > 0


def unknown_ids(request: Limits, terms: Terms) -> list[str]:
    """Return the ids of a request that were not known when its slate was made."""
    if not request.candidates and not request.exclude:
        return []
    known = {*(terms.candidates or ()), *terms.exclude}
    given = dict.fromkeys((*(request.candidates or ()), *request.exclude))
    return [item for item in given if item not in known]


def _check(catalogue: Catalogue, request: Limits, max_candidates: int) -> None:
    """Raise InputError for too many ids, unknown ones if the request is strict, and `where`."""
    problems = []
    for name, ids in (("candidates", request.candidates or ()), ("exclude", request.exclude)):
        if len(ids) > max_candidates:
            problems.append(f"`{name}` must be at most {max_candidates} ids, got {len(ids)}")
        elif request.strict:
            unknown = sorted(set(ids) - set(_known(catalogue, ids)))
            if unknown:
                problems.append(f"`{name}` must be known ids with `strict`, got {_listed(unknown)}")
    try:
        if request.where is not None:
            catalogue.where(request.where)
    except InputError as error:
        problems.append(str(error))
    if problems:
        raise InputError(join_problems(problems))


def _known(catalogue: Catalogue, ids: Iterable[str]) -> tuple[str, ...]:
    given = tuple(ids)
    rows = catalogue.find_rows(given).tolist()
    return tuple(item for item, row in zip(given, rows, strict=True) if row >= 0)


def _listed(ids: list[str]) -> str:
    shown = ", ".join(map(repr, ids[:10]))
    return f"{shown} and {len(ids) - 10} more" if len(ids) > 10 else shown

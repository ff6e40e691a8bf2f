"""The data of items as stored: from requests, completed by attributes and by what is known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, check_numbers
from variegate.engine.catalogue import CatalogueSnapshot, item_distances, item_values
from variegate.errors import InputError, MissingExtraError, NotFoundError, join_problems
from variegate.kernels.layout import LARGEST
from variegate.model.catalogue import Catalogue
from variegate.model.encoder import READERS, ColumnSource
from variegate.store import ItemRow

#: Labels of one item for one distance: each new one is a column for all items.
MAX_LABELS: Final = 1000
#: The kinds of values that attributes are read as, by attribute
Kinds: TypeAlias = Mapping[str, frozenset[str]]


class ResolvedItem(NamedTuple):
    """An item as stored after a request."""

    row: ItemRow
    #: Whether it differs from what is stored
    is_changed: bool


@dataclass(frozen=True)
class _Entry:
    """A request for one item, and what is known of the item."""

    id: str
    row: int
    retired: bool
    #: What is given: title, attributes, features, distances
    given: Mapping[str, Any]
    #: All data of a known item
    known: Mapping[str, Any] | None
    stored: ItemRow | None

    @property
    def was_retired(self) -> bool:
        """Whether the item is retired now."""
        return self.stored is not None and self.stored.retired

    @property
    def changed(self) -> frozenset[str]:
        """The attributes that are given."""
        return frozenset(self.given.get("attributes", ()))

    @property
    def group(self) -> tuple[bool, bool, frozenset[str]]:
        """Entries of one group are encoded together."""
        return self.known is None, "features" in self.given, self.changed


def resolve_items(
    snapshot: CatalogueSnapshot,
    requests: Sequence[Mapping[str, Any]],
    stored: Mapping[str, ItemRow],
    size: int,
    *,
    patch: bool = False,
    keeps_retired: bool = False,
) -> list[ResolvedItem | InputError | NotFoundError]:
    """Return each item as stored after its request, or why it does not fit.

    Parameters
    ----------
    requests
        See `UpsertItems`; their ids are distinct.
    stored
        The items as stored, by id. They may be newer than the snapshot.
    size
        The row of the first new item.
    keeps_retired
        Whether a retired item stays so without `retired`; with `patch` it does.
    """
    catalogue, kinds = snapshot.catalogue, attribute_kinds(snapshot.catalogue)
    outcomes: list[ResolvedItem | InputError | NotFoundError | None] = [None] * len(requests)
    groups: dict[Any, list[tuple[int, _Entry]]] = {}
    for place, request in enumerate(requests):
        try:
            entry = _entry(snapshot, kinds, request, stored, size, patch=patch)
        except (InputError, NotFoundError) as error:
            outcomes[place] = error
            continue
        if request.get("retired") is None and (patch or keeps_retired):
            entry = replace(entry, retired=entry.was_retired)
        if entry.known is None or entry.given:
            groups.setdefault(entry.group, []).append((place, entry))
        else:
            outcomes[place] = _retired_or_not(entry)
    for group in groups.values():
        entries = [entry for _place, entry in group]
        for (place, entry), data in zip(group, _complete_all(catalogue, entries), strict=True):
            outcomes[place] = data if isinstance(data, InputError) else _resolved(entry, data)
    return _with_rows(outcomes, size)


def _entry(
    snapshot: CatalogueSnapshot,
    kinds: Kinds,
    request: Mapping[str, Any],
    stored: Mapping[str, ItemRow],
    size: int,
    *,
    patch: bool,
) -> _Entry:
    """Return a request with what is known of its item, or raise an error with all that is wrong."""
    item, catalogue = str(request["id"]), snapshot.catalogue
    found = stored.get(item)
    row = snapshot.row_of(item) if found is None else found.row
    if row is None and patch:
        raise NotFoundError(f"no item {item!r}: POST and PUT add items, PATCH changes them")
    if row is None and request.keys() <= {"id", "retired"} and "retired" in request:
        raise NotFoundError(f"no item {item!r}")
    given = {
        name: value
        for name, value in request.items()
        if name not in ("id", "retired") and value is not None
    }
    known = None if row is None else _known_values(catalogue, row, found)
    problems = list(_problems(catalogue, kinds, given))
    if row is None:
        problems += _new_id_problems(item)
    if "features" in given:
        try:
            before = known if patch else None
            given["features"] = _vector(catalogue, given["features"], before)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError(join_problems(problems))
    retired = bool(request.get("retired"))
    return _Entry(item, size if row is None else row, retired, given, known, found)


def _known_values(catalogue: Catalogue, row: int, stored: ItemRow | None) -> dict[str, Any]:
    """Return all data of a known item, also of one that the catalogue does not have yet."""
    blank = {"attributes": dict.fromkeys(catalogue.attributes), "distances": {}}
    values = item_values(catalogue, row) if row < len(catalogue) else blank
    data = {} if stored is None else stored.data or {}
    parts = {
        name: {**values[name], **(data.get(name) or {})} for name in ("attributes", "distances")
    }
    return {**values, **data, **parts}


def _problems(catalogue: Catalogue, kinds: Kinds, given: Mapping[str, Any]) -> Iterable[str]:
    """Yield what is wrong with the names of a request and the types of its attributes."""
    attributes = given.get("attributes", {})
    yield from _unknown_names("attributes", attributes, catalogue.attributes)
    for name, value in attributes.items():
        for kind in sorted(kinds.get(name, ())):
            try:
                READERS[kind](name, value)
            except InputError as error:
                yield str(error)
    own = [h.name for h in catalogue.distances if not h.on_features]
    yield from _unknown_names("distances", given.get("distances", {}), own)


def attribute_kinds(catalogue: Catalogue) -> Kinds:
    """Return what the encoder and the distances read each attribute as, by attribute."""
    kinds: dict[str, set[str]] = {}
    encoder = catalogue.encoder
    if encoder is not None:
        for column, name in zip(encoder.columns, encoder.attributes, strict=True):
            is_decade = column.column in encoder.decades
            kinds.setdefault(name, set()).add("number" if is_decade else column.kind)
    for source in catalogue.sources.values():
        if isinstance(source, ColumnSource):
            kind = "category" if source.kind == "single" else source.kind
            kinds.setdefault(source.attribute, set()).add(kind)
    return {name: frozenset(found) for name, found in kinds.items()}


def _retired_or_not(entry: _Entry) -> ResolvedItem:
    """Return a known item of which at most `retired` changes."""
    stored = entry.stored
    row = ItemRow(entry.row, entry.id, entry.retired, None if stored is None else stored.data)
    return ResolvedItem(row, entry.retired != entry.was_retired)


def _resolved(entry: _Entry, data: dict[str, Any]) -> ResolvedItem:
    row = ItemRow(entry.row, entry.id, entry.retired, data)
    is_same = entry.known is not None and _comparable(data) == _comparable(entry.known)
    return ResolvedItem(row, not is_same or entry.was_retired != entry.retired)


def _comparable(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return data in which labels of a distance, which are a set, have one order."""
    distances = {
        name: sorted(value) if isinstance(value, list) and _are_texts(value) else value
        for name, value in data["distances"].items()
    }
    return {**data, "distances": distances}


def _are_texts(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _with_rows(
    outcomes: Sequence[ResolvedItem | InputError | NotFoundError | None], size: int
) -> list[ResolvedItem | InputError | NotFoundError]:
    """Return the outcomes with a row of its own for each new item, in their order."""
    placed: list[ResolvedItem | InputError | NotFoundError] = []
    following = size
    for one in outcomes:
        if isinstance(one, ResolvedItem) and one.row.row >= size:
            one = ResolvedItem(one.row._replace(row=following), one.is_changed)
            following += 1
        if one is not None:
            placed.append(one)
    return placed


def _complete_all(
    catalogue: Catalogue, entries: Sequence[_Entry]
) -> list[dict[str, Any] | InputError]:
    """Return the complete data of each entry of one group, or why it does not fit.

    All are encoded at once, which is many times faster; if that fails, one half after the other.
    """
    try:
        return [*_complete_group(catalogue, entries)]
    except InputError as error:
        if len(entries) == 1:
            return [error]
    half = len(entries) // 2
    return _complete_all(catalogue, entries[:half]) + _complete_all(catalogue, entries[half:])


def _complete_group(catalogue: Catalogue, entries: Sequence[_Entry]) -> list[dict[str, Any]]:
    """Return the data of entries, completed by attributes and by what is known of the items.

    Given features and distances take precedence over those computed from attributes.
    """
    is_new, has_features, changed = entries[0].group
    data = [{**(one.known or {}), **one.given} for one in entries]
    for one, entry in zip(data, entries, strict=True):
        if entry.known is not None:
            one["attributes"] = {
                **entry.known["attributes"],
                **entry.given.get("attributes", {}),
            }
    names = changed if is_new else catalogue.attributes
    columns = {name: [one["attributes"][name] for one in data] for name in names}
    try:
        if not has_features:
            features = _encoded_features(catalogue, entries, columns)
            for one, row in zip(data, features.tolist(), strict=True):
                one["features"] = row
        is_encoded = is_new and catalogue.encoder is not None and bool(changed)
        computed = catalogue.encoded_distances(
            len(entries), columns, changed=None if is_encoded else changed
        )
    except MissingExtraError as error:  # the service is installed without the text encoder
        raise InputError(
            f"`attributes` of item {entries[0].id!r} cannot become features: {error}"
        ) from None
    for place, (one, entry) in enumerate(zip(data, entries, strict=True)):
        made = {name: values[place] for name, values in computed.items()}
        before = (entry.known or {}).get("distances", {})
        one["distances"] = {**before, **made, **entry.given.get("distances", {})}
    _check_numbers(catalogue, data)
    return data


def _encoded_features(
    catalogue: Catalogue, entries: Sequence[_Entry], columns: Mapping[str, Any]
) -> FloatArray:
    is_new, _has_features, changed = entries[0].group
    ids = [one.id for one in entries]
    if not is_new:
        before = np.array([(one.known or {})["features"] for one in entries])
        computed = catalogue.encoded_features(ids, columns, changed=changed, before=before)
        return before if computed is None else computed
    computed = catalogue.encoded_features(ids, columns) if changed else None
    if computed is None:
        raise _missing_features(catalogue, ids[0])
    return computed


def validate_item(catalogue: Catalogue, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the complete data of an item as stored, or raise InputError if they do not fit."""
    data = {**request, "features": _vector(catalogue, request.get("features"), None)}
    own = [h.name for h in catalogue.distances if not h.on_features]
    problems = [
        *_unknown_names("attributes", data.get("attributes"), catalogue.attributes),
        *_unknown_names("distances", data.get("distances"), own),
    ]
    if problems:
        raise InputError(join_problems(problems))
    _check_numbers(catalogue, [data])
    return data


def _check_numbers(catalogue: Catalogue, data: Sequence[Mapping[str, Any]]) -> None:
    """Raise InputError for data that the distances or the compiled loops do not take."""
    _check_size("features", np.array([one["features"] for one in data]))
    for name, h in item_distances(catalogue, data).items():
        _check_size(f"distances.{name}", h.rows)
        for one in data:
            value = one["distances"][name]
            if isinstance(value, (list, tuple)) and h.labels and len(set(value)) > MAX_LABELS:
                raise InputError(
                    f"`distances.{name}` must be at most {MAX_LABELS} labels, got {len(set(value))}"
                )


def _check_size(field: str, numbers: FloatArray) -> None:
    """Raise InputError for a number that the compiled loops do not take."""
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest > LARGEST:
        raise InputError(
            f"`{field}` must be numbers of at most {LARGEST:g} in size, got {largest:g}"
        )


def check_new_id(item: str) -> None:
    """Raise InputError for an id that no new item can have: it would be misread on a page."""
    for problem in _new_id_problems(item):
        raise InputError(problem)


def _new_id_problems(item: str) -> list[str]:
    if item.isprintable() and 1 <= len(item) <= 200:
        return []
    return [f"`id` must be 1 to 200 printable characters, got {item[:50]!r}"]


def _missing_features(catalogue: Catalogue, item: str) -> InputError:
    encoder = catalogue.encoder
    if encoder is None:
        why = "this catalogue has no encoder that computes them from attributes"
    else:
        why = f"or else `attributes`: {', '.join(dict.fromkeys(encoder.attributes))}"
    return InputError(f"`features` must be given for the new item {item!r}: {why}")


def _unknown_names(
    field: str, given: Mapping[str, Any] | None, known: Iterable[str]
) -> Iterable[str]:
    for name in sorted(set(given or {}) - set(known)):
        yield f"`{field}` must be among {sorted(known)}, got {name!r}"


def _vector(catalogue: Catalogue, features: Any, before: Mapping[str, Any] | None) -> list[float]:
    """Return all features; where some are given by name, the others are those `before`, or 0."""
    if isinstance(features, Mapping):
        problems = list(_unknown_names("features", features, catalogue.feature_names))
        if problems:
            raise InputError(join_problems(problems))
        others = [0.0] * catalogue.d if before is None else before["features"]
        by_name = dict(zip(catalogue.feature_names, others, strict=True))
        features = [{**by_name, **features}[name] for name in catalogue.feature_names]
    vector = check_numbers("features", features, ndim=1)
    if len(vector) != catalogue.d:
        raise InputError(
            f"`features` must be {catalogue.d} numbers, or numbers by the features' names, "
            f"got {len(vector)}"
        )
    numbers: list[float] = vector.tolist()
    return numbers

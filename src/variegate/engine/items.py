"""Add, change and retire items while the service runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from variegate.arrays import FloatArray, check_numbers
from variegate.engine.catalogue import (
    CatalogueSnapshot,
    item_distances,
    item_values,
    lock_items,
)
from variegate.engine.queue import CommandResult
from variegate.errors import ConflictError, InputError, MissingExtraError, NotFoundError
from variegate.kernels.layout import LARGEST
from variegate.model.catalogue import Catalogue
from variegate.store import ITEMS_REVISION, Batch, ItemRow

#: Labels of one item for one distance: each new one is a column for all items.
MAX_LABELS: Final = 1000


@dataclass(frozen=True, slots=True)
class UpsertItems:
    """Add items, or change the data of known ones.

    Parameters
    ----------
    items
        Each with `id`, and any of `title`, `attributes`, `features`, `distances`, `retired`. A
        known item keeps what is not given, and what is computed from attributes changes with
        them; a new one needs features and distances, or the attributes that they are computed
        from. Without `retired`, the item is active.
    patch
        Change known items only: others are a NotFoundError, features that are given by name leave
        the others as they are, and without `retired` it stays what it is.
    """

    items: Sequence[Mapping[str, Any]]
    patch: bool = False
    alone: ClassVar[bool] = True
    long: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Store all of them, or none."""
        snapshot, stored = lock_catalogue(batch, executor)
        changed: dict[str, ItemRow] = {}
        added: dict[str, ItemRow] = {}
        size = len(snapshot.catalogue)
        for request in self.items:
            item = str(request["id"])
            if item in changed or item in added:
                raise InputError(f"`items` must have distinct ids, got {item!r} twice")
            row = requested_row(snapshot, request, size, stored.get(item), patch=self.patch)
            size = max(size, row.row + 1)
            (changed if item in stored else added)[item] = row
        batch.add_items(list(added.values()))
        batch.update_items(list(changed.values()))
        later = new_snapshot(batch, executor)
        ids = [str(request["id"]) for request in self.items]
        return CommandResult({"items": ids}, partial(executor.live.install, later))


def requested_row(
    snapshot: CatalogueSnapshot,
    request: Mapping[str, Any],
    size: int,
    stored: ItemRow | None,
    *,
    patch: bool = False,
) -> ItemRow:
    """Return an item as stored after a request, or raise an error if it does not fit.

    Parameters
    ----------
    size
        The row of the item if it is new.
    stored
        The item as stored, if it is.
    """
    item, catalogue = str(request["id"]), snapshot.catalogue
    row = snapshot.row_of(item)
    if row is None and patch:
        raise NotFoundError(f"no item {item!r}: POST and PUT add items, PATCH changes them")
    given = {name: value for name, value in request.items() if name not in ("id", "retired")}
    retired = request.get("retired")
    if retired is None:
        retired = patch and row is not None and not snapshot.active[row]
    if row is not None and not any(value is not None for value in given.values()):
        return ItemRow(row, item, bool(retired), None if stored is None else stored.data)
    if patch and row is not None and isinstance(given.get("features"), Mapping):
        known = zip(catalogue.feature_names, catalogue.features[row].tolist(), strict=True)
        _check_names("features", given["features"], catalogue.feature_names)
        given["features"] = {**dict(known), **given["features"]}
    data = validate_item(catalogue, _complete(catalogue, row, {"id": item, **given}))
    if row is None:
        check_new_id(item)
    return ItemRow(size if row is None else row, item, bool(retired), data)


@dataclass(frozen=True, slots=True)
class RetireItem:
    """Retire an item: it is no longer shown; users who learnt from it keep what they learnt."""

    item: str
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Retire the item, or raise NotFoundError; retiring it again changes nothing."""
        snapshot, stored = lock_catalogue(batch, executor)
        row = snapshot.row_of(self.item)
        if row is None:
            raise NotFoundError(f"no item {self.item!r}")
        if snapshot.active.sum() == 1 and snapshot.active[row]:
            raise ConflictError(_LAST_ITEM)
        known = stored.get(self.item)
        if known is None:
            batch.add_items([ItemRow(row, self.item, True, None)])
        elif not known.retired:
            batch.update_items([known._replace(retired=True)])
        return CommandResult({"id": self.item, "retired": True})


_LAST_ITEM: Final = "the last item cannot be retired: add another first"


def lock_catalogue(batch: Batch, executor: Any) -> tuple[CatalogueSnapshot, dict[str, ItemRow]]:
    """Return the items, and the stored ones by id; no other transaction can change them."""
    lock_items(batch)
    return executor.live.as_of(batch), {row.id: row for row in batch.items()}


def new_snapshot(batch: Batch, executor: Any) -> CatalogueSnapshot:
    """Return the items after the changes of this transaction; every policy makes a list of them.

    What cannot be served must not be stored: no process could start with it.
    """
    snapshot: CatalogueSnapshot = executor.live.build(batch, batch.meta(ITEMS_REVISION) or "0")
    if not snapshot.active.any():
        raise ConflictError(_LAST_ITEM)
    experiment = executor.experiment.as_of(snapshot)
    for name in experiment.names:
        policy = experiment.new_policy(name, snapshot.catalogue)
        policy.recommend(1, candidates=snapshot.active, rng=0)
    return snapshot


def check_new_id(item: str) -> None:
    """Raise InputError for an id that no new item can have: it would be misread on a page."""
    if not (item.isprintable() and 1 <= len(item) <= 200):
        raise InputError(f"`id` must be 1 to 200 printable characters, got {item[:50]!r}")


def validate_item(catalogue: Catalogue, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the complete data of an item as stored, or raise InputError if they do not fit."""
    data = {**request, "features": _vector(catalogue, request.get("features"))}
    _check_names("attributes", data.get("attributes"), catalogue.attributes)
    own = [h.name for h in catalogue.distances if not h.on_features]
    _check_names("distances", data.get("distances"), own)
    _check_size("features", np.array(data["features"]))
    for name, h in item_distances(catalogue, [data]).items():
        _check_size(f"distances.{name}", h.rows)
        if len(h.labels) > MAX_LABELS:
            raise InputError(
                f"`distances.{name}` must be at most {MAX_LABELS} labels, got {len(h.labels)}"
            )
    return data


def _complete(catalogue: Catalogue, row: int | None, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a request, completed by its attributes and by those of a known item."""
    item = str(request["id"])
    given = {name: request[name] for name in request if name != "id" and request[name] is not None}
    _check_names("attributes", given.get("attributes"), catalogue.attributes)
    try:
        if row is None:
            return _complete_new(catalogue, item, given)
        return _complete_known(catalogue, row, given)
    except MissingExtraError as error:  # the service is installed without the text encoder
        raise InputError(f"`attributes` of item {item!r} cannot become features: {error}") from None


def _complete_known(catalogue: Catalogue, row: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a known item's data with changes, recomputed where attributes changed.

    Given features and distances take precedence over those computed from attributes.
    """
    known, changed = item_values(catalogue, row), given.get("attributes", {})
    attributes = {**known["attributes"], **changed}
    columns = {name: [value] for name, value in attributes.items()}
    data = {**known, **given, "attributes": attributes}
    if "features" not in given:
        before = catalogue.features[[row]]
        computed = catalogue.encoded_features(
            [catalogue.ids[row]], columns, changed=changed, before=before
        )
        data["features"] = (before if computed is None else computed)[0].tolist()
    distances = _encoded_distances(catalogue, columns, changed)
    data["distances"] = {**known["distances"], **distances, **given.get("distances", {})}
    return data


def _complete_new(catalogue: Catalogue, item: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new item's data, computed from attributes where not given.

    Without an encoder, a distance is computed only from a given attribute: what is unknown must
    be given.
    """
    attributes, data = given.get("attributes", {}), dict(given)
    columns = {name: [value] for name, value in attributes.items()}
    if "features" not in given:
        computed = catalogue.encoded_features([item], columns) if attributes else None
        if computed is None:
            raise _missing_features(catalogue, item)
        data["features"] = computed[0].tolist()
    is_encoded = catalogue.encoder is not None and bool(attributes)
    distances = _encoded_distances(catalogue, columns, None if is_encoded else set(attributes))
    data["distances"] = {**distances, **given.get("distances", {})}
    return data


def _encoded_distances(
    catalogue: Catalogue, columns: Mapping[str, Any], changed: Any
) -> dict[str, Any]:
    computed = catalogue.encoded_distances(1, columns, changed=changed)
    return {name: values[0] for name, values in computed.items()}


def _missing_features(catalogue: Catalogue, item: str) -> InputError:
    encoder = catalogue.encoder
    if encoder is None:
        why = "this catalogue has no encoder that computes them from attributes"
    else:
        why = f"or else `attributes`: {', '.join(dict.fromkeys(encoder.attributes))}"
    return InputError(f"`features` must be given for the new item {item!r}: {why}")


def _check_size(field: str, numbers: FloatArray) -> None:
    """Raise InputError for a number that the compiled loops do not take."""
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest > LARGEST:
        raise InputError(
            f"`{field}` must be numbers of at most {LARGEST:g} in size, got {largest:g}"
        )


def _check_names(field: str, given: Mapping[str, Any] | None, known: Iterable[str]) -> None:
    unknown = sorted(set(given or {}) - set(known))
    if unknown:
        raise InputError(f"`{field}` must be among {sorted(known)}, got {unknown[0]!r}")


def _vector(catalogue: Catalogue, features: Any) -> list[float]:
    if isinstance(features, Mapping):
        _check_names("features", features, catalogue.feature_names)
        features = [features.get(name, 0.0) for name in catalogue.feature_names]
    vector = check_numbers("features", features, ndim=1)
    if len(vector) != catalogue.d:
        raise InputError(
            f"`features` must be {catalogue.d} numbers, or numbers by the features' names, "
            f"got {len(vector)}"
        )
    numbers: list[float] = vector.tolist()
    return numbers

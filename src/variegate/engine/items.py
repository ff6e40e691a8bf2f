"""Items that come, change and go while the service runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from variegate.arrays import FloatArray, check_numbers
from variegate.engine.catalogue import (
    REVISION,
    TURN,
    CatalogueSnapshot,
    distances_of,
    item_values,
)
from variegate.engine.queue import Done
from variegate.errors import ConflictError, InputError, MissingExtraError, NotFoundError
from variegate.kernels.layout import LARGEST
from variegate.model.catalogue import Catalogue
from variegate.store import Batch, ItemRow


@dataclass(frozen=True, slots=True)
class UpsertItems:
    """Put items on the shelf: new ones, or known ones with other data.

    Parameters
    ----------
    items
        Each with `id`, and any of `title`, `attributes`, `features`, `distances`. A known item
        keeps what is not given, and what is made from attributes changes with them; a new one
        needs features and distances, or the attributes that they are made from.
    """

    items: Sequence[Mapping[str, Any]]
    alone: ClassVar[bool] = True
    long: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> Done:
        """Keep all of them, or none."""
        snapshot, kept = with_turn(batch, executor)
        ids = [str(request["id"]) for request in self.items]
        _check_distinct(ids)
        changed: list[ItemRow] = []
        added: list[ItemRow] = []
        size = len(snapshot.catalogue)
        for item, request in zip(ids, self.items, strict=True):
            row = snapshot.row_of(item)
            data = item_data(snapshot.catalogue, _complete(snapshot, row, item, request))
            if row is None:
                check_new(item)
                row, size = size, size + 1
            (changed if item in kept else added).append(ItemRow(row, item, False, data))
        batch.add_items(added)
        batch.change_items(changed)
        later = tried(batch, executor)
        return Done({"items": ids}, partial(executor.live.install, later))


@dataclass(frozen=True, slots=True)
class RetireItem:
    """Take an item off the shelf; whoever learnt from it keeps what was learnt."""

    item: str
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> Done:
        """Retire the item, or raise NotFoundError; retiring it again changes nothing."""
        snapshot, kept = with_turn(batch, executor)
        row = snapshot.row_of(self.item)
        if row is None:
            raise NotFoundError(f"no item {self.item!r}")
        if snapshot.open.sum() == 1 and snapshot.open[row]:
            raise ConflictError("the last item cannot be retired: add another first")
        known = kept.get(self.item)
        if known is None:
            batch.add_items([ItemRow(row, self.item, True, None)])
        elif not known.retired:
            batch.change_items([known._replace(retired=True)])
        return Done({"id": self.item, "retired": True})


def with_turn(batch: Batch, executor: Any) -> tuple[CatalogueSnapshot, dict[str, ItemRow]]:
    """Return the items, and those that the store has, which nobody else can change meanwhile."""
    batch.set_meta(TURN, "")
    return executor.live.as_of(batch), {row.id: row for row in batch.items()}


def tried(batch: Batch, executor: Any) -> CatalogueSnapshot:
    """Return the items as they will be, once every policy has given a list of them.

    What cannot be served must not be kept: no process could start with it.
    """
    snapshot: CatalogueSnapshot = executor.live.built(batch, batch.meta(REVISION) or "0")
    if not snapshot.open.any():
        raise ConflictError("the last item cannot be retired: add another first")
    experiment = executor.experiment.as_of(snapshot)
    for name in experiment.names:
        policy = experiment.new_policy(name, snapshot.catalogue)
        policy.recommend(1, candidates=snapshot.open, rng=0)
    return snapshot


def _complete(
    snapshot: CatalogueSnapshot, row: int | None, item: str, request: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what is asked for, with what is known of the item where nothing is."""
    given = {name: request[name] for name in request if name != "id" and request[name] is not None}
    try:
        if row is None:
            return with_attributes_of_new(snapshot.catalogue, item, given)
        return with_attributes_of_known(snapshot.catalogue, row, given)
    except MissingExtraError as error:  # text in a service that was installed without its reader
        raise InputError(f"`attributes` of item {item!r} cannot become features: {error}") from None


def _check_distinct(ids: Sequence[str]) -> None:
    seen: set[str] = set()
    for item in ids:
        if item in seen:
            raise InputError(f"`items` must have distinct ids, got {item!r} twice")
        seen.add(item)


def check_new(item: str) -> None:
    """Raise InputError for an id that no new item can have."""
    if not (item.isprintable() and 1 <= len(item) <= 200):
        raise InputError(f"`id` must be 1 to 200 printable characters, got {item[:50]!r}")


#: Labels of one item for one distance: each new one is a column for all items.
MOST_LABELS: Final = 1000


def item_data(catalogue: Catalogue, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new or changed item's data, checked against the catalogue, as the store keeps it."""
    data = {**request, "features": _vector(catalogue, request.get("features"))}
    own = [h.name for h in catalogue.distances if not h.on_features]
    _check_names("attributes", data, list(catalogue.attributes))
    _check_names("distances", data, own)
    _check_size("features", np.array(data["features"]))
    for name, h in distances_of(catalogue, [ItemRow(0, "?", False, data)]).items():
        _check_size(f"distances.{name}", h.rows)
        if len(h.labels) > MOST_LABELS:
            raise InputError(
                f"`distances.{name}` must be at most {MOST_LABELS} labels, got {len(h.labels)}"
            )
    return data


def with_attributes_of_known(
    catalogue: Catalogue, row: int, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a known item's data with what is given, and with what its attributes come to.

    Features and distances that are given win over those that are made from attributes.
    """
    known, changed = item_values(catalogue, row), given.get("attributes", {})
    _check_names("attributes", given, list(catalogue.attributes))
    attributes = {**known["attributes"], **changed}
    columns = {name: [value] for name, value in attributes.items()}
    data = {**known, **given, "attributes": attributes}
    if "features" not in given:
        before = catalogue.features[[row]]
        made = catalogue.encoded_features(
            [catalogue.ids[row]], columns, changed=changed, before=before
        )
        data["features"] = (before if made is None else made)[0].tolist()
    made_distances = catalogue.encoded_distances(1, columns, changed=changed)
    distances = {name: values[0] for name, values in made_distances.items()}
    data["distances"] = {**known["distances"], **distances, **given.get("distances", {})}
    return data


def with_attributes_of_new(
    catalogue: Catalogue, item: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a new item's data, with what its attributes come to where that is not given.

    Without an encoder, a distance is made only from an attribute that is named: what is not known
    of the item must be given.
    """
    _check_names("attributes", given, list(catalogue.attributes))
    attributes, data = given.get("attributes", {}), dict(given)
    columns = {name: [value] for name, value in attributes.items()}
    if "features" not in given:
        made = catalogue.encoded_features([item], columns) if attributes else None
        if made is None:
            raise _features_missing(catalogue, item)
        data["features"] = made[0].tolist()
    is_encoded = catalogue.encoder is not None and bool(attributes)
    made_distances = catalogue.encoded_distances(
        1, columns, changed=None if is_encoded else set(attributes)
    )
    distances = {name: values[0] for name, values in made_distances.items()}
    data["distances"] = {**distances, **given.get("distances", {})}
    return data


def _features_missing(catalogue: Catalogue, item: str) -> InputError:
    encoder = catalogue.encoder
    if encoder is None:
        why = "this catalogue has no encoder that makes them from attributes"
    elif len(encoder.names) < catalogue.d:
        why = f"{catalogue.d - len(encoder.names)} of them are not made from attributes"
    else:
        why = f"or else `attributes`: {', '.join(dict.fromkeys(encoder.attributes))}"
    return InputError(f"`features` must be given for the new item {item!r}: {why}")


def _check_size(field: str, numbers: FloatArray) -> None:
    """Raise InputError for a number with which nobody's lists would be compiled any more."""
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest > LARGEST:
        raise InputError(
            f"`{field}` must be numbers of at most {LARGEST:g} in size, got {largest:g}"
        )


def _check_names(part: str, data: Mapping[str, Any], known: Sequence[str]) -> None:
    unknown = sorted(set(data.get(part) or {}) - set(known))
    if unknown:
        raise InputError(f"`{part}` must be among {sorted(known)}, got {unknown[0]!r}")


def _vector(catalogue: Catalogue, features: Any) -> list[float]:
    if isinstance(features, Mapping):
        _check_names("features", {"features": features}, catalogue.feature_names)
        features = [features.get(name, 0.0) for name in catalogue.feature_names]
    vector = check_numbers("features", features, ndim=1)
    if len(vector) != catalogue.d:
        raise InputError(
            f"`features` must be {catalogue.d} numbers, or numbers by the features' names, "
            f"got {len(vector)}"
        )
    numbers: list[float] = vector.tolist()
    return numbers

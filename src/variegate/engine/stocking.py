"""Items that come, change and go while the service runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from variegate.engine.alone import Done
from variegate.engine.catalogue import REVISION, CatalogueSnapshot
from variegate.engine.itemdata import item_data, with_attributes_of_known, with_attributes_of_new
from variegate.engine.known_catalogue import TURN
from variegate.errors import ConflictError, InputError, MissingExtraError, NotFoundError
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

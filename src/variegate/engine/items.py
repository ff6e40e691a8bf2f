"""Add, change and retire items while the service runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

from variegate.engine.catalogue import CatalogueSnapshot, lock_items
from variegate.engine.experiment import Experiment
from variegate.engine.item_data import ResolvedItem, resolve_items
from variegate.engine.queue import CommandResult
from variegate.errors import ConflictError, InputError, NotFoundError, join_problems
from variegate.store import ITEMS_REVISION, Batch, ItemRow, Reader


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
        ids = [str(request["id"]) for request in self.items]
        twice = next((item for item in ids if ids.count(item) > 1), None)
        if twice is not None:
            raise InputError(f"`items` must have distinct ids, got {twice!r} twice")
        lock_items(batch)
        snapshot, stored = executor.live.as_of(batch), batch.items_by_id(ids)
        size = next_row(batch, snapshot)
        found = resolve_items(snapshot, self.items, stored, size, patch=self.patch)
        rows = [one.row for one in _all_resolved(ids, found) if one.is_changed]
        answer = {"items": ids}
        if not rows:
            return CommandResult(answer)
        write_items(batch, rows, stored)
        later = new_snapshot(batch, executor)
        return CommandResult(answer, partial(executor.live.install, later))


def next_row(reader: Reader, snapshot: CatalogueSnapshot) -> int:
    """Return the row of the next new item; the store may have items that a snapshot has not."""
    return max(len(snapshot.catalogue), reader.last_item_row() + 1)


def write_items(batch: Batch, rows: Sequence[ItemRow], stored: Mapping[str, ItemRow]) -> None:
    """Add or change items, in a transaction that locks them."""
    batch.add_items([row for row in rows if row.id not in stored])
    batch.update_items([row for row in rows if row.id in stored])


def _all_resolved(
    ids: Sequence[str], found: Sequence[ResolvedItem | InputError | NotFoundError]
) -> list[ResolvedItem]:
    """Return the items, or raise one error with all that is wrong."""
    refused = {
        item: one for item, one in zip(ids, found, strict=True) if isinstance(one, Exception)
    }
    if len(refused) == 1 == len(ids):
        raise next(iter(refused.values()))
    if refused:
        raise InputError(join_problems([f"item {item!r}: {why}" for item, why in refused.items()]))
    return [one for one in found if isinstance(one, ResolvedItem)]


@dataclass(frozen=True, slots=True)
class RetireItem:
    """Retire an item: it is no longer shown; users who learnt from it keep what they learnt."""

    item: str
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Retire the item, or raise NotFoundError; retiring it again changes nothing."""
        lock_items(batch)
        snapshot, known = executor.live.as_of(batch), batch.items_by_id([self.item]).get(self.item)
        row = snapshot.row_of(self.item) if known is None else known.row
        if row is None:
            raise NotFoundError(f"no item {self.item!r}")
        if snapshot.active[:row].sum() + snapshot.active[row + 1 :].sum() == 0:
            raise ConflictError(LAST_ITEM)
        if known is None:
            batch.add_items([ItemRow(row, self.item, True, None)])
        elif not known.retired:
            batch.update_items([known._replace(retired=True)])
        return CommandResult({"id": self.item, "retired": True})


LAST_ITEM: Final = "the last item cannot be retired: add another first"


def lock_catalogue(batch: Batch, executor: Any) -> tuple[CatalogueSnapshot, dict[str, ItemRow]]:
    """Return the items, and all stored ones by id; no other transaction can change them."""
    lock_items(batch)
    batch.show_items()
    return executor.live.as_of(batch), {row.id: row for row in batch.items()}


def new_snapshot(batch: Batch, executor: Any) -> CatalogueSnapshot:
    """Return the items after the changes of this transaction; every policy makes a list of them.

    What cannot be served must not be stored: no process could start with it.
    """
    snapshot: CatalogueSnapshot = executor.live.build(batch, batch.meta(ITEMS_REVISION) or "0")
    check_served(snapshot, executor.experiment)
    return snapshot


def check_served(snapshot: CatalogueSnapshot, experiment: Experiment, k: int = 1) -> None:
    """Let every policy make a list of up to `k` items, or raise an error."""
    if not snapshot.active.any():
        raise ConflictError(LAST_ITEM)
    experiment = experiment.as_of(snapshot)
    for name in experiment.names:
        policy = experiment.new_policy(name, snapshot.catalogue)
        policy.recommend(min(k, int(snapshot.active.sum())), candidates=snapshot.active, rng=0)

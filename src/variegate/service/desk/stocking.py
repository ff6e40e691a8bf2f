"""Items that come, change and go while the service runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from variegate.errors import ConflictError, InputError, NotFoundError
from variegate.service.desk.itemdata import item_data, item_values
from variegate.service.desk.shelf import Shelf
from variegate.store import Batch, ItemRow


@dataclass(frozen=True, slots=True)
class Stocking:
    """Put items on the shelf: new ones, or known ones with other data.

    Parameters
    ----------
    items
        Each with `id`, and any of `title`, `attributes`, `features`, `distances`. A known item
        keeps what is not given; a new one needs features and distances.
    """

    items: Sequence[Mapping[str, Any]]
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, settler: Any) -> dict[str, Any]:
        """Keep all of them, or none."""
        shelf: Shelf = settler.shelf
        kept = {row.id: row for row in batch.items()}
        new: list[ItemRow] = []
        changed: list[ItemRow] = []
        seen: set[str] = set()
        for wish in self.items:
            item = str(wish["id"])
            if item in seen:
                raise InputError(f"`items` must have distinct ids, got {item!r} twice")
            seen.add(item)
            known = _known(shelf, item)
            data = item_data(shelf.catalogue, _complete(shelf, known, wish))
            if known is None:
                new.append(ItemRow(len(shelf.catalogue) + len(new), item, False, data))
            elif item in kept:
                changed.append(ItemRow(known, item, False, data))
            else:
                new.append(ItemRow(known, item, False, data))
        _check_room(new, shelf)
        batch.add_items(new)
        batch.change_items(changed)
        return {"items": [str(wish["id"]) for wish in self.items]}


@dataclass(frozen=True, slots=True)
class Retiring:
    """Take an item off the shelf; whoever learnt from it keeps what was learnt."""

    item: str
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, settler: Any) -> dict[str, Any]:
        """Retire the item, or raise NotFoundError; retiring it again changes nothing."""
        shelf: Shelf = settler.shelf
        row = _known(shelf, self.item)
        if row is None:
            raise NotFoundError(f"no item {self.item!r}")
        kept = {one.id: one for one in batch.items()}.get(self.item)
        if shelf.open.sum() == 1 and shelf.open[row]:
            raise ConflictError("the last item cannot be retired: add another first")
        if kept is None:
            batch.add_items([ItemRow(row, self.item, True, None)])
        elif not kept.retired:
            batch.change_items([ItemRow(row, self.item, True, kept.data)])
        return {"id": self.item, "retired": True}


def _known(shelf: Shelf, item: str) -> int | None:
    try:
        return shelf.row_of(item)
    except NotFoundError:
        return None


def _complete(shelf: Shelf, row: int | None, wish: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is asked for, with what is known of the item where nothing is."""
    given = {name: wish[name] for name in wish if name != "id" and wish[name] is not None}
    if row is None:
        if "features" not in given:
            raise InputError(f"`features` must be given for the new item {wish['id']!r}")
        return given
    known = item_values(shelf.catalogue, row)
    for name in ("attributes", "distances"):
        given[name] = {**known[name], **given.get(name, {})}
    return {**known, **given}


def _check_room(new: Sequence[ItemRow], shelf: Shelf) -> None:
    for row in new:
        if len(row.id) > 200 or not row.id.isprintable() or not row.id:
            raise InputError(f"`id` must be 1 to 200 printable characters, got {row.id[:50]!r}")
        if row.row < len(shelf.base) and row.id != shelf.base.ids[row.row]:
            raise ConflictError(f"item {row.id!r} is not where it was: try again")

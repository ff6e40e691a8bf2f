"""Who liked what."""

from dataclasses import dataclass, replace

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.datasets.items import ItemTable
from variegate.errors import InputError


@dataclass(frozen=True, eq=False)
class Dataset:
    """Users, items, and the pairs of them in which the user liked the item.

    Ids are text; `users` and `items` are row numbers, one of each for every pair. `about`
    has a row for each of `item_ids`, in their order.
    """

    name: str
    user_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    #: Row of the user in each pair, (n,)
    users: IndexArray
    #: Row of the item in each pair, (n,)
    items: IndexArray
    about: ItemTable
    #: The column of `about.lists`, or else of `about.categories`, that holds the categories
    category_column: str = "categories"

    def __post_init__(self) -> None:
        if len(self.users) != len(self.items):
            raise InputError(
                f"`users` and `items` must be pairs, got {len(self.users)} and {len(self.items)}"
            )
        if self.about.ids != self.item_ids:
            raise InputError("`about` must have the items of `item_ids`, in their order")

    def __len__(self) -> int:
        return len(self.users)

    @property
    def titles(self) -> tuple[str, ...]:
        """What each item is called."""
        return self.about.titles

    @property
    def categories(self) -> tuple[tuple[str, ...], ...]:
        """The categories of each item; none, where the data have none."""
        lists = self.about.lists.get(self.category_column)
        if lists is not None:
            return lists
        labels = self.about.categories.get(self.category_column, ("",) * len(self.item_ids))
        return tuple((label,) if label else () for label in labels)

    @property
    def category_names(self) -> tuple[str, ...]:
        """The distinct categories, sorted."""
        return tuple(sorted({name for names in self.categories for name in names}))

    @property
    def density(self) -> float:
        """The share of all pairs of a user and an item that are liked."""
        return len(self) / max(len(self.user_ids) * len(self.item_ids), 1)

    @property
    def popularity(self) -> FloatArray:
        """How many users liked each item, (items,)."""
        return np.bincount(self.items, minlength=len(self.item_ids)).astype(np.float64)

    def of_users(self, rows: IndexArray) -> "Dataset":
        """Return the pairs of some users, renumbered in their order; items stay as they are."""
        number = np.full(len(self.user_ids), -1, dtype=np.intp)
        number[rows] = np.arange(len(rows))
        kept = number[self.users] >= 0
        return replace(
            self,
            user_ids=tuple(self.user_ids[row] for row in rows),
            users=number[self.users[kept]],
            items=self.items[kept],
        )

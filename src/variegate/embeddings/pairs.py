"""What a matrix factorisation learns from: the users and items that occur, in one order."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from variegate.arrays import IndexArray
from variegate.datasets import Dataset
from variegate.errors import InputError


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct liked pairs, by user and then by item, of users and items that have some."""

    user_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    users: IndexArray
    items: IndexArray

    @property
    def digest(self) -> str:
        """A name for this content: the same pairs of the same ids, the same name."""
        content = hashlib.sha256(json.dumps([self.user_ids, self.item_ids]).encode())
        for rows in (self.users, self.items):
            content.update(rows.astype("<i8").tobytes())
        return content.hexdigest()


def pairs_of(dataset: Dataset) -> Pairs:
    """Return the dataset's pairs, renumbered so that no user and no item is without one."""
    if not len(dataset):
        raise InputError("`dataset` must have at least one liked pair, got none")
    width = len(dataset.item_ids)
    # One number a pair sorts many times faster than two.
    distinct = np.unique(dataset.users.astype(np.int64) * width + dataset.items)
    user_rows, users = np.unique(distinct // width, return_inverse=True)
    item_rows, items = np.unique(distinct % width, return_inverse=True)
    if len(distinct) == len(user_rows) * len(item_rows):
        raise InputError(
            "`dataset` must have items that some user did not like, got "
            f"{len(user_rows)} users who liked each of {len(item_rows)} items: nothing to compare"
        )
    return Pairs(
        tuple(dataset.user_ids[row] for row in user_rows),
        tuple(dataset.item_ids[row] for row in item_rows),
        users,
        items,
    )

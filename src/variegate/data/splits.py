"""Splits of a data set into training users and test users."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from variegate.arrays import as_generator
from variegate.data.dataset import Dataset
from variegate.errors import InputError


@dataclass(frozen=True, eq=False)
class Split:
    """Two data sets with the same items in the same rows, and no common user."""

    train: Dataset
    test: Dataset


def split_users(dataset: Dataset, *, rng: Any, train: float = 0.8) -> Split:
    """Sample the share `train` of the users for training, rounded; the rest are test users.

    Each part has at least one user, and its users are in their original order. `rng` is a NumPy
    generator or a seed; the same seed gives the same split.
    """
    count = len(dataset.user_ids)
    if not _is_share(train):
        raise InputError(f"`train` must be a number between 0 and 1, got {train!r}")
    if count < 2:
        raise InputError(f"`dataset` must have at least 2 users to be split, got {count}")
    size = min(max(round(train * count), 1), count - 1)
    drawn = as_generator(rng).permutation(count)
    return Split(dataset.of_users(np.sort(drawn[:size])), dataset.of_users(np.sort(drawn[size:])))


def _is_share(train: Any) -> bool:
    is_number = isinstance(train, (int, float, np.floating)) and not isinstance(train, bool)
    return is_number and bool(0 < train < 1)

"""Training users split again: to learn from, and to choose by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from variegate.data.dataset import Dataset
from variegate.data.splits import split_users
from variegate.errors import InputError
from variegate.evaluation.replay import ReplayTask
from variegate.evaluation.tasks import (
    Protocol,
    crowd_task,
    fitted_prior,
    liked_rows,
    rated_task,
)
from variegate.model.catalogue import Catalogue
from variegate.prior import Prior


@dataclass(frozen=True, eq=False)
class Fold:
    """Users to choose by, and what was learnt from the others."""

    #: What the data set is called
    name: str
    #: As the paper's policies are played
    plain: ReplayTask
    #: The same users; items have their popularity as one more feature
    popular: ReplayTask
    #: Fitted with a `noise_factor` of 1
    prior: Prior


def training_part(dataset: Dataset, splits: Sequence[int], *, train: float = 0.8) -> Dataset:
    """Return the likes of the users who are training users in every one of the splits.

    A split is the seed of `split_users`. Without one, all users are training users.
    """
    kept = np.ones(len(dataset.user_ids), dtype=bool)
    for split in splits:
        trained = set(split_users(dataset, rng=split, train=train).train.user_ids)
        kept &= [user in trained for user in dataset.user_ids]
    if kept.sum() < 2:
        raise InputError(
            f"`datasets` {dataset.name!r} must have at least 2 users who are training users in "
            f"every split, got {kept.sum()}"
        )
    return dataset.of_users(np.flatnonzero(kept))


def learnt_fold(
    name: str,
    training: Dataset,
    protocol: Protocol,
    *,
    split: int,
    users: int,
    cache: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fold:
    """Learn embeddings, popularity and a prior from most users, and keep the others' likes."""
    plain = rated_task(training, protocol, split=split, users=users, cache=cache, progress=progress)
    return _fold(name, plain)


def known_fold(
    name: str, training: Dataset, catalogue: Catalogue, *, train: float, split: int, users: int
) -> Fold:
    """Learn popularity and a prior from most users, on the features that a catalogue has."""
    parts = split_users(training, rng=split, train=train)
    learnt, held_out = (liked_rows(part, catalogue.ids) for part in (parts.train, parts.test))
    if not (learnt and held_out):
        raise InputError(
            f"`datasets` {name!r} must have users who like items of its catalogue, both to learn "
            f"from and to choose by, got {len(learnt)} and {len(held_out)}"
        )
    drawn = np.random.default_rng([split, 1]).permutation(len(held_out))[:users]
    plain = ReplayTask(
        name,
        catalogue,
        tuple(held_out[user] for user in np.sort(drawn)),
        len(parts.test.user_ids) - len(held_out),
        np.bincount(np.concatenate(learnt), minlength=len(catalogue)).astype(np.float64),
        len(parts.train.user_ids),
        learnt,
    )
    return _fold(name, plain)


def _fold(name: str, plain: ReplayTask) -> Fold:
    known = crowd_task(plain)
    return Fold(name, plain, known, fitted_prior(known, noise_factor=1.0))


def fold_seed(seed: int, number: int) -> int:
    """Return the seed of a fold's split: never one of the few that test users are drawn by."""
    return 1000 * (seed + 1) + number

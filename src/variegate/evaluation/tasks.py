"""From a data set to a replay: split the users, learn embeddings, keep the test users' likes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_count
from variegate.data.bpr import fit_bpr
from variegate.data.build import rated_catalogue
from variegate.data.dataset import Dataset
from variegate.data.embeddings import Embeddings
from variegate.data.splits import split_users
from variegate.errors import InputError
from variegate.evaluation.replay import ReplayTask
from variegate.prior import (
    TASTES,
    Prior,
    add_collaborative_features,
    add_popularity_feature,
    fit_prior,
)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """What of a data set is replayed (the paper's appendix)."""

    #: Share of the users to learn embeddings from
    train: float = 0.8
    #: Dimensions of the embeddings
    d: int = 10
    #: How the embeddings are brought into [-1, 1]
    normalise: str = "global"
    #: Distances of the catalogue; the first one is the paper's diversity
    distances: tuple[str, ...] = ("cosine",)
    #: Only so many of the items that most training users liked; all, if not given
    most_popular: int | None = None
    #: Only so many of the test users who liked most; all, if not given
    most_active: int | None = None


#: How the paper treats each data set.
PROTOCOLS: Final[Mapping[str, Protocol]] = MappingProxyType(
    {
        "ml-100k": Protocol(),
        "ml-1m": Protocol(),
        "anime": Protocol(most_popular=1000, most_active=10_000),
    }
)


def rated_task(
    dataset: Dataset,
    protocol: Protocol | None = None,
    *,
    split: int = 0,
    users: int | None = None,
    cache: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReplayTask:
    """Return the replay of a data set's test users.

    Parameters
    ----------
    split
        Seed of the split and of the embeddings.
    users
        At most so many test users, drawn at random; all, if not given.
    cache, progress
        As for `fit_bpr`.
    """
    protocol = protocol or PROTOCOLS.get(dataset.name, Protocol())
    parts = split_users(dataset, rng=split, train=protocol.train)
    embeddings = fit_bpr(
        parts.train,
        d=protocol.d,
        seed=split,
        normalise=protocol.normalise,
        cache=cache,
        progress=progress,
    )
    popularity = parts.train.popularity
    kept = _most_popular(embeddings, dataset, popularity, protocol.most_popular)
    catalogue = rated_catalogue(parts.train, kept, distances=protocol.distances)
    likes, left_out = _likes(parts.test, catalogue.ids, protocol.most_active)
    if not likes:
        raise InputError(
            f"`dataset` {dataset.name!r} must have a test user who likes a candidate: none of "
            f"{left_out} likes an item that a training user likes"
        )
    rows = _rows(dataset, catalogue.ids)
    return ReplayTask(
        dataset.name,
        catalogue,
        _drawn(likes, users, split),
        left_out,
        popularity[rows],
        len(parts.train.user_ids),
        liked_rows(parts.train, catalogue.ids),
    )


def liked_rows(dataset: Dataset, ids: tuple[str, ...]) -> tuple[IndexArray, ...]:
    """Return what each user likes as rows of the items `ids`; who likes none of them is left out.

    It is what `fit_prior` takes.
    """
    return tuple(_likes(dataset, ids, None)[0])


def popular_task(task: ReplayTask) -> ReplayTask:
    """Return the same replay over items with one more feature, their popularity in training."""
    if task.popularity is None:
        raise InputError(f"`task` must know how popular its items are, got {task.name!r} without")
    return replace(task, catalogue=add_popularity_feature(task.catalogue, task.popularity))


def crowd_task(task: ReplayTask, *, tastes: int = TASTES) -> ReplayTask:
    """Return the same replay over items with what the training users' likes tell of them.

    The features are the embeddings, the popularity and `tastes` directions of taste.
    """
    if not task.training_likes:
        raise InputError(f"`task` must have training users, got {task.name!r} without")
    catalogue = add_collaborative_features(task.catalogue, task.training_likes, tastes=tastes)
    return replace(task, catalogue=catalogue)


def fitted_prior(task: ReplayTask, **options: Any) -> Prior:
    """Return the prior of a task's training users; `options` as for `fit_prior`."""
    if not task.training_likes:
        raise InputError(f"`task` must have training users, got {task.name!r} without")
    return fit_prior(task.catalogue, task.training_likes, **options)


def _most_popular(
    embeddings: Embeddings, dataset: Dataset, popularity: FloatArray, most: int | None
) -> Embeddings:
    if most is None or most >= len(embeddings.item_ids):
        return embeddings
    liked = popularity[_rows(dataset, embeddings.item_ids)]
    # Stable, so that of items liked as often the first stays.
    return embeddings.taken(np.sort(np.argsort(-liked, kind="stable")[:most]))


def _likes(
    test: Dataset, ids: tuple[str, ...], most_active: int | None
) -> tuple[list[IndexArray], int]:
    """Return each test user's likes as rows of the candidates, and how many have none."""
    row_of = {item: row for row, item in enumerate(ids)}
    rows = np.array([row_of.get(item, -1) for item in test.item_ids], dtype=np.intp)[test.items]
    activity = np.bincount(test.users, minlength=len(test.user_ids))
    users = np.argsort(-activity, kind="stable")[:most_active]
    order = np.argsort(test.users, kind="stable")
    starts = np.searchsorted(test.users[order], np.arange(len(test.user_ids) + 1))
    found = []
    for user in np.sort(users):
        liked = rows[order[starts[user] : starts[user + 1]]]
        found.append(np.sort(liked[liked >= 0]))
    likes = [liked for liked in found if len(liked)]
    return likes, len(found) - len(likes)


def _drawn(likes: list[IndexArray], users: int | None, split: int) -> tuple[IndexArray, ...]:
    """Return the likes of at most so many users, in their order."""
    if users is None or users >= len(likes):
        return tuple(likes)
    check_count(users, len(likes), name="users", of="the test users")
    chosen = np.random.default_rng([split, 1]).choice(len(likes), users, replace=False)
    return tuple(likes[user] for user in np.sort(chosen))


def _rows(dataset: Dataset, ids: tuple[str, ...]) -> IndexArray:
    row_of = {item: row for row, item in enumerate(dataset.item_ids)}
    return np.array([row_of[item] for item in ids], dtype=np.intp)

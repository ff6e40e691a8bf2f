"""Interaction replay: policies against users whose held-out likes are known.

Every item that a user did not like counts as rejected, and an item once shown leaves the
candidates. This is *not* Li et al.'s unbiased replay (that is `evaluation.offpolicy`), despite the
name that the paper gives it (erratum E15).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_count
from variegate.data.bpr import fit_bpr
from variegate.data.build import most_popular, rated_catalogue
from variegate.data.dataset import Dataset
from variegate.data.splits import split_users
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.policies import EASE, Policy, PolicySpec, parse_policy
from variegate.prior import ItemPrior, fit_prior

#: The policies of the package that start from a prior of items.
FITTED_POLICIES: Final = ("lmdp", "ease")

#: Makes a new policy for one user.
PolicyMaker: TypeAlias = Callable[[Catalogue], Policy]


@dataclass(frozen=True, eq=False)
class ReplayTask:
    """Items, and test users whose likes among them are known.

    Users who like none of the items cannot be measured: they are left out and counted.
    """

    name: str
    catalogue: Catalogue
    #: Rows of the items that each user likes, sorted
    likes: tuple[IndexArray, ...]
    #: The number of users left out because they like none of the items
    left_out: int = 0
    #: How many training users like each item, (L,), and the number of training users
    popularity: FloatArray | None = None
    training_users: int = 0
    #: Rows of the items that each training user likes, sorted; empty if not known
    training_likes: tuple[IndexArray, ...] = ()

    def __post_init__(self) -> None:
        for user, rows in enumerate(self.likes):
            if not len(rows):
                raise InputError(f"`likes` must not be empty, got none for user {user}")

    @property
    def n_likes(self) -> IndexArray:
        """How many items each user likes, (users,)."""
        return np.array([len(rows) for rows in self.likes], dtype=np.intp)

    def fit_prior(self, **options: Any) -> ItemPrior:
        """Return the prior fitted to the training users; `options` as for `fit_prior`."""
        if not self.training_likes:
            raise InputError(f"`task` must have training users, got {self.name!r} without")
        # As text, because an option may be a list or an array.
        key = str({name: np.asarray(options[name]).tolist() for name in sorted(options)})
        if key not in self._priors:
            # Only the latest is kept: it caches its covariance, and policies are replayed in turn.
            self._priors.clear()
            self._priors[key] = fit_prior(self.catalogue, self.training_likes, **options)
        return self._priors[key]

    @cached_property
    def _priors(self) -> dict[str, ItemPrior]:
        return {}


@dataclass(frozen=True)
class FittedPolicy:
    """A policy whose prior is fitted to the training users of each task; ``prior=fit`` in text."""

    policy: PolicySpec
    #: Options of `fit_prior`
    prior: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "PolicySpec | FittedPolicy":
        """Return the policy that `text` names, which may have ``prior=fit``.

        EASE is nothing without a prior, so its prior is fitted if the text has none.
        """
        spec = parse_policy(text)
        if spec.options.get("prior", "fit" if spec.name == EASE.name else None) != "fit":
            return spec
        if ":" not in spec.name and spec.name not in FITTED_POLICIES:
            raise InputError(
                f"`prior` must not be fit in {text!r}: it is a prior of items, which only "
                f"{' and '.join(FITTED_POLICIES)} start from"
            )
        others = {name: value for name, value in spec.options.items() if name != "prior"}
        return cls(PolicySpec(spec.name, others))

    def for_task(self, task: ReplayTask) -> PolicySpec:
        """Return the policies of a task, which share one prior."""
        options = {**self.policy.options, "prior": task.fit_prior(**self.prior)}
        return PolicySpec(self.policy.name, options)


#: Makes the policies of a replay.
PolicyFactory: TypeAlias = PolicyMaker | FittedPolicy


@dataclass(frozen=True, eq=False)
class Trace:
    """The lists that a policy showed each user, round by round, and the clicks."""

    label: str
    #: Rows of the items shown, -1 where a list was shorter, (users, rounds, K)
    lists: IndexArray
    #: Which of them were clicked, (users, rounds, K)
    clicks: MaskArray


def replay(
    make: PolicyFactory,
    task: ReplayTask,
    *,
    users: Sequence[int] | None = None,
    rounds: int = 30,
    k: int = 10,
    seed: int = 0,
) -> Trace:
    """Replay the users of a task, each with a new policy.

    Every user has a random generator from the seed and their number in the task, so the result
    for one user does not depend on the others.
    """
    if isinstance(make, FittedPolicy):
        make = make.for_task(task)
    rounds = check_count(rounds, 10**6, name="rounds", of="the most that make sense")
    k = check_count(k, 10**6, of="the most that make sense")
    traces = [
        replay_user(
            make(task.catalogue),
            task.likes[user],
            rounds=rounds,
            k=k,
            rng=np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(user,))),
        )
        for user in (range(len(task.likes)) if users is None else users)
    ]
    label = make(task.catalogue).label
    lists = np.array([lists for lists, _ in traces]).reshape(-1, rounds, k)
    clicks = np.array([clicks for _, clicks in traces]).reshape(-1, rounds, k)
    return Trace(label, lists, clicks)


def replay_user(
    policy: Policy, likes: IndexArray, *, rounds: int, k: int, rng: np.random.Generator
) -> tuple[IndexArray, MaskArray]:
    """Replay one user; return the lists and the clicks, (rounds, k) each.

    When fewer than `k` items are left, the list is shorter; when none are, it is empty.
    """
    lists = np.full((rounds, k), -1, dtype=np.intp)
    clicks = np.zeros((rounds, k), dtype=bool)
    fresh = np.ones(len(policy.catalogue), dtype=bool)
    is_liked = np.zeros(len(policy.catalogue), dtype=bool)
    is_liked[likes] = True
    left = len(fresh)
    for t in range(rounds):
        size = min(k, left)
        if not size:
            break
        slate = policy.recommend(size, candidates=fresh, rng=rng)
        clicked = is_liked[slate.items]
        policy.update(slate, clicked.astype(np.float64))
        fresh[slate.items] = False
        left -= size
        lists[t, :size], clicks[t, :size] = slate.items, clicked
    return lists, clicks


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How a data set becomes a replay task (the paper's appendix)."""

    #: Share of the users to learn embeddings from
    train: float = 0.8
    #: Dimensions of the embeddings
    d: int = 10
    #: How the embeddings are scaled to [-1, 1]
    normalise: str = "global"
    #: Distances of the catalogue; the first one is the paper's diversity
    distances: tuple[str, ...] = ("cosine",)
    #: Only this many items, the most popular in training; all, if not given
    most_popular: int | None = None
    #: Only this many test users, the most active; all, if not given
    most_active: int | None = None


#: The paper's protocol for each data set.
PROTOCOLS: Final[Mapping[str, Protocol]] = MappingProxyType(
    {
        "ml-100k": Protocol(),
        "ml-1m": Protocol(),
        "anime": Protocol(most_popular=1000, most_active=10_000),
    }
)


def replay_task(
    dataset: Dataset,
    protocol: Protocol | None = None,
    *,
    split: int = 0,
    users: int | None = None,
    catalogue: Catalogue | None = None,
    cache: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReplayTask:
    """Split the users of a data set, learn embeddings from the training users, and return the task.

    Parameters
    ----------
    protocol
        The paper's protocol for the data set, if not given.
    split
        Seed of the split and of the embeddings.
    users
        At most this many test users, drawn at random; all, if not given.
    catalogue
        Items that have features already: no embeddings are learnt then.
    cache, progress
        As for `fit_bpr`.
    """
    protocol = protocol or PROTOCOLS.get(dataset.name, Protocol())
    parts = split_users(dataset, rng=split, train=protocol.train)
    if catalogue is None:
        embeddings = fit_bpr(
            parts.train,
            d=protocol.d,
            seed=split,
            normalise=protocol.normalise,
            cache=cache,
            progress=progress,
        )
        kept = most_popular(embeddings, parts.train, protocol.most_popular)
        catalogue = rated_catalogue(parts.train, kept, distances=protocol.distances)
    likes, left_out = _likes(parts.test, catalogue.ids, protocol.most_active)
    learnt = likes_as_rows(parts.train, catalogue.ids)
    if not (likes and learnt):
        raise InputError(
            f"`dataset` {dataset.name!r} must have training and test users who like a candidate, "
            f"got {len(learnt)} and {len(likes)}"
        )
    return ReplayTask(
        dataset.name,
        catalogue,
        _sample_users(likes, users, split),
        left_out,
        np.bincount(np.concatenate(learnt), minlength=len(catalogue)).astype(np.float64),
        len(parts.train.user_ids),
        learnt,
    )


def likes_as_rows(dataset: Dataset, ids: tuple[str, ...]) -> tuple[IndexArray, ...]:
    """Return the likes of each user as rows of the items `ids`, without users who like none.

    This is what `fit_prior` takes.
    """
    return tuple(_likes(dataset, ids, None)[0])


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


def _sample_users(likes: list[IndexArray], users: int | None, split: int) -> tuple[IndexArray, ...]:
    """Return the likes of at most `users` users, in their order."""
    if users is None or users >= len(likes):
        return tuple(likes)
    check_count(users, len(likes), name="users", of="the test users")
    chosen = np.random.default_rng([split, 1]).choice(len(likes), users, replace=False)
    return tuple(likes[user] for user in np.sort(chosen))

"""Interaction replay: policies against users whose held-out likes are known.

Every item that a user did not like counts as rejected, and an item once shown leaves the
candidates. This is *not* Li et al.'s unbiased replay (that is `evaluation.offpolicy`), whatever
the paper calls it (erratum E15).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_count
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.policies import Policy

#: Makes a fresh policy for one user.
PolicyFactory: TypeAlias = Callable[[Catalogue], Policy]


@dataclass(frozen=True, eq=False)
class ReplayTask:
    """Items to choose from, and people whose likes among them are known.

    Users with no likes among the items cannot be measured: they are left out and counted.
    """

    name: str
    catalogue: Catalogue
    #: Rows of the items that each user likes, sorted
    likes: tuple[IndexArray, ...]
    #: Users left out because they like none of the items
    left_out: int = 0
    #: How many training users liked each item, (L,), and how many there were
    popularity: FloatArray | None = None
    training_users: int = 0
    #: Rows of the items that each training user likes, sorted, where a prior can be fitted to them
    training_likes: tuple[IndexArray, ...] = ()

    def __post_init__(self) -> None:
        for user, rows in enumerate(self.likes):
            if not len(rows):
                raise InputError(f"`likes` must not be empty, got none for user {user}")

    @property
    def liked(self) -> IndexArray:
        """How many items each user likes, (users,)."""
        return np.array([len(rows) for rows in self.likes], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Trace:
    """What a policy showed each user, round by round, and what was clicked."""

    label: str
    #: Rows of the items shown, -1 where a list was shorter, (users, rounds, K)
    lists: IndexArray
    #: Which of them were clicked, (users, rounds, K)
    clicks: MaskArray


def replay_user(
    policy: Policy, likes: IndexArray, *, rounds: int, k: int, rng: np.random.Generator
) -> tuple[IndexArray, MaskArray]:
    """Play one user; return the lists and the clicks, (rounds, k) each.

    When fewer than `k` items are left, the list is shorter; when none are, it is empty.
    """
    lists = np.full((rounds, k), -1, dtype=np.intp)
    clicks = np.zeros((rounds, k), dtype=bool)
    fresh = np.ones(len(policy.catalogue), dtype=bool)
    wanted = np.zeros(len(policy.catalogue), dtype=bool)
    wanted[likes] = True
    left = len(fresh)
    for t in range(rounds):
        size = min(k, left)
        if not size:
            break
        slate = policy.recommend(size, candidates=fresh, rng=rng)
        clicked = wanted[slate.items]
        policy.update(slate, clicked.astype(np.float64))
        fresh[slate.items] = False
        left -= size
        lists[t, :size], clicks[t, :size] = slate.items, clicked
    return lists, clicks


def replay(
    make: PolicyFactory,
    task: ReplayTask,
    *,
    users: Sequence[int] | None = None,
    rounds: int = 30,
    k: int = 10,
    seed: int = 0,
) -> Trace:
    """Play a policy against the users of a task, each with a fresh policy.

    Every user has random numbers of their own, from the seed and their place in the task, so
    that who else is played, and where, changes nothing.
    """
    rounds = check_count(rounds, 10**6, name="rounds", of="the most that make sense")
    k = check_count(k, 10**6, of="the most that make sense")
    chosen = range(len(task.likes)) if users is None else users
    played = [
        replay_user(
            make(task.catalogue),
            task.likes[user],
            rounds=rounds,
            k=k,
            rng=np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(user,))),
        )
        for user in chosen
    ]
    label = make(task.catalogue).label
    lists = np.array([lists for lists, _ in played]).reshape(-1, rounds, k)
    clicks = np.array([clicks for _, clicks in played]).reshape(-1, rounds, k)
    return Trace(label, lists, clicks)

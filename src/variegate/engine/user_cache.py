"""What this process knows of the latest users, so that it need not be read from the store again."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from variegate.model.slate import Slate
from variegate.policies import Policy
from variegate.store import SlateRow, SumsByPolicy, UserRow

#: Approximate bytes of what is cached, at most.
MAX_CACHE_BYTES: Final = 44_000_000
#: A policy holds a matrix, of which the state has one half, and some more.
_BYTES_PER_STATE_BYTE, _MIN_BYTES = 2, 5_000
#: Approximate bytes of a slate beside its features
_SLATE_BYTES: Final = 5_000
#: Slates without feedback of one user, at most
_MAX_SLATES: Final = 3


@dataclass(slots=True)
class CachedUser:
    """A user as this process committed it.

    Parameters
    ----------
    version
        Of the user's row: the rest is valid while the store has this version.
    state_size
        Bytes of the policy's state.
    sums
        The running sums of the user's slates, by policy.
    slates
        Slates that this process gave the user and that have no feedback yet, with their features.
    """

    version: int
    policy: Policy
    state_size: int
    sums: SumsByPolicy | None = None
    slates: dict[str, tuple[SlateRow, Slate]] = field(default_factory=dict)

    #: Approximate bytes, as they were when the user was cached
    size: int = 0


class UserCache:
    """The latest users.

    A batch takes the users that it has locked: what it changes may be rolled back. After the commit
    it puts them back.

    A version is never used for two states of a user (see `new_version`), and every change of a
    user, of the user's slates and of their sums increments it. So nothing is used here that
    another process has changed.
    """

    def __init__(self) -> None:
        self._bytes, self._revision = 0, ""
        self._users: OrderedDict[str, CachedUser] = OrderedDict()
        self._owners: dict[str, str] = {}

    def known(self, users: Iterable[str]) -> set[str]:
        """Return which of some users are cached; others may have changed or forgotten them."""
        return {user for user in users if user in self._users}

    def owners(self, slates: Iterable[str]) -> dict[str, str]:
        """Return the users of those slates that are cached, by the slate's id."""
        return {slate: self._owners[slate] for slate in slates if slate in self._owners}

    def take(self, user: UserRow, revision: str) -> CachedUser | None:
        """Remove a user; return it if its row and the revision of the items are as cached."""
        self._clear_other_than(revision)
        cached = self._remove(user.id)
        return cached if cached is not None and cached.version == user.version else None

    def put(self, user: str, revision: str, cached: CachedUser) -> None:
        """Cache a user as committed, and evict the least recent ones."""
        self._clear_other_than(revision)
        self._remove(user)
        if len(cached.slates) > _MAX_SLATES:
            for slate in list(cached.slates)[:-_MAX_SLATES]:
                del cached.slates[slate]
        self._users[user] = cached
        cached.size = _MIN_BYTES + _BYTES_PER_STATE_BYTE * cached.state_size
        for slate, (_, features) in cached.slates.items():
            self._owners[slate] = user
            cached.size += _SLATE_BYTES + features.relevance.nbytes
        self._bytes += cached.size
        while self._bytes > MAX_CACHE_BYTES:
            self._remove(next(iter(self._users)))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the users."""
        return iter(self._users)

    def drop(self, user: str) -> None:
        """Remove a user."""
        self._remove(user)

    def _remove(self, user: str) -> CachedUser | None:
        cached = self._users.pop(user, None)
        if cached is not None:
            self._bytes -= cached.size
            for slate in cached.slates:
                del self._owners[slate]
        return cached

    def _clear_other_than(self, revision: str) -> None:
        if revision != self._revision:
            # Each policy holds the whole catalogue that it was made over.
            self._users.clear()
            self._owners.clear()
            self._bytes = 0
            self._revision = revision

"""Policies of users who were here a moment ago, so that they are not made anew."""

from collections import OrderedDict
from typing import Final, NamedTuple

from variegate.policies import Policy
from variegate.store import UserRow

#: Bytes that the policies of the latest users may take, as far as can be told.
MOST_BYTES: Final = 100_000_000
#: A policy holds a matrix and a root of it, of which the state is half of one, and itself.
_TIMES_STATE, _AT_LEAST = 5, 4_000


class _Kept(NamedTuple):
    name: str
    state: bytes | None
    policy: Policy


class PolicyCache:
    """Policies by what the store has of their users: one that was changed elsewhere is not found.

    A policy that was taken may learn what is not kept in the end, so it is gone from here until
    it is put back, after the commit.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._bytes = most, 0
        self._revision = ""
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def take(self, user: UserRow, revision: str) -> Policy | None:
        """Return the policy of the user as the store has them, under this revision of the items."""
        self._turn_to(revision)
        kept = self._let_go(user.id)
        # Not by the version: a user who was forgotten and came back counts anew.
        if kept is None or kept.name != user.policy or kept.state != user.state:
            return None
        return kept.policy

    def put(self, user: UserRow, revision: str, policy: Policy) -> None:
        """Keep the policy of a user that the store has so, and let the oldest go."""
        self._turn_to(revision)
        self._let_go(user.id)
        kept = self._kept[user.id] = _Kept(user.policy, user.state, policy)
        self._bytes += _weight(kept)
        while self._bytes > self._most:
            self._let_go(next(iter(self._kept)))

    def drop(self, user: str) -> None:
        """Let a user's policy go."""
        self._let_go(user)

    def _let_go(self, user: str) -> _Kept | None:
        kept = self._kept.pop(user, None)
        if kept is not None:
            self._bytes -= _weight(kept)
        return kept

    def _turn_to(self, revision: str) -> None:
        if revision != self._revision:
            # Each holds the whole catalogue that it was made over.
            self._kept.clear()
            self._bytes = 0
            self._revision = revision


def _weight(kept: _Kept) -> int:
    return _AT_LEAST + _TIMES_STATE * len(kept.state or b"")

"""Policies of users who were here a moment ago, so that they are not made anew."""

from collections import OrderedDict
from typing import Final, NamedTuple

from variegate.policies import Policy
from variegate.store import UserRow

#: Policies kept, the latest ones: a few tens of megabytes for a hundred weights.
MOST_KEPT: Final = 512


class _Kept(NamedTuple):
    name: str
    state: bytes | None
    policy: Policy


class KeptPolicies:
    """Policies by what the store has of their users: one that was changed elsewhere is not found.

    A policy that was taken may learn what is not kept in the end, so it is gone from here until
    it is put back, after the commit.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._revision = ""
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def take(self, user: UserRow, revision: str) -> Policy | None:
        """Return the policy of the user as the store has them, under this revision of the items."""
        self._turn_to(revision)
        kept = self._kept.pop(user.id, None)
        # Not by the version: a user who was forgotten and came back counts anew.
        if kept is None or kept.name != user.policy or kept.state != user.state:
            return None
        return kept.policy

    def put(self, user: UserRow, revision: str, policy: Policy) -> None:
        """Keep the policy of a user that the store has so, and let the oldest go."""
        self._turn_to(revision)
        self._kept[user.id] = _Kept(user.policy, user.state, policy)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def drop(self, user: str) -> None:
        """Let a user's policy go."""
        self._kept.pop(user, None)

    def _turn_to(self, revision: str) -> None:
        if revision != self._revision:
            # Each holds the whole catalogue that it was made over.
            self._kept.clear()
            self._revision = revision

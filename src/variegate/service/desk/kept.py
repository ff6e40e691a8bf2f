"""Policies of users who were here a moment ago, so that they are not made anew."""

from collections import OrderedDict
from typing import Final

from variegate.policies import Policy
from variegate.store import UserRow

#: Policies kept, the latest ones: a few tens of megabytes for a hundred weights.
MOST_KEPT: Final = 512


class KeptPolicies:
    """Policies by the user's very version: one that was changed elsewhere is not found.

    What is not kept in the store must not be kept here: `put` is called after the commit.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[tuple[object, ...], Policy]] = OrderedDict()

    def get(self, user: UserRow, revision: str) -> Policy | None:
        """Return the policy of the user as it is in the store, under this revision of the items."""
        kept = self._kept.get(user.id)
        return kept[1] if kept is not None and kept[0] == _mark(user, revision) else None

    def put(self, user: UserRow, revision: str, policy: Policy) -> None:
        """Keep a policy, and let the oldest go."""
        self._kept[user.id] = _mark(user, revision), policy
        self._kept.move_to_end(user.id)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def drop(self, user: str) -> None:
        """Let a policy go that was changed and perhaps not kept."""
        self._kept.pop(user, None)


def _mark(user: UserRow, revision: str) -> tuple[object, ...]:
    # A user who was forgotten and came back counts from 0 again, but was made at another time.
    return user.version, user.created, user.policy, revision

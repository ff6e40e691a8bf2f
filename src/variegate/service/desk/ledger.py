"""What one transaction works on: users and slates as they are by now, and what it will write."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from variegate.errors import NotFoundError
from variegate.policies import Policy
from variegate.service.desk.arms import Arms
from variegate.service.desk.kept import KeptPolicies
from variegate.service.desk.packing import unpacked_slate
from variegate.service.desk.relearning import relearnt
from variegate.service.desk.rules import Rules
from variegate.service.desk.shelf import Shelf
from variegate.store import Batch, EventRow, SlateRow, UserRow


class Ledger:
    """Users and slates of one batch of operations, each read once and written once.

    An operation works everything out before it puts anything down, so that one that fails
    leaves no trace.

    Parameters
    ----------
    users, slates
        Ids of whoever and whatever the operations concern; users are made if they are new.
    now
        The time of the whole batch.
    """

    def __init__(
        self,
        batch: Batch,
        users: Iterable[str],
        slates: Iterable[str],
        *,
        shelf: Shelf,
        arms: Arms,
        rules: Rules,
        kept: KeptPolicies,
        now: float,
    ) -> None:
        self.shelf, self.arms, self.rules, self.now = shelf, arms, rules, now
        self._kept = kept
        self._batch = batch
        wanted = sorted(set(slates))
        owners = set(batch.owners(wanted).values()) if wanted else set()
        named = set(users)
        absent = named - batch.users(named).keys()
        if absent:
            batch.ensure_users([self._blank(user) for user in absent])
        self._users = batch.lock_users(named | owners)
        # Another process may have made them first, and given them something.
        self._new = {user for user in absent if self._users[user].version == 0}
        self._slates = batch.slates(wanted) if wanted else {}
        self._changed_users: set[str] = set()
        self._changed_slates: set[str] = set()
        self._given: list[SlateRow] = []
        self._events: list[EventRow] = []
        self._policies: dict[str, Policy] = {}

    def user(self, user: str) -> UserRow:
        """Return a user as it is by now."""
        return self._users[user]

    def slate(self, slate: str) -> SlateRow:
        """Return a slate as it is by now, or raise NotFoundError."""
        found = self._slates.get(slate)
        if found is None or found.user_id not in self._users:
            raise NotFoundError(
                f"no slate {slate!r}: it was never given, or its user was forgotten"
            )
        return found

    def policy(self, user: str) -> Policy:
        """Return the user's policy, with what it has learnt by now."""
        if user not in self._policies:
            row = self._users[user]
            if row.policy not in self.arms.lines:
                row = self._users[user] = self._moved(row)
                self._changed_users.add(user)
            known = self._kept.get(row, self.shelf.revision)
            self._kept.drop(user)  # it may learn what is not kept in the end
            self._policies[user] = known or self.arms.policy_of(row, self.shelf.catalogue)
        return self._policies[user]

    def give(self, user: UserRow, slate: SlateRow) -> None:
        """Put down that a list was given."""
        self._users[user.id] = user
        self._changed_users.add(user.id)
        self._given.append(slate)

    def take(self, slate: SlateRow, kind: str, body: dict[str, Any]) -> None:
        """Put down what came of a slate, and the event that says so."""
        self._slates[slate.id] = slate
        self._changed_slates.add(slate.id)
        self._events.append(EventRow(None, self.now, slate.user_id, slate.id, kind, body))

    def teach(self, slate: SlateRow, rewards: dict[int, float]) -> None:
        """Let the slate's user learn rewards by position; after an error nothing has changed."""
        policy = self.policy(slate.user_id)
        earned = [rewards.get(place, 0.0) for place in range(slate.k)]
        policy.update(unpacked_slate(slate), earned, seen=sorted(rewards))
        user = self._users[slate.user_id]
        self._users[user.id] = replace(user, state=policy.state().to_bytes(), changed=self.now)
        self._changed_users.add(user.id)

    def write(self) -> None:
        """Write all that was put down."""
        batch = self._batch
        for user in sorted(self._new - self._changed_users):
            batch.forget_user(user)  # all that it asked for was refused
        if self._given:
            batch.add_slates(self._given)
        if self._changed_slates:
            batch.change_slates([self._slates[slate] for slate in sorted(self._changed_slates)])
        if self._events:
            batch.add_events(self._events)
        if self._changed_users:
            batch.save_users([self._users[user] for user in sorted(self._changed_users)])

    def remember(self) -> None:
        """Keep the policies for a while; call this once all was written and committed."""
        for user, policy in self._policies.items():
            row = self._users[user]
            if user in self._changed_users:
                row = replace(row, version=row.version + 1)
            self._kept.put(row, self.shelf.revision, policy)

    def _blank(self, user: str) -> UserRow:
        return UserRow(user, self.arms.assigned(user), None, b"", 0, 0, self.now, self.now)

    def _moved(self, user: UserRow) -> UserRow:
        """Return a user whose policy is no longer served with a new one, learnt from the log."""
        name = self.arms.assigned(user.id)
        policy = relearnt(self._batch, user.id, self.arms.new_policy(name, self.shelf.catalogue))
        return replace(user, policy=name, state=policy.state().to_bytes())

"""What one transaction works on: users and slates as they are by now, and what it will write."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.experiment import Experiment, PolicyCache
from variegate.engine.replay import restore_user, teach
from variegate.engine.terms import Rules
from variegate.errors import NotFoundError
from variegate.policies import Policy
from variegate.store import Batch, EventRow, Head, SlateRow, UserRow

#: Gives seconds since 1970.
Clock: TypeAlias = Callable[[], float]

#: Lists read at a time
_PAGE: Final = 10


class UnitOfWork:
    """Users and slates of one batch of operations, each read once and written once.

    An operation works everything out before it puts anything down, so that one that fails
    leaves no trace.

    Parameters
    ----------
    users, slates
        Ids of whoever and whatever the operations concern; users are made if they are new.
    requests
        Users and the names that their clients gave to requests for a list.
    clock
        Gives the time of the whole batch in place of the database's clock.
    check
        Is called with what every transaction reads first; raises where this process must not
        write any more.
    """

    def __init__(
        self,
        batch: Batch,
        users: Iterable[str],
        slates: Iterable[str],
        requests: Sequence[tuple[str, str]] = (),
        *,
        live: LiveCatalogue,
        experiment: Experiment,
        rules: Rules,
        kept: PolicyCache,
        clock: Clock | None = None,
        check: Callable[[Head], None] = lambda _head: None,
    ) -> None:
        self.experiment, self.rules = experiment, rules
        self._kept = kept
        self._batch = batch
        self._users, self._new, self._slates = self._locked(
            set(users), sorted(set(slates)), requests
        )
        self._requests = {
            (row.user_id, row.request): row for row in self._slates.values() if row.request
        }
        # Only now, when nobody else can give these users anything: a list that another process
        # gave them a moment ago may hold an item that came a moment before that.
        head = batch.head()
        check(head)
        # The database's clock, after the locks: the same for all replicas, and never before the
        # time of what another one kept of these users.
        self.now: Final = head.now if clock is None else clock()
        self._users |= {user: self._users[user]._replace(created=self.now) for user in self._new}
        self._as_read = dict(self._users)
        self.snapshot: Final = live.as_of(batch, head.revision)
        self.experiment = experiment.as_of(self.snapshot)
        self._changed_users: set[str] = set()
        self._changed_slates: set[str] = set()
        self._changed_terms: set[str] = set()
        self._given: list[SlateRow] = []
        self._events: list[EventRow] = []
        self._policies: dict[str, Policy] = {}

    @property
    def given(self) -> int:
        """The lists that were given so far."""
        return len(self._given)

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

    def slate_for_request(self, user: str, request: str) -> SlateRow | None:
        """Return the list that answered a request of this name, if one did."""
        return self._requests.get((user, request))

    def slates_after(self, slate: SlateRow) -> list[SlateRow]:
        """Return the lists that the user was given after one, the newest first."""
        found = [row for row in reversed(self._given) if row.user_id == slate.user_id]
        before: str | None = None
        while page := self._batch.history(slate.user_id, _PAGE, before):
            for row in page:
                if row.id <= slate.id:
                    return found
                found.append(self._slates.get(row.id, row))
            before = page[-1].id
        return found

    def policy(self, user: str) -> Policy:
        """Return the user's policy, with what it has learnt by now.

        The user may be under another policy after this, one that is served.
        """
        if user not in self._policies:
            row = self._users[user]
            policy = self._kept.take(row, self.snapshot.revision)
            if policy is None:
                # Not put down: it is worked out again if nothing else comes of this batch.
                self._users[user], policy = restore_user(
                    self._batch, row, self.snapshot.catalogue, self.experiment
                )
            self._policies[user] = policy
        return self._policies[user]

    def give(self, user: UserRow, slate: SlateRow) -> None:
        """Put down that a list was given."""
        self._users[user.id] = user
        self._changed_users.add(user.id)
        self._given.append(slate)
        if slate.request is not None:
            self._requests[slate.user_id, slate.request] = slate

    def change_terms(self, slates: Iterable[SlateRow]) -> None:
        """Put down what lists were given under, where that has changed."""
        given = {row.id: place for place, row in enumerate(self._given)}
        for row in slates:
            if row.id in given:
                self._given[given[row.id]] = row
            else:
                self._slates[row.id] = row
                self._changed_terms.add(row.id)

    def take(self, slate: SlateRow, kind: str, body: dict[str, Any]) -> None:
        """Put down what came of a slate, and the event that says so."""
        self._slates[slate.id] = slate
        self._changed_slates.add(slate.id)
        self._events.append(EventRow(None, self.now, slate.user_id, slate.id, kind, body))

    def teach(self, slate: SlateRow, rewards: dict[int, float]) -> bool:
        """Let the slate's user learn rewards by position.

        Returns False, and nothing has changed, where their policy cannot learn from this slate.
        """
        policy = self.policy(slate.user_id)
        if not teach(policy, slate, rewards):
            return False
        user = self._users[slate.user_id]
        self._users[user.id] = user._replace(state=policy.state().to_bytes(), changed=self.now)
        self._changed_users.add(user.id)
        return True

    def write(self) -> None:
        """Write all that was put down."""
        batch = self._batch
        for user in sorted(self._new - self._changed_users):
            batch.forget_user(user)  # all that it asked for was refused
        if self._given:
            batch.add_slates(self._given)
        if self._changed_slates:
            batch.change_slates([self._slates[slate] for slate in sorted(self._changed_slates)])
        if self._changed_terms:
            batch.change_terms([self._slates[slate] for slate in sorted(self._changed_terms)])
        if self._events:
            batch.add_events(self._events)
        changed = [self._users[user] for user in sorted(self._changed_users)]
        batch.save_users([row for row in changed if self._must_be_whole(row)])
        batch.save_shown([row for row in changed if not self._must_be_whole(row)])

    def remember(self) -> None:
        """Keep the policies for a while; call this once all was written and committed."""
        for user, policy in self._policies.items():
            self._kept.put(self._users[user], self.snapshot.revision, policy)

    def counts(self) -> dict[str, int]:
        """Return how much was put down."""
        return {
            "slates": len(self._given),
            "feedback": sum(event.kind == "feedback" for event in self._events),
            "new_users": len(self._new & self._changed_users),
        }

    def _locked(
        self, named: set[str], wanted: list[str], requests: Sequence[tuple[str, str]]
    ) -> tuple[dict[str, UserRow], set[str], dict[str, SlateRow]]:
        """Return the users, made where they are new, which were made here, and the slates."""
        batch, blanks, slates = self._batch, dict[str, UserRow](), dict[str, SlateRow]()
        if batch.locks_all:
            slates = batch.slates(wanted, requests)
            owners = {row.user_id for row in slates.values()}
        else:
            owners = set(batch.owners(wanted).values())
            # New users first: two batches that wait for each other's would wait for ever.
            blanks = self._made(named - batch.known_users(named))
        users = batch.lock_users(named | owners)
        while absent := named - users.keys():  # another process forgot them in between
            blanks |= self._made(absent)
            users |= batch.lock_users(absent)
        # Another process may have made them first, and given them something.
        new = {user for user, blank in blanks.items() if users[user] == blank}
        # Where others write too, a list is as it will stay only once its user is locked.
        return users, new, slates if batch.locks_all else batch.slates(wanted, requests)

    def _must_be_whole(self, row: UserRow) -> bool:
        """Whether more of a user must be written than what a list changes."""
        read, is_new = self._as_read[row.id], row.id in self._new
        return is_new or row.state is not read.state or row.policy != read.policy

    def _made(self, users: set[str]) -> dict[str, UserRow]:
        blanks = {user: self._blank(user) for user in users}
        if blanks:
            self._batch.ensure_users(list(blanks.values()))
        return blanks

    def _blank(self, user: str) -> UserRow:
        # The time is known once all locks are taken.
        return UserRow(user, self.experiment.assign(user), None, b"", 0, 0, 0.0, 0.0)

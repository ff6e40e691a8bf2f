"""One transaction's users and slates: locked, read once, changed in memory, written once."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.codecs import INTERACTION
from variegate.engine.experiment import Experiment
from variegate.engine.replay import restore_user, teach
from variegate.engine.terms import Rules, Terms
from variegate.engine.user_cache import CachedUser, UserCache
from variegate.errors import NotFoundError, VariegateError
from variegate.model.slate import Slate
from variegate.policies import Policy
from variegate.store import NOT_READ, Batch, EventRow, Head, SlateRow, UserRow, new_version

#: Returns seconds since 1970.
Clock: TypeAlias = Callable[[], float]

#: Slates read at a time.
_PAGE: Final = 10


class UnitOfWork:
    """The users and slates of a batch of commands, each read once and written once.

    A command computes everything before it changes anything here, so that one that fails leaves
    no trace.

    Parameters
    ----------
    users, slates
        Ids that the commands concern; unknown users are created.
    requests
        Users and idempotency keys of requests for slates.
    interactions
        The idempotency keys of interactions, by user.
    clock
        Returns the time of the whole batch in place of the database's clock.
    check
        Called with what every transaction reads first; raises if this process must not write.
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
        cache: UserCache,
        clock: Clock | None = None,
        check: Callable[[Head], None] = lambda _head: None,
        interactions: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self.experiment, self.rules = experiment, rules
        self._cache, self._batch = cache, batch
        wanted = sorted(set(slates))
        #: The users of slates that need not be read, if the cache turns out to be valid
        owners = cache.owners(wanted)
        unknown = [slate for slate in wanted if slate not in owners]
        self._users, self._new, self._slates, head = self._lock(
            set(users), set(owners.values()), unknown, requests
        )
        check(head)
        self.snapshot: Final = live.as_of(batch, head.revision)
        self._cached = self._valid_cache(owners)
        self._requests = {
            (row.user_id, row.request): row for row in self._slates.values() if row.request
        }
        self._requested_events = _requested_events(batch, interactions)
        # The database's clock, read after the locks, is the same for all replicas, and never
        # before the time of what another replica stored for these users.
        self.now: Final = head.now if clock is None else clock()
        self._users |= {user: self._users[user]._replace(created=self.now) for user in self._new}
        self._as_read = dict(self._users)
        self.experiment = experiment.as_of(self.snapshot)
        self._begin()

    def _begin(self) -> None:
        """Start without changes."""
        #: The terms of a request that asks for nothing special, and how they are stored
        self.terms = Terms.of_rules(self.rules, self.snapshot.revision)
        self.stored_terms = self.terms.to_dict()
        self._changed_users: set[str] = set()
        self._changed_slates: set[str] = set()
        self._changed_terms: set[str] = set()
        self._added: list[SlateRow] = []
        self._added_features: dict[str, Slate] = {}
        self._events: list[EventRow] = []
        self._policies: dict[str, Policy] = {}

    @property
    def n_added(self) -> int:
        """How many slates were added so far."""
        return len(self._added)

    def user(self, user: str) -> UserRow:
        """Return a user, with the changes so far."""
        return self._users[user]

    def slate(self, slate: str) -> SlateRow:
        """Return a slate, with the changes so far, or raise NotFoundError."""
        found = self._slates.get(slate)
        if found is None or found.user_id not in self._users:
            raise NotFoundError(
                f"no slate {slate!r}: it was never given, is older than the store keeps, or its "
                "user was forgotten"
            )
        return found

    def slate_for_request(self, user: str, request: str) -> SlateRow | None:
        """Return the slate that answered a request with this idempotency key, if there is one."""
        return self._requests.get((user, request))

    def event_for_request(self, user: str, request: str) -> EventRow | None:
        """Return the event that was stored with this idempotency key, if there is one."""
        return self._requested_events.get((user, request))

    def slates_after(self, slate: SlateRow) -> list[SlateRow]:
        """Return the slates that the user was given after one, the newest first."""
        found = [row for row in reversed(self._added) if row.user_id == slate.user_id]
        before: str | None = None
        while page := self._batch.history(slate.user_id, _PAGE, before):
            for row in page:
                if row.id <= slate.id:
                    return found
                found.append(self._slates.get(row.id, row))
            before = page[-1].id
        return found

    def policy(self, user: str) -> Policy:
        """Return the user's policy, with what it has learnt so far.

        A user whose policy is no longer served gets another one here.
        """
        if user not in self._policies:
            cached = self._cached.get(user)
            if cached is not None:
                self._policies[user] = cached.policy
            else:
                # Not a change yet: it is stored only if the batch changes the user anyway.
                self._users[user], self._policies[user] = restore_user(
                    self._batch, self._users[user], self.snapshot.catalogue, self.experiment
                )
        return self._policies[user]

    def add_slate(self, user: UserRow, slate: SlateRow, features: Slate | None = None) -> None:
        """Add a slate, and change its user; with `features`, feedback need not read the slate."""
        self._users[user.id] = user
        self._changed_users.add(user.id)
        self._added.append(slate)
        if features is not None:
            self._added_features[slate.id] = features
        if slate.request is not None:
            self._requests[slate.user_id, slate.request] = slate

    def change_terms(self, slates: Iterable[SlateRow]) -> None:
        """Change the terms of slates."""
        added = {row.id: place for place, row in enumerate(self._added)}
        for row in slates:
            if row.id in added:
                self._added[added[row.id]] = row
            else:
                self._slates[row.id] = row
                self._changed_terms.add(row.id)

    def change_slate(self, slate: SlateRow, kind: str, body: dict[str, Any]) -> None:
        """Change a slate, and add the event that caused it to the log."""
        self._slates[slate.id] = slate
        self._changed_slates.add(slate.id)
        self._changed_users.add(slate.user_id)  # so that no other process uses a cached slate
        self._events.append(EventRow(None, self.now, slate.user_id, slate.id, kind, body))

    def teach(self, slate: SlateRow, rewards: dict[int, float]) -> bool:
        """Let the policy of the slate's user learn rewards by position.

        Returns False, with nothing changed, if the policy cannot learn from this slate.
        """
        policy, cached = self.policy(slate.user_id), self._cached.get(slate.user_id)
        known = None if cached is None else cached.slates.get(slate.id)
        if not teach(policy, slate, rewards, None if known is None else known[1]):
            return False
        user = self._users[slate.user_id]
        self._users[user.id] = user._replace(state=policy.state().to_bytes(), changed=self.now)
        self._changed_users.add(user.id)
        return True

    def learn_alone(self, user: str, lessons: Iterable[tuple[Slate, Sequence[float]]]) -> None:
        """Let a user's policy learn rewards of items outside lists, all of them or none."""
        policy = self.policy(user)
        try:
            for slate, rewards in lessons:
                policy.learn_relevance(slate, rewards)
        except VariegateError:
            del self._policies[user]  # it may have learnt some of them
            self._forget_cached(user)
            raise
        self._users[user] = self._users[user]._replace(
            state=policy.state().to_bytes(), changed=self.now
        )
        self._changed_users.add(user)

    def add_event(self, user: UserRow, event: EventRow) -> None:
        """Add an event that is not about a slate, and change its user."""
        self._users[user.id] = user
        self._changed_users.add(user.id)
        self._events.append(event)
        if event.request is not None:
            self._requested_events[user.id, event.request] = event

    def write(self) -> None:
        """Write all changes."""
        batch = self._batch
        for user in sorted(self._new - self._changed_users):
            batch.forget_user(user)  # all of its commands were refused
        changed = [self._users[user] for user in sorted(self._changed_users)]
        with batch.together():
            batch.add_slates(self._added)
            batch.update_slates([self._slates[slate] for slate in sorted(self._changed_slates)])
            batch.update_terms([self._slates[slate] for slate in sorted(self._changed_terms)])
            batch.add_events(self._events)
            batch.save_users([row for row in changed if self._is_more_than_shown(row)])
            batch.save_seen_items([row for row in changed if not self._is_more_than_shown(row)])
            batch.send_sums()

    def update_cache(self) -> None:
        """Cache the users as they are now; call this after the commit."""
        given: dict[str, dict[str, tuple[SlateRow, Slate]]] = {}
        for slate in self._added:
            if slate.id in self._added_features:
                features = self._added_features[slate.id]
                given.setdefault(slate.user_id, {})[slate.id] = slate, features
        changed_slates = self._changed_slates | self._changed_terms
        for user, policy in self._policies.items():
            row, before = self._users[user], self._cached.pop(user, None)
            policy.drop_estimates()  # a list is mostly followed by feedback, which changes them
            state_size = len(row.state or b"")
            if before is not None and row.state is NOT_READ:
                state_size = before.state_size
            known = {} if before is None else before.slates
            slates = given.get(user, {})
            if known:  # the oldest first
                kept = {name: one for name, one in known.items() if name not in changed_slates}
                slates = kept | slates
            version = row.version + (user in self._changed_users)
            one = CachedUser(version, policy, state_size, self._batch.user_sums(user), slates)
            self._cache.put(user, self.snapshot.revision, one)

    def counts(self) -> dict[str, float]:
        """Return how many slates, reports and users were added, and what lists earned by policy.

        Names of policies follow the name of a number: "answered lmdp".
        """
        return {
            **self._results(),
            "slates": len(self._added),
            "feedback": sum(event.kind == "feedback" for event in self._events),
            "interactions": sum(event.kind == INTERACTION for event in self._events),
            "new_users": len(self._new & self._changed_users),
        }

    def _results(self) -> dict[str, float]:
        """Return what was learnt from lists by policy: lists, positions, rewards, diversity."""
        found: defaultdict[str, float] = defaultdict(float)
        for event in self._events:
            row = self._slates.get(event.slate_id or "")
            taught = event.body.get("taught")
            if row is None or not taught:
                continue
            found[f"positions {row.policy}"] += len(taught)
            found[f"reward {row.policy}"] += sum(taught.values())
            if len(taught) == sum(row.taught):  # the first report on it
                found[f"answered {row.policy}"] += 1
                for distance, value in row.diversity.items():
                    found[f"diversity {row.policy} {distance}"] += value
        return found

    def _valid_cache(self, owners: Mapping[str, str]) -> dict[str, CachedUser]:
        """Return what is cached of the locked users, and read what is not valid any more.

        Parameters
        ----------
        owners
            The users of slates that have not been read, by the slate's id.
        """
        batch, revision = self._batch, self.snapshot.revision
        cached = {
            user: found
            for user, row in self._users.items()
            if (found := self._cache.take(row, revision)) is not None
        }
        unread = [
            user
            for user, row in self._users.items()
            if row.state is NOT_READ and user not in cached
        ]
        if unread:  # another process has changed them
            self._users |= batch.lock_users(unread)
        slates = {
            slate: cached[user].slates[slate][0] for slate, user in owners.items() if user in cached
        }
        self._slates |= slates
        self._slates |= batch.slates(sorted(owners.keys() - slates.keys()))
        sums = {user: found.sums for user, found in cached.items() if found.sums is not None}
        batch.remember(slates, sums)
        return cached

    def _forget_cached(self, user: str) -> None:
        """Use nothing more that is cached of a user."""
        self._cached.pop(user, None)
        if self._users[user].state is NOT_READ:
            state = self._batch.lock_users([user])[user].state
            self._users[user] = self._users[user]._replace(state=state)
            self._as_read[user] = self._as_read[user]._replace(state=state)

    def _lock(
        self,
        named: set[str],
        owners: set[str],
        wanted: list[str],
        requests: Sequence[tuple[str, str]],
    ) -> tuple[dict[str, UserRow], set[str], dict[str, SlateRow], Head]:
        """Return all users, created where unknown, the ids of those created, the slates, the head.

        States of cached users are not read.

        The head is read after the locks: a slate that another process gave these users just before
        may have an item that was added just before that.
        """
        batch, blanks = self._batch, dict[str, UserRow]()
        cached = self._cache.known(named | owners)
        if batch.is_exclusive:
            slates = batch.slates(wanted, requests)
            owners |= {row.user_id for row in slates.values()}
            users = batch.lock_users(named | owners, cached)
            blanks = self._create(named - users.keys())
            users |= batch.lock_users(blanks)
            head = batch.head()
        else:
            if wanted or not named <= cached:
                known, more_owners = batch.existing(named - cached, wanted)
                owners |= set(more_owners.values())
                # New users first: otherwise two batches could deadlock on each other's.
                blanks = self._create(named - cached - known)
            # With other writers, a slate may still change until its user is locked.
            users, slates, head = batch.lock(named | owners, wanted, requests, cached)
            while absent := named - users.keys():  # another process forgot them in between
                blanks |= self._create(absent)
                more, slates, head = batch.lock(absent, wanted, requests)
                users |= more
        # Another process may have created them first, and given them something.
        new = {user for user, blank in blanks.items() if users[user] == blank}
        return users, new, slates, head

    def _is_more_than_shown(self, row: UserRow) -> bool:
        """Whether more of a user changed than what a slate changes."""
        read, is_new = self._as_read[row.id], row.id in self._new
        return is_new or row.state is not read.state or row.policy != read.policy

    def _create(self, users: set[str]) -> dict[str, UserRow]:
        # The time is known once all locks are taken.
        blanks = {
            user: UserRow(user, self.experiment.assign(user), None, b"", 0, new_version(), 0.0, 0.0)
            for user in users
        }
        if blanks:
            self._batch.ensure_users(list(blanks.values()))
        return blanks


def _requested_events(
    batch: Batch, interactions: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], EventRow]:
    """Return the events with these idempotency keys by user; call it once users are locked."""
    return {
        (user, request): event
        for user, keys in interactions.items()
        for request, event in batch.requested_events(user, keys).items()
    }

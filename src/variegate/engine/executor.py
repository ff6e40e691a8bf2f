"""Execute commands: a batch is one transaction, and each command succeeds or fails by itself."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, ClassVar, Final

from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.experiment import Experiment
from variegate.engine.feedback import CloseSlate, Feedback
from variegate.engine.hidden_items import Preparation
from variegate.engine.interactions import LearnInteractions
from variegate.engine.queue import LONG_SECONDS, MAX_BATCH, CommandResult
from variegate.engine.recommend import RecommendRequest
from variegate.engine.replicas import Replica
from variegate.engine.terms import Rules
from variegate.engine.unit_of_work import Clock, UnitOfWork
from variegate.engine.user_cache import UserCache
from variegate.errors import ConflictError, DataError, InputError, NotFoundError, StateError
from variegate.store import FORGOTTEN, Batch, Head, Reader, Store

#: Errors of one command that leave the others of its batch unharmed.
_REFUSALS: Final = (InputError, DataError, NotFoundError, ConflictError, StateError)
_HOUR: Final = 3600.0
_log = logging.getLogger(__name__)
#: Called with the name of a metric and a number.
Observe = Callable[[str, float], None]


class Executor:
    """Executes batches of commands against a store.

    Parameters
    ----------
    clock
        Returns seconds since 1970 in place of the database's clock.
    observe
        Called with ``recommend``, ``learn`` and ``commit`` and seconds, and with ``batch``,
        ``slates``, ``feedback`` and ``new_users`` and counts.
    replica
        Stops this process from writing if another replica has other settings or newer tables.
    """

    def __init__(
        self,
        store: Store,
        live: LiveCatalogue,
        experiment: Experiment,
        rules: Rules,
        *,
        clock: Clock | None = None,
        observe: Observe = lambda _name, _value: None,
        replica: Replica | None = None,
    ) -> None:
        self.store, self.live, self.experiment, self.rules = store, live, experiment, rules
        self.clock, self.observe, self.replica = clock, observe, replica
        self.user_cache: Final = UserCache()
        self.preparation: Final = Preparation()
        self._minutes_dropped = 0.0
        #: Whether commands are being executed
        self.is_busy = False
        #: The count of forgotten users when the cache was last compared with the store
        self._forgotten: str | None = None

    def __call__(self, commands: Sequence[Any]) -> list[Any]:
        """Return each command's answer, or the error that refused it, after the commit."""
        self.is_busy = True
        try:
            return self._execute_all(commands)
        finally:
            self.is_busy = False

    def _execute_all(self, commands: Sequence[Any]) -> list[Any]:
        if len(commands) == 1 and getattr(commands[0], "alone", False):
            return [self._execute_alone(commands[0])]
        with self.store.batch() as batch:
            uow, outcomes = self._execute_together(batch, commands)
            written = perf_counter()
        self.observe("commit", perf_counter() - written)
        self._finish(uow)
        return outcomes

    def close_due(self) -> bool:
        """Close slates whose deadline has passed; return whether there may be more of them."""
        if self.replica is not None:
            self.replica.beat()
        with self.store.reading() as reader:
            self._drop_forgotten(reader)
            if not reader.due_slates(self.now(reader), 1):
                return False
        with self.store.batch() as batch:
            due = batch.claim_due_slates(self.now(batch), MAX_BATCH)
            if not due:  # other processes close them
                return False
            uow, outcomes = self._execute_together(batch, [CloseSlate(slate) for slate in due])
        self._finish(uow)
        closed = sum(isinstance(one, dict) and one["closed"] for one in outcomes)
        return closed == MAX_BATCH

    def now(self, reader: Reader) -> float:
        """Return the time of a transaction."""
        return reader.head().now if self.clock is None else self.clock()

    def _execute_together(
        self, batch: Batch, commands: Sequence[Any]
    ) -> tuple[UnitOfWork, list[Any]]:
        """Return the work of several commands, which is written, and each command's outcome."""
        self.observe("batch", len(commands))
        requests = [one for one in commands if isinstance(one, RecommendRequest)]
        learning = [one for one in commands if isinstance(one, LearnInteractions)]
        uow = UnitOfWork(
            batch,
            [one.user for one in requests] + [one.user for one in learning],
            [slate for one in commands if (slate := _slate_of(one)) is not None],
            [
                (one.user, one.idempotency_key)
                for one in requests
                if one.idempotency_key is not None
            ],
            live=self.live,
            experiment=self.experiment,
            rules=self.rules,
            cache=self.user_cache,
            clock=self.clock,
            check=self._check,
            interactions=_requests_by_user(learning),
        )
        outcomes = [self._execute(one, uow) for one in commands]
        uow.write()
        self._drop_old_minutes(batch, uow.now)
        return uow, outcomes

    def _finish(self, uow: UnitOfWork) -> None:
        """Cache and count what was committed."""
        _run_after_commit(uow.update_cache)
        for name, number in uow.counts().items():
            self.observe(name, number)

    def _drop_forgotten(self, reader: Reader) -> None:
        """Drop the users from the cache whom another process has forgotten."""
        forgotten = reader.meta(FORGOTTEN)
        if forgotten != self._forgotten:
            for user in set(self.user_cache) - reader.existing_users(self.user_cache):
                self.user_cache.drop(user)
            self._forgotten = forgotten

    def _drop_old_minutes(self, batch: Batch, now: float) -> None:
        """Drop old sums per minute, once an hour."""
        if now - self._minutes_dropped > _HOUR:
            batch.delete_old_sums(now)
            self._minutes_dropped = now

    def _check(self, head: Head) -> None:
        if self.replica is not None:
            self.replica.check(head)

    def _execute(self, command: Any, uow: UnitOfWork) -> Any:
        start = perf_counter()
        try:
            return command.apply(uow)
        except _REFUSALS as error:
            return error
        finally:
            kind = "recommend" if isinstance(command, RecommendRequest) else "learn"
            self.observe(kind, perf_counter() - start)

    def _execute_alone(self, command: Any) -> Any:
        """Execute a command that has a transaction of its own; if refused, it is rolled back."""
        self.observe("batch", 1)
        try:
            # One statement of an import may write all data of a user.
            timeout = LONG_SECONDS / 4 if getattr(command, "long", False) else None
            durable = getattr(command, "durable", True)
            with self.store.batch(timeout=timeout, durable=durable) as batch:
                self._check(batch.head())
                result: CommandResult = command.apply_alone(batch, self)
                written = perf_counter()
        except _REFUSALS as error:
            return error
        self.observe("commit", perf_counter() - written)
        _run_after_commit(result.after_commit)
        return result.answer


@dataclass(frozen=True, slots=True)
class ForgetUser:
    """Delete a user with all slates and feedback."""

    user: str
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Executor) -> CommandResult:
        """Delete the user, or raise NotFoundError."""
        if not batch.forget_user(self.user):
            raise NotFoundError(f"no user {self.user!r}")
        batch.count_forgotten()
        answer = {"user": self.user, "forgotten": True}
        return CommandResult(answer, partial(executor.user_cache.drop, self.user))


def _slate_of(command: Any) -> str | None:
    """Return the id of the stored slate that a command needs, if there is one."""
    if isinstance(command, (Feedback, CloseSlate)):
        return command.slate
    return command.instead_of if isinstance(command, RecommendRequest) else None


def _requests_by_user(commands: Sequence[LearnInteractions]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in commands:
        found.setdefault(one.user, []).extend(one.requests)
    return found


def _run_after_commit(update: Callable[[], object]) -> None:
    """Update a cache. If that fails, the change is committed all the same, so nothing is raised."""
    try:
        update()
    except Exception:
        _log.exception("a cache could not be updated after a commit; the store is read again")

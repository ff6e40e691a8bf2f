"""Doing operations in one transaction: each for itself, all of them kept together."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, ClassVar, Final

from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.experiment import Experiment, PolicyCache
from variegate.engine.feedback import CloseSlate, Feedback
from variegate.engine.queue import LONG_SECONDS, Done
from variegate.engine.recommend import RecommendRequest
from variegate.engine.replicas import Replica
from variegate.engine.terms import Rules
from variegate.engine.unit_of_work import Clock, UnitOfWork
from variegate.errors import ConflictError, DataError, InputError, NotFoundError, StateError
from variegate.store import Batch, Head, Reader, Store

#: What an operation can be refused for without harm to the others of its batch.
REFUSALS: Final = (InputError, DataError, NotFoundError, ConflictError, StateError)
HOUR: Final = 3600.0
_log = logging.getLogger(__name__)
#: Called with the name of a kind of work and the seconds, or the number, that it took.
Observe = Callable[[str, float], None]


def _slate_of(operation: Any) -> str | None:
    """Return the slate that an operation needs to know, if there is one."""
    if isinstance(operation, (Feedback, CloseSlate)):
        return operation.slate
    return operation.instead_of if isinstance(operation, RecommendRequest) else None


class Executor:
    """Does batches of operations against a store.

    Parameters
    ----------
    clock
        Gives seconds since 1970 in place of the database's clock.
    replica
        Keeps this process from writing where others have other settings or other tables.
    observe
        Is told ``recommend`` and ``learn`` with seconds, and with numbers ``batch`` and what came
        of it: ``slates``, ``feedback``, ``new_users``.
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
        self._clock, self._observe, self._replica = clock, observe, replica
        self.kept = PolicyCache()
        self._dropped_minutes = 0.0

    def __call__(self, operations: Sequence[Any]) -> list[Any]:
        """Return each operation's answer, or the error it was refused with, once all is kept."""
        self._observe("batch", len(operations))
        if len(operations) == 1 and getattr(operations[0], "alone", False):
            return [self._alone(operations[0])]
        with self.store.batch() as batch:
            uow = UnitOfWork(
                batch,
                [one.user for one in operations if isinstance(one, RecommendRequest)],
                [slate for one in operations if (slate := _slate_of(one)) is not None],
                [
                    (one.user, one.idempotency_key)
                    for one in operations
                    if isinstance(one, RecommendRequest) and one.idempotency_key is not None
                ],
                live=self.live,
                experiment=self.experiment,
                rules=self.rules,
                kept=self.kept,
                clock=self._clock,
                check=self._check,
            )
            outcomes = [self._attempt(one, uow) for one in operations]
            uow.write()
            self._drop_old_minutes(batch, uow.now)
        _run_after_commit(uow.remember)
        for name, number in uow.counts().items():
            self._observe(name, number)
        return outcomes

    def close_due(self, most: int) -> int:
        """Close up to `most` slates whose waiting is over; return how many that were."""
        if self._replica is not None:
            self._replica.beat()
        with self.store.reading() as reader:
            due = reader.due(self.now(reader), most)
        outcomes = self([CloseSlate(slate) for slate, _user in due]) if due else []
        return sum(isinstance(one, dict) and one["closed"] for one in outcomes)

    def _drop_old_minutes(self, batch: Batch, now: float) -> None:
        """Let the running sums of single minutes not grow for ever: once an hour is enough."""
        if now - self._dropped_minutes > HOUR:
            batch.drop_old_minutes(now)
            self._dropped_minutes = now

    def now(self, reader: Reader) -> float:
        """Return the time of a transaction."""
        return reader.head().now if self._clock is None else self._clock()

    def _check(self, head: Head) -> None:
        if self._replica is not None:
            self._replica.check(head)

    def _attempt(self, operation: Any, uow: UnitOfWork) -> Any:
        start = perf_counter()
        try:
            return operation.apply(uow)
        except REFUSALS as error:
            return error
        finally:
            kind = "recommend" if isinstance(operation, RecommendRequest) else "learn"
            self._observe(kind, perf_counter() - start)

    def _alone(self, operation: Any) -> Any:
        """Do an operation that has the transaction to itself; refused, it leaves nothing."""
        try:
            # A statement of an import may write all that a user has.
            timeout = LONG_SECONDS / 4 if getattr(operation, "long", False) else None
            with self.store.batch(timeout=timeout) as batch:
                self._check(batch.head())
                done: Done = operation.apply_alone(batch, self)
        except REFUSALS as error:
            return error
        _run_after_commit(done.then)
        return done.answer


def _run_after_commit(work: Callable[[], object]) -> None:
    """Do what only saves work later: its failure must not make what is kept look undone."""
    try:
        work()
    except Exception:
        _log.exception("a cache could not be updated after a commit; the store is read again")


@dataclass(frozen=True, slots=True)
class ForgetUser:
    """Delete a user, all lists given and all feedback taken."""

    user: str
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> Done:
        """Delete everything, or raise NotFoundError."""
        if not batch.forget_user(self.user):
            raise NotFoundError(f"no user {self.user!r}")
        answer = {"user": self.user, "forgotten": True}
        return Done(answer, partial(executor.kept.drop, self.user))

"""What waits is done together: in one transaction, each for itself, whichever thread does it."""

import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from variegate.errors import StoreError

#: Operations in one transaction, at most.
MOST: Final = 64
#: Operations that may wait; more would be answered too late anyway.
LONGEST_QUEUE: Final = 5000
#: Seconds between two looks at what time itself brings about.
TICK: Final = 1.0

_log = logging.getLogger(__name__)
_W = TypeVar("_W")


class Operation(Protocol):
    """Something to do in a transaction."""


#: Each operation's answer, or the error it is answered with
Outcome: TypeAlias = Any


class Waiting(NamedTuple, Generic[_W]):
    """An operation, since when it waits (`time.monotonic`), and who waits for the answer."""

    operation: Operation
    since: float
    whose: _W


class Batches:
    """Does operations that wait, and what time brings about; nothing is raised.

    Parameters
    ----------
    settle
        Does operations in one transaction; returns an outcome for each, an error where one was
        refused. If it raises, none was done.
    tick
        Is called every second or so; returns whether there is more to do, which is then done in
        turns with what comes.
    patience
        Seconds after which an operation that still waits is not begun any more.
    """

    def __init__(
        self,
        settle: Callable[[Sequence[Any]], Sequence[Outcome]],
        tick: Callable[[], bool],
        *,
        patience: float,
    ) -> None:
        self._settle, self._tick, self._patience = settle, tick, patience
        self._ticked, self._more = monotonic(), False

    @property
    def pause(self) -> float:
        """The seconds that may be waited for operations before `end_round` is due."""
        return 0.0 if self._more else TICK

    def done(self, batch: Sequence[Waiting[_W]]) -> list[tuple[_W, Outcome]]:
        """Return the outcome of each operation, with who waits for it."""
        now = monotonic()
        outcomes: dict[int, Outcome] = {}
        begun = [one for one in batch if now - one.since <= self._patience]
        for group in _groups(begun):
            for one, outcome in zip(group, self._settled(group), strict=True):
                outcomes[id(one)] = outcome
        late = StoreError("the service is too busy: try again in a moment")
        return [(one.whose, outcomes.get(id(one), late)) for one in batch]

    def end_round(self) -> None:
        """Do what time brings about, where that is due."""
        if self._more or monotonic() - self._ticked > TICK:
            self._more = self._tick_safely()
            self._ticked = monotonic()

    def _settled(self, group: list[Waiting[_W]]) -> Sequence[Outcome]:
        operations = [one.operation for one in group]
        try:
            return self._settle(operations)
        except StoreError as error:
            return [error] * len(group)
        except Exception as error:  # a fault of ours: it must not cost the others their answers
            if len(group) == 1:
                return [error]
            _log.exception("a batch of %d failed: each is tried alone", len(group))
            return [self._settled([one])[0] for one in group]

    def _tick_safely(self) -> bool:
        try:
            return self._tick()
        except StoreError as error:
            _log.warning("the store is away: %s", error)
        except Exception:
            _log.exception("what time brings about failed; it is tried again")
        return False


def _groups(batch: Sequence[Waiting[_W]]) -> list[list[Waiting[_W]]]:
    """Return the operations in order, those that must be alone in groups of their own."""
    groups: list[list[Waiting[_W]]] = []
    together = False
    for one in batch:
        alone = getattr(one.operation, "alone", False)
        if together and not alone:
            groups[-1].append(one)
        else:
            groups.append([one])
        together = not alone
    return groups

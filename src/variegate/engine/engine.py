"""All that the service can do, told without HTTP."""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from variegate.engine.catalogue import (
    CatalogueSnapshot,
    LiveCatalogue,
    item_values,
    plain_attributes,
)
from variegate.engine.executor import Executor, ForgetUser, Observe
from variegate.engine.experiment import Experiment
from variegate.engine.export import export_lines
from variegate.engine.export_schema import ImportFile
from variegate.engine.feedback import Feedback, check_rewards
from variegate.engine.import_commands import ImportUsers
from variegate.engine.import_plan import Pauses, plan_import, unfinished
from variegate.engine.items import RetireItem, UpsertItems
from variegate.engine.priors import Priors
from variegate.engine.queries import comparison, find_user, slate_view, titles_of, user_view
from variegate.engine.queue import BatchLoop, CommandQueue, EngineThread, Worker
from variegate.engine.recommend import RecommendRequest
from variegate.engine.replicas import Replica
from variegate.engine.terms import Rules
from variegate.engine.unit_of_work import Clock
from variegate.errors import NotFoundError, VariegateError
from variegate.model.catalogue import Catalogue
from variegate.store import Reader, Store

Answer = dict[str, Any]
_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class Engine:
    """Gives lists, takes feedback and answers questions, over one catalogue and one store.

    What changes something is awaited and done by the engine, in a thread of its own or in another
    process; what only reads is a plain method, which blocks: call it from a thread.

    Parameters
    ----------
    catalogue
        The items as their file has them.
    timeout
        Seconds after which what still waits is answered with an error.
    clock
        Gives seconds since 1970 in place of the database's clock.
    observe
        Is told how long the work itself took; see `Executor`.
    replica
        The process as one of those that share the store.
    worker
        Does what changes something, in place of a thread; it is started elsewhere.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        store: Store,
        experiment: Experiment,
        rules: Rules,
        *,
        timeout: float = 10.0,
        clock: Clock | None = None,
        observe: Observe = lambda _name, _value: None,
        replica: Replica | None = None,
        worker: Worker | None = None,
    ) -> None:
        self.live: Final = LiveCatalogue(catalogue)
        self.experiment, self.rules, self.store = experiment, rules, store
        with store.batch() as batch:
            self.live.bind(batch)
            snapshot = self.live.as_of(batch)
        for name in experiment.names:  # a policy that does not fit is found here, not later
            experiment.as_of(snapshot).new_policy(name, snapshot.catalogue)
        if replica is not None:
            replica.log_changes(experiment, snapshot.catalogue)
        self._replica = replica
        self._executor: Final = Executor(
            store, self.live, experiment, rules, clock=clock, observe=observe, replica=replica
        )
        self.priors: Final = Priors(store, self.live, experiment, rules, clock=clock)
        self._thread: EngineThread | None = None
        if worker is None:
            loop = BatchLoop(self._executor, self._executor.close_due, timeout=timeout)
            worker = self._thread = EngineThread(loop)
        self._queue: Final = CommandQueue(
            worker, timeout=timeout, count_error=lambda kind: observe(f"store_error {kind}", 1)
        )
        self._importing: Final = asyncio.Lock()

    @property
    def waiting(self) -> int:
        """How many commands were given and are not answered yet."""
        return len(self._queue)

    def check(self) -> None:
        """Raise StoreError where the engine does not answer, or must not write any more."""
        self._queue.check()
        if self._replica is not None:
            self._replica.check_now()

    def start(self) -> None:
        """Begin to answer."""
        if self._thread is not None:
            self._thread.start()
        self.priors.start()

    def stop(self) -> None:
        """Answer what waits, and end."""
        self.priors.stop()
        if self._thread is not None:
            self._thread.stop()

    async def recommend(self, request: RecommendRequest) -> Answer:
        """Give a user a list."""
        return await self._done(request)

    async def feedback(self, report: Feedback) -> Answer:
        """Learn what a user made of a list."""
        check_rewards(report.rewards)
        return await self._done(report)

    async def forget(self, user: str) -> Answer:
        """Delete all that is known of a user."""
        return await self._done(ForgetUser(user))

    async def upsert_items(self, items: Sequence[Mapping[str, Any]]) -> Answer:
        """Add or change items."""
        return await self._done(UpsertItems(items))

    async def retire_item(self, item: str) -> Answer:
        """Take an item off the shelf."""
        return await self._done(RetireItem(item))

    async def import_file(self, path: str, *, replace: bool = False) -> Answer:
        """Take in the lines of a file that `export_lines` gave; see `import_plan`."""
        file = ImportFile(path)
        async with self._importing:  # one at a time: each takes memory
            known = file, self.store, self.live, self.experiment
            check = partial(plan_import, *known, replace=replace, rest=Pauses())
            plan = await asyncio.to_thread(check)
            done = 0
            for piece in plan.pieces(replace=replace):
                try:
                    await self._done(piece)
                except VariegateError as error:
                    raise unfinished(error, done) from None
                done += len(piece.entries) if isinstance(piece, ImportUsers) else 0
        return {"imported": len(plan.users), "items": plan.items_and_priors}

    def close_due(self) -> None:
        """Close the lists whose waiting is over."""
        while self._executor.close_due():
            pass

    def user(self, user: str) -> Answer:
        """Return what was learnt of a user."""
        with self.store.reading() as reader:
            return user_view(reader, user, self.live, self.experiment)

    def history(self, user: str, limit: int, before: str | None) -> Answer:
        """Return a user's last lists, the newest first."""
        with self.store.reading() as reader:
            catalogue = self.live.as_of(reader).catalogue
            find_user(reader, user)
            rows = reader.history(user, limit + 1, before)
        is_more, rows = len(rows) > limit, rows[:limit]
        titles = titles_of(catalogue, rows)
        return {
            "user": user,
            "slates": [slate_view(row, titles) for row in rows],
            "next": rows[-1].id if is_more else None,
        }

    def items(self, search: str, limit: int, after: int) -> Answer:
        """Return items whose title or id has `search` in it, from the row `after` on."""
        snapshot, wanted = self.snapshot(), search.casefold()
        catalogue = snapshot.catalogue
        found = []
        for row in range(after, len(catalogue)):
            if (
                wanted in catalogue.titles[row].casefold()
                or wanted in catalogue.ids[row].casefold()
            ):
                found.append(row)
                if len(found) > limit:
                    break
        more = found.pop() if len(found) > limit else None
        return {
            "items": [_short(snapshot, row) for row in found],
            "total": len(catalogue),
            "next": more,
        }

    def item(self, item: str) -> Answer:
        """Return all that is known of an item."""
        snapshot = self.snapshot()
        row = snapshot.row_of(item)
        if row is None:
            raise NotFoundError(f"no item {item!r}")
        return {**_short(snapshot, row), **item_values(snapshot.catalogue, row)}

    def comparison(self) -> Answer:
        """Return the policies side by side."""
        with self.store.reading() as reader:
            return comparison(reader, self.experiment)

    def counts(self) -> dict[str, int]:
        """Return how much there is of everything."""
        with self.store.reading() as reader:
            return reader.counts()

    def export_lines(self) -> Iterator[bytes]:
        """Give all that was learnt and changed as lines of JSON: a backup."""
        return export_lines(self.store, self.live, self._executor.now)

    def catalogue(self) -> Answer:
        """Return what items are described by."""
        snapshot = self.snapshot()
        catalogue = snapshot.catalogue
        return {
            "items": int(snapshot.active.sum()),
            "features": list(catalogue.feature_names),
            "distances": [h.name for h in catalogue.distances],
            "attributes": list(catalogue.attributes),
            "policies": dict(self.experiment.specs),
            "k": self.rules.k,
        }

    def snapshot(self) -> CatalogueSnapshot:
        """Return the items as they are now."""
        with self.store.reading() as reader:
            return self.live.as_of(reader)

    def now(self, reader: Reader) -> float:
        """Return the time of a transaction."""
        return self._executor.now(reader)

    async def _done(self, operation: Any) -> Answer:
        answer: Answer = await self._queue.submit(operation)
        return answer


def _short(snapshot: CatalogueSnapshot, row: int) -> Answer:
    return {
        "id": snapshot.catalogue.ids[row],
        "title": snapshot.catalogue.titles[row],
        "attributes": plain_attributes(snapshot.catalogue, row),
        "retired": not bool(snapshot.active[row]),
    }

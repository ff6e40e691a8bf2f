"""The engine: commands in, answers out. Everything the service can do, without HTTP."""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from variegate.engine.background import Throttle
from variegate.engine.bulk_items import ItemImport
from variegate.engine.catalogue import CatalogueSnapshot
from variegate.engine.executor import Executor, ForgetUser
from variegate.engine.export import export_lines
from variegate.engine.export_schema import ImportFile
from variegate.engine.feedback import Feedback, check_rewards
from variegate.engine.hidden_items import Follower, show_hidden_items
from variegate.engine.import_commands import ImportUsers
from variegate.engine.import_plan import incomplete_import, plan_import
from variegate.engine.interactions import Interaction, LearnInteractions, check_interaction
from variegate.engine.item_lines import CsvColumns, CsvLines, JsonLines
from variegate.engine.items import RetireItem, UpsertItems
from variegate.engine.priors import Priors
from variegate.engine.queries import (
    Answer,
    catalogue_view,
    find_items,
    history_view,
    item_view,
    policy_report,
    user_view,
)
from variegate.engine.queue import BatchLoop, CommandQueue, EngineThread, Worker
from variegate.engine.recommend import RecommendRequest, check_request
from variegate.engine.tracing import BatchTracer
from variegate.errors import VariegateError
from variegate.store import Reader

_log = logging.getLogger(__name__)


class Engine:
    """Recommends, learns and answers queries, over one catalogue and one store.

    Methods that change something are coroutines: a thread or another process executes them.
    Methods that only read are plain and block: call them from a thread.

    Parameters
    ----------
    executor
        Executes the commands, in a thread.
    timeout
        Seconds after which a command that still waits is answered with an error.
    worker
        Executes the commands in place of that thread; it is started elsewhere.
    tracer
        Makes spans of what that thread executes.
    """

    def __init__(
        self,
        executor: Executor,
        *,
        timeout: float = 10.0,
        worker: Worker | None = None,
        tracer: BatchTracer | None = None,
    ) -> None:
        self._executor: Final = executor
        self.live, self.experiment, self.rules = executor.live, executor.experiment, executor.rules
        self.store, self._replica = executor.store, executor.replica
        snapshot = self.snapshot()
        for name in self.experiment.names:  # fail now, not later, if a policy does not fit
            policy = self.experiment.as_of(snapshot).new_policy(name, snapshot.catalogue)
            if snapshot.catalogue.is_open:
                policy.check_takes_scores()
        if self._replica is not None:
            self._replica.log_changes(self.experiment, snapshot.catalogue)
        self.priors: Final = Priors(
            self.store, self.live, self.experiment, self.rules, clock=executor.clock
        )
        self._thread: EngineThread | None = None
        if worker is None:
            loop = BatchLoop(executor, executor.close_due, timeout=timeout, tracer=tracer)
            worker = self._thread = EngineThread(loop)
        self._queue: Final = CommandQueue(
            worker,
            timeout=timeout,
            count_error=lambda kind: executor.observe(f"store_error {kind}", 1),
        )
        self._importing: Final = asyncio.Lock()
        self._follower: Final = Follower(self.store, self.live, self._execute)

    @property
    def waiting(self) -> int:
        """How many commands are not answered yet."""
        return len(self._queue)

    def check(self) -> None:
        """Raise StoreError if the engine does not answer, or must not write any more."""
        self.check_worker()
        if self._replica is not None:
            self._replica.check_now()

    def check_worker(self) -> None:
        """Raise StoreError if what executes commands does not answer."""
        self._queue.check()

    def start(self) -> None:
        """Start to execute commands."""
        if self._thread is not None:
            self._thread.start()
        self.priors.start()

    def stop(self) -> None:
        """Execute the commands that wait, and stop."""
        self.priors.stop()
        if self._thread is not None:
            self._thread.stop()

    async def follow_items(self) -> None:
        """Prepare the items that other replicas import, until cancelled."""
        await self._follower.run()

    async def recommend(self, request: RecommendRequest) -> Answer:
        """Recommend a slate to a user."""
        return await self._execute(request)

    def check_request(self, request: RecommendRequest, problems: Iterable[str] = ()) -> None:
        """Raise InputError with all that is wrong with a request, whoever the user is.

        `problems` are those that are known.
        """
        check_request(self.snapshot(), self.rules, request, problems)

    async def feedback(self, report: Feedback) -> Answer:
        """Learn from a user's feedback on a slate."""
        check_rewards(report.rewards)
        return await self._execute(report)

    async def learn(self, user: str, interaction: Interaction) -> Answer:
        """Learn from what a user did outside lists."""
        check_interaction(interaction)
        answer = await self._execute(LearnInteractions(user, (interaction,)))
        return {"user": user, "learnt": answer["learnt"]}

    async def forget(self, user: str) -> Answer:
        """Delete all data of a user."""
        return await self._execute(ForgetUser(user))

    async def upsert_items(
        self, items: Sequence[Mapping[str, Any]], *, patch: bool = False
    ) -> Answer:
        """Add or change items; with `patch`, change known ones only."""
        await self._show_hidden_items()
        return await self._execute(UpsertItems(items, patch))

    def item_import(self, path: str, csv: CsvColumns | None = None) -> ItemImport:
        """Return the import of the items in a file, lines of JSON or CSV.

        Raises InputError for a file without the columns that it must have.
        """
        lines = JsonLines(path) if csv is None else CsvLines(path, csv, self.snapshot().catalogue)
        turn = self._importing  # one import at a time: the pieces of others would be prepared again
        return ItemImport(lines, self.store, self.live, self.experiment, self._execute, turn)

    async def retire_item(self, item: str) -> Answer:
        """Stop recommending an item."""
        await self._show_hidden_items()
        return await self._execute(RetireItem(item))

    async def import_file(self, path: str, *, replace: bool = False) -> Answer:
        """Import the lines of a file that `export_lines` wrote; see `import_plan`."""
        file = ImportFile(path)
        async with self._importing:  # one import at a time: each takes memory
            target = file, self.store, self.live, self.experiment
            check = partial(plan_import, *target, replace=replace, pause=Throttle())
            plan = await asyncio.to_thread(check)
            done = 0
            for command in plan.commands():
                try:
                    await self._execute(command)
                except VariegateError as error:
                    raise incomplete_import(error, done) from None
                done += len(command.entries) if isinstance(command, ImportUsers) else 0
        return {"imported": len(plan.users), "items": plan.items_and_priors}

    def close_due(self) -> None:
        """Close the slates whose deadline has passed."""
        while self._executor.close_due():
            pass

    def user(self, user: str) -> Answer:
        """Return what was learnt of a user."""
        with self.store.reading() as reader:
            return user_view(reader, user, self.live.as_of(reader), self.experiment)

    def history(self, user: str, limit: int, before: str | None) -> Answer:
        """Return a user's latest slates, the newest first."""
        with self.store.reading() as reader:
            snapshot = self.live.as_of(reader)
            return history_view(reader, user, snapshot, limit=limit, before=before)

    def items(
        self, search: str, limit: int, after: int, where: Mapping[str, Any] | None = None
    ) -> Answer:
        """Return items that meet a condition and contain a text, from the row `after` on."""
        return find_items(self.snapshot(), search, limit=limit, after=after, where=where)

    def item(self, item: str) -> Answer:
        """Return an item with all its data."""
        return item_view(self.snapshot(), item)

    def catalogue(self) -> Answer:
        """Return what describes the items, and how they are recommended."""
        policies = {"policies": dict(self.experiment.specs), "k": self.rules.k}
        return catalogue_view(self.snapshot()) | policies

    def report(self) -> Answer:
        """Return the A/B report: rewards and diversity by policy."""
        with self.store.reading() as reader:
            return policy_report(reader, self.experiment)

    def counts(self) -> dict[str, int]:
        """Return the numbers of users, slates and events."""
        with self.store.reading() as reader:
            return reader.counts()

    def export_lines(self) -> Iterator[bytes]:
        """Yield all data as lines of JSON: a backup."""
        return export_lines(self.store, self.live, self._executor.now)

    def snapshot(self) -> CatalogueSnapshot:
        """Return the items as they are now."""
        with self.store.reading() as reader:
            return self.live.as_of(reader)

    def now(self, reader: Reader) -> float:
        """Return the time of a transaction."""
        return self._executor.now(reader)

    async def _show_hidden_items(self) -> None:
        """Show what a running import has written so far, before another change does.

        That change would show it too, and lists would wait until all of it is built.
        """
        if self._follower.hidden:
            await show_hidden_items(self.store, self.live, self._execute)

    async def _execute(self, command: Any) -> Answer:
        answer: Answer = await self._queue.submit(command)
        return answer

"""`python -m tools.loadtest.profile`: on what the engine spends its time, by part.

It executes lists and feedback of the load test in this process, in batches, without HTTP. The
functions in which the parts begin note the CPU time when they are called and when they return.
"""

import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from itertools import islice
from time import thread_time
from typing import Any, Final

import click

import variegate.engine.process as messages
from tools.loadtest.run import LIKED
from variegate.cli.output import PlainErrors
from variegate.engine.executor import Executor
from variegate.engine.factory import create_executor, load_catalogue, open_store, warm_policies
from variegate.engine.feedback import Feedback
from variegate.engine.queue import MAX_BATCH
from variegate.engine.recommend import RecommendRequest
from variegate.engine.settings import Settings
from variegate.engine.unit_of_work import UnitOfWork
from variegate.model.ridge import Ridge
from variegate.policies import LMDH, Policy
from variegate.store import Batch
from variegate.store.database import Database, Transaction
from variegate.store.sums import RunningSums

USERS: Final = 2000
#: Commands in a batch: of 64 clients, about half wait for the engine
BATCH: Final = MAX_BATCH // 2
#: Batches before the measurement, and in it
WARM_UP, BATCHES = 500, 500

#: What the engine does outside the other parts
REST: Final = "commands and answers"
#: What makes the commands here, and is not of the engine
CLIENTS: Final = "clients"

#: The functions in which a part begins; it lasts until they return or another part begins
PARTS: Final[dict[str, list[tuple[Any, tuple[str, ...]]]]] = {
    "choosing lists, compiled": [(LMDH, ("_compiled_list",))],
    "least squares, compiled": [(Ridge, ("estimate", "learn"))],
    "policies: the rest of lists and learning": [(Policy, ("recommend", "update", "state"))],
    "users: reading and caching": [(UnitOfWork, ("__init__", "policy", "update_cache"))],
    "packing rows and sums": [
        (Batch, ("add_slates", "update_slates", "add_events", "save_users", "save_seen_items")),
        (RunningSums, ("send", "write")),
    ],
    "database: statements": [
        (Transaction, ("rows", "rows_of", "send", "change", "_run_each")),
    ],
    "database: begin and commit": [(Database, ("_connection", "_commit"))],
    "messages to and from HTTP": [
        (messages, ("encode_frame",)),
        (messages.FrameDecoder, ("feed",)),
    ],
    REST: [(Executor, ("__call__",))],
}


class Stopwatch:
    """Adds up CPU time of this thread by part."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys([*PARTS, CLIENTS], 0.0)
        self._parts, self._since = [CLIENTS], thread_time()

    def enter(self, part: str) -> None:
        """Let a part begin; the one before it goes on when it ends."""
        self._note()
        self._parts.append(part)

    def leave(self) -> None:
        """End the part that began last."""
        self._note()
        self._parts.pop()

    def _note(self) -> None:
        now = thread_time()
        self.seconds[self._parts[-1]] += now - self._since
        self._since = now

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is timed as a part."""

        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            self.enter(part)
            try:
                return function(*args, **options)
            finally:
                self.leave()

        return call


@contextmanager
def timed_parts() -> Iterator[dict[str, float]]:
    """Give the seconds that the block spends by part, complete at its end."""
    watch, before = Stopwatch(), list[tuple[Any, str, Any]]()
    try:
        for part, places in PARTS.items():
            for owner, names in places:
                for name in names:
                    before.append((owner, name, vars(owner)[name]))
                    setattr(owner, name, watch.timed(part, getattr(owner, name)))
        yield watch.seconds
        watch.leave()
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


def microseconds(
    url: str | None = None, *, warm_up: int = WARM_UP, batches: int = BATCHES
) -> dict[str, float]:
    """Return the CPU time of the engine per list or report, by part.

    Parameters
    ----------
    url
        An empty store; by default a new SQLite file.
    warm_up, batches
        Batches before the measurement, and in it.
    """
    with ExitStack() as opened:
        if url is None:
            folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="variegate-profile-"))
            url = f"sqlite:///{folder}/profile.db"
        settings = Settings(store=url)
        store = opened.enter_context(open_store(settings, _ignore))
        catalogue = load_catalogue(settings)
        warm_policies(settings, catalogue)
        turns = _turns(create_executor(settings, catalogue, store, _ignore))
        messages.freeze_startup_objects()
        next(islice(turns, warm_up, warm_up), None)
        with timed_parts() as spent:
            next(islice(turns, batches, batches), None)
    return {part: 1e6 * spent[part] / (batches * BATCH) for part in PARTS}


def _turns(executor: Executor) -> Iterator[None]:
    """Execute a batch in each turn: half of the commands are lists, and half feedback on them."""
    rng, waiting = random.Random(0), list[dict[str, Any]]()  # noqa: S311 - nobody's secret
    received, answered = messages.FrameDecoder(), messages.FrameDecoder()
    while True:
        reports, waiting = waiting[: BATCH // 2], waiting[BATCH // 2 :]
        commands: list[Any] = [_report(one, rng) for one in reports]
        commands += [
            RecommendRequest(f"load {rng.randrange(USERS)}") for _ in range(BATCH - len(commands))
        ]
        # As between the processes: one message for each command, and one for all answers.
        sent = [_passed(one, received) for one in commands]
        answers = _passed(executor(sent), answered)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        waiting += [answer for answer in answers if "items" in answer]
        yield


def _passed(message: Any, decoder: messages.FrameDecoder) -> Any:
    (received,) = decoder.feed(messages.encode_frame(message))
    return received


def _report(slate: dict[str, Any], rng: random.Random) -> Feedback:
    liked = {item["id"]: 1.0 for item in slate["items"] if rng.random() < LIKED}
    return Feedback(slate["slate_id"], liked)


def _ignore(_name: str, _value: float) -> None:
    return


def table(columns: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the rows of a table: microseconds and shares by part, a pair of columns per store."""
    yield f"| part | {' | '.join(f'{store} | share' for store in columns)} |"
    yield f"|---|{'---|---|' * len(columns)}"
    totals = {store: sum(parts.values()) for store, parts in columns.items()}
    for part in PARTS:
        values = [(parts[part], parts[part] / totals[store]) for store, parts in columns.items()]
        yield f"| {part} | {' | '.join(f'{us:.0f} | {share:.0%}' for us, share in values)} |"
    yield f"| all | {' | '.join(f'{total:.0f} | 100%' for total in totals.values())} |"


@click.command(cls=PlainErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--store", metavar="URL", help="An empty store.  [default: a new SQLite file]")
def main(store: str | None) -> None:
    """Measure on what the engine spends its CPU time, by part, in microseconds per request."""
    for line in table({"µs": microseconds(store)}):
        click.echo(line)


if __name__ == "__main__":
    main()

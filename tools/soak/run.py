"""Kill after kill: load, SIGKILL, a new start on the same store, and a look at what it has."""

import asyncio
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from tools.soak.audit import Audit, Notebook, audited
from tools.soak.clients import crowd_of, loaded
from tools.soak.process import Process, started
from tools.soak.results import Kill, Plan, Soak
from variegate.engine import LiveCatalogue
from variegate.engine.factory import create_experiment, load_catalogue
from variegate.engine.settings import Settings
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.store import Store

#: Two kinds of policies, for their states are of two kinds.
_POLICIES: Final = {"lmdp": "lmdp", "c2ucb": "c2ucb"}
_ITEMS: Final = 60
#: Reports that are answered before the seconds of load begin, and seconds to wait for them.
MIN_REPORTS: Final = 6
MAX_WAIT: Final = 60.0


class _Ending(NamedTuple):
    load: float
    under_way: int


def soaked(url: str, plan: Plan, tell: Callable[[Kill], None] = lambda _kill: None) -> Soak:
    """Kill a service on the empty store at `url` as the plan says, and say what it kept.

    It ends with the first kill after which anything is wrong.
    """
    check_empty(url)
    with tempfile.TemporaryDirectory(prefix="variegate-soak-") as folder:
        settings = settings_of(
            url, Path(folder), workers=plan.workers, engine_process=plan.engine_process
        )
        soak, look = Soak(), Looking(settings)
        ending: _Ending | None = None
        for number in range(plan.kills + 1):
            with started(settings, folder) as process:
                if ending is not None:
                    kill = _kill(number, ending, process.seconds, soak, look)
                    tell(kill)
                if soak.wrong:
                    break
                if number < plan.kills:
                    ending = _killed_under_load(process, soak, plan, number)
                else:
                    _stopped_under_load(process, soak, plan, number)
        soak.last = look(soak.notebook)
        soak.wrong = [*soak.notebook.problems, *soak.last.facts]
    return soak


def settings_of(
    url: str, folder: Path, *, workers: int = 1, engine_process: bool | None = None
) -> Settings:
    """Return settings for a service over few items, which are put into `folder`."""
    rng = np.random.default_rng(0)
    features = rng.uniform(-1.0, 1.0, (_ITEMS, 4))
    path = folder / "items.npz"
    Catalogue(range(_ITEMS), features, ["cosine", "euclidean"]).save(path)
    return Settings(
        catalogue=str(path),
        store=url,
        port=0,
        workers=workers,
        engine_process=engine_process,
        k=5,
        policies=_POLICIES,
        log_level="error",
    )


class Looking:
    """Audits a service's store, without the service."""

    def __init__(self, settings: Settings) -> None:
        self._url, self._experiment = settings.store, create_experiment(settings)
        self._catalogue = load_catalogue(settings)

    def __call__(self, notebook: Notebook) -> Audit:
        """Compare the store with what clients received."""
        # Not left open: after a kill the next service must find its way by itself, and a file
        # that somebody else has open would be found in order.
        with Store.open(self._url, create=False) as store:
            live = LiveCatalogue.open(self._catalogue, store)
            return audited(store, notebook, live, self._experiment)


def check_empty(url: str) -> None:
    """Make the store at `url` if there is none; raise InputError if somebody uses it."""
    with Store.open(url) as store, store.reading() as reader:
        users = reader.counts()["users"]
    if users:
        raise InputError(f"`store` must be an empty one, got one with {users} users")


def _kill(number: int, ending: _Ending, back: float, soak: Soak, look: Looking) -> Kill:
    book = soak.notebook
    counts = len(book.slates), len(book.acknowledged)
    kill = Kill(number, *ending, back, *counts, look(book))
    soak.kills.append(kill)
    soak.wrong = [*book.problems, *kill.audit.facts]
    return kill


def _killed_under_load(process: Process, soak: Soak, plan: Plan, number: int) -> _Ending:
    rng = random.Random(f"{plan.seed}:{number}")  # noqa: S311 - nobody's secret
    seconds = rng.uniform(plan.shortest, plan.longest)
    crowd = crowd_of(process.address, soak.notebook, plan, number)
    # In turns: all of its processes, or the one that an operator would find by its port.
    is_alone = plan.workers == 1 and number % 2 == 1
    kill = process.kill_front if is_alone else process.kill

    async def until() -> None:
        # After a few reports: on a busy machine a first list can take longer than the load.
        book, end = soak.notebook, time.monotonic() + MAX_WAIT
        enough = len(book.acknowledged) + MIN_REPORTS
        while len(book.acknowledged) < enough and time.monotonic() < end:
            await asyncio.sleep(0.005)
        await asyncio.sleep(seconds)

    under_way = asyncio.run(loaded(crowd, until, kill))
    process.wait()
    return _Ending(seconds, under_way)


def _stopped_under_load(process: Process, soak: Soak, plan: Plan, number: int) -> None:
    crowd = crowd_of(process.address, soak.notebook, plan, number)
    asyncio.run(loaded(crowd, lambda: asyncio.sleep(plan.longest), process.ask_to_stop))
    code = process.wait()
    if code != 0:
        soak.notebook.problems.append(f"after SIGTERM the service ended with code {code}")

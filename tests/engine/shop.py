"""A small shop for tests of the engine, with a clock that the test sets."""

import json
from collections.abc import Mapping, Sequence
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

from variegate.engine import Engine, Experiment, Feedback, LiveCatalogue, RecommendRequest, Rules
from variegate.engine.executor import Executor, ForgetUser
from variegate.engine.export_schema import ImportFile
from variegate.engine.import_plan import plan_import
from variegate.engine.items import RetireItem, UpsertItems
from variegate.engine.replay import StateCheck, check_states
from variegate.model.catalogue import Catalogue
from variegate.model.distances import difference, euclidean, hamming, jaccard
from variegate.store import EventRow, SlateRow, Store, UserRow

NOON = 1_700_000_000.0
GENRES = ("drama", "war", "comedy", "crime", "anime")
LMDH = {"lmdh": "lmdh:ridge=1,exploration=0.3"}


def catalogue(items: int = 24, seed: int = 7) -> Catalogue:
    """Return items with a distance of every kind that the service takes data for."""
    rng = np.random.default_rng(seed)
    years = rng.integers(1950, 2020, items).tolist()
    sets = [sorted({GENRES[i] for i in rng.integers(0, 5, 2)}) for _ in range(items)]
    return Catalogue(
        [f"i{number}" for number in range(items)],
        rng.normal(size=(items, 4)),
        [
            "cosine",
            jaccard(sets, name="genres"),
            difference(years, name="years"),
            hamming([("fr", "jp", "us")[i] for i in rng.integers(0, 3, items)], name="country"),
            euclidean(rng.normal(size=(items, 2)), scale=3.0, name="place"),
        ],
        titles=[f"Film {number}" for number in range(items)],
        attributes={"year": years, "genres": sets},
        feature_names=["fast", "sad", "loud", "long"],
    )


class Clock:
    """Seconds since 1970, as a test has it."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Shop:
    """The core over a store: what `Engine` does, without its thread.

    Parameters
    ----------
    rules
        Those of `Rules` that are not the default.
    """

    def __init__(
        self,
        store: Store,
        policies: Mapping[str, str] = LMDH,
        *,
        split: Mapping[str, float] | None = None,
        items: Catalogue | None = None,
        clock: Clock | None = None,
        **rules: Any,
    ) -> None:
        self.items = catalogue() if items is None else items
        self.store, self.clock = store, clock or Clock()
        self.rules = Rules.model_construct(**{"k": 4, **rules})  # also out of range
        self.experiment = Experiment(policies, split or {}, self.rules.seed)
        live = LiveCatalogue.open(self.items, store)
        self.executor = Executor(store, live, self.experiment, self.rules, clock=self.clock)
        self.engine = Engine(self.executor)

    def all(self, *operations: Any) -> list[Any]:
        """Return what becomes of operations in one transaction."""
        return self.executor(operations)

    def do(self, operation: Any) -> dict[str, Any]:
        """Return the answer, or raise the refusal."""
        (outcome,) = self.executor([operation])
        if isinstance(outcome, Exception):
            raise outcome
        answer: dict[str, Any] = outcome
        return answer

    async def execute(self, operation: Any) -> Any:
        """Return the answer to a coroutine that waits for it."""
        return self.do(operation)

    def give(self, user: str = "ann", **request: Any) -> dict[str, Any]:
        return self.do(RecommendRequest(user, **request))

    def ids(self, user: str = "ann", **request: Any) -> list[str]:
        return [item["id"] for item in self.give(user, **request)["items"]]

    def tell(
        self,
        slate: str,
        rewards: Mapping[str, float],
        seen: Sequence[str] | None = None,
        event: str | None = None,
    ) -> dict[str, Any]:
        return self.do(Feedback(slate, rewards, None if seen is None else tuple(seen), event))

    def click(self, user: str = "ann", place: int = 0, **request: Any) -> dict[str, Any]:
        """Give a list whose item at `place` is liked; return the list."""
        given = self.give(user, **request)
        self.tell(given["slate_id"], {given["items"][place]["id"]: 1.0})
        return given

    def snapshot(self, *items: Mapping[str, Any]) -> dict[str, Any]:
        return self.do(UpsertItems(items))

    def retire(self, item: str) -> dict[str, Any]:
        return self.do(RetireItem(item))

    def forget(self, user: str = "ann") -> dict[str, Any]:
        return self.do(ForgetUser(user))

    def exported(self) -> list[dict[str, Any]]:
        """Return the lines of an export; in the header there is no time."""
        header, *lines = map(json.loads, self.engine.export_lines())
        return [{**header, "time": 0.0}, *lines]

    def take_in(self, lines: Sequence[Mapping[str, Any] | bytes], *, replace: bool = False) -> None:
        """Import lines as the service does: checked as a whole, then command by command."""
        texts = (one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines)
        with NamedTemporaryFile(buffering=0) as file:
            file.write(b"\n".join(texts))
            source = ImportFile(file.name)
            plan = plan_import(
                source, self.store, self.engine.live, self.experiment, replace=replace
            )
            for command in plan.commands():
                self.do(command)

    def close(self, seconds: float) -> None:
        """Let time pass, and do what it brings about."""
        self.clock.now += seconds
        self.engine.close_due()

    def check(self) -> StateCheck:
        return check_states(self.store, self.engine.live, self.experiment)

    def user(self, user: str = "ann") -> UserRow:
        with self.store.reading() as reader:
            return reader.users([user])[user]

    def slate(self, slate: str) -> SlateRow:
        with self.store.reading() as reader:
            return reader.slates([slate])[slate]

    def events(self, user: str | None = None) -> list[EventRow]:
        with self.store.reading() as reader:
            return reader.events(user, limit=10_000)


def new_item(name: str = "new", **data: Any) -> dict[str, Any]:
    """Return an item that the catalogue takes; its genre, its country are new to it."""
    return {
        "id": name,
        "title": f"The {name}",
        "features": [9.0, 9.0, 9.0, 9.0],
        "distances": {"genres": ["opera"], "years": 2031, "country": "is", "place": [5.0, -5.0]},
        **data,
    }

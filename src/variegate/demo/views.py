"""The views of the page over an engine; the slow ones are cached."""

from collections.abc import Callable
from functools import lru_cache
from time import monotonic
from typing import Any, Final

from variegate.demo.counterfactual import counterfactual_view
from variegate.demo.map import map_view
from variegate.demo.overview import overview
from variegate.demo.policies import list_policies
from variegate.demo.simulation import simulation_view
from variegate.engine import Engine

View = dict[str, Any]
#: Maximum age of a cached overview: pages that ask every few seconds share one.
OVERVIEW_SECONDS: Final = 2.0


class Demo:
    """What the page shows beside lists and feedback. The methods block: call them from a thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Keyed by the revision of the items: a key that held a snapshot would keep it in memory.
        self._policies: Callable[[str], list[View]] = lru_cache(maxsize=1)(self._policies_at)
        self._map: Callable[[str], View] = lru_cache(maxsize=1)(self._map_at)
        self._simulations: Callable[..., View] = lru_cache(maxsize=32)(self._simulation_at)
        self._overviews: Callable[[int, float], View] = lru_cache(maxsize=4)(self._overview_at)

    def counterfactual(self, user: str, slate: str, policy: str) -> View:
        """Return what another policy would have shown in place of a list."""
        engine = self._engine
        with engine.store.reading() as reader:
            snapshot = engine.live.as_of(reader)
            experiment = engine.experiment.as_of(snapshot)
            return counterfactual_view(reader, snapshot, experiment, (user, slate, policy))

    def policies(self) -> list[View]:
        """Return the policies that can work on these items."""
        return self._policies(self._engine.snapshot().revision)

    def map(self) -> View:
        """Return the items in two dimensions."""
        return self._map(self._engine.snapshot().revision)

    def simulation(self, policy: str | None, rounds: int, seed: int) -> View:
        """Return how a policy, by default the first, learns what a simulated user wants."""
        name = policy or self._engine.experiment.names[0]
        return self._simulations(self._engine.snapshot().revision, name, rounds, seed)

    def overview(self, minutes: int) -> View:
        """Return traffic, rewards and learnt weights of the last minutes, for an operator."""
        return self._overviews(minutes, monotonic() // OVERVIEW_SECONDS)

    def _policies_at(self, _revision: str) -> list[View]:
        return list_policies(self._engine.snapshot().catalogue, self._engine.experiment)

    def _map_at(self, _revision: str) -> View:
        return map_view(self._engine.snapshot())

    def _simulation_at(self, _revision: str, policy: str, rounds: int, seed: int) -> View:
        snapshot = self._engine.snapshot()
        experiment = self._engine.experiment.as_of(snapshot)
        return simulation_view(snapshot, experiment, policy, rounds, seed)

    def _overview_at(self, minutes: int, _period: float) -> View:
        engine = self._engine
        with engine.store.reading() as reader:
            snapshot = engine.live.as_of(reader)
            experiment = engine.experiment.as_of(snapshot)
            now = engine.now(reader)
            return overview(reader, snapshot, experiment, now=now, minutes=minutes)

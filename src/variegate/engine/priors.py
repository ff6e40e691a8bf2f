"""What policies begin with: told, fitted anew by command or by the clock, and given up."""

import logging
from threading import Event, Lock, Thread
from typing import Any, Final

import numpy as np

from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.experiment import Experiment, prior_of
from variegate.engine.refitting import checked_prior_of, refit
from variegate.engine.rules import Rules
from variegate.engine.unit_of_work import Clock
from variegate.errors import ConflictError, StoreError
from variegate.store import PriorRow, Store

HOUR: Final = 3600.0
#: Seconds between two looks at whether a fit is due, at most.
LOOK: Final = 60.0
#: Seconds that a fit may still go on when the service stops; then nobody waits for it.
ENDING: Final = 1.0

_log = logging.getLogger(__name__)


class Priors:
    """The priors of the policies that have one, over a store that several processes share.

    Methods block: call them from a thread.

    Parameters
    ----------
    clock
        Gives seconds since 1970 in place of the database's clock.
    """

    def __init__(
        self,
        store: Store,
        live: LiveCatalogue,
        experiment: Experiment,
        rules: Rules,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._store, self._live, self._experiment, self._rules = store, live, experiment, rules
        self._clock = clock
        self._fitting, self._stopping = Lock(), Event()
        self._thread: Thread | None = None

    def view(self, name: str) -> dict[str, Any]:
        """Return what a policy begins with, in words and numbers: those of all users together."""
        with self._store.reading() as reader:
            snapshot = self._live.as_of(reader)
            row = reader.priors().get(name, PriorRow(name))
        catalogue = snapshot.catalogue
        policy = self._experiment.as_of(snapshot).new_policy(name, catalogue)
        prior = checked_prior_of(policy, name, self._experiment)
        deviations = np.sqrt(np.diag(prior.covariance)).tolist()
        names = (*prior.feature_names, *prior.distances)
        weights = [
            {"name": one, "mean": mean, "deviation": deviation}
            for one, mean, deviation in zip(names, prior.mean.tolist(), deviations, strict=True)
        ]
        return {
            "policy": name,
            "version": row.version,
            "fitted": None if row.data is None else row.fitted,
            "users": prior.users,
            "words": list(prior.describe(catalogue)),
            "relevance": weights[: prior.d],
            "diversity": weights[prior.d :],
            "noise": prior.noise,
        }

    def fit(self, name: str) -> dict[str, Any]:
        """Fit what a policy begins with to its users, for all lists from here on; return it."""
        if not self._fitting.acquire(blocking=False):
            raise ConflictError("a prior is being fitted: ask again when that is done")
        try:
            least, now = self._rules.prior_least_users, self._now()
            refit(self._store, self._live, self._experiment, name, least=least, now=now)
        finally:
            self._fitting.release()
        return self.view(name)

    def drop(self, name: str) -> dict[str, Any]:
        """Let a policy begin as its line says, for all lists from here on; return that."""
        self.view(name)  # which raises what is wrong with the name
        with self._store.batch() as batch:
            row = batch.priors().get(name, PriorRow(name))
            if row.data is not None:
                batch.save_prior(row._replace(data=None, users=0, fitted=0.0))
        return self.view(name)

    def start(self) -> None:
        """Begin to look at the clock, if fits are wished for by the hour."""
        every = self._rules.prior_every_hours * HOUR
        if every > 0:
            pause = min(LOOK, every / 4)
            self._thread = Thread(
                target=self._run, args=(pause,), name="variegate-priors", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """End; what is being fitted is given up."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(ENDING)

    def look(self) -> list[str]:
        """Fit the priors that are due and that no other process has taken on; return whose."""
        with self._store.reading() as reader:
            catalogue, rows = self._live.as_of(reader).catalogue, reader.priors()
        fitted = []
        for name in self._experiment.names:
            if prior_of(self._experiment.new_policy(name, catalogue)) is None:
                continue
            if self._has_turn(rows.get(name, PriorRow(name))) and self._fitted(name):
                fitted.append(name)
        return fitted

    def _has_turn(self, row: PriorRow) -> bool:
        now = self._now()
        if now - row.turn < self._rules.prior_every_hours * HOUR:
            return False
        with self._store.batch() as batch:
            return batch.take_turn(row.policy, row.turn, now)

    def _now(self) -> float:
        if self._clock is not None:
            return self._clock()
        with self._store.reading() as reader:
            return reader.head().now

    def _fitted(self, name: str) -> bool:
        try:
            users = self.fit(name)["users"]
        except ConflictError as error:
            _log.info("no new prior for %s: %s", name, error)
            return False
        _log.info("what users of %s begin with was fitted anew to %d users", name, users)
        return True

    def _run(self, pause: float) -> None:
        while not self._stopping.wait(pause):
            try:
                self.look()
            except StoreError as error:
                _log.warning("no new priors, for the store is away: %s", error)
            except Exception:
                _log.exception("a prior could not be fitted; it is tried again at the next time")

"""What policies begin with: told, fitted anew by command or by the clock, and given up."""

import logging
from collections.abc import Iterator
from threading import Event, Lock, Thread
from typing import Any, Final, NamedTuple

import numpy as np

from variegate.arrays import FloatArray
from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.experiment import Experiment, full_prior
from variegate.engine.terms import Rules
from variegate.engine.unit_of_work import Clock
from variegate.errors import ConflictError, StateError, StoreError
from variegate.model.ridge import unpacked
from variegate.policies import Policy, State
from variegate.prior import Prior, UserSums, fit_prior_from_sums
from variegate.store import PriorRow, Store

#: Users read at a time.
PAGE: Final = 500
#: Numbers that the sums of all users may be, as far as that goes: 128 megabytes.
MOST_NUMBERS: Final = 2**24
#: How long a fit may take, in cubes of the number of weights: a minute or two of one core.
MOST_WORK: Final = 10**9


class _Sums(NamedTuple):
    #: The upper triangle of the sum of zeta zeta'
    triangle: FloatArray
    response: FloatArray
    seen: float


def refit(
    store: Store, live: LiveCatalogue, experiment: Experiment, name: str, *, least: int, now: float
) -> PriorRow:
    """Fit what a policy begins with to the states of its users, and keep it.

    The fit begins with the prior of the policy's line and is drawn to that one, not to what was
    fitted before: so it tells of the users that there are, and of nobody who was forgotten. Only
    reading goes on while it lasts; users' states stay as they are, for they are sums that do not
    hang on a prior.

    Parameters
    ----------
    least
        With fewer users who gave feedback there is no fit, so that no one is shown.

    Raises
    ------
    NotFoundError
        If there is no such policy.
    ConflictError
        If it has no prior, too few users, or was fitted by somebody else meanwhile.
    """
    with store.reading() as reader:
        catalogue = live.as_of(reader).catalogue
        before = reader.priors().get(name, PriorRow(name))
    policy = experiment.new_policy(name, catalogue)
    prior = checked_prior_of(policy, name, experiment)
    sums, users = gathered(store, name, policy, most=max(2 * least, _most(len(prior.mean))))
    if users < least:
        raise ConflictError(
            f"a prior is fitted to at least {least} users with feedback, so that no one is shown, "
            f"and policy {name!r} has {users}: wait for more, or set `prior_min_users`"
        )
    found = fit_prior_from_sums(prior, sums, least_users=least)
    with store.batch() as batch:
        batch.save_prior(before._replace(data=found.to_bytes(), users=found.users, fitted=now))
    return before._replace(version=before.version + 1, users=found.users, fitted=now)


def checked_prior_of(policy: Policy, name: str, experiment: Experiment) -> Prior:
    """Return what a policy begins with, or raise ConflictError."""
    prior = full_prior(policy)
    if prior is None:
        raise ConflictError(
            f"policy {name!r} ({experiment.specs[name]}) begins with no prior of all its "
            "weights, as lmdp and lmdt do, and lmdh with prior=FILE"
        )
    return prior


def gathered(store: Store, name: str, policy: Policy, *, most: int) -> tuple[UserSums, int]:
    """Return the sums of a policy's users who gave feedback, and how many these are.

    Of more than `most`, so many are drawn, each as likely.
    """
    rng, kept, users = np.random.default_rng(0), list[_Sums](), 0
    for sums in _each(store, name, policy):
        users += 1
        if len(kept) < most:
            kept.append(sums)
        elif (place := int(rng.integers(users))) < most:
            kept[place] = sums
    size = policy.catalogue.d + policy.catalogue.m
    return UserSums(size, _emptied(kept, size)), users


def _each(store: Store, name: str, policy: Policy) -> Iterator[_Sums]:
    """Give the sums of every user who gave feedback, page by page.

    No transaction lasts longer than a page, so that a file of SQLite can be tidied up meanwhile.
    """
    blank, after = policy.state(), ""
    while True:
        with store.reading() as reader:
            page = reader.states(name, after, PAGE)
        for _, data in page:
            sums = _sums_of(data, blank)
            if sums is not None and sums.seen > 0:
                yield sums
        if len(page) < PAGE:
            return
        after = page[-1][0]


def _sums_of(data: bytes, blank: State) -> _Sums | None:
    """Return what a state sums up; None for one that will be learnt anew from the log."""
    try:
        state = State.from_bytes(data)
    except StateError:
        return None
    shapes = {name: array.shape for name, array in state.arrays.items()}
    if state.policy != blank.policy or shapes != {
        name: array.shape for name, array in blank.arrays.items()
    }:
        return None
    arrays = state.arrays
    return _Sums(arrays["gram"], arrays["response"], float(arrays["seen"][0]))


def _emptied(kept: list[_Sums], size: int) -> Iterator[tuple[FloatArray, FloatArray, float]]:
    """Give the sums one by one, and let each go: they are kept twice otherwise."""
    kept.reverse()
    while kept:
        triangle, response, seen = kept.pop()
        yield unpacked(triangle, size), response, seen


def _most(size: int) -> int:
    return min(MOST_NUMBERS // (size * (size + 1) // 2), MOST_WORK // size**3)


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
            least, now = self._rules.prior_min_users, self._now()
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
            if full_prior(self._experiment.new_policy(name, catalogue)) is None:
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

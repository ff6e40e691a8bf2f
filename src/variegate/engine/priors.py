"""The priors of policies: view them, fit them to users by command or on a schedule, drop them."""

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

HOUR: Final = 3600.0
#: Users read at a time
PAGE: Final = 500
#: Numbers in the sums of all users, at most: 128 megabytes.
MAX_NUMBERS: Final = 2**24
#: Cubes of the number of weights in one fit, at most: a minute or two of one core.
MAX_WORK: Final = 10**9
#: Seconds between two checks whether a fit is due, at most
MAX_PAUSE: Final = 60.0
#: Seconds to wait for a running fit when the service stops
STOP_TIMEOUT: Final = 1.0

_log = logging.getLogger(__name__)


class Priors:
    """The priors of the policies that have one, in a store that several processes share.

    Methods block: call them from a thread.

    Parameters
    ----------
    clock
        Returns seconds since 1970, instead of the database's clock.
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
        """Return a policy's prior in words and numbers."""
        with self._store.reading() as reader:
            snapshot = self._live.as_of(reader)
            row = reader.priors().get(name, PriorRow(name))
        catalogue = snapshot.catalogue
        policy = self._experiment.as_of(snapshot).new_policy(name, catalogue)
        prior = _require_prior(policy, name, self._experiment)
        deviations = np.sqrt(np.diag(prior.covariance)).tolist()
        names = (*prior.feature_names, *prior.distances)
        labels = (*catalogue.feature_labels, *prior.distances)
        weights = [
            {"name": one, "label": label, "mean": mean, "deviation": deviation}
            for one, label, mean, deviation in zip(
                names, labels, prior.mean.tolist(), deviations, strict=True
            )
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
        """Fit a policy's prior to its users, for all lists from now on; return its view."""
        if not self._fitting.acquire(blocking=False):
            raise ConflictError("a prior is being fitted: ask again when that is done")
        try:
            min_users, now = self._rules.prior_min_users, self._now()
            refit(self._store, self._live, self._experiment, name, min_users=min_users, now=now)
        finally:
            self._fitting.release()
        return self.view(name)

    def drop(self, name: str) -> dict[str, Any]:
        """Return to the prior of the policy's spec, for all lists from now on; return its view."""
        self.view(name)  # raises an error for a wrong name
        with self._store.batch() as batch:
            row = batch.priors().get(name, PriorRow(name))
            if row.data is not None:
                batch.save_prior(row._replace(data=None, users=0, fitted=0.0))
        return self.view(name)

    def start(self) -> None:
        """Start the schedule, if the settings ask for one."""
        period = self._rules.prior_every_hours * HOUR
        if period > 0:
            pause = min(MAX_PAUSE, period / 4)
            self._thread = Thread(
                target=self._run, args=(pause,), name="variegate-priors", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Stop the schedule; a running fit is abandoned."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT)

    def fit_due(self) -> list[str]:
        """Fit the priors that are due and that no other process has claimed; return their names."""
        with self._store.reading() as reader:
            catalogue, rows = self._live.as_of(reader).catalogue, reader.priors()
        fitted = []
        for name in self._experiment.names:
            if full_prior(self._experiment.new_policy(name, catalogue)) is None:
                continue
            if self._claim(rows.get(name, PriorRow(name))) and self._try_fit(name):
                fitted.append(name)
        return fitted

    def _claim(self, row: PriorRow) -> bool:
        now = self._now()
        if now - row.turn < self._rules.prior_every_hours * HOUR:
            return False
        with self._store.batch() as batch:
            return batch.claim_fit(row.policy, row.turn, now)

    def _now(self) -> float:
        if self._clock is not None:
            return self._clock()
        with self._store.reading() as reader:
            return reader.head().now

    def _try_fit(self, name: str) -> bool:
        try:
            users = self.fit(name)["users"]
        except ConflictError as error:
            _log.info("no new prior for %s: %s", name, error)
            return False
        _log.info("the prior of %s was fitted to %d users", name, users)
        return True

    def _run(self, pause: float) -> None:
        while not self._stopping.wait(pause):
            try:
                self.fit_due()
            except StoreError as error:
                _log.warning("no new priors, the store is unavailable: %s", error)
            except Exception:
                _log.exception("a prior could not be fitted; the next attempt is when it is due")


def refit(
    store: Store,
    live: LiveCatalogue,
    experiment: Experiment,
    name: str,
    *,
    min_users: int,
    now: float,
) -> PriorRow:
    """Fit a policy's prior to the states of its users, and store it.

    The fit starts with the prior of the policy's spec and is regularised towards it, not towards
    the prior fitted before: so it depends on the present users only, and on nobody who was
    forgotten. It only reads until it is done; the users' states do not change, since they are
    sums that do not depend on a prior.

    Parameters
    ----------
    min_users
        With fewer users who gave feedback there is no fit, so that no single user is revealed.

    Raises
    ------
    NotFoundError
        If there is no such policy.
    ConflictError
        If it has no prior or too few users, or if another process fitted it meanwhile.
    """
    with store.reading() as reader:
        catalogue = live.as_of(reader).catalogue
        before = reader.priors().get(name, PriorRow(name))
    policy = experiment.new_policy(name, catalogue)
    prior = _require_prior(policy, name, experiment)
    max_users = max(2 * min_users, _max_users(len(prior.mean)))
    sums, users = _collect_sums(store, name, policy, max_users=max_users)
    if users < min_users:
        raise ConflictError(
            f"a prior is fitted to at least {min_users} users with feedback, so that no single "
            f"user is revealed, and policy {name!r} has {users}: wait for more, or set "
            "`prior_min_users`"
        )
    found = fit_prior_from_sums(prior, sums, min_users=min_users)
    with store.batch() as batch:
        batch.save_prior(before._replace(data=found.to_bytes(), users=found.users, fitted=now))
    return before._replace(version=before.version + 1, users=found.users, fitted=now)


def _require_prior(policy: Policy, name: str, experiment: Experiment) -> Prior:
    """Return a policy's prior, or raise ConflictError."""
    prior = full_prior(policy)
    if prior is None:
        raise ConflictError(
            f"policy {name!r} ({experiment.specs[name]}) has no prior of all its weights, as lmdp "
            "and lmdt have, and lmdh with prior=FILE"
        )
    return prior


class _Sums(NamedTuple):
    #: The upper triangle of the sum of zeta zeta'
    triangle: FloatArray
    response: FloatArray
    seen: float


def _collect_sums(
    store: Store, name: str, policy: Policy, *, max_users: int
) -> tuple[UserSums, int]:
    """Return the sums of a policy's users who gave feedback, and the number of these users.

    Of more than `max_users`, a uniform sample is used.
    """
    rng, sample, users = np.random.default_rng(0), list[_Sums](), 0
    for sums in _iter_sums(store, name, policy):
        users += 1
        if len(sample) < max_users:
            sample.append(sums)
        elif (place := int(rng.integers(users))) < max_users:
            sample[place] = sums
    size = policy.catalogue.d + policy.catalogue.m
    return UserSums(size, _unpack_and_clear(sample, size)), users


def _iter_sums(store: Store, name: str, policy: Policy) -> Iterator[_Sums]:
    """Yield the sums of every user who gave feedback.

    Each page is a transaction of its own, so that SQLite can write checkpoints in between.
    """
    blank, after = policy.state(), ""
    while True:
        with store.reading() as reader:
            page = reader.user_states(name, after, PAGE)
        for _, data in page:
            sums = _parse_sums(data, blank)
            if sums is not None and sums.seen > 0:
                yield sums
        if len(page) < PAGE:
            return
        after = page[-1][0]


def _parse_sums(data: bytes, blank: State) -> _Sums | None:
    """Return the sums of a state; None for one that will be relearnt from the log."""
    try:
        state = State.from_bytes(data)
    except StateError:
        return None
    shapes, wanted = (
        {name: array.shape for name, array in one.arrays.items()} for one in (state, blank)
    )
    if state.policy != blank.policy or shapes != wanted:
        return None
    arrays = state.arrays
    return _Sums(arrays["gram"], arrays["response"], float(arrays["seen"][0]))


def _unpack_and_clear(
    sample: list[_Sums], size: int
) -> Iterator[tuple[FloatArray, FloatArray, float]]:
    """Yield the sums one by one and drop each: they would be in memory twice otherwise."""
    sample.reverse()
    while sample:
        triangle, response, seen = sample.pop()
        yield unpacked(triangle, size), response, seen


def _max_users(size: int) -> int:
    return min(MAX_NUMBERS // (size * (size + 1) // 2), MAX_WORK // size**3)

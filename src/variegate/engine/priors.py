"""The priors of policies: view them, fit them to users by command or on a schedule, drop them."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from variegate.arrays import FloatArray, IndexArray
from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.experiment import Experiment, full_prior
from variegate.engine.queries import as_moment
from variegate.engine.terms import Rules
from variegate.engine.unit_of_work import Clock
from variegate.errors import ConflictError, StateError, StoreError
from variegate.model.catalogue import Catalogue
from variegate.model.ridge import unpacked
from variegate.policies import Policy, State
from variegate.prior import ItemPrior, Prior, PriorFile, fit_prior_from_sums
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

#: Users whose likes are added to a prior of items, at most.
MAX_USERS: Final = 100_000
#: Items in the view of a prior of items, at most.
MAX_ITEMS: Final = 20

_T = TypeVar("_T")
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
        relevance, diversity = _weights(prior, catalogue)
        return {
            "policy": name,
            "version": row.version,
            "fitted": None if row.data is None else as_moment(row.fitted),
            "users": prior.users,
            "words": list(prior.describe(catalogue)),
            "relevance": relevance,
            "diversity": diversity,
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
    if isinstance(prior, ItemPrior):
        sample, users = _sample(_iter_likes(store, name, policy), max(2 * min_users, MAX_USERS))
        _check_users(name, users, min_users)
        shown = np.bincount(np.concatenate([one.shown for one in sample]), minlength=len(catalogue))
        found: PriorFile = prior.with_likes([one.liked for one in sample], catalogue.ids, shown)
    else:
        max_users = max(2 * min_users, _max_users(len(prior.mean)))
        sums_sample, users = _sample(_iter_sums(store, name, policy), max_users)
        _check_users(name, users, min_users)
        sums = _unpack_and_clear(sums_sample, len(prior.mean))
        found = fit_prior_from_sums(prior, sums, min_users=min_users)
    with store.batch() as batch:
        batch.save_prior(before._replace(data=found.to_bytes(), users=found.users, fitted=now))
    return before._replace(version=before.version + 1, users=found.users, fitted=now)


def _check_users(name: str, users: int, min_users: int) -> None:
    if users < min_users:
        raise ConflictError(
            f"a prior is fitted to at least {min_users} users with feedback, so that no single "
            f"user is revealed, and policy {name!r} has {users}: wait for more, or set "
            "`prior_min_users`"
        )


def _require_prior(policy: Policy, name: str, experiment: Experiment) -> Prior | ItemPrior:
    """Return a policy's prior, or raise ConflictError."""
    prior = full_prior(policy)
    if prior is None:
        raise ConflictError(
            f"policy {name!r} ({experiment.specs[name]}) has no prior that can be fitted to users, "
            "as lmdp and lmdt have, and lmdh with prior=FILE"
        )
    return prior


def _weights(
    prior: Prior | ItemPrior, catalogue: Catalogue
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the weights of features, or the items liked most; and the weights of distances."""
    if isinstance(prior, ItemPrior):
        mean = prior.mean
        top = np.argsort(-mean, kind="stable")[:MAX_ITEMS]
        ids, titles = ([names[row] for row in top] for names in (catalogue.ids, catalogue.titles))
        variances = prior.covariance(top)[np.arange(len(top)), top]
        beta = np.zeros(prior.m), np.sqrt(prior.beta_variance)
        return (
            _weight_views(ids, titles, mean[top], np.sqrt(np.maximum(variances, 0.0))),
            _weight_views(prior.distances, prior.distances, *beta),
        )
    names = (*prior.feature_names, *prior.distances)
    labels = (*catalogue.feature_labels, *prior.distances)
    views = _weight_views(names, labels, prior.mean, np.sqrt(np.diag(prior.covariance)))
    return views[: prior.d], views[prior.d :]


def _weight_views(
    names: Sequence[str], labels: Sequence[str], means: FloatArray, deviations: FloatArray
) -> list[dict[str, Any]]:
    columns = zip(names, labels, means.tolist(), deviations.tolist(), strict=True)
    return [
        {"name": name, "label": label, "mean": mean, "deviation": deviation}
        for name, label, mean, deviation in columns
    ]


class _Likes(NamedTuple):
    """Rows of the items that a user liked, and of those that they were shown."""

    liked: IndexArray
    shown: IndexArray


class _Sums(NamedTuple):
    #: The upper triangle of the sum of zeta zeta'
    triangle: FloatArray
    response: FloatArray


def _sample(given: Iterable[_T], size: int) -> tuple[list[_T], int]:
    """Return at most `size` of the given, drawn uniformly, and the number given."""
    rng, sample, count = np.random.default_rng(0), list[_T](), 0
    for one in given:
        count += 1
        if len(sample) < size:
            sample.append(one)
        elif (place := int(rng.integers(count))) < size:
            sample[place] = one
    return sample, count


def _iter_likes(store: Store, name: str, policy: Policy) -> Iterator[_Likes]:
    """Yield the rows that each user with a reward of at least one half liked, and was shown."""
    for state in _iter_states(store, name, policy):
        log = state.arrays["log"]
        liked = log[log[:, -1] >= 0.5 * log[:, 1], 0]
        if len(liked):
            yield _Likes(*(np.unique(rows).astype(np.intp) for rows in (liked, log[:, 0])))


def _iter_sums(store: Store, name: str, policy: Policy) -> Iterator[_Sums]:
    """Yield the sums of every user who gave feedback."""
    for state in _iter_states(store, name, policy):
        if state.arrays["seen"][0] > 0:
            yield _Sums(state.arrays["gram"], state.arrays["response"])


def _iter_states(store: Store, name: str, policy: Policy) -> Iterator[State]:
    """Yield the state of every user, except those that will be relearnt from the log.

    Each page is a transaction of its own, so that SQLite can write checkpoints in between.
    """
    after = ""
    while True:
        with store.reading() as reader:
            page = reader.user_states(name, after, PAGE)
        for _, data in page:
            with suppress(StateError):
                state = State.from_bytes(data)
                policy.check_state(state)
                yield state
        if len(page) < PAGE:
            return
        after = page[-1][0]


def _unpack_and_clear(sample: list[_Sums], size: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the sums one by one and drop each: they would be in memory twice otherwise."""
    sample.reverse()
    while sample:
        triangle, response = sample.pop()
        yield unpacked(triangle, size), response


def _max_users(size: int) -> int:
    return min(MAX_NUMBERS // (size * (size + 1) // 2), MAX_WORK // size**3)

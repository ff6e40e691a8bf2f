"""What users of a policy begin with, fitted anew to those who were there before."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from variegate.arrays import FloatArray
from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.experiment import Experiment, prior_of
from variegate.errors import ConflictError, StateError
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
            f"and policy {name!r} has {users}: wait for more, or set `prior_least_users`"
        )
    found = fit_prior_from_sums(prior, sums, least_users=least)
    with store.batch() as batch:
        batch.save_prior(before._replace(data=found.to_bytes(), users=found.users, fitted=now))
    return before._replace(version=before.version + 1, users=found.users, fitted=now)


def checked_prior_of(policy: Policy, name: str, experiment: Experiment) -> Prior:
    """Return what a policy begins with, or raise ConflictError."""
    prior = prior_of(policy)
    if prior is None:
        raise ConflictError(
            f"policy {name!r} ({experiment.lines[name]}) begins with no prior of all its "
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

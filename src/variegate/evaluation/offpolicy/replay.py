"""Unbiased replay of uniformly random choices (Li et al. 2011)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    as_generator,
    check_count,
)
from variegate.errors import InputError
from variegate.evaluation.offpolicy.estimators import Estimate, weighted_estimate
from variegate.evaluation.offpolicy.logs import SlateLog
from variegate.policies import Policy


@dataclass(frozen=True, eq=False)
class Event:
    """A list drawn uniformly from all lists of its length, and its rewards."""

    #: Rows of the candidates, (n,)
    candidates: IndexArray
    #: Rows shown, in order, (K,)
    shown: IndexArray
    #: The reward of each, (K,)
    rewards: FloatArray
    #: Positions that the user looked at, (K,); all, if None
    seen: MaskArray | None = None


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """The rewards of a policy in the events where its choice is the one logged."""

    #: The number of events read
    events: int
    #: Rewards of the matching events, in their order, (matches, K)
    rewards: FloatArray

    @property
    def matches(self) -> int:
        """The number of events in which the policy's choice is the one logged."""
        return len(self.rewards)

    def estimate(self, *, confidence: float = 0.95) -> Estimate:
        """Return the mean reward of a list.

        The standard error assumes independent rounds. The rewards of a policy that learns rise
        over time, and its history differs from log to log: to measure that variance, replay
        several logs.
        """
        totals = self.rewards.sum(axis=1, keepdims=True)
        return weighted_estimate(np.ones_like(totals), totals, confidence=confidence)


def unbiased_replay(
    policy: Policy, events: Iterable[Event], *, rounds: int | None = None, rng: Any = None
) -> ReplayResult:
    """Ask `policy` for a list in each event; where it is the logged one, the policy learns from it.

    Other events are skipped. Since logged lists were drawn uniformly, the matching events are an
    unbiased sample, and the policy learns and earns as it would online. One event in L matches
    for single items, one in L (L - 1) ... for lists: whole lists are feasible for very few
    candidates.

    Parameters
    ----------
    policy
        It is updated.
    events
        Independent of each other, with uniformly random choices.
    rounds
        Stop after this many matching events; if not given, read all.
    rng
        A NumPy generator or a seed, for policies that draw.

    Examples
    --------
    >>> from variegate import Catalogue
    >>> from variegate.policies import Popular
    >>> best_first = Popular(Catalogue(list("ab"), [[1.0], [0.5]], "cosine"))
    >>> log = [Event(np.array([0, 1]), np.array([i]), np.array([r])) for i, r in ((1, 0), (0, 1))]
    >>> result = unbiased_replay(best_first, log)
    >>> result.events, result.matches
    (2, 1)
    >>> result.rewards
    array([[1]])
    """
    if rounds is not None:
        rounds = check_count(rounds, 10**9, name="rounds", of="the most that make sense")
    draws = as_generator(rng)
    count, matches = 0, []
    for count, event in enumerate(events, start=1):
        if _is_match(policy, event, draws, count):
            matches.append(event.rewards)
        if len(matches) == rounds:
            break
    if not matches:
        raise InputError(f"`events` must include a choice of the policy, got none in {count}")
    return ReplayResult(count, np.stack(matches))


def uniform_events(
    log: SlateLog, candidates: ArrayLike, *, positions: int | None = None
) -> list[Event]:
    """Return the lists of a log as events, or raise InputError if they are not uniform.

    Parameters
    ----------
    candidates
        The rows that every list was drawn from, or a mask over the catalogue.
    positions
        Use the first positions of each list: 1 replays single items, which match far more often
        than whole lists. All, if not given. Valid for rewards that do not depend on the items
        below.
    """
    k = log.k if positions is None else check_count(positions, log.k, name="positions", of="K")
    rows = _rows(candidates)
    if len(rows) < k:
        raise InputError(f"`candidates` must be at least {k}, got {len(rows)}")
    uniform = 1.0 / (len(rows) - np.arange(k))
    off = np.argwhere(~np.isclose(log.propensities[:, :k], uniform, rtol=1e-6))
    if off.size:
        row, position = (int(place) for place in off[0])
        raise InputError(
            f"`log` must hold uniform choices, 1 of {len(rows) - position} in position {position}, "
            f"got the propensity {log.propensities[row, position]} in list {row}: use rips or "
            "cascade_dr"
        )
    return [
        Event(rows, items[:k], rewards[:k], seen[:k])
        for items, rewards, seen in zip(log.items, log.rewards, log.seen, strict=True)
    ]


def _rows(candidates: ArrayLike) -> IndexArray:
    array = np.asarray(candidates)
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise InputError(
            f"`candidates` must be a list of row numbers or a mask, got {array.dtype} of shape "
            f"{array.shape}"
        )
    return np.flatnonzero(array) if array.dtype == np.bool_ else np.unique(array).astype(np.intp)


def _is_match(policy: Policy, event: Event, rng: np.random.Generator, number: int) -> bool:
    if not np.isin(event.shown, event.candidates).all():
        raise InputError(
            f"`shown` must be among the candidates, got {event.shown.tolist()} in event {number}"
        )
    slate = policy.recommend(len(event.shown), event.candidates, rng=rng)
    if not np.array_equal(slate.items, event.shown):
        return False
    policy.update(slate, event.rewards, event.seen)
    return True

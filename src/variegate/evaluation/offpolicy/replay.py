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
from variegate.evaluation.offpolicy.estimators import Estimate, estimated
from variegate.evaluation.offpolicy.logs import SlateLog
from variegate.policies import Policy


@dataclass(frozen=True, eq=False)
class Event:
    """A list drawn uniformly from all lists of its length, and what came of it."""

    #: Rows that it was drawn from, (n,)
    candidates: IndexArray
    #: Rows shown, in order; one, where single items are shown, (K,)
    shown: IndexArray
    #: What each earned, (K,)
    rewards: FloatArray
    #: Positions that the user looked at, (K,); all, if None
    seen: MaskArray | None = None


@dataclass(frozen=True, eq=False)
class Replayed:
    """What a policy earned in the events where it would have shown what was shown."""

    #: Events looked at
    events: int
    #: Rewards of the events that were kept, in their order, (kept, K)
    rewards: FloatArray

    @property
    def kept(self) -> int:
        """The number of events in which the policy's choice was the one shown."""
        return len(self.rewards)

    def estimate(self, *, confidence: float = 0.95) -> Estimate:
        """Return the mean of what a list earned.

        The standard error is that of independent rounds. A policy that learns earns more
        as it goes on, and its own history differs from log to log: for the spread of that,
        replay several logs.
        """
        totals = self.rewards.sum(axis=1, keepdims=True)
        return estimated(np.ones_like(totals), totals, confidence=confidence)


def unbiased_replay(
    policy: Policy, events: Iterable[Event], *, rounds: int | None = None, rng: Any = None
) -> Replayed:
    """Offer each event to `policy`; where it picks what was shown, it earns that and learns.

    Other events pass without a trace. Since what was shown was drawn uniformly, the events
    that are kept are a fair sample of the user, and the policy fares as it would have live.
    One event in L is kept for single items, one in L (L - 1) ... for lists: whole lists are
    for very few candidates.

    Parameters
    ----------
    policy
        Is taught, if it learns.
    events
        Independent of each other, with uniformly random choices.
    rounds
        Stop after so many kept events; if not given, go to the end.
    rng
        A NumPy generator or a seed, for policies that draw.

    Examples
    --------
    >>> from variegate import Catalogue
    >>> from variegate.policies import Popular
    >>> best_first = Popular(Catalogue(list("ab"), [[1.0], [0.5]], "cosine"))
    >>> log = [Event(np.array([0, 1]), np.array([i]), np.array([r])) for i, r in ((1, 0), (0, 1))]
    >>> replayed = unbiased_replay(best_first, log)
    >>> replayed.events, replayed.kept
    (2, 1)
    >>> replayed.rewards
    array([[1]])
    """
    if rounds is not None:
        rounds = check_count(rounds, 10**9, name="rounds", of="the most that make sense")
    draws = as_generator(rng)
    looked, kept = 0, []
    for looked, event in enumerate(events, start=1):
        if _is_kept(policy, event, draws, looked):
            kept.append(event.rewards)
        if len(kept) == rounds:
            break
    if not kept:
        raise InputError(f"`events` must hold a choice of the policy's, got none in {looked}")
    return Replayed(looked, np.stack(kept))


def events_of(log: SlateLog, candidates: ArrayLike, *, positions: int | None = None) -> list[Event]:
    """Return the lists of a log as events, or raise InputError unless they were uniform.

    Parameters
    ----------
    candidates
        The rows that every list was drawn from, or a mask over the catalogue.
    positions
        Take the first so many of each list: 1 replays single items, of which far more are
        kept than of whole lists. All, if not given. Good for rewards that do not depend on
        the items below.
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


def _is_kept(policy: Policy, event: Event, rng: np.random.Generator, number: int) -> bool:
    if not np.isin(event.shown, event.candidates).all():
        raise InputError(
            f"`shown` must be among the candidates, got {event.shown.tolist()} in event {number}"
        )
    slate = policy.recommend(len(event.shown), event.candidates, rng=rng)
    if not np.array_equal(slate.items, event.shown):
        return False
    policy.update(slate, event.rewards, event.seen)
    return True

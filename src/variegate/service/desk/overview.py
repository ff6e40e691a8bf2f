"""The service at work, for whoever runs it: traffic, rewards, and what was learnt over users."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import StateError
from variegate.service.desk.arms import Arms
from variegate.service.desk.comparing import comparison, finite
from variegate.service.desk.shelf import Stock
from variegate.store import MinuteSums, Reader

MINUTE: Final = 60.0
#: Points of a series of rewards, at most.
MOST_BUCKETS: Final = 60
#: Users whose wishes are counted: those who were here last.
MOST_USERS: Final = 1000
BARS: Final = 20


def overview(
    reader: Reader, stock: Stock, arms: Arms, *, now: float, minutes: int
) -> dict[str, Any]:
    """Return what an operator wants to see of the last minutes."""
    first = int(now // MINUTE) - minutes + 1
    found = reader.minute_sums(first * MINUTE)
    return {
        "counts": reader.counts(),
        "per_minute": _traffic(found, first, minutes),
        "by_policy": _by_policy(found, minutes),
        "beta": _wishes(reader, stock, arms),
        "report": comparison(reader, arms),
    }


def _traffic(found: Sequence[MinuteSums], first: int, minutes: int) -> list[dict[str, Any]]:
    lists, feedback = Counter[int](), Counter[int]()
    for one in found:
        lists[one.minute] += one.lists
        feedback[one.minute] += one.feedback
    return [
        {
            "minute": int(MINUTE) * minute,
            "lists": lists[minute],
            "feedback": feedback[minute],
        }
        for minute in range(first, first + minutes)
    ]


def _by_policy(found: Sequence[MinuteSums], minutes: int) -> list[dict[str, Any]]:
    width = -(-minutes // MOST_BUCKETS)
    buckets: dict[tuple[str, int], list[MinuteSums]] = defaultdict(list)
    for one in found:
        if one.answered:
            buckets[one.policy, one.minute // width].append(one)
    return [
        _bucket(policy, bucket * width, of_minutes)
        for (policy, bucket), of_minutes in sorted(buckets.items())
    ]


def _bucket(policy: str, minute: int, found: Sequence[MinuteSums]) -> dict[str, Any]:
    answered, positions = (sum(getattr(one, n) for one in found) for n in ("answered", "positions"))
    spread: dict[str, float] = defaultdict(float)
    for one in found:
        for name, total in one.spread.items():
            spread[name] += total
    return {
        "policy": policy,
        "minute": int(MINUTE) * minute,
        "reward": finite(sum(one.earned for one in found) / max(positions, 1)),
        "diversity": {name: finite(total / answered) for name, total in spread.items()},
    }


def _wishes(reader: Reader, stock: Stock, arms: Arms) -> dict[str, Any]:
    """Return how the learnt weights of variety lie over users, by policy and distance."""
    learnt: dict[str, list[FloatArray]] = defaultdict(list)
    for user in reader.users(reader.last_users(MOST_USERS)).values():
        if user.policy not in arms.lines or user.state is None:
            continue
        try:
            policy = arms.policy_of(user, stock.catalogue)
        except StateError:  # it will be learnt anew when the user comes back
            continue
        if policy.takes_dial:  # others learn no wish for variety
            learnt[user.policy].append(policy.preferences.diversity)
    names = [h.name for h in stock.catalogue.distances]
    return {
        policy: dict(zip(names, map(_histogram, np.transpose(weights)), strict=True))
        for policy, weights in sorted(learnt.items())
    }


def _histogram(weights: Sequence[float] | FloatArray) -> dict[str, Any]:
    counts, edges = np.histogram(weights, bins=BARS)
    return {"edges": np.round(edges, 9).tolist(), "counts": counts.tolist()}

"""The service at work, for whoever runs it: traffic, rewards, and what was learnt over users."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import StateError
from variegate.service.desk.arms import Arms
from variegate.service.desk.comparing import comparison
from variegate.service.desk.packing import first_slate_id
from variegate.service.desk.shelf import Stock
from variegate.store import Reader, TimedRewards

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
    since = (now // MINUTE - minutes + 1) * MINUTE
    return {
        "counts": reader.counts(),
        "per_minute": _traffic(reader, since, minutes),
        "by_policy": _by_policy(reader, since, minutes),
        "beta": _wishes(reader, stock, arms),
        "report": comparison(reader, arms),
    }


def _traffic(reader: Reader, since: float, minutes: int) -> list[dict[str, Any]]:
    lists = reader.lists_by_time(first_slate_id(since), MINUTE)
    reports = reader.reports_by_time(since, MINUTE)
    first = int(since // MINUTE)
    return [
        {
            "minute": int(MINUTE) * minute,
            "lists": lists.get(minute, 0),
            "feedback": reports.get(minute, 0),
        }
        for minute in range(first, first + minutes)
    ]


def _by_policy(reader: Reader, since: float, minutes: int) -> list[dict[str, Any]]:
    width = MINUTE * -(-minutes // MOST_BUCKETS)
    rows = reader.rewards_by_time(first_slate_id(since), width)
    return [_bucket(row, width) for row in rows]


def _bucket(row: TimedRewards, width: float) -> dict[str, Any]:
    return {
        "policy": row.policy,
        "minute": int(row.bucket * width),
        "reward": row.earned / max(row.positions, 1),
        "diversity": {name: total / row.answered for name, total in row.spread.items()},
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

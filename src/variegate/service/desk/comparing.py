"""Policies side by side on the users they got: the report of an A/B test."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.service.desk.arms import Arms
from variegate.store import Reader, UserRewards

#: Half the width of a 95% interval, in standard errors.
_HALF: Final = 1.959964


def comparison(reader: Reader, arms: Arms) -> dict[str, Any]:
    """Return rewards and diversity by policy, with intervals over users, and the differences.

    A user counts once, however many lists they got: lists of one user are not independent.
    """
    by_policy: dict[str, list[UserRewards]] = defaultdict(list)
    for row in reader.rewards_by_user():
        by_policy[row.policy].append(row)
    names = [*arms.names, *sorted(set(by_policy) - set(arms.names))]
    rates = {name: _rates(by_policy[name]) for name in names}
    return {
        "policies": [_summary(name, by_policy[name], arms) for name in names],
        "differences": [
            {
                "policy": name,
                "against": names[0],
                "reward": _difference(rates[name], rates[names[0]]),
            }
            for name in names[1:]
        ],
    }


def _summary(name: str, users: Sequence[UserRewards], arms: Arms) -> dict[str, Any]:
    distances = sorted({distance for user in users for distance in user.spread})
    return {
        "policy": name,
        "line": arms.lines.get(name),
        "users": len(users),
        "answered_slates": sum(user.answered for user in users),
        "reward": _mean(_rates(users)),
        "diversity": {
            distance: _mean(
                np.array([user.spread.get(distance, 0.0) / user.answered for user in users])
            )
            for distance in distances
        },
    }


def _rates(users: Sequence[UserRewards]) -> FloatArray:
    """Return each user's reward for each position that was answered."""
    return np.array([user.earned / max(user.positions, 1) for user in users], dtype=np.float64)


def _mean(values: FloatArray) -> dict[str, float | None]:
    if not len(values):
        return {"mean": None, "low": None, "high": None}
    mean = float(values.mean())
    half = _HALF * _error(values)
    return {
        "mean": mean,
        "low": mean - half if len(values) > 1 else None,
        "high": mean + half if len(values) > 1 else None,
    }


def _difference(ours: FloatArray, theirs: FloatArray) -> dict[str, float | None]:
    if min(len(ours), len(theirs)) < 2:
        return {"mean": None, "low": None, "high": None}
    mean = float(ours.mean() - theirs.mean())
    half = _HALF * float(np.hypot(_error(ours), _error(theirs)))
    return {"mean": mean, "low": mean - half, "high": mean + half}


def _error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0

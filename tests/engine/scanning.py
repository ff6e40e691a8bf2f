"""Reports and overviews worked out from the whole history: what the running sums must come to."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from variegate.arrays import FloatArray
from variegate.engine.replay import iter_users
from variegate.store import EventRow, Reader, SlateRow, Store

HALF = 1.959964


class Scan:
    """All lists and events of a store."""

    def __init__(self, store: Store) -> None:
        with store.reading() as reader:
            self.users = [row.id for row in iter_users(reader)]
            self.slates = [row for user in self.users for row in reader.history(user, 10_000)]
            self.events: list[EventRow] = self._events(reader)

    @staticmethod
    def _events(reader: Reader) -> list[EventRow]:
        return reader.events(limit=100_000)

    def counts(self) -> dict[str, int]:
        answered = sum(row.answered for row in self.slates)
        return {
            "users": len(self.users),
            "slates": len(self.slates),
            "answered": answered,
            "events": len(self.events),
        }

    def report(self, policies: Sequence[str]) -> dict[str, Any]:
        """Return the parts of a report that are numbers, by policy."""
        rates: dict[str, FloatArray] = {}
        found: dict[str, Any] = {}
        for policy in policies:
            mine = [row for row in self.slates if row.policy == policy and row.answered]
            by_user: dict[str, list[SlateRow]] = defaultdict(list)
            for row in mine:
                by_user[row.user_id].append(row)
            users = list(by_user.values())
            rates[policy] = np.array([_rate(rows) for rows in users])
            found[policy] = {
                "users": len(users),
                "answered_slates": len(mine),
                "reward": _reward(rates[policy]),
                "diversity": {
                    name: _mean(np.array([_spread(rows, name) for rows in users]))
                    for name in sorted({name for row in mine for name in row.diversity})
                },
            }
        first = rates[policies[0]]
        differences = [_difference(rates[policy], first) for policy in policies[1:]]
        return {"policies": found, "differences": differences}

    def per_minute(self, now: float, minutes: int) -> list[dict[str, Any]]:
        first = int(now // 60) - minutes + 1
        result = [event.time for event in self.events if event.kind == "feedback"]
        return [
            {
                "minute": 60 * minute,
                "lists": sum(int(row.created // 60) == minute for row in self.slates),
                "feedback": sum(int(time // 60) == minute for time in result),
            }
            for minute in range(first, first + minutes)
        ]

    def by_policy(self, now: float, minutes: int) -> list[dict[str, Any]]:
        width = 60 * -(-minutes // 60)
        since = (int(now // 60) - minutes + 1) * 60
        buckets: dict[tuple[str, int], list[SlateRow]] = defaultdict(list)
        for row in self.slates:
            if row.answered and row.created >= since:
                buckets[row.policy, int(row.created // width)].append(row)
        return [
            {
                "policy": policy,
                "minute": bucket * width,
                "reward": _rate(rows),
                "diversity": {
                    name: _spread(rows, name)
                    for name in {name for row in rows for name in row.diversity}
                },
            }
            for (policy, bucket), rows in sorted(buckets.items())
        ]


def _rate(rows: Sequence[SlateRow]) -> float:
    positions = sum(reward is not None for row in rows for reward in row.rewards)
    return sum(row.earned for row in rows) / max(positions, 1)


def _spread(rows: Sequence[SlateRow], name: str) -> float:
    return sum(row.diversity.get(name, 0.0) for row in rows) / len(rows)


def _mean(values: FloatArray) -> dict[str, float | None]:
    if not len(values):
        return {"mean": None, "low": None, "high": None}
    half = HALF * _error(values)
    alone = len(values) == 1
    mean = float(values.mean())
    return {
        "mean": mean,
        "low": None if alone else mean - half,
        "high": None if alone else mean + half,
    }


def _difference(ours: FloatArray, theirs: FloatArray) -> dict[str, float | None]:
    if min(len(ours), len(theirs)) < 2:
        return {"mean": None, "low": None, "high": None}
    mean = float(ours.mean() - theirs.mean())
    low, high = score_interval(ours)
    other_low, other_high = score_interval(theirs)
    return {
        "mean": mean,
        "low": mean - float(np.hypot(ours.mean() - low, other_high - theirs.mean())),
        "high": mean + float(np.hypot(high - ours.mean(), theirs.mean() - other_low)),
    }


def _reward(values: FloatArray) -> dict[str, float | None]:
    if len(values) < 2:
        return _mean(values)
    low, high = score_interval(values)
    return {"mean": float(values.mean()), "low": low, "high": high}


def score_interval(values: FloatArray) -> tuple[float, float]:
    """Return the p at which a score test no longer rejects: n (mean - p)^2 = z^2 p (1 - p)."""
    mean, error = float(values.mean()), _error(values)
    if error == 0.0 and 0.0 < mean < 1.0:
        return mean, mean
    n = len(values) if error == 0.0 else mean * (1.0 - mean) / error**2
    z = HALF**2
    low, high = sorted(np.roots([n + z, -2.0 * n * mean - z, n * mean**2]).real.tolist())
    return low, high


def _error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0

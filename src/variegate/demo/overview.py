"""An overview for the operator: traffic, rewards, and learnt weights over users."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.engine.catalogue import CatalogueSnapshot
from variegate.engine.experiment import Experiment
from variegate.engine.queries import policy_report
from variegate.errors import StateError
from variegate.policies import State
from variegate.store import PeriodSums, Reader, Recent

MINUTE: Final = 60.0
#: Points of a series of rewards, at most.
MAX_BUCKETS: Final = 60
#: Users in the histograms, at most: the latest.
MAX_USERS: Final = 250
BARS: Final = 20


def overview(
    reader: Reader, snapshot: CatalogueSnapshot, experiment: Experiment, *, now: float, minutes: int
) -> dict[str, Any]:
    """Return the overview of the last minutes."""
    first = int(now // MINUTE) - minutes + 1
    found = reader.recent(first * MINUTE, -(-minutes // MAX_BUCKETS))
    return {
        "counts": reader.counts(),
        "per_minute": _traffic(found, first, minutes),
        "by_policy": [_bucket(row) for row in found.rewards],
        "beta": _diversity_weights(reader, snapshot, experiment),
        "report": policy_report(reader, experiment),
    }


def _traffic(found: Recent, first: int, minutes: int) -> list[dict[str, Any]]:
    return [
        {
            "minute": int(MINUTE) * minute,
            "lists": found.lists[minute],
            "feedback": found.feedback[minute],
        }
        for minute in range(first, first + minutes)
    ]


def _bucket(row: PeriodSums) -> dict[str, Any]:
    return {
        "policy": row.policy,
        "minute": int(MINUTE) * row.first,
        "reward": row.earned / max(row.positions, 1),
        "diversity": {name: total / row.answered for name, total in row.diversity.items()},
    }


def _diversity_weights(
    reader: Reader, snapshot: CatalogueSnapshot, experiment: Experiment
) -> dict[str, Any]:
    """Return histograms of the learnt weights of diversity over users, by policy and distance."""
    # One object takes the state of one user after another: making it costs more than that.
    policies = {name: experiment.new_policy(name, snapshot.catalogue) for name in experiment.specs}
    learnt: dict[str, list[FloatArray]] = defaultdict(list)
    for user in reader.users(reader.recent_users(MAX_USERS)).values():
        policy = policies.get(user.policy)
        # Others learn no weights of diversity.
        if policy is None or not policy.takes_dial or user.state is None:
            continue
        try:
            policy.restore(State.from_bytes(user.state))
        except StateError:  # it is relearnt when the user comes back
            continue
        learnt[user.policy].append(policy.diversity_weights)
    names = [h.name for h in snapshot.catalogue.distances]
    return {
        policy: dict(zip(names, map(_histogram, np.transpose(weights)), strict=True))
        for policy, weights in sorted(learnt.items())
    }


def _histogram(weights: Sequence[float] | FloatArray) -> dict[str, Any]:
    counts, edges = np.histogram(weights, bins=BARS)
    return {"edges": np.round(edges, 9).tolist(), "counts": counts.tolist()}

"""bayesianbandits with one learner shared by all arms: the nearest of the peers to LMDH."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from bayesianbandits import (  # type: ignore[import-not-found]
    Arm,
    ArmFeaturizer,
    LipschitzContextualAgent,
    NormalRegressor,
    ThompsonSampling,
    UpperConfidenceBound,
)

from benchmarks.peers.measuring import Measured, Task, given_task, measure, print_measured


class Rows(ArmFeaturizer):  # type: ignore[misc]
    """Gives each arm its row of features; the context is the user's own agent."""

    def __init__(self, features: Any) -> None:
        self.features = features

    def transform(self, X: Any, *, action_tokens: Sequence[int]) -> Any:
        """Return the rows of the arms asked for."""
        return self.features[np.asarray(action_tokens)]


def main() -> None:
    """Measure `pull(top_k=)` under two policies, and ten updates."""
    task = given_task()
    policies = {
        "bayesianbandits UCB": (
            UpperConfidenceBound(),
            f"one model of {task.items:,} items' features, bounds from 1,000 draws; no diversity",
        ),
        "bayesianbandits Thompson": (
            ThompsonSampling(),
            f"one model of {task.items:,} items' features, one draw; no diversity",
        ),
    }
    measured = [
        row for title, (policy, job) in policies.items() for row in _rows(task, title, policy, job)
    ]
    print_measured("bayesianbandits", measured)


def _rows(task: Task, title: str, policy: Any, job: str) -> list[Measured]:
    rng = np.random.default_rng(0)
    features = rng.uniform(-1.0, 1.0, (task.items, task.d))
    agent = LipschitzContextualAgent(
        [Arm(item) for item in range(task.items)],
        policy,
        Rows(features),
        NormalRegressor(alpha=50.0, beta=1.0),
        random_seed=0,
    )
    now = np.ones((1, 1))

    def learn(experiment: Sequence[int]) -> None:
        for arm in experiment:
            agent.select_for_update(arm).update(now, np.array([float(arm % 2)]))

    for _ in range(20):
        learn(rng.integers(task.items, size=10).tolist())
    ten = rng.integers(task.items, size=10).tolist()
    return measure(
        task,
        title,
        (job, lambda: agent.pull(now, top_k=task.k)),
        ("ten updates, one by one", lambda: learn(ten)),
    )


if __name__ == "__main__":
    main()

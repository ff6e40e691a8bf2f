"""contextualbandits' LinUCB: a ridge regression for each arm, in compiled code."""

import numpy as np
from contextualbandits.online import LinUCB  # type: ignore[import-not-found]

from benchmarks.peers.measuring import Measured, given_task, print_measured, seconds_of


def main() -> None:
    """Measure the ten best arms, and ten observations in one `partial_fit`."""
    task, rng = given_task(), np.random.default_rng(0)
    bandit = LinUCB(task.items, alpha=1.0, lambda_=50.0, random_state=1, njobs=1)
    experiment, rewards = (
        rng.integers(task.items, size=200),
        rng.integers(2, size=200).astype(float),
    )
    contexts = rng.uniform(-1.0, 1.0, (200, task.d))
    bandit.fit(contexts, experiment, rewards)
    few = contexts[:10], experiment[:10], rewards[:10]
    title = "contextualbandits LinUCB"
    print_measured(
        "contextualbandits",
        [
            Measured(
                title,
                "list",
                f"scores {task.items:,} arms one by one, then the {task.k} best; no diversity",
                seconds_of(lambda: bandit.topN(contexts[:1], task.k), task.budget),
            ),
            Measured(
                title,
                "learn",
                "ten observations in one `partial_fit`",
                seconds_of(lambda: bandit.partial_fit(*few), task.budget),
            ),
        ],
    )


if __name__ == "__main__":
    main()

"""contextualbandits' LinUCB: a ridge regression for each arm, in compiled code."""

import numpy as np
from contextualbandits.online import LinUCB  # type: ignore[import-not-found]

from benchmarks.peers.measuring import given_task, measure, print_measured, scores_all_arms


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
    print_measured(
        "contextualbandits",
        measure(
            task,
            "contextualbandits LinUCB",
            (scores_all_arms(task), lambda: bandit.topN(contexts[:1], task.k)),
            ("ten observations in one `partial_fit`", lambda: bandit.partial_fit(*few)),
        ),
    )


if __name__ == "__main__":
    main()

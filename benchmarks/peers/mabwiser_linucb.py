"""MABWiser's LinUCB: a ridge regression for each arm, of the context and not of the item."""

import heapq

import numpy as np
from mabwiser.mab import MAB, LearningPolicy  # type: ignore[import-not-found]

from benchmarks.peers.measuring import Measured, given_task, print_measured, seconds_of


def main() -> None:
    """Measure the ten best arms, and ten observations in one `partial_fit`."""
    task, rng = given_task(), np.random.default_rng(0)
    bandit = MAB(
        list(range(task.items)), LearningPolicy.LinUCB(alpha=1.0, l2_lambda=50.0), n_jobs=1
    )
    experiment, rewards = rng.integers(task.items, size=200), rng.integers(2, size=200)
    contexts = rng.uniform(-1.0, 1.0, (200, task.d))
    bandit.fit(experiment.tolist(), rewards.tolist(), contexts)
    few = experiment[:10].tolist(), rewards[:10].tolist(), contexts[:10]

    def best() -> list[int]:
        scores = bandit.predict_expectations(contexts[:1])
        return heapq.nlargest(task.k, scores, key=scores.__getitem__)

    title, arms_said = "MABWiser LinUCB", f"{task.items:,} arms"
    print_measured(
        "mabwiser",
        [
            Measured(
                title,
                "list",
                f"scores {arms_said} one by one, then the {task.k} best; no diversity",
                seconds_of(best, task.budget),
            ),
            Measured(
                title,
                "learn",
                "ten observations in one `partial_fit`, for one context",
                seconds_of(lambda: bandit.partial_fit(*few), task.budget),
            ),
        ],
    )


if __name__ == "__main__":
    main()

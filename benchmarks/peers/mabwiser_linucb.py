"""MABWiser's LinUCB: a ridge regression for each arm, of the context and not of the item."""

import heapq

import numpy as np
from mabwiser.mab import MAB, LearningPolicy  # type: ignore[import-not-found]

from benchmarks.peers.measuring import given_task, measure, print_measured, scores_all_arms


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

    fitting = "ten observations in one `partial_fit`, for one context"
    print_measured(
        "mabwiser",
        measure(
            task,
            "MABWiser LinUCB",
            (scores_all_arms(task), best),
            (fitting, lambda: bandit.partial_fit(*few)),
        ),
    )


if __name__ == "__main__":
    main()

"""river's LinUCBDisjoint: a Bayesian regression for each arm, which picks one arm."""

import random

from river.bandit import LinUCBDisjoint  # type: ignore[import-not-found]

from benchmarks.peers.measuring import given_task, measure, print_measured


def main() -> None:
    """Measure one pull over all arms, and ten updates."""
    task, draw = given_task(), random.Random(0)  # noqa: S311
    bandit, experiment = LinUCBDisjoint(seed=0), list(range(task.items))

    def context() -> dict[int, float]:
        return {i: draw.uniform(-1.0, 1.0) for i in range(task.d)}

    for _ in range(200):
        bandit.update(draw.choice(experiment), context(), float(draw.random() < 0.4))
    now = context()
    ten = [(draw.choice(experiment), context(), 1.0) for _ in range(10)]

    def learn() -> None:
        for arm, seen, reward in ten:
            bandit.update(arm, seen, reward)

    title = "river LinUCBDisjoint"
    print_measured(
        "river",
        measure(
            task,
            title,
            (
                f"picks ONE of {task.items:,} arms: there is no list of {task.k}",
                lambda: bandit.pull(experiment, context=now),
            ),
            ("ten updates, one by one", learn),
        ),
    )


if __name__ == "__main__":
    main()

"""river's LinUCBDisjoint: a Bayesian regression for each arm, which picks one arm."""

import random

from river.bandit import LinUCBDisjoint  # type: ignore[import-not-found]

from benchmarks.peers.measuring import Measured, given_task, print_measured, seconds_of


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
        [
            Measured(
                title,
                "list",
                f"picks ONE of {task.items:,} arms: there is no list of {task.k}",
                seconds_of(lambda: bandit.pull(experiment, context=now), task.budget),
            ),
            Measured(title, "learn", "ten updates, one by one", seconds_of(learn, task.budget)),
        ],
    )


if __name__ == "__main__":
    main()

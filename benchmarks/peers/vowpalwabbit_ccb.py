"""Vowpal Wabbit's conditional contextual bandit: ten slots over one set of actions."""

import random

from vowpalwabbit import Workspace  # type: ignore[import-not-found]

from benchmarks.peers.measuring import Task, given_task, measure, print_measured

OPTIONS = "--ccb_explore_adf --epsilon 0.1 --quadratic ua --random_seed 1 --quiet"


def main() -> None:
    """Measure one decision of ten slots, and learning from one."""
    task = given_task()
    model = Workspace(OPTIONS)
    shared, actions = _lines(task)
    slots = [f"ccb slot |s place{place}" for place in range(task.k)]
    for turn in range(20):
        chosen = model.predict([shared, *actions, *slots])
        model.learn([shared, *actions, *_answered(chosen, turn)])
    answered = _answered(model.predict([shared, *actions, *slots]), 0)
    title = "Vowpal Wabbit CCB"
    print_measured(
        "vowpalwabbit",
        measure(
            task,
            title,
            (
                f"{task.k} slots that repeat no action, no distances; text is parsed at each call",
                lambda: model.predict([shared, *actions, *slots]),
            ),
            (
                "one decision of ten slots, its text parsed again",
                lambda: model.learn([shared, *actions, *answered]),
            ),
        ),
    )
    model.finish()


def _lines(task: Task) -> tuple[str, list[str]]:
    draw = random.Random(0)  # noqa: S311

    def features() -> str:
        return " ".join(f"{i}:{draw.uniform(-1, 1):.4f}" for i in range(task.d))

    actions = [f"ccb action |a {features()}" for _ in range(task.items)]
    return f"ccb shared |u {features()}", actions


def _answered(chosen: list[list[tuple[int, float]]], turn: int) -> list[str]:
    """Return the slots with what they chose, its cost and how likely it was."""
    return [
        f"ccb slot {slot[0][0]}:{-float((place + turn) % 2)}:{slot[0][1]} |s place{place}"
        for place, slot in enumerate(chosen)
    ]


if __name__ == "__main__":
    main()

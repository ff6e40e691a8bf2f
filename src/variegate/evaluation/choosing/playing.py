"""Policies replayed on several folds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from variegate.evaluation.choosing.folds import Fold
from variegate.evaluation.choosing.measures import Measures, measures_of
from variegate.evaluation.replay import ReplayTask
from variegate.evaluation.runner import evaluate
from variegate.policies import PolicySpec


@dataclass(frozen=True)
class Stage:
    """The folds, and how policies are replayed on them."""

    folds: Sequence[Fold]
    rounds: int
    k: int
    seed: int
    workers: int = 1

    def played(
        self,
        policies: Sequence[Sequence[PolicySpec]],
        *,
        is_plain: bool = False,
        progress: Callable[[int, int], None] = lambda _done, _of: None,
    ) -> list[list[Measures]]:
        """Return what each of a fold's policies is worth, fold by fold.

        `is_plain` shows items without their popularity.
        """
        tasks = [fold.plain if is_plain else fold.popular for fold in self.folds]
        number_of = {task: number for number, task in enumerate(tasks)}

        def specs(task: ReplayTask) -> dict[str, PolicySpec]:
            return {str(place): spec for place, spec in enumerate(policies[number_of[task]])}

        found = evaluate(
            specs,
            tasks,
            rounds=self.rounds,
            k=self.k,
            seed=self.seed,
            workers=self.workers,
            progress=lambda _stage, done, total: progress(done, total),
        )
        return [
            [measures_of(scores[fold]) for scores in found.scores.values()]
            for fold in range(len(tasks))
        ]

"""Users who do not examine the whole list: learners that model it, and learners that do not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.intervals import Interval, student_interval
from experiments.simulated.world import (
    RIDGE,
    TOPICS,
    Experiment,
    K,
    Size,
    Sizes,
    best_clicks,
    click_probabilities,
    draw_items,
    stream,
    taste_of,
)
from experiments.simulated.world import play as play_user
from variegate.arrays import FloatArray
from variegate.evaluation.simulation import clicks
from variegate.policies import LMDH, Uniform

#: The probability that each position is examined, of users who skip positions.
EXAMINED: Final = tuple(1.0 / position for position in range(1, K + 1))
#: What users do, and the learner's option for it.
USERS: Final[Mapping[str, str | tuple[float, ...]]] = {"cascade": "cascade", "examined": EXAMINED}
#: What learners assume: what users do, or that all positions are examined.
LEARNERS: Final = ("right", "all")
SIZES: Final = Sizes(full=Size(runs=60, rounds=300), quick=Size(runs=30, rounds=150))

#: The ridge of the learner that is shown random lists: too small to bias its estimates.
_SMALL_RIDGE: Final = 0.01


@dataclass(frozen=True, eq=False)
class Examination:
    """Estimates and clicks of learners, with users who examine part of their lists.

    Estimates are from random lists, the same for both learners, so that only the option differs;
    clicks are those of a learner's own lists.
    """

    #: eta_hat - eta after random lists, (runs, users, learners, rounds, TOPICS + 1)
    errors: FloatArray
    #: eta, (runs, TOPICS + 1)
    eta: FloatArray
    #: Expected clicks if all were examined, of a recommender that knows eta, (runs,)
    best: FloatArray
    #: The same of a learner's lists, (runs, users, learners, rounds)
    earned: FloatArray

    def relative_errors(self) -> FloatArray:
        """Return |eta_hat - eta| / |eta|, (runs, users, learners, rounds)."""
        lengths = np.linalg.norm(self.eta, axis=1)[:, None, None, None]
        return np.asarray(np.linalg.norm(self.errors, axis=-1) / lengths)

    def bias(self) -> Interval:
        """Return the mean of eta_hat - eta at the end: over theta and of beta, (users, l, 2)."""
        last = self.errors[:, :, :, -1]
        return student_interval(np.stack([last[..., :-1].mean(axis=-1), last[..., -1]], axis=-1))

    def shares(self) -> FloatArray:
        """Return the clicks as a share of the best, (runs, users, learners)."""
        return np.asarray(self.earned.mean(axis=-1) / self.best[:, None, None])


def examined_clicks(user: str, liked: FloatArray, looks: FloatArray) -> FloatArray:
    """Return the clicks of a user who would click on all that is `liked` if they examined it."""
    if user == "examined":
        return liked * (looks < EXAMINED)
    return liked * (np.cumsum(liked) <= 1.0)


def _run(run: int, rounds: int, seed: int) -> tuple[FloatArray, ...]:
    rng = stream(seed, 2, run)
    catalogue = draw_items(rng)
    # So low that cascades often go on, and that no probability must be clipped.
    eta = np.append(rng.uniform(0.02, 0.5, TOPICS), rng.uniform(0.15, 0.3))
    taste, luck = taste_of(catalogue, eta), rng.random((rounds, 2, K))
    random_lists = [Uniform(catalogue).recommend(K, rng=rng) for _ in range(rounds)]
    errors = np.zeros((len(USERS), len(LEARNERS), rounds, TOPICS + 1))
    earned = np.zeros((len(USERS), len(LEARNERS), rounds))
    for row, (user, right) in enumerate(USERS.items()):

        def click(chance: FloatArray, luck: FloatArray, user: str = user) -> FloatArray:
            return examined_clicks(user, clicks(chance, luck[0]), luck[1])

        for column, option in enumerate((right, "all")):
            policy = LMDH(catalogue, ridge=_SMALL_RIDGE, attention=option)
            for t, slate in enumerate(random_lists):
                policy.update(slate, click(click_probabilities(slate, taste), luck[t]))
                weights = policy.preferences
                errors[row, column, t] = np.append(weights.relevance, weights.diversity) - eta
            learner = LMDH(catalogue, ridge=RIDGE, attention=option)
            (earned[row, column],) = play_user(
                [learner], luck, lambda _t, slate: click_probabilities(slate, taste), click=click
            )
    return errors, eta, np.array(best_clicks(taste)), earned


#: Play learners that model which positions users examine, and learners that do not.
EXPERIMENT: Final = Experiment(Examination, _run, SIZES, [*USERS, *LEARNERS])

"""Users who do not look at the whole list: learners that know of it, and that do not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.beyond.simulated.world import (
    RIDGE,
    TOPICS,
    Interval,
    K,
    Progress,
    Size,
    Sizes,
    chances,
    draw_items,
    interval,
    most_clicks,
    over_runs,
    silent,
    stream,
    taste_of,
)
from variegate.arrays import FloatArray
from variegate.evaluation.simulation import clicks
from variegate.policies import LMDH, Uniform

#: How likely each position is looked at, by users who look here and there.
EXAMINED: Final = tuple(1.0 / position for position in range(1, K + 1))
#: What users do, and the option that says so.
USERS: Final[Mapping[str, str | tuple[float, ...]]] = {"cascade": "cascade", "examined": EXAMINED}
#: What learners take users to do: what they do, or to look at all.
LEARNERS: Final = ("right", "all")
ATTENTION_SIZES: Final = Sizes(full=Size(runs=60, rounds=300), quick=Size(runs=30, rounds=150))

#: Of the learner that is shown random lists: too small a ridge to bias what it estimates.
_FLAT: Final = 0.01


@dataclass(frozen=True, eq=False)
class Attention:
    """What learners make of users who look at part of their lists.

    Estimates are from random lists, the same for both learners, so that nothing but the option
    makes a difference; clicks are those of the lists that a learner makes itself.
    """

    #: eta_hat - eta after random lists, (runs, users, learners, rounds, TOPICS + 1)
    errors: FloatArray
    #: eta, (runs, TOPICS + 1)
    eta: FloatArray
    #: Clicks to be expected, were all looked at, of one who knows eta, (runs,)
    best: FloatArray
    #: The same of a learner's lists, (runs, users, learners, rounds)
    earned: FloatArray

    def distances(self) -> FloatArray:
        """Return |eta_hat - eta| / |eta|, (runs, users, learners, rounds)."""
        lengths = np.linalg.norm(self.eta, axis=1)[:, None, None, None]
        distances: FloatArray = np.linalg.norm(self.errors, axis=-1) / lengths
        return distances

    def bias(self) -> Interval:
        """Return the mean of eta_hat - eta at the end: over theta and of beta, (users, l, 2)."""
        last = self.errors[:, :, :, -1]
        return interval(np.stack([last[..., :-1].mean(axis=-1), last[..., -1]], axis=-1))

    def shares(self) -> FloatArray:
        """Return the clicks as a share of the most there were, (runs, users, learners)."""
        shares: FloatArray = self.earned.mean(axis=-1) / self.best[:, None, None]
        return shares


def attention(
    size: Size = ATTENTION_SIZES.full,
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = silent,
) -> Attention:
    """Play learners that know where users look, and that do not, against such users."""
    return Attention(*over_runs(_run, size, seed, workers=workers, progress=progress))


def seen_clicks(user: str, liked: FloatArray, looks: FloatArray) -> FloatArray:
    """Return the clicks of a user who would click on all that is `liked`, had they looked."""
    if user == "examined":
        return liked * (looks < EXAMINED)
    return liked * (np.cumsum(liked) <= 1.0)


def _run(run: int, rounds: int, seed: int) -> tuple[FloatArray, ...]:
    rng = stream(seed, 2, run)
    catalogue = draw_items(rng)
    # So low that cascades often go on, and that no chance must be cut.
    eta = np.append(rng.uniform(0.02, 0.5, TOPICS), rng.uniform(0.15, 0.3))
    taste, luck = taste_of(catalogue, eta), rng.random((rounds, 2, K))
    lists = [Uniform(catalogue).recommend(K, rng=rng) for _ in range(rounds)]
    errors = np.zeros((len(USERS), len(LEARNERS), rounds, TOPICS + 1))
    earned = np.zeros((len(USERS), len(LEARNERS), rounds))
    for row, (user, right) in enumerate(USERS.items()):
        for column, option in enumerate((right, "all")):
            taught = LMDH(catalogue, ridge=_FLAT, attention=option)
            learner = LMDH(catalogue, ridge=RIDGE, attention=option)
            for t, (at_random, (uniforms, looks)) in enumerate(zip(lists, luck, strict=True)):
                for policy, slate in ((taught, at_random), (learner, learner.recommend(K))):
                    chance = chances(slate, taste)
                    policy.update(slate, seen_clicks(user, clicks(chance, uniforms), looks))
                found = taught.preferences
                errors[row, column, t] = np.append(found.relevance, found.diversity) - eta
                earned[row, column, t] = chance.sum()  # of the learner's own list
    return errors, eta, np.array(most_clicks(taste)), earned

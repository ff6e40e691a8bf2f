"""Users whose tastes change, and learners that forget: what it wins, and what it costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.beyond.simulated.world import (
    NOISE,
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
from variegate.model.catalogue import Catalogue
from variegate.policies import LMDH, LMDP, Policy
from variegate.prior import Prior

#: What each list still counts for when the next is learnt.
FORGETTING: Final = (0.9, 0.95, 0.98, 0.99, 1.0)
#: How tastes change.
KINDS: Final[Mapping[str, str]] = {
    "still": "tastes stay",
    "walk": "tastes wander",
    "jumps": "another taste every 75 lists",
}
LEARNERS: Final = ("lmdh", "lmdp")
DRIFT_SIZES: Final = Sizes(full=Size(runs=30, rounds=300), quick=Size(runs=10, rounds=150))
#: Standard deviations of the bound of LMDH, and of LMDP under its noise. With more, forgetting
#: costs more where tastes stay: it never ends exploring.
EXPLORATION: Final = 0.5

#: Lists between jumps.
STRETCH: Final = 75
#: What remains of a wandering taste from one list to the next; after 100 lists a third.
KEPT: Final = 0.99
#: Tastes over users and over time: mean, deviation and the largest of theta, then of beta.
_MEAN: Final = np.append(np.full(TOPICS, 0.2), 0.1)
_DEVIATION: Final = np.append(np.full(TOPICS, 0.15), 0.05)
_LARGEST: Final = np.append(np.full(TOPICS, 0.7), 0.25)


@dataclass(frozen=True, eq=False)
class Drift:
    """Clicks to be expected of the lists of learners that forget, and of one who knows."""

    #: As played, (f,); the last is 1
    forgetting: FloatArray
    #: (runs, kinds, rounds)
    best: FloatArray
    #: (runs, kinds, learners, f, rounds)
    earned: FloatArray

    def shares(self) -> FloatArray:
        """Return the clicks as a share of the most there were, (runs, kinds, learners, f)."""
        shares: FloatArray = self.earned.sum(axis=-1) / self.best.sum(axis=-1)[:, :, None, None]
        return shares

    def gains(self) -> Interval:
        """Return what forgetting adds to the share, run by run, (kinds, learners, f)."""
        shares = self.shares()
        return interval(shares - shares[..., -1:])


def drift(
    size: Size = DRIFT_SIZES.full,
    *,
    forgetting: Sequence[float] = FORGETTING,
    exploration: float = EXPLORATION,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = silent,
) -> Drift:
    """Play learners that forget against users whose tastes stay, wander and jump."""
    kept = tuple(sorted({*forgetting, 1.0}))
    best, earned = over_runs(
        _run, size, kept, exploration, seed, workers=workers, progress=progress
    )
    return Drift(np.array(kept), best, earned)


def draw_path(kind: str, rounds: int, rng: np.random.Generator) -> FloatArray:
    """Return a user's weights in each round, (rounds, TOPICS + 1)."""
    if kind == "walk":
        return _cut(_wandering(rounds, rng))
    stretch = STRETCH if kind == "jumps" else rounds
    tastes = rng.standard_normal((-(-rounds // stretch), TOPICS + 1))
    return _cut(np.repeat(tastes, stretch, axis=0)[:rounds])


def _cut(standard: FloatArray) -> FloatArray:
    return np.clip(_MEAN + _DEVIATION * standard, 0.0, _LARGEST)


def _wandering(rounds: int, rng: np.random.Generator) -> FloatArray:
    steps = rng.standard_normal((rounds, TOPICS + 1))
    # As varied after any number of steps as at the start.
    for t in range(1, rounds):
        steps[t] = KEPT * steps[t - 1] + np.sqrt(1.0 - KEPT**2) * steps[t]
    return steps


def _run(
    run: int, rounds: int, forgetting: Sequence[float], exploration: float, seed: int
) -> tuple[FloatArray, ...]:
    rng = stream(seed, 1, run)
    catalogue = draw_items(rng)
    played = []
    for kind in KINDS:
        path, luck = draw_path(kind, rounds, rng), rng.random((rounds, K))
        learners = _learners(catalogue, forgetting, exploration)
        played.append(_play(catalogue, learners, path, luck))
    return np.stack([best for best, _ in played]), np.stack([earned for _, earned in played])


def _learners(
    catalogue: Catalogue, forgetting: Sequence[float], exploration: float
) -> list[list[Policy]]:
    prior = Prior(_MEAN, np.diag(_DEVIATION**2), NOISE, catalogue.feature_names, ("cosine",))
    return [
        [LMDH(catalogue, ridge=RIDGE, exploration=exploration, forgetting=f) for f in forgetting],
        # No floor: it is a promise, and no guess at what users want.
        [
            LMDP(catalogue, prior=prior, floor=None, exploration=exploration, forgetting=f)
            for f in forgetting
        ],
    ]


def _play(
    catalogue: Catalogue, learners: list[list[Policy]], path: FloatArray, luck: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the most there was, (rounds,), and what was earned, (learners, f, rounds)."""
    best, earned = np.zeros(len(path)), np.zeros((len(learners), len(learners[0]), len(path)))
    for t, uniforms in enumerate(luck):
        taste = taste_of(catalogue, path[t])
        is_new = t == 0 or bool((path[t] != path[t - 1]).any())
        best[t] = most_clicks(taste) if is_new else best[t - 1]
        for row, family in enumerate(learners):
            for column, policy in enumerate(family):
                slate = policy.recommend(K)
                chance = chances(slate, taste)
                policy.update(slate, clicks(chance, uniforms))
                earned[row, column, t] = chance.sum()
    return best, earned

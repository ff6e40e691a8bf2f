"""Users whose tastes change, and learners that forget: the gain and the cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.intervals import Interval, student_interval
from experiments.simulated.world import (
    NOISE,
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
from variegate.model.catalogue import Catalogue
from variegate.model.slate import Slate
from variegate.model.utility import Utility
from variegate.policies import LMDH, LMDP, Policy
from variegate.prior import Prior

#: The weight of each list after the next one; the last forgets nothing.
FORGETTING: Final = (0.9, 0.95, 0.98, 0.99, 1.0)
#: How tastes change.
KINDS: Final[Mapping[str, str]] = {
    "still": "tastes stay",
    "walk": "tastes wander",
    "jumps": "another taste every 75 lists",
}
LEARNERS: Final = ("lmdh", "lmdp")
SIZES: Final = Sizes(full=Size(runs=30, rounds=300), quick=Size(runs=10, rounds=150))
#: Standard deviations of the bound of LMDH, and of LMDP under its noise. With more, forgetting
#: costs more where tastes stay: exploration never ends.
EXPLORATION: Final = 0.5

#: Lists between jumps.
STRETCH: Final = 75
#: The correlation of a wandering taste from one list to the next; after 100 lists a third.
CORRELATION: Final = 0.99
#: Tastes over users and over time: mean, deviation and the largest of theta, then of beta.
_MEAN: Final = np.append(np.full(TOPICS, 0.2), 0.1)
_DEVIATION: Final = np.append(np.full(TOPICS, 0.15), 0.05)
_LARGEST: Final = np.append(np.full(TOPICS, 0.7), 0.25)


@dataclass(frozen=True, eq=False)
class Drift:
    """Expected clicks of the lists of learners that forget, and of one that knows the taste."""

    #: (runs, kinds, rounds)
    best: FloatArray
    #: (runs, kinds, learners, f, rounds)
    earned: FloatArray

    def differences(self) -> FloatArray:
        """Return the gain in the share of the best clicks, (runs, kinds, learners, f)."""
        shares = self.earned.sum(axis=-1) / self.best.sum(axis=-1)[:, :, None, None]
        return np.asarray(shares - shares[..., -1:])

    def gains(self) -> Interval:
        """Return the mean of the differences over runs, (kinds, learners, f)."""
        return student_interval(self.differences())


def draw_path(kind: str, rounds: int, rng: np.random.Generator) -> FloatArray:
    """Return a user's weights in each round, (rounds, TOPICS + 1)."""
    if kind == "walk":
        steps = rng.standard_normal((rounds, TOPICS + 1))
        # The variance is the same after any number of steps.
        for t in range(1, rounds):
            steps[t] = CORRELATION * steps[t - 1] + np.sqrt(1.0 - CORRELATION**2) * steps[t]
    else:
        stretch = STRETCH if kind == "jumps" else rounds
        tastes = rng.standard_normal((-(-rounds // stretch), TOPICS + 1))
        steps = np.repeat(tastes, stretch, axis=0)[:rounds]
    return np.clip(_MEAN + _DEVIATION * steps, 0.0, _LARGEST)


def _run(run: int, rounds: int, seed: int) -> tuple[FloatArray, FloatArray]:
    rng = stream(seed, 1, run)
    catalogue = draw_items(rng)
    best, earned = [], []
    for kind in KINDS:
        path, luck = draw_path(kind, rounds, rng), rng.random((rounds, K))
        keys = [eta.tobytes() for eta in path]
        tastes = {key: taste_of(catalogue, eta) for key, eta in zip(keys, path, strict=True)}

        def probabilities(
            t: int, slate: Slate, keys: list[bytes] = keys, tastes: dict[bytes, Utility] = tastes
        ) -> FloatArray:
            return click_probabilities(slate, tastes[keys[t]])

        played = play_user(_learners(catalogue), luck, probabilities)
        earned.append(played.reshape(len(LEARNERS), len(FORGETTING), rounds))
        most = {key: best_clicks(taste) for key, taste in tastes.items()}
        best.append(np.array([most[key] for key in keys]))
    return np.stack(best), np.stack(earned)


def _learners(catalogue: Catalogue) -> list[Policy]:
    prior = Prior(_MEAN, np.diag(_DEVIATION**2), NOISE, catalogue.feature_names, ("cosine",))
    return [
        *(LMDH(catalogue, ridge=RIDGE, exploration=EXPLORATION, forgetting=f) for f in FORGETTING),
        # No floor: it is an operator's constraint, and no estimate of what users want.
        *(
            LMDP(catalogue, prior=prior, floor=None, exploration=EXPLORATION, forgetting=f)
            for f in FORGETTING
        ),
    ]


#: Play learners that forget against users whose tastes stay, wander and jump.
EXPERIMENT: Final = Experiment(Drift, _run, SIZES, [*KINDS, *LEARNERS, *map(str, FORGETTING)])

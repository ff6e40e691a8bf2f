"""Several distances at once, and users who each value a different one of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.simulated.world import (
    ITEMS,
    RIDGE,
    Experiment,
    K,
    Size,
    Sizes,
    best_clicks,
    draw_mixes,
    stream,
    taste_of,
)
from experiments.simulated.world import play as play_user
from variegate.arrays import FloatArray, IndexArray, unit_rows
from variegate.model.catalogue import Catalogue
from variegate.model.distances import cosine, hamming
from variegate.model.gains import normalising_factors
from variegate.model.utility import Utility
from variegate.policies import LMDH

#: How items can differ: in their topics, their style, their kind.
DISTANCES: Final = ("topics", "style", "kind")
#: The distances of the learners: all, their average, the one that the user values, none.
LEARNERS: Final = ("all", "average", "right", "none")
SIZES: Final = Sizes(full=Size(runs=60, rounds=300), quick=Size(runs=30, rounds=150))

#: The weight of the distance that a user values.
BETA: Final = 0.4
_TOPICS: Final = 6
_KINDS: Final = 5


@dataclass(frozen=True, eq=False)
class MultiDistance:
    """What learners find out about users who value one distance of three."""

    #: The number of the distance that the user values, (runs,)
    cares: FloatArray
    #: beta_hat of the learner with all distances, (runs, rounds, m)
    found: FloatArray
    #: Expected clicks of the list of a recommender that knows eta, (runs,)
    best: FloatArray
    #: The same of the lists of each learner, (runs, learners, rounds)
    earned: FloatArray

    def right(self) -> FloatArray:
        """Return 1 where the largest beta_hat is the right one, else 0, (runs, rounds)."""
        return np.asarray(self.found.argmax(axis=-1) == self.cares[:, None], dtype=np.float64)

    def right_and_wrong(self) -> FloatArray:
        """Return beta_hat of the right distance and the mean of the others, (runs, rounds, 2)."""
        own = np.take_along_axis(self.found, self.cares.astype(int)[:, None, None], axis=-1)[..., 0]
        others = (self.found.sum(axis=-1) - own) / (len(DISTANCES) - 1)
        return np.stack([own, others], axis=-1)

    def shares(self) -> FloatArray:
        """Return the clicks as a share of the best, (runs, learners)."""
        return np.asarray(self.earned.mean(axis=-1) / self.best[:, None])


def draw_catalogues(rng: np.random.Generator, cares: int) -> dict[str, Catalogue]:
    """Return the same drawn items with the distances of each learner."""
    topics, style = draw_mixes(rng, of=_TOPICS), draw_mixes(rng, of=_TOPICS)
    kinds = rng.integers(_KINDS, size=ITEMS)
    several = [
        cosine(topics, name="topics"),
        cosine(style, name="style"),
        hamming(kinds.astype(str).tolist(), name="kind"),
    ]
    # The cosine of the stacked unit vectors is the mean of the three distances.
    stacked = np.hstack([unit_rows(topics), unit_rows(style), np.eye(_KINDS)[kinds]])
    distances = {
        "all": several,
        "average": [cosine(stacked, name="average")],
        "right": [several[cares]],
        "none": [],
    }
    return {name: Catalogue(range(ITEMS), topics, hs) for name, hs in distances.items()}


def rows_click_model(taste: Utility) -> Callable[[IndexArray], FloatArray]:
    """Return the click probabilities of a list of rows, whatever catalogue it was made from."""
    relevance = taste.catalogue.features @ taste.preferences.relevance
    pairs = np.stack([h.matrix() for h in taste.catalogue.distances], axis=-1)
    diversity = pairs @ taste.preferences.diversity
    factors = normalising_factors(taste.normaliser, K)

    def probabilities(items: IndexArray) -> FloatArray:
        above = np.tril(diversity[np.ix_(items, items)], -1).sum(axis=1)
        return np.asarray(np.clip(relevance[items] + factors * above, 0.0, 1.0))

    return probabilities


def _run(run: int, rounds: int, seed: int) -> tuple[FloatArray, ...]:
    rng, cares = stream(seed, 3, run), run % len(DISTANCES)
    catalogues = draw_catalogues(rng, cares)
    beta = BETA * (np.arange(len(DISTANCES)) == cares)
    taste = taste_of(catalogues["all"], np.append(rng.uniform(0.1, 0.4, _TOPICS), beta))
    learners = [LMDH(catalogues[name], ridge=RIDGE) for name in LEARNERS]
    probabilities, found = rows_click_model(taste), np.zeros((rounds, len(DISTANCES)))

    def note_weights(t: int) -> None:
        found[t] = learners[0].preferences.diversity

    earned = play_user(
        learners,
        rng.random((rounds, K)),
        lambda _t, slate: probabilities(slate.items),
        after_round=note_weights,
    )
    return np.array(float(cares)), found, np.array(best_clicks(taste)), earned


#: Play learners with several distances against users who value one of them.
EXPERIMENT: Final = Experiment(MultiDistance, _run, SIZES, [*DISTANCES, *LEARNERS])

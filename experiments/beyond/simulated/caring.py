"""Several distances at once, and users who each care for another one of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.beyond.simulated.world import (
    ITEMS,
    RIDGE,
    K,
    Progress,
    Size,
    Sizes,
    draw_mixes,
    most_clicks,
    over_runs,
    silent,
    stream,
    taste_of,
)
from variegate.arrays import FloatArray, IndexArray, unit_rows
from variegate.evaluation.simulation import clicks
from variegate.model.catalogue import Catalogue
from variegate.model.distances import cosine, hamming
from variegate.model.gains import normalising_factors
from variegate.model.utility import Utility
from variegate.policies import LMDH

#: What items can be apart in: their topics, their style, the kind of thing they are.
DISTANCES: Final = ("topics", "style", "kind")
#: What learners know of: all distances, their average, the one that the user cares for, none.
LEARNERS: Final = ("all", "average", "told", "none")
DISTANCES_SIZES: Final = Sizes(full=Size(runs=60, rounds=300), quick=Size(runs=30, rounds=150))

#: What a user who cares for a distance gives for it.
BETA: Final = 0.4
_TOPICS: Final = 6
_KINDS: Final = 5


@dataclass(frozen=True, eq=False)
class Distances:
    """What learners find out of users who care for one distance of three."""

    #: The number of the distance that the user cares for, (runs,)
    cares: FloatArray
    #: beta_hat of the learner that knows of all, (runs, rounds, m)
    found: FloatArray
    #: Clicks to be expected of the list of one who knows eta, (runs,)
    best: FloatArray
    #: The same of the lists of each learner, (runs, learners, rounds)
    earned: FloatArray

    def right(self) -> FloatArray:
        """Return 1 where the largest beta_hat is the right one, else 0, (runs, rounds)."""
        right: FloatArray = (self.found.argmax(axis=-1) == self.cares[:, None]).astype(np.float64)
        return right

    def of_right_and_wrong(self) -> FloatArray:
        """Return beta_hat of the right distance and the mean of the others, (runs, rounds, 2)."""
        own = np.take_along_axis(self.found, self.cares.astype(int)[:, None, None], axis=-1)[..., 0]
        others = (self.found.sum(axis=-1) - own) / (len(DISTANCES) - 1)
        return np.stack([own, others], axis=-1)

    def shares(self) -> FloatArray:
        """Return the clicks as a share of the most there were, (runs, learners)."""
        shares: FloatArray = self.earned.mean(axis=-1) / self.best[:, None]
        return shares


def distances(
    size: Size = DISTANCES_SIZES.full,
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = silent,
) -> Distances:
    """Play learners that know of several distances against users who care for one of them."""
    return Distances(*over_runs(_run, size, seed, workers=workers, progress=progress))


def draw_catalogues(rng: np.random.Generator, cares: int) -> dict[str, Catalogue]:
    """Return the same drawn items as each learner knows them."""
    topics, style = draw_mixes(rng, of=_TOPICS), draw_mixes(rng, of=_TOPICS)
    kinds = rng.integers(_KINDS, size=ITEMS)
    several = [
        cosine(topics, name="topics"),
        cosine(style, name="style"),
        hamming(kinds.astype(str).tolist(), name="kind"),
    ]
    # One cosine of all is the mean of the three; of labels as 0s and 1s it is their difference.
    joined = np.hstack([unit_rows(topics), unit_rows(style), np.eye(_KINDS)[kinds]])
    known = {
        "all": several,
        "average": [cosine(joined, name="average")],
        "told": [several[cares]],
        "none": [],
    }
    return {name: Catalogue(range(ITEMS), topics, hs) for name, hs in known.items()}


def known_chances(taste: Utility) -> Callable[[IndexArray], FloatArray]:
    """Return what gives the chances of a list, whatever catalogue it was made from."""
    relevance = taste.catalogue.features @ taste.preferences.relevance
    pairs = np.stack([h.matrix() for h in taste.catalogue.distances], axis=-1)
    diversity = pairs @ taste.preferences.diversity
    factors = normalising_factors(taste.normaliser, K)

    def chances_of(items: IndexArray) -> FloatArray:
        above = np.tril(diversity[np.ix_(items, items)], -1).sum(axis=1)
        chances: FloatArray = np.clip(relevance[items] + factors * above, 0.0, 1.0)
        return chances

    return chances_of


def _run(run: int, rounds: int, seed: int) -> tuple[FloatArray, ...]:
    rng, cares = stream(seed, 3, run), run % len(DISTANCES)
    catalogues = draw_catalogues(rng, cares)
    beta = BETA * (np.arange(len(DISTANCES)) == cares)
    taste = taste_of(catalogues["all"], np.append(rng.uniform(0.1, 0.4, _TOPICS), beta))
    learners = [LMDH(catalogues[name], ridge=RIDGE) for name in LEARNERS]
    chances_of = known_chances(taste)
    found, earned = np.zeros((rounds, len(DISTANCES))), np.zeros((len(LEARNERS), rounds))
    for t, uniforms in enumerate(rng.random((rounds, K))):
        for row, learner in enumerate(learners):
            slate = learner.recommend(K)
            chance = chances_of(slate.items)
            learner.update(slate, clicks(chance, uniforms))
            earned[row, t] = chance.sum()
        found[t] = learners[0].preferences.diversity
    return np.array(float(cares)), found, np.array(most_clicks(taste)), earned

"""Users of the film demo who want variety, or do not: how soon the right sentence is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.simulated.world import (
    Experiment,
    Size,
    Sizes,
    click_probabilities,
    stream,
    taste_of,
)
from variegate.arrays import FloatArray
from variegate.data.films import film_catalogue
from variegate.demo import Session, Statement, TotalDiversity, learnt_total_diversity
from variegate.demo.simulation import draw_relevance
from variegate.evaluation.simulation import clicks
from variegate.model.catalogue import Catalogue
from variegate.policies import LMDP

#: Users, in turn over the runs, by the range of their total weight of diversity.
USERS: Final[Mapping[str, tuple[float, float]]] = {
    "users who want variety": (0.5, 1.0),
    "users who do not": (-0.5, 0.0),
}
#: The statements that are right for each of them; every other one is wrong.
RIGHT: Final[Mapping[str, tuple[Statement, ...]]] = {
    "users who want variety": (Statement.VARIED,),
    "users who do not": (Statement.LESS, Statement.SIMILAR),
}
SIZES: Final = Sizes(full=Size(runs=100, rounds=10), quick=Size(runs=40, rounds=10))


@dataclass(frozen=True, eq=False)
class Variety:
    """What the demo would say of each user's total preference for variety after each list."""

    #: The true total, (runs,)
    total: FloatArray
    #: The probabilities that the statements are made of, see `TotalDiversity`, (runs, rounds)
    positive: FloatArray
    below_prior: FloatArray

    def sure_statements(self) -> list[list[Statement | None]]:
        """Return the statement after each list, None while no statement is sure."""
        found = np.vectorize(_sure_statement, otypes=[object])(self.positive, self.below_prior)
        rows: list[list[Statement | None]] = found.tolist()
        return rows

    def right(self) -> dict[str, FloatArray]:
        """Return by kind of user 1 from the list on after which the right one was made."""
        return self._made(is_right=True)

    def wrong(self) -> dict[str, FloatArray]:
        """Return by kind of user 1 from the list on after which a wrong one was made."""
        return self._made(is_right=False)

    def _made(self, *, is_right: bool) -> dict[str, FloatArray]:
        made, statements = {}, self.sure_statements()
        for place, (kind, right) in enumerate(RIGHT.items()):
            rows = statements[place :: len(RIGHT)]
            now = [[s is not None and (s in right) is is_right for s in row] for row in rows]
            made[kind] = np.maximum.accumulate(np.array(now, dtype=np.float64), axis=1)
        return made


def _sure_statement(positive: float, below_prior: float) -> Statement | None:
    total = TotalDiversity(0.0, 0.0, 0.0, positive, below_prior)
    return total.statement if total.is_sure else None


def _run(run: int, rounds: int, films: Catalogue, seed: int) -> tuple[FloatArray, ...]:
    rng = stream(seed, 7, run)
    total = rng.uniform(*list(USERS.values())[run % len(USERS)])
    beta = total * rng.dirichlet(np.ones(films.m))
    taste = taste_of(films, np.append(draw_relevance(films, rng), beta))
    session, said = Session(LMDP(films)), []
    for luck in rng.random((rounds, session.k)):
        chances = click_probabilities(session.slate(), taste)
        session.answer(np.flatnonzero(clicks(chances, luck)).tolist())
        learnt = learnt_total_diversity(session.policy)
        said.append((learnt.positive, learnt.below_prior))
    positive, below_prior = np.array(said).T
    return np.array(total), positive, below_prior


#: Play the demo (LMDP without a fitted prior, lists of ten films) with simulated users.
EXPERIMENT: Final = Experiment(
    Variety, _run, SIZES, list(USERS), lambda _seed, _workers: (film_catalogue(),)
)

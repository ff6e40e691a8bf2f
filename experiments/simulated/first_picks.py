"""The film demo without a fitted prior: the list after the first picks, and the clicks."""

import re
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
from variegate.arrays import FloatArray, IndexArray
from variegate.data.films import film_catalogue
from variegate.demo import Session
from variegate.demo.simulation import draw_relevance
from variegate.evaluation.simulation import clicks
from variegate.model.catalogue import Catalogue
from variegate.model.slate import Slate
from variegate.policies import LMDP, make_policy

#: Learners of the clicks. λ of LMDH is that of the demo: its 50 learns nothing in some lists.
LEARNERS: Final = ("lmdp", "lmdh:ridge=1,exploration=0.3", "uniform")
#: The total weight of diversity of simulated users, in turn over the runs.
TOTALS: Final = (0.0, 0.35, 0.7)
MAX_PICKS: Final = 3
SIZES: Final = Sizes(full=Size(runs=100, rounds=30), quick=Size(runs=30, rounds=10))

_BOND: Final = (
    "Dr. No|From Russia with Love|Goldfinger|Thunderball|You Only Live Twice|Casino Royale|"
    "On Her Majesty's|Diamonds Are Forever|Live and Let Die|The Man with the Golden Gun|"
    "The Spy Who Loved Me|Moonraker|For Your Eyes Only|Octopussy|Never Say Never Again|"
    "A View to a Kill|The Living Daylights|Licence to Kill|GoldenEye|Tomorrow Never Dies|"
    "The World Is Not Enough|Die Another Day|Quantum of Solace|Skyfall"
)
#: Beginnings of the titles of each series with three films or more; the data have no series.
SERIES: Final[Mapping[str, str]] = {
    "James Bond": _BOND,
    "Harry Potter": "Harry Potter",
    "The Lord of the Rings": "The Lord of the Rings",
    "The Hobbit": "The Hobbit",
    "Star Wars": "Star Wars",
    "Star Trek": "Star Trek",
    "Batman": "Batman|The Dark Knight",
    "Spider-Man": "(The Amazing )?Spider-Man",
    "X-Men": "X-Men|X2|The Wolverine",
    "Superman": "Superman|Supergirl|Man of Steel",
    "Marvel": "Iron Man|Thor|Captain America|The Avengers \\(2012|The Incredible Hulk|Guardians of",
    "Pirates of the Caribbean": "Pirates of the Caribbean",
    "Indiana Jones": "Indiana Jones|Raiders of the Lost Ark",
    "Twilight": "(The )?Twilight",
    "Alien": "Alien|Prometheus",
    "Terminator": "(The )?Terminator",
    "The Matrix": "The Matrix",
    "Bourne": "The Bourne",
    "Mission: Impossible": "Mission: Impossible",
    "Die Hard": "Die Hard|Live Free or Die Hard",
    "Lethal Weapon": "Lethal Weapon",
    "Fast & Furious": "Fast &|Fast Five|2 Fast|The Fast and the Furious",
    "Transformers": "Transformers",
    "Shrek": "Shrek|Puss in Boots",
    "Toy Story": "Toy Story",
    "Ice Age": "Ice Age",
    "Rocky": "Rocky",
    "Jurassic Park": "Jurassic Park|The Lost World: Jurassic",
    "The Godfather": "The Godfather",
    "Back to the Future": "Back to the Future",
    "The Mummy": "The Mummy",
    "Men in Black": "Men in Black",
    "The Hunger Games": "The Hunger Games",
    "Ocean's": "Ocean's",
    "Mad Max": "Mad Max",
    "Planet of the Apes": "(Rise of the |Dawn of the )?Planet of the Apes",
    "Austin Powers": "Austin Powers",
    "Dirty Harry": "Dirty Harry|Magnum Force|Sudden Impact|The Enforcer",
    "Hannibal Lecter": "Hannibal|Red Dragon|The Silence of the Lambs",
    "Jack Ryan": "The Hunt for Red|Patriot Games|Clear and Present|The Sum of All Fears",
    "Dollars": "A Fistful of Dollars|For a Few Dollars More|The Good, the Bad and the Ugly",
    "Godzilla": "Godzilla",
}


@dataclass(frozen=True, eq=False)
class FirstPicks:
    """The first two lists of users who pick at random, and clicks of simulated users."""

    #: Mean distance within the first and the second list, mean over the distances, (runs, 2)
    distances: FloatArray
    #: The largest number of films of one series in the second list, (runs,)
    of_one_series: FloatArray
    #: Expected clicks of each learner's lists, (runs, learners, rounds)
    earned: FloatArray


def second_list(films: Catalogue, picks: IndexArray) -> tuple[Slate, Slate]:
    """Return the first list of ten films, and the one after picks at these positions."""
    session = Session(LMDP(films))
    first = session.slate()
    session.answer(picks.tolist())
    return first, session.slate()


def mean_distance(films: Catalogue, items: IndexArray) -> float:
    """Return the mean distance of two items of a list, mean over the distances."""
    above = np.triu_indices(len(items), 1)
    return float(np.mean([h.among(items).matrix()[above] for h in films.distances]))


def most_of_one_series(films: Catalogue, items: IndexArray) -> int:
    """Return the largest number of films of one series."""
    titles = [films.titles[row] for row in items]
    return max(
        sum(re.match(pattern, title) is not None for title in titles) for pattern in SERIES.values()
    )


def _run(run: int, rounds: int, films: Catalogue, seed: int) -> tuple[FloatArray, ...]:
    rng = stream(seed, 8, run)
    picks = rng.choice(10, rng.integers(1, MAX_PICKS + 1), replace=False)
    lists = [slate.items for slate in second_list(films, picks)]
    beta = TOTALS[run % len(TOTALS)] * rng.dirichlet(np.ones(films.m))
    taste = taste_of(films, np.append(draw_relevance(films, rng), beta))
    # One number for each film, so that learners that show the same film meet the same luck.
    luck, earned = rng.random(len(films)), np.zeros((len(LEARNERS), rounds))
    for row, learner in enumerate(LEARNERS):
        session = Session(make_policy(learner, films), rng=run)
        for t in range(rounds):
            slate = session.slate()
            chances = click_probabilities(slate, taste)
            earned[row, t] = chances.sum()
            session.answer(np.flatnonzero(clicks(chances, luck[slate.items])).tolist())
    return (
        np.array([mean_distance(films, items) for items in lists]),
        np.array(float(most_of_one_series(films, lists[1]))),
        earned,
    )


#: Pick one to three films of the first list at random, and play learners against users.
EXPERIMENT: Final = Experiment(
    FirstPicks, _run, SIZES, LEARNERS, lambda _seed, _workers: (film_catalogue(),)
)

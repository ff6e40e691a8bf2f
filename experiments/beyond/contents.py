"""What the chapter beyond the paper shows: its settings, its figures, its tables."""

from collections.abc import Iterator
from inspect import signature
from typing import Final

from experiments.beyond import tables
from experiments.beyond.claims.on_frontier import moments_of
from experiments.beyond.figures.distances import DISTANCES
from experiments.beyond.figures.frontier import FRONTIERS
from experiments.beyond.figures.rounds import ROUNDS
from experiments.beyond.figures.simulated import SIMULATED
from experiments.beyond.methods import OURS, PRIOR_OPTIONS, with_defaults
from experiments.beyond.simulated_tables import simulated_tables
from experiments.names import dataset_title
from experiments.results import Results
from experiments.table import Table
from variegate.policies import LMDH

TITLE: Final = "Beyond the paper"
#: Every figure of the chapter, in its order.
PICTURES: Final = (*ROUNDS, *FRONTIERS, *DISTANCES, *SIMULATED)


def opening(results: Results) -> str:
    """Return what the chapter is about."""
    names = {} if results.beyond is None else results.beyond.replays
    datasets = ", ".join(dataset_title(results, name) for name in names) or "no data set"
    return (
        "LMDP is LMDH from a prior that was fitted to the training users, over items with one "
        "more feature, their popularity among the training users, twenty more for the tastes that "
        "run through their likes, and with a floor under the "
        f"weight of variety. Measured on {datasets}, on the same test users as LMDH and the "
        "paper's baselines."
    )


def settings_in_words() -> str:
    """Return the settings of our learner, and where they come from."""
    said = with_defaults(OURS).options
    papers = signature(LMDH).parameters
    fitted = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in PRIOR_OPTIONS.items())
    floor = said["floor"]
    told = (
        f"{floor[0]:g} in the first list, rising to {floor[1]:g} (half of the way after "
        f"{floor[2]:g} items seen)"
        if isinstance(floor, (list, tuple))
        else f"{floor}"
    )
    return (
        f"One set of settings for all data sets: exploration α = {said['exploration']:g}, floor "
        f"{told}; the prior was fitted with {fitted}. They were chosen on training users alone, by "
        f"`variegate tune`. LMDH has the paper's: λ = {papers['ridge'].default:g}, α = "
        f"{papers['exploration'].default:g}, no floor."
    )


def chapter_tables(results: Results) -> Iterator[tuple[str, list[Table]]]:
    """Yield the tables of the chapter under their headings."""
    chapter = results.beyond
    if chapter is None:
        return
    for dataset, replays in chapter.replays.items():
        found = [*tables.measure_tables(replays), tables.parts_table(replays)]
        frontier = chapter.frontier.get(dataset, {})
        if moments_of(frontier):
            found.append(tables.frontier_table(frontier))
            losses = tables.losses_table(frontier)
            found += [] if losses is None else [losses]
        yield dataset_title(results, dataset), found
    if chapter.distances is not None:
        yield "Several distances", [tables.distances_table(chapter.distances)]
    if chapter.simulated:
        yield "Simulated users", list(simulated_tables(chapter.simulated))

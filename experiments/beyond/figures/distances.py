"""What the learner makes of two distances on real data."""

from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.beyond.figures.rounds import chapter_of
from experiments.figures.drawing import Picture, legend_below, panels
from experiments.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: By what the learner knows of.
_STYLES: Final = {"cosine": ("#0072b2", "--"), "genres": ("#009e73", ":")}


def draw_distances(results: Results) -> "Figure":
    """Draw diversity by each distance over the rounds, for each learner."""
    found = chapter_of(results).distances
    names = () if found is None else found.names
    figure, row = panels([f"diversity by {name}" for name in names], ylabel="diversity")
    if found is None:
        return figure
    for place, axes in enumerate(row):
        for known, splits in found.scores.items():
            colour, style = _STYLES.get(known, ("#111111", "-"))
            mean = np.mean([scores.diversity[place].mean(axis=0) for scores in splits], axis=0)
            rounds = np.arange(1, len(mean) + 1)
            label = f"LMDP with {known}"
            axes.plot(rounds, mean, color=colour, linestyle=style, linewidth=1.8, label=label)
        axes.set_xlabel("round t")
    legend_below(figure, columns=3)
    return figure


DISTANCES: Final = (
    Picture(
        "beyond-distances",
        "Two distances at once",
        "Diversity between embeddings and between genres on MovieLens-100K, for a learner that "
        "knows of one distance or of both.",
        draw_distances,
        lambda results: chapter_of(results).distances is not None,
    ),
)

"""What the paper leaves open, and how it was read here."""

from typing import Final

#: What is open, and our reading of it; docs/paper.md has all of them, with reasons.
OPEN_POINTS: Final = (
    (
        "The normaliser of the distance",
        "The factor 2 / (|A|(|A| - 1)) has no meaning for one item and changes while a list "
        "grows. Three readings are measured: by the pairs of the list so far (growing, the "
        "default on real data), of the whole list (fixed), and no factor (none, the default in "
        "the simulation, since only it gives the paper's approximation ratios).",
    ),
    (
        "DC2B",
        "Only its abstract could be read, so it is a reconstruction, and its label names the "
        "choices. The variant with an intercept is stronger on real data and stands beside it.",
    ),
    (
        "C2UCB's exploration",
        "Not given; 1 is used, as for the other upper-bound learners.",
    ),
    (
        "The embeddings",
        "BPR's settings are not given. Here it has no item bias, so that popularity is in the "
        "factors; all numbers are then divided by the largest, to lie in [-1, 1].",
    ),
    (
        "The evaluation",
        "The paper calls it unbiased, but every item that a user did not rate counts as refused. "
        "It is called replay here, and its numbers compare methods; they do not tell what "
        "people would click.",
    ),
    (
        "Likes outside the candidates",
        "An item that no training user liked has no embedding and cannot be shown. Recall leaves "
        "such items out of its denominator, and users who like no candidate at all are left out "
        "and counted.",
    ),
    (
        "Splits, seeds, the simulation's horizon",
        "Not given. How many were used stands under the settings.",
    ),
)

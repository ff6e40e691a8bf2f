"""What tables and pictures call the methods and data sets."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from experiments.results import Results

#: What the paper sets its own method against on real data.
BASELINES: Final = ("logrank", "mmr", "epsilon-greedy", "c2ucb", "dc2b")
#: The methods of the paper's Figures 1 to 3.
PAPER_METHODS: Final = ("lmdh", *BASELINES)
#: LMDH that learns and never explores.
ABLATION: Final = "lmdh-greedy"

#: LMDH under each reading of the normaliser of the distance; `growing` is its default.
READINGS: Final[Mapping[str, str]] = MappingProxyType(
    {"growing": "lmdh", "fixed": "lmdh:normaliser=fixed", "none": "lmdh:normaliser=none"}
)

_METHODS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "lmdp": "LMDP",
        "lmdt": "LMDT",
        "lmdh": "LMDH",
        "lmdh-greedy": "LMDH, α = 0",
        "lmdh:normaliser=fixed": "LMDH, fixed",
        "lmdh:normaliser=none": "LMDH, none",
        "logrank": "LogRank",
        "mmr": "MMR",
        "epsilon-greedy": "ε-Greedy",
        "c2ucb": "C2UCB",
        "dc2b": "DC2B (reconstructed)",
        "dc2b:intercept=true": "DC2B (reconstructed), intercept",
        "lsb": "LSB",
        "uniform": "chance",
        "popular": "most popular",
    }
)

_DATASETS: Final[Mapping[str, str]] = MappingProxyType(
    {"ml-100k": "MovieLens-100K", "ml-1m": "MovieLens-1M", "anime": "Anime"}
)

#: Table 1 of the paper: users, items, interactions, categories, density in per cent.
PAPER_TABLE: Final[Mapping[str, tuple[int, int, int, int, float]]] = MappingProxyType(
    {
        "ml-100k": (942, 1447, 55_375, 18, 4.06),
        "ml-1m": (6038, 3533, 575_281, 18, 2.70),
        "anime": (69_400, 8825, 5_231_117, 44, 0.85),
    }
)


def method_title(policy: str) -> str:
    """Return what a figure calls a policy; the spec itself, if it has no other name."""
    return _METHODS.get(policy, policy)


def full_name(dataset: str) -> str:
    """Return the name of a data set in full."""
    return _DATASETS.get(dataset, dataset)


def dataset_title(results: Results, dataset: str) -> str:
    """Return what a figure calls a data set, and whether it is but a sample of the paper's."""
    title = full_name(dataset)
    return f"{title} (sample)" if is_sample(results, dataset) else title


def is_sample(results: Results, dataset: str) -> bool:
    """Return whether less than half of the paper's users are there: a sample by construction."""
    if dataset not in PAPER_TABLE:
        return False
    users = PAPER_TABLE[dataset][0]
    return any(row.dataset == dataset and 2 * row.users < users for row in results.table1)

"""Ways to search for a list, each over any way of scoring."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from variegate.search.base import FixedScores, Scorer, Search
from variegate.search.exhaustive import exhaustive
from variegate.search.greedy import greedy, non_oblivious_greedy
from variegate.search.local import local_search

#: The searches by the name that options and commands call them.
SEARCHES: Final[Mapping[str, Search]] = MappingProxyType(
    {
        "greedy": greedy,
        "non-oblivious": non_oblivious_greedy,
        "local": local_search,
        "exhaustive": exhaustive,
    }
)

__all__ = [
    "SEARCHES",
    "FixedScores",
    "Scorer",
    "Search",
    "exhaustive",
    "greedy",
    "local_search",
    "non_oblivious_greedy",
]

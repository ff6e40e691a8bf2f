"""The data sets that are known by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from variegate.datasets.anime import load_anime
from variegate.datasets.dataset import Dataset
from variegate.datasets.movielens import load_movielens_1m, load_movielens_100k
from variegate.datasets.sources import PathLike


class Loader(Protocol):
    """Reads one data set from its zip or folder."""

    def __call__(self, path: PathLike, *, above: float = ...) -> Dataset: ...


@dataclass(frozen=True)
class KnownDataset:
    """Where a data set comes from, how it is read, and what its licence asks."""

    name: str
    load: Loader
    #: The file to look for in the data folder
    archive: str
    #: The folder that it is unpacked to
    folder: str
    #: Files that must be inside
    files: tuple[str, ...]
    #: Where people find it
    page: str
    #: The licence's main terms, a sentence each
    licence: tuple[str, ...]
    #: Where it can be fetched without asking; None where a login is needed
    url: str | None = None
    #: MD5 of files inside, since publishers zip the same content anew
    checksums: Mapping[str, str] = field(default_factory=dict)
    #: What else the zip may be called, as a pattern
    also_called: str | None = None


_GROUPLENS = (
    "For research use; commercial use needs permission from GroupLens.",
    "Not to be passed on to others without separate permission.",
    "Publications must acknowledge it: F. M. Harper and J. A. Konstan, The MovieLens Datasets: "
    "History and Context, ACM TiiS 5(4), 2015.",
    "No endorsement by the University of Minnesota or GroupLens may be stated or implied.",
)

#: By the name that the command line takes
DATASETS: Mapping[str, KnownDataset] = MappingProxyType(
    {
        known.name: known
        for known in (
            KnownDataset(
                "ml-100k",
                load_movielens_100k,
                "ml-100k.zip",
                "ml-100k",
                ("u.data", "u.item"),
                "https://grouplens.org/datasets/movielens/100k/",
                _GROUPLENS,
                "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
                {"u.data": "6e47046882bad158b0efbb84cd5cb987"},
            ),
            KnownDataset(
                "ml-1m",
                load_movielens_1m,
                "ml-1m.zip",
                "ml-1m",
                ("ratings.dat", "movies.dat"),
                "https://grouplens.org/datasets/movielens/1m/",
                _GROUPLENS,
                "https://files.grouplens.org/datasets/movielens/ml-1m.zip",
                {"ratings.dat": "a89aa3591bc97d6d4e0c89459ff39362"},
            ),
            KnownDataset(
                "anime",
                load_anime,
                "anime.zip",
                "anime",
                ("anime.csv", "rating.csv"),
                "https://www.kaggle.com/datasets/CooperUnion/anime-recommendations-database",
                ("It comes with no licence text: see its page on Kaggle before passing it on.",),
                also_called="anime-*.zip",
            ),
        )
    }
)

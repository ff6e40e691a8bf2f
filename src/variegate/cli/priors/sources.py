"""Items and who likes them: what a prior is fitted to."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.arrays import IndexArray
    from variegate.cli.builds.training import Training
    from variegate.data.dataset import Dataset
    from variegate.model.catalogue import Catalogue


@dataclass(frozen=True, eq=False)
class Source:
    """A catalogue before its items had what the crowd tells, and the likes of its users."""

    catalogue: "Catalogue"
    data: "Dataset"
    #: Rows that each user likes; users who like no item of the catalogue are left out
    likes: "tuple[IndexArray, ...]"

    def add_collaborative_features(self) -> "Catalogue":
        """Return the catalogue with popularity and tastes, which it may have already."""
        from variegate.prior import add_collaborative_features

        return add_collaborative_features(self.catalogue, self.likes)


def source_from_likes(console: "Console", data: "Dataset", training: "Training") -> Source:
    """Learn vectors of the items from who liked what."""
    from variegate.cli.builds.training import catalogue_from_likes
    from variegate.evaluation.tasks import liked_rows

    catalogue, learnt_from = catalogue_from_likes(console, data, training)
    return Source(catalogue, learnt_from, liked_rows(learnt_from, catalogue.ids))


def source_from_catalogue(console: "Console", file: str, data: "Dataset") -> Source:
    """Take the features that a catalogue has."""
    from variegate.cli.console import say
    from variegate.errors import DataError
    from variegate.evaluation.tasks import liked_rows
    from variegate.model.catalogue import Catalogue

    catalogue = Catalogue.load(file)
    likes = liked_rows(data, catalogue.ids)
    if not likes:
        raise DataError(
            f"{file}: none of the {len(data.item_ids):,} items that {data.name} tells of is in it"
        )
    found = sum(map(len, likes))
    say(
        console,
        f"{data.name}: {found:,} of {len(data):,} likes are of the {len(catalogue):,} items of "
        f"{file}, by {len(likes):,} users",
    )
    return Source(catalogue, data, likes)

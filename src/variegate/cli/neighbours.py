"""Find items by title, their nearest neighbours, and summaries of distances."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

import numpy as np

from variegate.arrays import IndexArray, as_generator
from variegate.errors import NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.model.distances import Distance

#: Maximum number of multiplications per distance: about a second
MAX_WORK: Final = 500_000_000
#: Distances that differ by no more than this are ties: the difference is rounding
SAME: Final = 1e-9


@dataclass(frozen=True)
class DistanceSummary:
    """Mean and largest distance between items."""

    mean: float
    largest: float
    #: The rows of a most distant pair
    farthest: tuple[int, int]
    #: Number of pairs at the largest distance
    as_far: int
    #: Number of pairs measured, and whether these are all pairs
    pairs: int
    is_exact: bool


def by_popularity(catalogue: Catalogue) -> IndexArray:
    """Return all rows, the most popular first if the catalogue has popularity."""
    popularity = catalogue.attributes.get("popularity", ())
    if not popularity or not all(isinstance(number, (int, float)) for number in popularity):
        return np.arange(len(catalogue))
    return np.argsort(-np.array(popularity, dtype=np.float64), kind="stable")


def find_items(catalogue: Catalogue, wanted: str) -> list[int]:
    """Return the rows that match `wanted`: an id, a title, or a part of a title.

    The best match comes first. Raises NotFoundError, with the closest title, if none matches.
    """
    if wanted in catalogue.ids:
        return [catalogue.ids.index(wanted)]
    text, titles = wanted.casefold().strip(), [title.casefold() for title in catalogue.titles]
    order = by_popularity(catalogue).tolist()
    whole = [row for row in order if titles[row] == text]
    part = [row for row in order if text in titles[row] and titles[row] != text]
    if text and (whole or part):
        return whole + part
    near = _nearest_name(catalogue, text, order)
    hint = f": did you mean {near!r}?" if near else ""
    raise NotFoundError(f"`item` must be an id or a part of a title, got {wanted!r}{hint}")


def _nearest_name(catalogue: Catalogue, text: str, order: list[int]) -> str | None:
    """Return the title or id closest to `text`, comparing runs of as many words."""
    names: dict[str, str] = {}
    many = max(len(text.split()), 1)
    for row in order:
        title = catalogue.titles[row]
        words = title.casefold().split()
        for first in range(max(len(words) - many, 0) + 1):
            names.setdefault(" ".join(words[first : first + many]), title)
        names.setdefault(catalogue.ids[row].casefold(), catalogue.ids[row])
    near = get_close_matches(text, names, n=1, cutoff=0.6)
    return names[near[0]] if near else None


def nearest(h: Distance, item: int, count: int, order: IndexArray) -> list[tuple[int, float]]:
    """Return the rows nearest to `item` with their distances; ties are broken by `order`."""
    apart = h.from_item(item)
    # Rounded, so that ties broken by rounding errors are ties again.
    ranked = order[np.argsort(np.round(apart[order] / SAME), kind="stable")]
    return [(int(row), float(apart[row])) for row in ranked if row != item][:count]


def distance_summary(h: Distance, order: IndexArray, *, seed: int) -> DistanceSummary | None:
    """Return a summary over all pairs, or over a sample of items if there are too many.

    None if there are fewer than two items.
    """
    if len(order) < 2:
        return None
    rows = _sample(h, order, seed)
    among = h.among(rows)
    total, count, largest, as_far, farthest = 0.0, 0, -np.inf, 0, (0, 1)
    for place in range(len(rows) - 1):
        apart = among.from_item(place)[place + 1 :]
        total, count = total + float(apart.sum()), count + len(apart)
        most = float(apart.max())
        if most > largest + SAME:
            largest, as_far = most, 0
            farthest = (int(rows[place]), int(rows[place + 1 + int(apart.argmax())]))
        as_far += int((apart > largest - SAME).sum())
    return DistanceSummary(total / count, largest, farthest, as_far, count, len(rows) == len(order))


def _sample(h: Distance, order: IndexArray, seed: int) -> IndexArray:
    most = max(int((MAX_WORK / max(h.rows.shape[1], 1)) ** 0.5), 2)
    if len(order) <= most:
        return order
    places = as_generator(seed).choice(len(order), size=most, replace=False)
    return order[np.sort(places)]


def attribute_of(catalogue: Catalogue, h: Distance) -> Sequence[object] | None:
    """Return the attribute that a distance compares: the one with its name, or its singular."""
    for name in (h.name, h.name.removesuffix("s")):
        if name in catalogue.attributes:
            return catalogue.attributes[name]
    return None

"""What `variegate inspect` works out: which item is meant, what is near it, how far is far."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

import numpy as np

from variegate.arrays import IndexArray, generator
from variegate.errors import NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.model.distances import Distance

#: Multiplications that one distance may cost: about a second
MOST_WORK: Final = 500_000_000
#: Distances no further apart than this are the same: what is between them is rounding
SAME: Final = 1e-9


@dataclass(frozen=True)
class Spread:
    """How far apart items are under one distance."""

    mean: float
    largest: float
    #: The rows of a pair that is as far apart as any
    farthest: tuple[int, int]
    #: How many pairs are as far apart as that one
    as_far: int
    #: How many pairs were looked at, and whether these are all
    pairs: int
    is_exact: bool


def by_fame(catalogue: Catalogue) -> IndexArray:
    """Return all rows, the most popular first where the catalogue knows, else as they are."""
    popularity = catalogue.attributes.get("popularity", ())
    if not popularity or not all(isinstance(number, (int, float)) for number in popularity):
        return np.arange(len(catalogue))
    return np.argsort(-np.array(popularity, dtype=np.float64), kind="stable")


def found_items(catalogue: Catalogue, wanted: str) -> list[int]:
    """Return the rows that `wanted` can mean: an id, a title, or a part of a title.

    The likeliest comes first. Nothing at all raises NotFoundError with the nearest title.
    """
    if wanted in catalogue.ids:
        return [catalogue.ids.index(wanted)]
    text, titles = wanted.casefold().strip(), [title.casefold() for title in catalogue.titles]
    order = by_fame(catalogue).tolist()
    whole = [row for row in order if titles[row] == text]
    part = [row for row in order if text in titles[row] and titles[row] != text]
    if text and (whole or part):
        return whole + part
    near = _nearest_name(catalogue, text, order)
    hint = f": did you mean {near!r}?" if near else ""
    raise NotFoundError(f"`item` must be an id or a part of a title, got {wanted!r}{hint}")


def _nearest_name(catalogue: Catalogue, text: str, order: list[int]) -> str | None:
    """Return the title of which some words in a row, or the id which, are most like `text`."""
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
    """Return the rows nearest to `item` and how far they are; of ties, the first in `order`."""
    apart = h.from_item(item)
    # Rounded, so that ties which rounding broke are ties again.
    ranked = order[np.argsort(np.round(apart[order] / SAME), kind="stable")]
    return [(int(row), float(apart[row])) for row in ranked if row != item][:count]


def spread_of(h: Distance, order: IndexArray, *, seed: int) -> Spread | None:
    """Return how far apart items are: all of them, or a sample where that is too much work.

    None where there are no two items.
    """
    if len(order) < 2:
        return None
    rows = _looked_at(h, order, seed)
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
    return Spread(total / count, largest, farthest, as_far, count, len(rows) == len(order))


def _looked_at(h: Distance, order: IndexArray, seed: int) -> IndexArray:
    most = max(int((MOST_WORK / max(h.rows.shape[1], 1)) ** 0.5), 2)
    if len(order) <= most:
        return order
    places = generator(seed).choice(len(order), size=most, replace=False)
    return order[np.sort(places)]


def attribute_of(catalogue: Catalogue, h: Distance) -> Sequence[object] | None:
    """Return the attribute that a distance compares, which has its name or its singular."""
    for name in (h.name, h.name.removesuffix("s")):
        if name in catalogue.attributes:
            return catalogue.attributes[name]
    return None

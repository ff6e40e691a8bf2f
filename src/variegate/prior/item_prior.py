"""The prior of the items' relevance, from the likes of training users, and its posterior."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import isnan
from typing import Any, Final, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from variegate.arrays import (
    FloatArray,
    IndexArray,
    check_not_negative,
    check_range,
    set_read_only,
)
from variegate.errors import InputError
from variegate.kernels.rows import best_mean
from variegate.model.catalogue import Catalogue
from variegate.model.catalogue_checks import check_rows
from variegate.prior.conditioning import Conditioning, Observations
from variegate.prior.covariance import LikesCovariance, Moments
from variegate.prior.files import PriorFile
from variegate.prior.new_items import Neighbours, find_neighbours, mixtures
from variegate.prior.prior import beta_facts, check_names, examples, per_distance

#: Chosen on training users only, by `variegate tune`; see docs/explanation/beyond.md.
NOISE: Final = 0.2
DIVERSITY: Final = 0.9
BETA_VARIANCE: Final = 0.05
#: The most relevant items, as many as a usual list has.
N_BEST: Final = 10
#: Neither every user alike (0) nor every like alike (1); see docs/explanation/beyond.md.
ACTIVITY_WEIGHT: Final = 0.5
MIN_NOISE, MAX_NOISE = 1e-6, 1e6
EMPTY: Final[IndexArray] = np.zeros((2, 0), dtype=np.intp)


class Posterior(NamedTuple):
    """What is known of one user after some observations."""

    #: Expected relevance of each item, (L,)
    relevance: FloatArray
    #: Mean relevance of the best items of the prior that were not observed
    attainable: float
    #: Mean of beta, (m,), and its covariance, (m, m)
    beta: FloatArray
    beta_covariance: FloatArray


@dataclass(frozen=True, eq=False)
class ItemPrior(PriorFile):
    """A Gaussian prior of how relevant each item is to a user, from the likes of other users.

    The mean of an item is the share of users who like it. The covariance of two items is that of
    the likes, where a user with n likes has a weight proportional to 1 / sqrt(n), because the few
    users who like very much would dominate it otherwise. It is computed from the likes, row
    by row as items are shown, so all of it is used at any number of items.

    A user's posterior is this Gaussian conditioned on the rewards of the items shown to them;
    see `posterior`. The file holds the likes of each training user, without their names.

    Examples
    --------
    >>> shop = Catalogue(["tea", "mate", "rum"], np.eye(3), "cosine")
    >>> prior = fit_prior(shop, [[0, 1], [0, 1], [2], [0, 1]])
    >>> prior
    ItemPrior(3 items, 1 distances, fitted to 4 users)
    >>> prior.mean.tolist()
    [0.75, 0.75, 0.25]
    """

    kind = "items"

    #: Items of the catalogue, in the order of its rows
    item_ids: tuple[str, ...]
    #: Rows of the items that each user likes, user after user, and where those of each user end
    liked: IndexArray
    ends: IndexArray
    #: Variance of a reward around the item's relevance
    noise: float
    #: Names of the distances, and variance of the weight of each, (m,)
    distances: tuple[str, ...]
    beta_variance: FloatArray
    #: Total weight of the distances in a list, relative to the relevance of the best items
    diversity: float = DIVERSITY
    #: A user with n likes has a weight of n^-activity_weight in the covariance
    activity_weight: float = ACTIVITY_WEIGHT
    #: How many users of a service were shown each item, and how many of them liked it, (2, L)
    shown: IndexArray = field(default_factory=lambda: EMPTY)
    #: Number of first items that every user could like; the others were added later. -1: all
    originals: int = -1
    #: Each item of a catalogue that has grown, as a mixture of these; see `for_catalogue`
    mixtures: "scipy.sparse.csr_array | None" = field(default=None, metadata={"in_file": False})

    def __post_init__(self) -> None:
        check_range("noise", self.noise, MIN_NOISE, MAX_NOISE)
        check_range("activity_weight", self.activity_weight, 0.0, 1.0)
        check_not_negative(diversity=self.diversity)
        size, distances = len(self.item_ids), tuple(map(str, self.distances))
        originals = size if self.originals == -1 else self.originals
        if not 1 <= originals <= size:
            raise InputError(f"`originals` must be from 1 to {size}, got {originals!r}")
        checked = {
            "item_ids": tuple(map(str, self.item_ids)),
            "liked": _checked_integers("liked", self.liked, 0, size - 1),
            "ends": _checked_integers("ends", self.ends, 1, len(self.liked)),
            "noise": float(self.noise),
            "distances": distances,
            "beta_variance": per_distance(
                "beta_variance", self.beta_variance, len(distances), positive=True
            ),
            "diversity": float(self.diversity),
            "shown": _checked_shown(self.shown, size),
            "originals": int(originals),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if not len(self.ends) or self.ends[-1] != len(self.liked) or (np.diff(self.ends) < 1).any():
            raise InputError("`ends` must rise to the number of `liked`, one end per user")

    def __repr__(self) -> str:
        return (
            f"ItemPrior({len(self.item_ids)} items, {self.m} distances, "
            f"fitted to {self.users} users)"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the cached rows of the covariance.
        return type(self), tuple(getattr(self, one.name) for one in fields(self))

    @property
    def users(self) -> int:
        """Number of users that it was fitted to."""
        return len(self.ends)

    @property
    def m(self) -> int:
        """The number of distances."""
        return len(self.distances)

    @property
    def likes(self) -> list[IndexArray]:
        """Rows of the items that each user likes."""
        return np.split(self.liked, self.ends[:-1])

    def check(self, catalogue: Catalogue) -> None:
        """Raise InputError unless it is for this catalogue, or for its first items."""
        known = self.item_ids
        if catalogue.ids[: len(known)] != known:  # in C: it can be a million ids
            check_names("items", known, catalogue, catalogue.ids)
        check_names("distances", self.distances, catalogue, [h.name for h in catalogue.distances])

    def for_catalogue(self, catalogue: Catalogue) -> "ItemPrior":
        """Return the prior with predictions for the items that were added later.

        They are mixtures of the items with similar features; see `variegate.prior.new_items`.
        """
        self.check(catalogue)
        if len(catalogue) == (self.originals if self.mixtures is None else len(self.mean)):
            return self
        known, extended = self._extended
        if known is not catalogue:
            neighbours = find_neighbours(catalogue, self.originals, self._neighbours)
            mixed = mixtures(neighbours, self._moments.shares, self.shown, self.originals)
            extended = replace(self, mixtures=mixed)
            extended.__dict__.update(_moments=self._moments)
            self.__dict__.update(_neighbours=neighbours, _extended=(catalogue, extended))
        return extended

    @cached_property
    def best_share(self) -> float:
        """Mean share of users who like the ten items that most users like."""
        return _best_mean(self._moments.shares[: self.originals], np.zeros(0, dtype=np.intp))

    @cached_property
    def mean(self) -> FloatArray:
        """The prior mean of each item, (L,)."""
        shares = self._moments.shares
        return set_read_only(shares if self.mixtures is None else self.mixtures @ shares)

    def covariance(self, rows: IndexArray) -> NDArray[np.float32]:
        """Return rows of the covariance of the items, (n, L)."""
        matrix, places = self._covariance.rows(rows)
        return matrix[places]

    def posterior(self, seen: Observations) -> Posterior:
        """Return what is known of a user with these observations.

        The mean of beta is 0 before: a positive one would take from the relevance the credit for
        clicks.
        """
        relevance, spread = self.mean.copy(), np.diag(self.beta_variance)
        if not len(seen.items):
            return Posterior(relevance, self.best_share, np.zeros(self.m), spread)
        factor = self._conditioning.factor(seen)
        factor.add_posterior(relevance)
        beta, loss = factor.beta()
        best = _best_mean(relevance[: self.originals], seen.items)
        return Posterior(relevance, best, beta, spread - loss)

    def posterior_deviations(self, seen: Observations, items: IndexArray) -> FloatArray:
        """Return the standard deviation of the relevance of some items after observations."""
        own = self.covariance(items)
        variances = own[np.arange(len(items)), items].astype(np.float64)
        if len(seen.items):
            factor = self._conditioning.factor(seen)
            variances -= factor.explained(own[:, seen.items] * seen.scales)
        return np.sqrt(np.maximum(variances, 0.0))

    def with_likes(
        self,
        likes: Iterable[ArrayLike],
        item_ids: Sequence[str] | None = None,
        shown: ArrayLike | None = None,
    ) -> "ItemPrior":
        """Return the prior fitted also to the likes of more users.

        Parameters
        ----------
        item_ids
            All items if there are new ones, which come after those of the prior.
        shown
            How many of these users were shown each item, (L,): what new items got is compared
            with what similar items got. By default everybody was shown what they like.
        """
        ids = self.item_ids if item_ids is None else tuple(item_ids)
        more = liked_rows(likes, len(ids))
        rows = [*self.likes, *more]
        counts = np.zeros((2, len(ids)), dtype=np.intp)
        counts[:, : len(self.item_ids)] = self.shown
        clicks = np.bincount(np.concatenate(more), minlength=len(ids))
        counts += np.stack([clicks if shown is None else np.asarray(shown), clicks])
        return replace(
            self,
            item_ids=ids,
            liked=np.concatenate(rows),
            ends=np.cumsum([len(r) for r in rows]),
            shown=counts,
            mixtures=None,
        )

    def _facts(self, catalogue: Catalogue | None) -> Iterator[tuple[str, str]]:
        titles = self.item_ids if catalogue is None else catalogue.titles
        shares, second, total = self._moments.shares, self._moments.weighted, self._moments.total
        yield "most users like", examples(shares, titles)
        # Likes are 0 or 1, so their second moment is the first.
        yield "users differ most in", examples(second - second**2 / total, titles)
        yield "diversity", f"{self.diversity:g} times the relevance of the best items"
        deviations = np.sqrt(self.beta_variance)
        yield from beta_facts(self.distances, np.zeros(self.m), deviations, self.noise)

    @cached_property
    def _moments(self) -> Moments:
        return Moments.of(self.liked, self.ends, len(self.item_ids), self.activity_weight)

    @cached_property
    def _covariance(self) -> LikesCovariance:
        return LikesCovariance(self._moments, self.mixtures)

    @cached_property
    def _conditioning(self) -> Conditioning:
        return Conditioning(self._covariance, self.mean, self.beta_variance, self.noise)

    @cached_property
    def _extended(self) -> "tuple[Catalogue | None, ItemPrior]":
        """The latest catalogue and the prior for it."""
        return None, self

    @cached_property
    def _neighbours(self) -> Neighbours | None:
        return None


def fit_prior(
    catalogue: Catalogue,
    likes: Iterable[ArrayLike],
    *,
    noise: float = NOISE,
    diversity: float = DIVERSITY,
    beta_variance: ArrayLike = BETA_VARIANCE,
    activity_weight: float = ACTIVITY_WEIGHT,
) -> ItemPrior:
    """Return the prior of a catalogue's items from the likes of training users.

    Parameters
    ----------
    likes
        For each training user the rows of the items liked, or a mask of them. Users without
        likes are ignored.
    noise
        The variance of a reward around the item's relevance. Smaller values follow each reward
        more closely; few training users need a larger one.
    diversity
        Total weight of the distances in a list, relative to the mean relevance of the ten best
        items that the user has not seen yet: with 1, a list gives up all relevance for a mean
        distance that is larger by 1. It is a minimum: users who are found to want more get more.
    beta_variance
        Variance of the weight of diversity that users want, about which likes without lists say
        nothing: one number for all distances or one for each.
    activity_weight
        A user with n likes has a weight of n^-activity_weight in the covariance. 0 weights all
        users alike, so that the most active users dominate it.

    Examples
    --------
    >>> shop = Catalogue(["tea", "mate", "rum"], np.eye(3), "cosine")
    >>> prior = fit_prior(shop, [[0, 1], [0, 1], [2], [0, 1]])
    >>> seen = Observations(np.array([0]), np.ones(1), np.zeros((1, 1)), np.ones(1))
    >>> prior.posterior(seen).relevance.round(2).tolist()
    [0.88, 0.88, 0.12]
    """
    rows = liked_rows(likes, len(catalogue))
    return ItemPrior(
        catalogue.ids,
        np.concatenate(rows),
        np.cumsum([len(liked) for liked in rows]),
        noise,
        tuple(h.name for h in catalogue.distances),
        np.asarray(beta_variance),
        diversity,
        activity_weight,
    )


def liked_rows(likes: Iterable[ArrayLike], items: int) -> list[IndexArray]:
    """Return the sorted rows that each user likes, without users who like none."""
    if isinstance(likes, str) or not isinstance(likes, Iterable):
        raise InputError(f"`likes` must hold the rows that each user likes, got {likes!r}")
    rows = [np.unique(check_rows("likes", liked, items)) for liked in likes]
    rows = [liked for liked in rows if len(liked)]
    if not rows:
        raise InputError("`likes` must hold at least one user who likes an item, got none")
    return rows


def _best_mean(relevance: FloatArray, observed: IndexArray) -> float:
    """Return the mean relevance of the best items that were not observed, at least 0.

    Where fewer are left than a list has, of all items.
    """
    n = min(N_BEST, len(relevance))
    best = best_mean(relevance, observed, n)
    if isnan(best):
        best = best_mean(relevance, observed[:0], n)
    return max(best, 0.0)


def _checked_integers(name: str, values: Any, low: int, high: int) -> IndexArray:
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"`{name}` must be a list of whole numbers, got {values!r}")
    if len(array) and not (low <= array.min() and array.max() <= high):
        raise InputError(
            f"`{name}` must lie from {low} to {high}, got {array.min()} to {array.max()}"
        )
    found = array.astype(np.intp)
    found.flags.writeable = False
    return found


def _checked_shown(shown: Any, size: int) -> IndexArray:
    counts = np.asarray(shown if np.size(shown) else np.zeros((2, size), dtype=np.intp))
    if counts.shape != (2, size):
        raise InputError(f"`shown` must have shape (2, {size}), got {counts.shape}")
    counts = _checked_integers("shown", counts.ravel(), 0, 2**31).reshape(2, size)
    if (counts[1] > counts[0]).any():
        raise InputError("`shown` must have no more likes of an item than users shown it")
    return counts

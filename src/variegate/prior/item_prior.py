"""The prior of the items' relevance, from the likes of training users, and its posterior."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from variegate.arrays import (
    FloatArray,
    IndexArray,
    check_positive,
    check_range,
)
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.model.catalogue_checks import check_rows
from variegate.prior.files import PriorFile
from variegate.prior.new_items import LaterItems, Neighbours, find_neighbours
from variegate.prior.prior import per_distance

#: Chosen on training users only, by `variegate tune`; see docs/beyond.md.
NOISE: Final = 0.2
BETA: Final = 0.3
BETA_VARIANCE: Final = 0.05
#: Bytes of covariance rows that are kept, at most.
CACHE_BYTES: Final = 2**28
#: Neither every user alike (0) nor every like alike (1); see docs/beyond.md.
ACTIVITY_WEIGHT: Final = 0.5
MIN_NOISE, MAX_NOISE = 1e-6, 1e6
EMPTY: Final[IndexArray] = np.zeros((2, 0), dtype=np.intp)


class Observations(NamedTuple):
    """The rewards of one user: w = scale * relevance of the item + beta . gains + noise."""

    #: Rows of the items, (n,)
    items: IndexArray
    #: Probability that the position was examined, times what forgetting left of it, (n,)
    scales: FloatArray
    #: Diversity gains x of the positions, scaled likewise, (n, m), and rewards, (n,)
    gains: FloatArray
    rewards: FloatArray


class Posterior(NamedTuple):
    """What is known of one user after some observations."""

    #: Expected relevance of each item, (L,)
    relevance: FloatArray
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
    >>> prior.mean(3).tolist()
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
    #: Names of the distances, mean and variance of the weight of each, (m,)
    distances: tuple[str, ...]
    beta: FloatArray
    beta_variance: FloatArray
    #: A user with n likes has a weight of n^-activity_weight in the covariance
    activity_weight: float = ACTIVITY_WEIGHT
    #: How many users of a service were shown each item, and how many of them liked it, (2, L)
    shown: IndexArray = field(default_factory=lambda: EMPTY)
    #: Number of first items that every user could like; the others were added later. -1: all
    originals: int = -1
    #: Predictions for the items after the originals; see `for_catalogue`
    later: LaterItems | None = None

    def __post_init__(self) -> None:
        check_range("noise", self.noise, MIN_NOISE, MAX_NOISE)
        check_range("activity_weight", self.activity_weight, 0.0, 1.0)
        put = object.__setattr__
        put(self, "item_ids", tuple(map(str, self.item_ids)))
        put(self, "distances", tuple(map(str, self.distances)))
        put(self, "noise", float(self.noise))
        put(self, "liked", _checked_integers("liked", self.liked, 0, len(self.item_ids) - 1))
        put(self, "ends", _checked_integers("ends", self.ends, 1, len(self.liked)))
        if not len(self.ends) or self.ends[-1] != len(self.liked) or (np.diff(self.ends) < 1).any():
            raise InputError("`ends` must rise to the number of `liked`, one end per user")
        self._check_shown()
        for name in ("beta", "beta_variance"):
            put(self, name, per_distance(name, getattr(self, name), len(self.distances)))
        for variance in self.beta_variance:
            check_positive(beta_variance=float(variance))

    def _check_shown(self) -> None:
        put, size = object.__setattr__, len(self.item_ids)
        originals = size if self.originals == -1 else self.originals
        if not 1 <= originals <= size:
            raise InputError(f"`originals` must be from 1 to {size}, got {originals!r}")
        put(self, "originals", int(originals))
        shown = np.asarray(self.shown if np.size(self.shown) else np.zeros((2, size), np.intp))
        if shown.shape != (2, size):
            raise InputError(f"`shown` must have shape (2, {size}), got {shown.shape}")
        counts = _checked_integers("shown", shown.ravel(), 0, 2**31).reshape(2, size)
        if (counts[1] > counts[0]).any():
            raise InputError("`shown` must have no more likes of an item than users shown it")
        put(self, "shown", counts)

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
        known, ids = self.item_ids, catalogue.ids
        if ids[: len(known)] != known:
            pairs = enumerate(zip(known, ids, strict=False))
            row = next((row for row, (ours, other) in pairs if ours != other), len(ids))
            there = repr(ids[row]) if row < len(ids) else "no item"
            raise InputError(
                f"`prior` must be for the items of {catalogue}, got one with {known[row]!r} in "
                f"row {row}, which is {there}"
            )
        names = tuple(h.name for h in catalogue.distances)
        if names != self.distances:
            raise InputError(
                f"`prior` must have the distances {list(names)} of {catalogue}, "
                f"got {list(self.distances)}"
            )

    def for_catalogue(self, catalogue: Catalogue) -> "ItemPrior":
        """Return the prior with predictions for the items that were added later.

        They are mixtures of the items with similar features; see `variegate.prior.new_items`.
        """
        self.check(catalogue)
        if self.later is not None or len(catalogue) == self.originals:
            return self
        known, extended = self._extended
        if known is not catalogue:
            neighbours = find_neighbours(catalogue, self.originals, self._neighbours)
            later = LaterItems.of(neighbours, self._moments.shares, self.shown, self.originals)
            extended = replace(self, later=later)
            # These caches do not depend on the later items.
            extended.__dict__.update(_moments=self._moments, _rows=self._rows)
            self.__dict__.update(_neighbours=neighbours, _extended=(catalogue, extended))
        return extended

    def mean(self, size: int) -> FloatArray:
        """Return the prior mean of the first `size` rows.

        Without `for_catalogue`, an item that is not in the prior has that of a mean item.
        """
        shares = self._moments.shares
        if self.later is not None:
            return self.later.mean(shares)
        return np.append(shares, np.full(size - len(shares), shares.mean()))

    def deviations(self) -> FloatArray:
        """Return the prior standard deviation of each item's relevance."""
        # Likes are 0 or 1, so their second moment is the first.
        second, total = self._moments.weighted, self._moments.total
        return np.sqrt(np.maximum(second - second**2 / total, 0.0))

    def covariance(self, rows: IndexArray, size: int) -> NDArray[np.float32]:
        """Return rows of the covariance of the first `size` items, (n, size).

        Without `for_catalogue`, an item that is not in the prior has a covariance of 0.
        """
        known, wanted, later = len(self.item_ids), rows.tolist(), self.later
        if later is not None:
            return later.covariance(rows, self._rows_for(later.needed(rows)))
        kept = self._rows_for({row for row in wanted if row < known})
        new = np.zeros(known, dtype=np.float32)
        found = np.array([kept.get(row, new) for row in wanted]).reshape(-1, known)
        return found if size == known else np.pad(found, ((0, 0), (0, size - known)))

    def posterior(self, seen: Observations, size: int) -> Posterior:
        """Return what is known of a user with these observations, for the first `size` items.

        With C the covariance of the items shown, scaled, and X their gains, the rewards have the
        covariance K = C + X diag(beta_variance) X' + noise I before they are observed.
        """
        mean, spread = self.mean(size), np.diag(self.beta_variance)
        if not len(seen.items):
            return Posterior(mean, self.beta, spread)
        rows, cross, factor = self._rewards_before(seen, size)
        surprise = seen.rewards - seen.scales * mean[seen.items] - seen.gains @ self.beta
        weights = cho_solve(factor, np.column_stack([surprise, cross]), check_finite=False)
        first = weights[:, 0]
        return Posterior(
            mean + (first * seen.scales).astype(np.float32) @ rows,
            self.beta + cross.T @ first,
            spread - cross.T @ weights[:, 1:],
        )

    def posterior_deviations(self, seen: Observations, items: IndexArray, size: int) -> FloatArray:
        """Return the standard deviation of the relevance of some items after observations."""
        own = self.covariance(items, size)
        variances = own[np.arange(len(items)), items].astype(np.float64)
        if len(seen.items):
            rows, _cross, factor = self._rewards_before(seen, size)
            shown = rows[:, items] * seen.scales[:, None]
            variances -= np.sum(shown * cho_solve(factor, shown, check_finite=False), axis=0)
        return np.sqrt(np.maximum(variances, 0.0))

    def _rewards_before(
        self, seen: Observations, size: int
    ) -> tuple[NDArray[np.float32], FloatArray, tuple[FloatArray, bool]]:
        """Return the covariances of the items shown with all, and of the rewards with beta; K."""
        rows = self.covariance(seen.items, size)
        K = rows[:, seen.items] * np.outer(seen.scales, seen.scales)
        cross = seen.gains * self.beta_variance
        K += cross @ seen.gains.T
        K[np.diag_indices_from(K)] += self.noise
        return rows, cross, cho_factor(K, lower=True, overwrite_a=True, check_finite=False)

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
            later=None,
        )

    def describe(self, catalogue: Catalogue | None = None) -> tuple[str, ...]:
        """Return a description in text, one line per fact; titles are those of `catalogue`."""
        if catalogue is not None:
            self.check(catalogue)
        titles = self.item_ids if catalogue is None else catalogue.titles
        shares, deviations = self._moments.shares, self.deviations()
        lines = [
            f"fitted to {self.users} users",
            f"most users like: {_examples(shares, titles)}",
            f"users differ most in: {_examples(deviations, titles)}",
        ]
        for name, mean, variance in zip(self.distances, self.beta, self.beta_variance, strict=True):
            lines.append(f"diversity: beta of {name} {mean:.2f} ± {np.sqrt(variance):.2f}")
        lines.append(f"residual standard deviation {np.sqrt(self.noise):.2f}")
        return tuple(lines)

    def _header(self) -> Mapping[str, Any]:
        return {
            "noise": self.noise,
            "item_ids": self.item_ids,
            "distances": self.distances,
            "activity_weight": self.activity_weight,
            "originals": self.originals,
        }

    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        return {
            "liked": self.liked.astype(np.int32),
            "ends": self.ends,
            "beta": self.beta,
            "beta_variance": self.beta_variance,
            "shown": self.shown,
        }

    @classmethod
    def _of(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "ItemPrior":
        return cls(
            tuple(header["item_ids"]),
            arrays["liked"],
            arrays["ends"],
            header["noise"],
            tuple(header["distances"]),
            arrays["beta"],
            arrays["beta_variance"],
            header["activity_weight"],
            # Not in the files of earlier versions.
            arrays.get("shown", EMPTY),
            header.get("originals", -1),
        )

    @cached_property
    def _moments(self) -> "_Moments":
        items, starts = len(self.item_ids), np.append(0, self.ends)
        counts = np.diff(starts)
        table = csr_array((np.ones(len(self.liked)), self.liked, starts), (self.users, items))
        weights = counts.astype(np.float64) ** -self.activity_weight
        # As many weighted likes as likes: the noise has the same meaning on any data.
        weights *= counts.sum() / (weights @ counts) / self.users
        weighted = csr_array((np.repeat(weights, counts), self.liked, starts), (self.users, items))
        sums = np.asarray(weighted.sum(axis=0), dtype=np.float64)
        return _Moments(
            np.bincount(self.liked, minlength=items) / self.users,
            csr_array(table.T),
            weighted,
            sums,
            float(weights.sum()),
        )

    @cached_property
    def _extended(self) -> "tuple[Catalogue | None, ItemPrior]":
        """The latest catalogue and the prior for it."""
        return None, self

    @cached_property
    def _neighbours(self) -> Neighbours | None:
        return None

    @cached_property
    def _rows(self) -> dict[int, NDArray[np.float32]]:
        return {}

    def _rows_for(self, rows: set[int]) -> Mapping[int, NDArray[np.float32]]:
        """Return rows of the covariance, computing those that are not cached."""
        kept = self._rows
        missing = np.array(sorted(rows - kept.keys()), dtype=np.intp)
        if not len(missing):
            return kept
        if 4 * len(self.item_ids) * (len(kept) + len(missing)) > CACHE_BYTES:
            # Replaced, not cleared: another thread may be reading it.
            kept = {row: kept[row] for row in rows & kept.keys()}
            self.__dict__["_rows"] = kept
        by_item, weighted = self._moments.by_item, self._moments.weighted_likes
        products = (by_item[missing] @ weighted).toarray()
        sums, total = self._moments.weighted, self._moments.total
        products -= np.outer(sums[missing], sums) / total
        for row, values in zip(missing.tolist(), products.astype(np.float32), strict=True):
            kept[row] = values
        return kept


class _Moments(NamedTuple):
    #: Share of users who like each item, (L,)
    shares: FloatArray
    #: Likes by item, (L, users), and weighted by user, (users, L)
    by_item: csr_array
    weighted_likes: csr_array
    #: Weighted likes of each item, (L,), and the weight of all users
    weighted: FloatArray
    total: float


def fit_prior(
    catalogue: Catalogue,
    likes: Iterable[ArrayLike],
    *,
    noise: float = NOISE,
    beta: ArrayLike | None = None,
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
    beta, beta_variance
        Mean and variance of the weight of diversity, about which likes without lists say nothing:
        one number for all distances or one for each. By default the distances share a mean of
        0.3.
    activity_weight
        A user with n likes has a weight of n^-activity_weight in the covariance. 0 weights all
        users alike, so that the most active users dominate it.

    Examples
    --------
    >>> shop = Catalogue(["tea", "mate", "rum"], np.eye(3), "cosine")
    >>> prior = fit_prior(shop, [[0, 1], [0, 1], [2], [0, 1]])
    >>> seen = Observations(np.array([0]), np.ones(1), np.zeros((1, 1)), np.ones(1))
    >>> prior.posterior(seen, 3).relevance.round(2).tolist()
    [0.88, 0.88, 0.12]
    """
    rows = liked_rows(likes, len(catalogue))
    return ItemPrior(
        catalogue.ids,
        np.concatenate(rows),
        np.cumsum([len(liked) for liked in rows]),
        noise,
        tuple(h.name for h in catalogue.distances),
        np.asarray(BETA / max(catalogue.m, 1) if beta is None else beta),
        np.asarray(beta_variance),
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


def _examples(scores: FloatArray, titles: Sequence[str]) -> str:
    order = np.argsort(-scores, kind="stable")[:3]
    return ", ".join(" ".join(titles[row].split()) for row in order)


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

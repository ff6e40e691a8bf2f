"""Shortlists: a few thousand candidates from a large catalogue, for one user's list."""

from math import ceil, sqrt
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np

from variegate.arrays import (
    FloatArray,
    IndexArray,
    MaskArray,
    as_generator,
    check_count,
    check_positive,
)
from variegate.errors import DataError, InputError
from variegate.files import FileFormat, atomic_write
from variegate.kernels.layout import LARGEST, Layout, layout_of
from variegate.model.catalogue import Catalogue
from variegate.model.cells import (
    DRAFTED,
    Cells,
    Draft,
    Opening,
    Partition,
    Quota,
    candidate_rows,
    k_means_partition,
)
from variegate.model.ridge import Estimate

FORMAT: Final = FileFormat("shortlist", 1, "build it again")


def write_partition(path: str | Path, partition: Partition, features: FloatArray) -> None:
    """Write the cells of items with these features to `path` atomically."""
    with atomic_write(path) as file:
        FORMAT.write(file, {"items": _described(features)}, vars(partition), compress=True)


def read_partition(path: str | Path, features: FloatArray) -> Partition:
    """Read what `write_partition` wrote for items with these features, or raise DataError."""
    with FORMAT.open(path) as (header, arrays):
        if header["items"] != _described(features):
            raise DataError(f"{path}: the cells of another catalogue: build them for this one")
        partition = Partition(
            arrays["centres"],
            arrays["spreads"],
            arrays["leaders"].astype(np.intp),
            arrays["cell_of"].astype(np.intp),
        )
    _check_partition(path, partition, features)
    return partition


def _described(features: FloatArray) -> dict[str, int]:
    """Return the shape and a checksum of a catalogue's features."""
    items, d = features.shape
    little = np.ascontiguousarray(features, dtype="<f8")
    return {"items": items, "d": d, "checksum": crc32(little.data)}


def _check_partition(path: str | Path, partition: Partition, features: FloatArray) -> None:
    cells, (items, d) = len(partition.centres), features.shape
    shapes = [array.shape for array in vars(partition).values()]
    numbers_fit = (
        np.isfinite(partition.centres).all()
        and np.isfinite(partition.spreads).all()
        and _within(partition.leaders, items)
        and _within(partition.cell_of, cells)
    )
    if shapes != [(cells, d), (cells,), (cells,), (items,)] or not numbers_fit:
        raise DataError(f"{path}: not a complete shortlist file: its arrays are inconsistent")


def _within(numbers: np.ndarray, end: int) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())


#: Items scored and candidates kept for the first position of a list, and for each further one.
FIRST: Final = Quota(opened=16_384, kept=512)
NEXT: Final = Quota(opened=2_048, kept=64)


class Shortlist:
    """The first of two stages: finds the items of a large catalogue that may get into a list.

    The catalogue is partitioned into cells of similar items. For each list the cells are scored
    as the policy would score their centres, including exploration and diversity; the best cells
    are opened, and the best of their items are candidates. The policy then selects the exact list
    among those. Create one with `build` or `load`; all users share it.

    Parameters
    ----------
    catalogue
        The items.
    partition
        The cells.
    effort
        Scales how many items are scored and kept: higher is closer to the exact list, and slower.

    Examples
    --------
    >>> from variegate import LMDH
    >>> features = np.random.default_rng(0).standard_normal((2_000, 8))
    >>> items = Catalogue(range(2_000), features, "cosine")
    >>> shortlist = Shortlist.build(items, cells=100, effort=0.05)
    >>> len(LMDH(items, shortlist=shortlist).recommend(10))
    10
    """

    def __init__(self, catalogue: Catalogue, partition: Partition, *, effort: float = 1.0) -> None:
        check_positive(effort=effort)
        _check_size(catalogue)
        self.catalogue: Final = catalogue
        self.effort: Final = float(effort)
        self._cells: Final = Cells(catalogue, partition)

    @classmethod
    def build(
        cls,
        catalogue: Catalogue,
        *,
        cells: int | None = None,
        effort: float = 1.0,
        rng: Any = 0,
    ) -> "Shortlist":
        """Return a shortlist of `catalogue`, by k-means.

        Parameters
        ----------
        cells
            The number of cells; by default 4 times the root of the number of items.
        effort
            See the class.
        rng
            A NumPy generator or a seed, for the sample that k-means is fitted to. The same seed
            gives the same cells.
        """
        items = len(catalogue)
        wanted = min(ceil(4.0 * sqrt(items)), items) if cells is None else cells
        number = check_count(wanted, items, name="cells", of="the items")
        check_positive(effort=effort)
        _check_size(catalogue)
        partition = k_means_partition(catalogue.features, number, as_generator(rng))
        return cls(catalogue, partition, effort=effort)

    def __len__(self) -> int:
        return len(self.catalogue)

    def __repr__(self) -> str:
        return f"Shortlist({len(self._cells)} cells of {self.catalogue})"

    @property
    def nbytes(self) -> int:
        """The memory that the cells take, beside the catalogue."""
        return self._cells.nbytes

    def candidates(
        self, belief: Estimate, exploration: float, factors: FloatArray, free: MaskArray
    ) -> IndexArray:
        """Return the rows of the items that may get into a list, sorted; all if few are free.

        Parameters
        ----------
        belief
            The estimate of the user's weights, relevance first, then diversity.
        exploration
            alpha.
        factors
            The factor of the distances at each position of the list, (k,).
        free
            Which items may be selected, (L,).
        """
        quotas = self._quotas(len(factors))
        few = np.count_nonzero(free) <= quotas[0].opened // 2
        if few or not _fits_single(belief, exploration):
            return np.flatnonzero(free)
        opening = Opening(self._cells, self.catalogue.distances, belief, exploration)
        draft = Draft(self.catalogue, belief, exploration, DRAFTED * len(quotas))
        return candidate_rows(self._cells, opening, draft, factors, free, quotas)

    def with_items(self, catalogue: Catalogue) -> "Shortlist":
        """Return a shortlist of `catalogue`, which is this one's after `Catalogue.with_items`.

        New items are assigned to the existing cells. Build again when the catalogue has doubled.
        """
        old = len(self)
        if catalogue.ids[:old] != self.catalogue.ids or not np.array_equal(
            catalogue.features[:old], self.catalogue.features
        ):
            raise InputError(
                f"`catalogue` must begin with the items of {self.catalogue}, got {catalogue}"
            )
        partition = self._cells.partition.with_items(catalogue.features[old:])
        return Shortlist(catalogue, partition, effort=self.effort)

    def save(self, path: str | Path) -> None:
        """Write the cells to `path` atomically; the items are not included."""
        write_partition(path, self._cells.partition, self.catalogue.features)

    @classmethod
    def load(cls, path: str | Path, catalogue: Catalogue, *, effort: float = 1.0) -> "Shortlist":
        """Read what `save` wrote for this `catalogue`; a file of another one raises DataError."""
        return cls(catalogue, read_partition(path, catalogue.features), effort=effort)

    def _quotas(self, k: int) -> dict[int, Quota]:
        """Return the quota of some positions: at least enough for a list of k."""
        quotas = {
            position: Quota(
                *(ceil(self.effort * number) for number in (NEXT if position else FIRST))
            )
            for position in openings(k)
        }
        return {**quotas, 0: Quota(max(quotas[0].opened, 16 * k), max(quotas[0].kept, 4 * k))}


def openings(k: int) -> list[int]:
    """Return the positions of a list of `k` at which cells are opened, less and less often.

    Each further item changes the distances to the list less than the one before it.

    Examples
    --------
    >>> openings(20)
    [0, 1, 2, 3, 5, 8, 12, 18]
    """
    positions = [0]
    while (following := max(positions[-1] + 1, (3 * positions[-1] + 1) // 2)) < k:
        positions.append(following)
    return positions


def layout_of_rows(catalogue: Catalogue, rows: IndexArray) -> Layout | None:
    """Return some rows as the compiled loops read them, or None: see `layout_of`."""
    return layout_of(catalogue.features[rows], [h.among(rows) for h in catalogue.distances])


def check_shortlist(shortlist: Shortlist | None, catalogue: Catalogue) -> Shortlist | None:
    """Return `shortlist` if it is None or of `catalogue`, or raise InputError."""
    if shortlist is None:
        return None
    if not isinstance(shortlist, Shortlist):
        raise InputError(f"`shortlist` must be a Shortlist or None, got {shortlist!r}")
    if shortlist.catalogue is not catalogue:
        raise InputError(f"`shortlist` must be of {catalogue}, got {shortlist!r}")
    return shortlist


def _fits_single(belief: Estimate, exploration: float) -> bool:
    """Return whether an estimate scaled to size 1 fits single precision."""
    size = float(belief.mean @ belief.mean + np.trace(belief.covariance))
    return 0.0 < size < np.inf and 0.0 <= exploration < LARGEST


def _check_size(catalogue: Catalogue) -> None:
    largest = float(np.abs(catalogue.features).max())
    if largest > LARGEST:
        raise InputError(
            f"`catalogue` must have features of at most {LARGEST:g} in size, got {largest:g}: "
            "scale them down"
        )

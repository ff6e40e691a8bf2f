"""The baselines' lists by compiled loops; each equals greedy search with its policy's `Scorer`.

Each takes the candidates as a mask, `free` (L,), at least k of them, and returns the rows (k,) and
the score that each item had when it was picked (k,). Too few candidates raise InputError, a score
that is not a number raises StateError.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError, StateError
from variegate.kernels.buffers import bound_buffers
from variegate.kernels.layout import LARGEST, Layout, UnitFeatures

#: Half the distance from 1 to the next number of single precision.
ROUNDING = 6e-8
#: Roots of squares that underflow in single precision are smaller than this.
TINY = 1e-18
#: Rows chosen, and their scores.
Selection: TypeAlias = tuple[IndexArray, FloatArray]


class Linear(NamedTuple):
    """A linear score theta . z + alpha |G z|."""

    #: (d,)
    theta: FloatArray
    #: Lower triangular, (d, d); not read if alpha is 0
    G: FloatArray
    alpha: float

    @property
    def size(self) -> float:
        """An upper bound on the score of a vector of length 1."""
        return _length(self.theta) + (self.alpha * _length(self.G) if self.alpha else 0.0)


class Quality(NamedTuple):
    """DC2B's ln q: `sharpness` times theta . z + intercept, or times its sigmoid."""

    theta: FloatArray
    intercept: float
    sharpness: float
    squashed: bool


def top_list(
    layout: Layout, free: MaskArray, k: int, belief: Linear, *, squashed: bool = False
) -> Selection:
    """Return the k best by a linear score, or by its sigmoid; ties go to the lowest row."""
    from variegate.kernels.loops.top import fill_linear  # numba: not at import

    d = layout.items.z.shape[1]
    _check_belief(belief, d)
    slack = _slack(d, belief.size * layout.longest)
    _space, _tops, padded = _buffers(layout, free)
    chosen, scores = _empty_list(k)
    filled = fill_linear(_features(layout), belief, squashed, padded, slack, chosen, scores)
    return _complete(filled, free, chosen, scores)


def top_of(values: FloatArray, free: MaskArray, k: int) -> Selection:
    """Return the k best by `values` (L,); ties go to the lowest row."""
    from variegate.kernels.loops.top import fill_given

    if len(values) != len(free):
        raise InputError(f"`values` must have {len(free)} numbers, got {len(values)}")
    chosen, scores = _empty_list(k)
    filled = fill_given(values, free, chosen, scores)
    return _complete(filled, free, chosen, scores)


def mmr_list(
    layout: Layout,
    units: UnitFeatures,
    free: MaskArray,
    k: int,
    mean_user: FloatArray,
    trade_off: float,
    similarity: str,
) -> Selection:
    """Return the list that greedy search finds with `MarginalRelevance`."""
    from variegate.kernels.loops.mmr import fill_list

    _check_shape("mean_user", mean_user, (layout.items.z.shape[1],))
    reach = 1.0 + _length(mean_user) * layout.longest
    slack = _slack(len(mean_user) + k, reach)
    model = np.array(mean_user), float(trade_off), 1.0 - trade_off, similarity == "max"
    space, tops, padded = _buffers(layout, free)
    chosen, scores = _empty_list(k)
    filled = fill_list(_features(layout), units, model, padded, slack, space, tops, chosen, scores)
    return _complete(filled, free, chosen, scores)


def c2ucb_list(
    layout: Layout,
    free: MaskArray,
    k: int,
    belief: Linear,
    Q: FloatArray,
    weight: float,
    constant: float,
) -> Selection:
    """Return the list that greedy search finds with `EntropyGains`.

    `Q` (d, d) is that before any pick, and `constant` what every item adds to the entropy.
    """
    from variegate.kernels.loops.c2ucb import fill_list

    d = layout.items.z.shape[1]
    _check_belief(belief, d)
    _check_shape("Q", Q, (d, d))
    # Each pick subtracts at most the spread that is left, so that its errors are as large.
    spread = 2.0 * (k + 1) * _length(Q) * layout.longest**2
    reach = belief.size * layout.longest + weight * (spread + abs(constant) + 1.0)
    slack = _slack(d, reach)
    model = Q, float(weight), float(constant)
    space, tops, padded = _buffers(layout, free)
    chosen, scores = _empty_list(k)
    filled = fill_list(_features(layout), belief, model, padded, slack, space, tops, chosen, scores)
    return _complete(filled, free, chosen, scores)


def dc2b_list(
    layout: Layout,
    units: UnitFeatures,
    free: MaskArray,
    k: int,
    quality: Quality,
    *,
    shifted: bool,
    jitter: float,
) -> Selection:
    """Return the list that greedy search finds with `Determinant`.

    The similarity is that of `similarity_root`: cosines, or, where `shifted`, (1 + cos) / 2.
    """
    from variegate.kernels.loops.dc2b import fill_list

    d, root = layout.items.z.shape[1], np.sqrt(0.5)
    _check_shape("theta", quality.theta, (d,))
    reach = 1.0 + _length(quality.theta) * layout.longest + abs(quality.intercept)
    # The logarithms of the residuals are at most 24, with errors of a few roundings of that.
    slack = _slack(d, 2.0 * quality.sharpness * reach + 24.0 / d)
    margin = 4.0 * (d + 8) * ROUNDING
    model = (root, root, jitter) if shifted else (1.0, 0.0, jitter)
    space, tops, padded = _buffers(layout, free)
    chosen, scores = _empty_list(k)
    filled = fill_list(
        _features(layout),
        units,
        quality,
        model,
        padded,
        slack,
        margin,
        space,
        tops,
        chosen,
        scores,
    )
    return _complete(filled, free, chosen, scores)


def lsb_list(
    layout: Layout, free: MaskArray, k: int, belief: Linear, topics: FloatArray | None
) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return the list that greedy search finds with `CoverageBounds`, and its gains, (k, D).

    `topics` (L, D) is what items cover; the features clipped to [0, 1] by default.
    """
    from variegate.kernels.loops.lsb import fill_list

    own, size = topics is not None, len(belief.theta)
    _check_belief(belief, size)
    items = layout.items.z, layout.items.z_rows if topics is None else topics
    _check_shape("topics", items[1], (len(layout), size))
    slack = _slack(size, np.sqrt(size))
    space, tops, padded = _buffers(layout, free)
    chosen, scores = _empty_list(k)
    gains = np.empty((k, size))
    filled = fill_list(items, own, belief, padded, slack, space, tops, chosen, scores, gains)
    return *_complete(filled, free, chosen, scores), gains


def list_gains(layout: Layout, items: IndexArray, factors: FloatArray) -> FloatArray:
    """Return the diversity gains x (k, m) of a list, scaled by `factors` (k,)."""
    from variegate.kernels.loops.distances import fill_gains

    x = np.empty((len(items), len(layout.largest)))
    if len(factors) < len(items) or not fill_gains(layout.items, items, factors, x):
        raise InputError(
            f"`items` must be rows from 0 to {len(layout) - 1}, a factor each, "
            f"got {items.tolist()} and {len(factors)} factors"
        )
    return x


def _features(layout: Layout) -> tuple[Any, FloatArray]:
    return layout.items.z, layout.items.z_rows


def _check_belief(belief: Linear, size: int) -> None:
    _check_shape("theta", belief.theta, (size,))
    if belief.alpha:  # else G is not read
        _check_shape("G", belief.G, (size, size))


def _check_shape(name: str, array: FloatArray, shape: tuple[int, ...]) -> None:
    # The loops do not check bounds.
    if array.shape != shape:
        raise InputError(f"`{name}` must have shape {shape}, got {array.shape}")


def _empty_list(k: int) -> Selection:
    if k < 1:
        raise InputError(f"`k` must be at least 1, got {k}")
    return np.empty(k, dtype=np.intp), np.empty(k)


def _complete(filled: int, free: MaskArray, chosen: IndexArray, scores: FloatArray) -> Selection:
    """Return the list if every position was filled, or raise the error."""
    k = len(chosen)
    if filled == k:
        return chosen, scores
    candidates = int(np.count_nonzero(free))
    if candidates < k:
        raise InputError(f"`k` must be from 1 to {candidates} (the candidates), got {k}")
    raise StateError(
        f"the score at position {filled} is not a finite number: the estimate, the features or the "
        "options are too large to multiply"
    )


def _length(array: FloatArray) -> float:
    return float(np.sqrt(np.vdot(array, array)))


def _slack(terms: int, reach: float) -> Any:
    """Return the largest error of a sum of `terms` terms up to `reach` in single precision.

    Infinite if single precision cannot hold the numbers: every item is then scored in double.
    """
    error = 4.0 * (terms + 8) * ROUNDING * reach + TINY
    return np.float32(error if reach < LARGEST else np.inf)


def _buffers(layout: Layout, free: MaskArray) -> tuple[Any, Any, MaskArray]:
    if len(free) != len(layout):
        raise InputError(f"`free` must have {len(layout)} entries, got {len(free)}")
    return bound_buffers(len(layout.items.z), free)

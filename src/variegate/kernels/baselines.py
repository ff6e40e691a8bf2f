"""The baselines' lists by compiled loops; each agrees with a `Scorer` beside its policy.

All take which items are candidates, `free` (L,), at least k of them, and return their list: the
rows (k,) and the score that each had when it was taken (k,). Where there are fewer candidates they
raise InputError, and StateError where a score is not a number.
"""

from threading import local
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError, StateError
from variegate.kernels.layout import BLOCK, LARGEST, Layout, Units

#: Half the distance from 1 to the next number of single precision.
ROUNDING = 6e-8
#: The roots of squares that single precision is too coarse for are less than this.
TINY = 1e-18
#: Rows chosen, and their scores.
TuningResult: TypeAlias = tuple[IndexArray, FloatArray]

_kept = local()


class Linear(NamedTuple):
    """What is believed of weights theta: items score theta . z + alpha |G z|."""

    #: (d,)
    theta: FloatArray
    #: Lower triangular, (d, d); nothing is read of it where alpha is 0
    G: FloatArray
    alpha: float

    @property
    def size(self) -> float:
        """What the score of a vector of length 1 does not go beyond."""
        return _length(self.theta) + (self.alpha * _length(self.G) if self.alpha else 0.0)


class Quality(NamedTuple):
    """What DC2B's ln q is: `sharpness` times theta . z + intercept, or times its sigmoid."""

    theta: FloatArray
    intercept: float
    sharpness: float
    squashed: bool


def top_list(
    layout: Layout, free: MaskArray, k: int, belief: Linear, *, squashed: bool = False
) -> TuningResult:
    """Return the k best by a belief alone, or by the sigmoid of it; ties to the lowest row."""
    from variegate.kernels.loops.top import fill_linear  # numba: not at import

    d = layout.items.z.shape[1]
    _check_belief(belief, d)
    slack = _slack(d, belief.size * layout.longest)
    _space, _tops, open_to = _room(layout, free)
    chosen, scores = _answer(k)
    filled = fill_linear(_features(layout), belief, squashed, open_to, slack, chosen, scores)
    return _whole(filled, free, chosen, scores)


def top_of(values: FloatArray, free: MaskArray, k: int) -> TuningResult:
    """Return the k best by `values` (L,); ties to the lowest row."""
    from variegate.kernels.loops.top import fill_given

    if len(values) != len(free):
        raise InputError(f"`values` must have {len(free)} numbers, got {len(values)}")
    chosen, scores = _answer(k)
    filled = fill_given(values, free, chosen, scores)
    return _whole(filled, free, chosen, scores)


def mmr_list(
    layout: Layout,
    units: Units,
    free: MaskArray,
    k: int,
    mean_user: FloatArray,
    trade_off: float,
    likeness: str,
) -> TuningResult:
    """Return the list that greedy search finds with `MarginalRelevance`."""
    from variegate.kernels.loops.mmr import fill_list

    _check_shape("mean_user", mean_user, (layout.items.z.shape[1],))
    reach = 1.0 + _length(mean_user) * layout.longest
    slack = _slack(len(mean_user) + k, reach)
    model = np.array(mean_user), float(trade_off), 1.0 - trade_off, likeness == "max"
    space, tops, open_to = _room(layout, free)
    chosen, scores = _answer(k)
    filled = fill_list(_features(layout), units, model, open_to, slack, space, tops, chosen, scores)
    return _whole(filled, free, chosen, scores)


def entropy_list(
    layout: Layout,
    free: MaskArray,
    k: int,
    belief: Linear,
    Q: FloatArray,
    weight: float,
    constant: float,
) -> TuningResult:
    """Return the list that greedy search finds with `EntropyGains`.

    `Q` (d, d) is that of no item taken, and `constant` what every item adds to the entropy.
    """
    from variegate.kernels.loops.entropy import fill_list

    d = layout.items.z.shape[1]
    _check_belief(belief, d)
    _check_shape("Q", Q, (d, d))
    # Each pick takes at most what was there off a spread, so that its errors are as large.
    spread = 2.0 * (k + 1) * _length(Q) * layout.longest**2
    reach = belief.size * layout.longest + weight * (spread + abs(constant) + 1.0)
    slack = _slack(d, reach)
    model = Q, float(weight), float(constant)
    space, tops, open_to = _room(layout, free)
    chosen, scores = _answer(k)
    filled = fill_list(
        _features(layout), belief, model, open_to, slack, space, tops, chosen, scores
    )
    return _whole(filled, free, chosen, scores)


def determinant_list(
    layout: Layout,
    units: Units,
    free: MaskArray,
    k: int,
    quality: Quality,
    *,
    shifted: bool,
    jitter: float,
) -> TuningResult:
    """Return the list that greedy search finds with `Determinant`.

    The similarity is that of `similarity_root`: cosines, or, where `shifted`, (1 + cos) / 2.
    """
    from variegate.kernels.loops.determinant import fill_list

    d, root = layout.items.z.shape[1], np.sqrt(0.5)
    _check_shape("theta", quality.theta, (d,))
    reach = 1.0 + _length(quality.theta) * layout.longest + abs(quality.intercept)
    # The logarithms of what is left are at most 24, and off by a few roundings of that.
    slack = _slack(d, 2.0 * quality.sharpness * reach + 24.0 / d)
    margin = 4.0 * (d + 8) * ROUNDING
    model = (root, root, jitter) if shifted else (1.0, 0.0, jitter)
    space, tops, open_to = _room(layout, free)
    chosen, scores = _answer(k)
    filled = fill_list(
        _features(layout),
        units,
        quality,
        model,
        open_to,
        slack,
        margin,
        space,
        tops,
        chosen,
        scores,
    )
    return _whole(filled, free, chosen, scores)


def coverage_list(
    layout: Layout, free: MaskArray, k: int, belief: Linear, topics: FloatArray | None
) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return the list that greedy search finds with `CoverageBounds`, and its gains, (k, D).

    `topics` (L, D) is what items cover; the features cut to [0, 1], if None.
    """
    from variegate.kernels.loops.coverage import fill_list

    own, size = topics is not None, len(belief.theta)
    _check_belief(belief, size)
    items = layout.items.z, layout.items.z_rows if topics is None else topics
    _check_shape("topics", items[1], (len(layout), size))
    slack = _slack(size, np.sqrt(size))
    space, tops, open_to = _room(layout, free)
    chosen, scores = _answer(k)
    gains = np.empty((k, size))
    filled = fill_list(items, own, belief, open_to, slack, space, tops, chosen, scores, gains)
    return *_whole(filled, free, chosen, scores), gains


def gains_of(layout: Layout, items: IndexArray, factors: FloatArray) -> FloatArray:
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
    # The loops read what is there, whatever is there: nothing else checks this.
    if array.shape != shape:
        raise InputError(f"`{name}` must have shape {shape}, got {array.shape}")


def _answer(k: int) -> TuningResult:
    if k < 1:
        raise InputError(f"`k` must be at least 1, got {k}")
    return np.empty(k, dtype=np.intp), np.empty(k)


def _whole(filled: int, free: MaskArray, chosen: IndexArray, scores: FloatArray) -> TuningResult:
    """Return the list where every position was filled, or raise what is wrong."""
    k = len(chosen)
    if filled == k:
        return chosen, scores
    candidates = int(np.count_nonzero(free))
    if candidates < k:
        raise InputError(f"`k` must be from 1 to {candidates} (the candidates), got {k}")
    raise StateError(
        f"the score at position {filled} is not a finite number: what was learnt, the features or "
        "the options are too large to multiply"
    )


def _length(array: FloatArray) -> float:
    return float(np.sqrt(np.vdot(array, array)))


def _slack(terms: int, reach: float) -> Any:
    """What a sum of so many terms, no larger than `reach`, may be off by in single precision.

    Without bound where that cannot hold the numbers: then double precision looks at every item.
    """
    off = 4.0 * (terms + 8) * ROUNDING * reach + TINY
    return np.float32(off if reach < LARGEST else np.inf)


def _room(layout: Layout, free: MaskArray) -> tuple[Any, Any, MaskArray]:
    """Room to work in, kept from call to call, one for each thread, and `free` in whole blocks."""
    if len(free) != len(layout):
        raise InputError(f"`free` must have {len(layout)} entries, got {len(free)}")
    blocks = len(layout.items.z)
    room: Any = getattr(_kept, "room", None)
    if room is None or len(room[1]) != blocks:
        room = _kept.room = (
            np.empty((3, blocks, BLOCK), dtype=np.float32),
            np.empty(blocks, dtype=np.float32),
            np.zeros(blocks * BLOCK, dtype=np.bool_),
        )
    open_to = room[2]
    open_to[: len(free)] = free
    open_to[len(free) :] = False
    return room[0], room[1], open_to

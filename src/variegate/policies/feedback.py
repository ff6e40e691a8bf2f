"""Rewards and positions seen, as users of the package give them."""

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, check_numbers
from variegate.errors import InputError


def checked_rewards(rewards: ArrayLike, k: int) -> FloatArray:
    """Return one reward from 0 to 1 for each of `k` positions, or raise InputError."""
    if type(rewards) is np.ndarray and rewards.dtype == np.float64 and rewards.shape == (k,):
        array = rewards  # what programs send: whether it is finite is seen below
    else:
        array = check_numbers("rewards", rewards, ndim=1)
    if array.shape != (k,):
        raise InputError(f"`rewards` must have one number for each of {k} items, got {len(array)}")
    for reward in array.tolist():  # of so few, quicker than NumPy
        if not 0.0 <= reward <= 1.0:
            check_numbers("rewards", rewards, ndim=1)
            raise InputError(f"`rewards` must lie from 0 to 1, got {reward}")
    return array


def seen_positions(seen: ArrayLike | None, k: int) -> IndexArray:
    """Return the positions that were seen, from a mask or a list of them; None means all."""
    if seen is None:
        return np.arange(k)
    array = np.asarray(seen)
    if array.dtype == np.bool_:
        if array.shape != (k,):
            raise InputError(f"`seen` as a mask must have shape ({k},), got {array.shape}")
        return np.flatnonzero(array)
    if array.size == 0:
        return np.empty(0, dtype=np.intp)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(
            f"`seen` must be a mask or a list of positions, got {array.dtype} of shape "
            f"{array.shape}"
        )
    positions = np.unique(array)
    if positions[0] < 0 or positions[-1] >= k or len(positions) < len(array):
        raise InputError(
            f"`seen` must hold distinct positions from 0 to {k - 1}, got {array.tolist()}"
        )
    return positions.astype(np.intp)

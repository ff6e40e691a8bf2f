"""How much more likely the target policy is to show what was shown."""

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_numbers
from variegate.errors import InputError
from variegate.evaluation.offpolicy.log import SlateLog


def prefix_weights(log: SlateLog, target: ArrayLike) -> FloatArray:
    """Return, for each position, the ratio of the chances of the list down to there, (n, K).

    Each column's mean is near 1 if the logging policy can show whatever the target shows.
    Where it is well below, lists of the target's are missing from the log, and no estimate
    from it knows what they earn.

    Parameters
    ----------
    target
        The chance with which the target policy puts the logged item in its position, given
        the logged items above it, (n, K).
    """
    ratios = checked_chances("target", target, log) / log.propensities
    weights = np.cumprod(ratios, axis=1, dtype=np.float64)
    check_overlap(weights, "down to")
    return weights


def target_of_lists(log: SlateLog, lists: ArrayLike) -> FloatArray:
    """Return the chances under a target that never draws: `lists` are what it shows, (n, K).

    After the first difference a chance counts for nothing, so it is 0 there too.
    """
    shown = check_numbers("lists", lists, ndim=2)
    if shown.shape != log.items.shape:
        raise InputError(f"`lists` must have shape {log.items.shape}, got {shown.shape}")
    same: FloatArray = np.cumprod(shown == log.items, axis=1).astype(np.float64)
    return same


def target_of_distributions(log: SlateLog, distributions: ArrayLike) -> FloatArray:
    """Return the chances of the logged items, (n, K), from those of all items, (n, K, L).

    `distributions` has, for each position, the chance of every item of the catalogue given
    the logged items above it; each adds up to 1.
    """
    chances = checked_distributions(log, distributions)
    picked: FloatArray = np.take_along_axis(chances, log.items[:, :, None], axis=2)[:, :, 0]
    return picked


def checked_distributions(log: SlateLog, distributions: ArrayLike) -> FloatArray:
    """Return chances of all items that fit the log, or raise InputError."""
    chances = check_numbers("distributions", distributions, ndim=3)
    if chances.shape[:2] != log.items.shape or chances.shape[2] <= log.items.max():
        raise InputError(
            f"`distributions` must have shape {log.items.shape} and a column for each item, "
            f"at least {log.items.max() + 1}, got {chances.shape}"
        )
    off = np.argwhere((chances.min(axis=2) < 0) | (np.abs(chances.sum(axis=2) - 1.0) > 1e-6))
    if off.size:
        row, position = (int(place) for place in off[0])
        raise InputError(
            "`distributions` must be chances that add up to 1, got "
            f"{chances[row, position].sum()} in list {row}, position {position}"
        )
    return chances


def checked_chances(name: str, chances: ArrayLike, log: SlateLog) -> FloatArray:
    """Return one chance from 0 to 1 for each logged position, or raise InputError."""
    array = check_numbers(name, chances, ndim=2)
    if array.shape != log.items.shape:
        raise InputError(f"`{name}` must have shape {log.items.shape}, got {array.shape}")
    outside = array[(array < 0) | (array > 1)]
    if outside.size:
        raise InputError(f"`{name}` must lie from 0 to 1, got {outside[0]}")
    return array


def check_overlap(weights: FloatArray, where: str) -> None:
    """Raise InputError if in some position no list of the log has any weight."""
    empty = np.flatnonzero(~(weights > 0).any(axis=0))
    if empty.size:
        raise InputError(
            f"`target` must show something that was logged {where} position {empty[0]}, and "
            "gives all of it the chance 0: no overlap"
        )

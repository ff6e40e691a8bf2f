"""A user whose preferences are known: clicks as the model says (Eq. 10)."""

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_numbers
from variegate.errors import InputError
from variegate.model.utility import Utility


class SimulatedUser:
    """Clicks on each item with probability eta . Delta given the items above it.

    Nothing keeps eta . Delta between 0 and 1, so it is cut to that (erratum E22).

    Examples
    --------
    >>> from variegate.catalogue import Catalogue
    >>> items = Catalogue(list("ab"), [[0.9], [0.1]], "cosine")
    >>> user = SimulatedUser(Utility(items, relevance=[1.0], diversity=[0.0]))
    >>> user.react([0, 1], coins=[0.5, 0.5])
    array([1., 0.])
    """

    def __init__(self, utility: Utility) -> None:
        self.utility = utility

    def react(self, items: ArrayLike, uniforms: ArrayLike) -> FloatArray:
        """Return 1 where the coin of a position is below its chance of a click, else 0.

        The coins, drawn uniformly from [0, 1), come from outside, so that policies that are
        compared meet the same luck.
        """
        gains, tossed = self.utility.gains(items), check_numbers("coins", uniforms, ndim=1)
        if tossed.shape != gains.shape:
            raise InputError(f"`uniforms` must have {len(gains)} numbers, got {len(tossed)}")
        return clicks(gains, tossed)


def clicks(gains: FloatArray, uniforms: FloatArray) -> FloatArray:
    """Return 1 where the coin is below the gain, cut to [0, 1], else 0."""
    return (uniforms < np.clip(gains, 0.0, 1.0)).astype(np.float64)

"""What the policies that learn by ridge regression share."""

from collections.abc import Mapping

import numpy as np

from variegate.arrays import FloatArray
from variegate.ridge import Estimate, Ridge, packed, unpacked
from variegate.utility import Preferences

#: Half the width of a 95% interval in standard deviations, for noise of variance 1/4: no
#: reward in [0, 1] is noisier.
HALF_WIDTH = 1.959964 * 0.5


def ridge_arrays(ridge: Ridge) -> Mapping[str, FloatArray]:
    """Return the sums of `ridge` as a state keeps them."""
    return {"gram": packed(ridge.gram), "response": ridge.response}


def restore_ridge(ridge: Ridge, arrays: Mapping[str, FloatArray]) -> None:
    """Take the sums of a state."""
    size = len(ridge.response)
    ridge.set_sums(unpacked(arrays["gram"], size), np.array(arrays["response"]))


def learnt_preferences(belief: Estimate, d: int, m: int) -> Preferences:
    """Return the first d weights as theta and the next m as beta; zero, where there are none."""
    mean, half = np.zeros(d + m), np.zeros(d + m)
    mean[: len(belief.mean)] = belief.mean
    half[: len(belief.mean)] = HALF_WIDTH * belief.deviations
    interval = np.stack([mean - half, mean + half])
    return Preferences(mean[:d], mean[d:], interval[:, :d], interval[:, d:])

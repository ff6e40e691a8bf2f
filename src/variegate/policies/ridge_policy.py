"""What the policies that learn by ridge regression share."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.model.ridge import Ridge, check_sums, packed, unpacked
from variegate.model.theory import Confidence
from variegate.model.utility import Preferences
from variegate.prior import Prior

#: Half the width of a 95% interval, in standard deviations.
NORMAL_95 = 1.959964
#: The same for noise of variance 1/4: no reward in [0, 1] is noisier.
HALF_WIDTH = NORMAL_95 * 0.5

#: A prior, or the path of the file that holds one.
PriorLike: TypeAlias = Prior | str | Path


def checked_prior(prior: Any, catalogue: Catalogue, exploration: object = 0.0) -> Prior | None:
    """Return the prior that an option names, once it fits the catalogue."""
    if prior is None:
        return None
    if not isinstance(prior, (Prior, str, Path)):
        raise InputError(f"`prior` must be a Prior or the path of one, got {prior!r}")
    if exploration == "theory" or isinstance(exploration, Confidence):
        raise InputError(
            "`exploration` must be a number where there is a `prior`: what theory asks for is "
            "for users of whom nothing is believed"
        )
    found = prior if isinstance(prior, Prior) else _at(Path(prior))
    found.check(catalogue)
    return found


def _at(path: Path) -> Prior:
    try:
        written = path.stat().st_mtime_ns
    except OSError:
        return Prior.load(path)  # which says what is wrong
    return _loaded(path.resolve(), written)


@lru_cache(maxsize=16)
def _loaded(path: Path, written: int) -> Prior:  # noqa: ARG001
    # Every user's policy has it: one copy serves them all.
    return Prior.load(path)


def relevance_prior(prior: Any, catalogue: Catalogue, exploration: object = 0.0) -> Prior | None:
    """Return what `checked_prior` does, for a policy that has no weights for distances."""
    found = checked_prior(prior, catalogue, exploration)
    return None if found is None else _of_relevance(found)


@lru_cache(maxsize=16)
def _of_relevance(prior: Prior) -> Prior:
    return prior.of_relevance()


def ridge_arrays(ridge: Ridge) -> Mapping[str, FloatArray]:
    """Return the sums of `ridge` as a state keeps them."""
    return {"gram": packed(ridge.gram), "response": ridge.response}


def check_ridge(arrays: Mapping[str, FloatArray]) -> None:
    """Raise StateError unless the sums of a state can be those of observations."""
    check_sums(arrays["gram"][None], arrays["response"][None])


def restore_ridge(ridge: Ridge, arrays: Mapping[str, FloatArray]) -> None:
    """Take the sums of a state."""
    size = len(ridge.response)
    ridge.set_sums(unpacked(arrays["gram"], size), np.array(arrays["response"], dtype=np.float64))


def learnt_preferences(ridge: Ridge, d: int, m: int) -> Preferences:
    """Return the first d weights as theta and the next m as beta; zero, where there are none."""
    belief, mean, half = ridge.estimate(), np.zeros(d + m), np.zeros(d + m)
    width = HALF_WIDTH if ridge.prior is None else NORMAL_95 * ridge.deviation
    mean[: len(belief.mean)] = belief.mean
    half[: len(belief.mean)] = width * belief.deviations
    interval = np.stack([mean - half, mean + half])
    return Preferences(mean[:d], mean[d:], interval[:, :d], interval[:, d:])

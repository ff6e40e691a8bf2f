"""Student's intervals over runs or users, and intervals as text."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from variegate.arrays import FloatArray


class Interval(NamedTuple):
    """A mean with its 95% interval; arrays of one shape."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray

    def at(self, *index: int) -> tuple[float, float, float]:
        """Return mean, low and high of one element."""
        mean, low, high = (float(np.asarray(part)[index]) for part in self)
        return mean, low, high


def student_interval(values: FloatArray) -> Interval:
    """Return the mean over the first axis with its 95% interval by Student's t.

    The interval of a single value is infinite.
    """
    n, mean = len(values), np.asarray(values.mean(axis=0))
    error = values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full_like(mean, np.inf)
    half = stats.t.ppf(0.975, max(n - 1, 1)) * error
    return Interval(mean, mean - half, mean + half)


def interval_text(mean: float, low: float, high: float, spec: str, *, unit: str = "") -> str:
    """Return an interval as text.

    Examples
    --------
    >>> interval_text(2.5, 1.0, 4.0, "+.1f", unit="%")
    '+2.5% (+1.0 to +4.0)'
    """
    return f"{mean:{spec}}{unit} ({low:{spec}} to {high:{spec}})"

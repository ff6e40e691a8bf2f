"""Arrays as the package passes them around, and the checks made where they come in."""

import operator
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from variegate.errors import InputError, NotFoundError

#: Numbers: features, scores, rewards.
FloatArray: TypeAlias = NDArray[np.float64]
#: Row numbers of items.
IndexArray: TypeAlias = NDArray[np.intp]
#: One yes or no for each item or position.
MaskArray: TypeAlias = NDArray[np.bool_]


def check_numbers(name: str, values: ArrayLike, *, ndim: int) -> FloatArray:
    """Return `values` as an array of finite numbers with `ndim` axes, or raise InputError."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"`{name}` must be an array of numbers: {error}") from None
    if array.ndim != ndim:
        raise InputError(f"`{name}` must have {ndim} axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"`{name}` must be finite, got {array[place]} at {list(place)}")
    return array


def root_of(squares: FloatArray) -> FloatArray:
    """Return the square roots; what rounding took below 0 counts as 0."""
    roots: FloatArray = np.sqrt(np.maximum(squares, 0.0))
    return roots


def frozen(array: FloatArray) -> FloatArray:
    """Return a copy of `array` that nobody can write to; what `sealed` gave needs no copy."""
    flags = array.flags
    if not flags.writeable and flags.owndata and flags.c_contiguous and array.dtype == np.float64:
        return array
    return sealed(np.array(array, dtype=np.float64, order="C"))


def sealed(array: FloatArray) -> FloatArray:
    """Return `array` itself, for reading only from now on: for arrays that nobody else holds."""
    array.setflags(write=False)
    return array


def check_positive(**numbers: float) -> None:
    """Raise InputError unless each number is finite and greater than 0."""
    for name, value in numbers.items():
        if not (_is_real(value) and np.isfinite(value) and value > 0):
            raise InputError(f"`{name}` must be a number greater than 0, got {value!r}")


def check_not_negative(**numbers: float) -> None:
    """Raise InputError unless each number is finite and at least 0."""
    for name, value in numbers.items():
        if not (_is_real(value) and np.isfinite(value) and value >= 0):
            raise InputError(f"`{name}` must be a number of at least 0, got {value!r}")


def check_range(name: str, value: float, least: float, most: float) -> None:
    """Raise InputError unless a number lies from `least` to `most`."""
    if not (_is_real(value) and least <= value <= most):
        raise InputError(f"`{name}` must be a number from {least:g} to {most:g}, got {value!r}")


def check_fraction(**numbers: float) -> None:
    """Raise InputError unless each number lies in [0, 1]."""
    for name, value in numbers.items():
        if not (_is_real(value) and 0 <= value <= 1):
            raise InputError(f"`{name}` must be a number from 0 to 1, got {value!r}")


def check_count(k: int, available: int, *, name: str = "k", of: str = "the candidates") -> int:
    """Return `k` as an int if there are as many to take, or raise InputError."""
    try:
        count = operator.index(k)
    except TypeError:
        raise InputError(f"`{name}` must be a whole number, got {k!r}") from None
    if not 1 <= count <= available:
        raise InputError(f"`{name}` must be from 1 to {available} ({of}), got {count}")
    return count


def check_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`, or raise NotFoundError with the nearest."""
    known = list(choices)
    if value in known:
        return value
    near = get_close_matches(str(value), known)
    # Of equally near ones, letters in another order are the likelier slip.
    near.sort(key=lambda one: sorted(one) != sorted(str(value)))
    hint = f": did you mean {near[0]!r}?" if near else ""
    raise NotFoundError(f"`{name}` must be one of {', '.join(known)}, got {value!r}{hint}")


def generator(rng: Any) -> np.random.Generator:
    """Return the NumPy generator that `rng` is, or the one it seeds; None draws a seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(f"`rng` must be a numpy Generator or a seed, got {rng!r}") from None


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def unit_rows(rows: FloatArray) -> FloatArray:
    """Return the rows at length 1; a zero row has no direction and stays zero."""
    # Scaled first: the squares of 1e200 or 1e-200 are outside the range of floats.
    sizes = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows / np.where(sizes > 0, sizes, 1.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: FloatArray = rows / np.where(lengths > 0, lengths, 1.0)
    return units

"""Array types of the package, and checks of arguments."""

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
#: A boolean per item or position.
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


def safe_sqrt(squares: FloatArray) -> FloatArray:
    """Return the square roots; numbers that rounding took below 0 count as 0."""
    roots: FloatArray = np.sqrt(np.maximum(squares, 0.0))
    return roots


def read_only_copy(array: FloatArray) -> FloatArray:
    """Return a read-only float64 copy, or `array` itself if it is one already."""
    flags = array.flags
    if not flags.writeable and flags.owndata and flags.c_contiguous and array.dtype == np.float64:
        return array
    return set_read_only(np.array(array, dtype=np.float64, order="C"))


def set_read_only(array: FloatArray) -> FloatArray:
    """Make `array` read-only and return it: only for arrays without other references."""
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


def check_range(name: str, value: float, low: float, high: float) -> None:
    """Raise InputError unless a number lies from `low` to `high`."""
    if not (_is_real(value) and low <= value <= high):
        raise InputError(f"`{name}` must be a number from {low:g} to {high:g}, got {value!r}")


def check_fraction(**numbers: float) -> None:
    """Raise InputError unless each number lies in [0, 1]."""
    for name, value in numbers.items():
        if not (_is_real(value) and 0 <= value <= 1):
            raise InputError(f"`{name}` must be a number from 0 to 1, got {value!r}")


def check_count(k: int, available: int, *, name: str = "k", of: str = "the candidates") -> int:
    """Return `k` as an int if it is from 1 to `available`, or raise InputError."""
    try:
        count = operator.index(k)
    except TypeError:
        raise InputError(f"`{name}` must be a whole number, got {k!r}") from None
    if not 1 <= count <= available:
        raise InputError(f"`{name}` must be from 1 to {available} ({of}), got {count}")
    return count


def check_choice(name: str, value: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`, or raise NotFoundError with the closest match."""
    known = list(choices)
    if value in known:
        return value
    near = get_close_matches(str(value), known)
    # Of equally close matches, transposed letters are the likelier typo.
    near.sort(key=lambda one: sorted(one) != sorted(str(value)))
    hint = f": did you mean {near[0]!r}?" if near else ""
    raise NotFoundError(f"`{name}` must be one of {', '.join(known)}, got {value!r}{hint}")


def as_indices(name: str, values: ArrayLike, size: int, what: str, hint: str = "") -> IndexArray:
    """Return the indices that a mask of `size` or a list of integers selects.

    The caller checks that listed indices are in range.
    """
    array = np.asarray(values)
    if array.dtype == np.bool_:
        if array.shape != (size,):
            raise InputError(f"`{name}` as a mask must have shape ({size},), got {array.shape}")
        return np.flatnonzero(array)
    if array.size == 0:
        return np.empty(0, dtype=np.intp)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(
            f"`{name}` must be a list of {what} or a mask, got {array.dtype} of shape "
            f"{array.shape}{hint}"
        )
    return array.astype(np.intp)


def as_generator(rng: Any) -> np.random.Generator:
    """Return `rng` if it is a NumPy generator, else the generator it seeds; None: a random seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(f"`rng` must be a numpy Generator or a seed, got {rng!r}") from None


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def unit_rows(rows: FloatArray) -> FloatArray:
    """Return the rows normalised to length 1; a zero row has no direction and stays zero."""
    # Scaled first: the squares of 1e200 or 1e-200 are outside the range of floats.
    sizes = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows / np.where(sizes > 0, sizes, 1.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: FloatArray = rows / np.where(lengths > 0, lengths, 1.0)
    return units

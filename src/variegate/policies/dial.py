"""The diversity dial: an explicit setting of how diverse a list is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_choice, check_numbers
from variegate.errors import InputError

#: Rewards lie from 0 to 1, so no learnt weight is near this, and single precision resolves it.
LARGEST_WEIGHT: Final = 1e6


@dataclass(frozen=True)
class Dial:
    """Changes the learnt weights of the distances for one list; nothing is learnt from it.

    Each distance's weight is multiplied by `scale` and then brought within `floor` and `ceiling`.

    Parameters
    ----------
    scale
        0 removes diversity, 1 leaves it as learnt, 2 doubles it.
    floor
        Minimum weight: a number for all distances, or a mapping from the distance's name.
        Distances that are not in the mapping have none.
    ceiling
        Maximum weight; as `floor`.

    Examples
    --------
    >>> Dial(scale=2.0, ceiling=0.5).applied([0.1, 0.4])
    array([0.2, 0.5])
    >>> Dial(floor={"genres": 0.3}).applied([0.1, 0.1], ["genres", "years"])
    array([0.3, 0.1])
    """

    scale: float = 1.0
    floor: float | Mapping[str, float] | None = None
    ceiling: float | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if not (_is_weight(self.scale) and self.scale >= 0):
            raise InputError(
                f"`scale` must be a number from 0 to {LARGEST_WEIGHT:,.0f}, got {self.scale!r}"
            )
        for name in ("floor", "ceiling"):
            bound = getattr(self, name)
            if isinstance(bound, Mapping):
                object.__setattr__(self, name, dict(bound))  # the caller may still change theirs
            _check_bound(name, bound)
        self._check_order()

    def applied(self, beta: ArrayLike, names: Sequence[str] | None = None) -> FloatArray:
        """Return the weights of the distances under this dial, (m,).

        Parameters
        ----------
        beta
            The learnt weights, (m,).
        names
            The distances' names; required if `floor` or `ceiling` is a mapping.
        """
        weights = self.scale * check_numbers("beta", beta, ndim=1)
        if names is not None and len(names) != len(weights):
            raise InputError(f"`names` must have {len(weights)} entries, got {len(names)}")
        if self.floor is not None:
            weights = np.maximum(weights, _bounds("floor", self.floor, names, -np.inf))
        if self.ceiling is not None:
            weights = np.minimum(weights, _bounds("ceiling", self.ceiling, names, np.inf))
        return weights

    def _check_order(self) -> None:
        floor, ceiling = self.floor, self.ceiling
        names = {*_names(floor), *_names(ceiling)} or {""}
        for name in sorted(names):
            low, high = _bound_of(floor, name, -np.inf), _bound_of(ceiling, name, np.inf)
            if low > high:
                where = f" for {name!r}" if name else ""
                raise InputError(f"`floor` must be at most `ceiling`, got {low} and {high}{where}")


def _check_bound(name: str, bound: Any) -> None:
    if bound is None:
        return
    for key in _names(bound):
        if not isinstance(key, str):
            raise InputError(f"`{name}` must have the distances' names as keys, got {key!r}")
    for number in bound.values() if isinstance(bound, Mapping) else [bound]:
        if not _is_weight(number):
            raise InputError(
                f"`{name}` must be a number from {-LARGEST_WEIGHT:,.0f} to {LARGEST_WEIGHT:,.0f}, "
                f"or a mapping from distances' names to such numbers, got {number!r}"
            )


def _is_weight(number: Any) -> bool:
    is_real = isinstance(number, (int, float, np.integer, np.floating))
    return is_real and not isinstance(number, bool) and bool(abs(number) <= LARGEST_WEIGHT)


def _names(bound: float | Mapping[str, float] | None) -> Sequence[str]:
    return list(bound) if isinstance(bound, Mapping) else []


def _bound_of(bound: float | Mapping[str, float] | None, name: str, if_none: float) -> float:
    found = bound.get(name) if isinstance(bound, Mapping) else bound
    return if_none if found is None else found


def _bounds(
    argument: str,
    bound: float | Mapping[str, float],
    names: Sequence[str] | None,
    if_none: float,
) -> float | FloatArray:
    """Return the bound of each distance, or the common one."""
    if not isinstance(bound, Mapping):
        return bound
    if names is None:
        raise InputError(f"`names` must name the distances if `{argument}` is a mapping, got None")
    for name in bound:
        check_choice(argument, name, names)
    return np.array([_bound_of(bound, name, if_none) for name in names], dtype=np.float64)

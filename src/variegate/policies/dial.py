"""The diversity dial: how varied a list shall be, turned by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, check_choice, check_numbers
from variegate.errors import InputError

#: Rewards lie from 0 to 1, so no weight is anywhere near; single precision still tells these.
LARGEST_WEIGHT: Final = 1e6


@dataclass(frozen=True)
class Dial:
    """Turns what was learnt of the wish for variety, for one list; nothing is learnt from it.

    Each distance's weight is multiplied by `scale` and then brought within `floor` and `ceiling`.

    Parameters
    ----------
    scale
        0 takes variety out, 1 leaves it as it was learnt, 2 doubles it.
    floor
        No weight is less: a number for all distances, or one each by the distance's name.
        Distances without one have none.
    ceiling
        No weight is more; as `floor`.

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
                object.__setattr__(self, name, dict(bound))  # what is handed in may yet change
            _check_bound(name, bound)
        self._check_order()

    def applied(self, beta: ArrayLike, names: Sequence[str] | None = None) -> FloatArray:
        """Return the weights of the distances under this dial, (m,).

        Parameters
        ----------
        beta
            The weights that were learnt, (m,).
        names
            The distances' names; needed where `floor` or `ceiling` is by name.
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
                f"or one by each distance's name, got {number!r}"
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
    """Return the bound of each distance, or the one that holds for all."""
    if not isinstance(bound, Mapping):
        return bound
    if names is None:
        raise InputError(f"`names` must name the distances where `{argument}` is by name, got None")
    for name in bound:
        check_choice(argument, name, names)
    return np.array([_bound_of(bound, name, if_none) for name in names], dtype=np.float64)

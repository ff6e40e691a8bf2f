"""Compiled loops for selecting lists, each beside its NumPy reference.

Modules here check their arguments and hold the references; `kernels.loops` is what numba compiles.
"""

from variegate.kernels.bounds import upper_bounds, upper_bounds_reference
from variegate.kernels.lmdh import lmdh_list

__all__ = ["lmdh_list", "upper_bounds", "upper_bounds_reference"]

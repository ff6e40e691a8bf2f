"""Hot loops, compiled, each beside a plain NumPy reference."""

from variegate.kernels.bounds import upper_bounds, upper_bounds_reference
from variegate.kernels.lmdh import lmdh_list
from variegate.kernels.twins import TWINS, Twins

__all__ = ["TWINS", "Twins", "lmdh_list", "upper_bounds", "upper_bounds_reference"]

"""Hot loops, compiled, each beside a plain NumPy reference."""

from variegate.kernels.bounds import upper_bounds, upper_bounds_reference
from variegate.kernels.twins import TWINS, Twins

__all__ = ["TWINS", "Twins", "upper_bounds", "upper_bounds_reference"]

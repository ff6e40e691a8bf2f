"""Compiled code is stored with a digest of all kernels."""

from typing import Any

from variegate.kernels import loops
from variegate.kernels.loops.lmdh import fill_squares


def test_the_stored_code_of_a_loop_depends_on_all_kernels() -> None:
    loop: Any = fill_squares

    assert loop._cache._impl.locator.get_source_stamp() == loops.SOURCES


def test_functions_of_other_packages_are_stored_as_ever() -> None:
    assert loops._CacheOfLoops.from_function(len, __file__) is None

"""The loops that numba compiles. Import them late: numba takes half a second.

Each is compiled at its first call, for the types of that call; the machine code is cached on disk.
numba reuses the code of a function while its own file is the same. These functions contain code of
others, so here any change in the kernels makes all of their cached code stale.
"""

from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from numba.core.caching import CacheImpl

HERE: Final = Path(__file__).resolve().parent
#: A digest of the sources of all kernels.
SOURCES: Final = sha256(
    b"".join(file.read_bytes() for file in sorted(HERE.parent.rglob("*.py")))
).digest()


#: The classes that numba asks, in their order, where to store a function.
LOCATORS: Final[list[Any]] = CacheImpl._locator_classes


class _CacheOfLoops:
    """Stores the code of these loops where numba would, stamped with all of their sources."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        """Return numba's own locator with another stamp; None for functions of other packages."""
        if Path(file).resolve().parent != HERE:
            return None
        for usual in LOCATORS:
            locator = None if usual is cls else usual.from_function(function, file)
            if locator is not None:
                locator.get_source_stamp = lambda: SOURCES
                return locator
        return None


LOCATORS.insert(0, _CacheOfLoops)

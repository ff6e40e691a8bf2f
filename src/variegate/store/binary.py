"""Arrays in the binary format of PostgreSQL, one per column of the rows that a statement changes.

The driver looks at every element to find out its type, which took as long as the rest of sending a
statement; here the types of the columns are known.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from struct import Struct, pack
from typing import Any, Final

_HEAD, _EMPTY = Struct("!iiIii"), Struct("!iiI")
_NULL: Final = b"\xff\xff\xff\xff"  # the length -1


class BinaryArray:
    """An array as PostgreSQL receives it; `values` may contain None.

    Parameters
    ----------
    kind
        The type of the elements, a key of `KINDS`.
    """

    __slots__ = ("data",)

    def __init__(self, kind: str, values: Sequence[Any]) -> None:
        oid, pack_values = KINDS[kind]
        has_null = None in values
        packed = _pack_optional(pack_values, values) if has_null else pack_values(values)
        # Dimensions, whether there are nulls, the type; of the one dimension, its length and start.
        head = _HEAD.pack(1, has_null, oid, len(values), 1) if values else _EMPTY.pack(0, 0, oid)
        self.data: Final = head + packed


def array_of_keys(values: Sequence[str | int]) -> BinaryArray:
    """Return an array of ids or of numbers."""
    return BinaryArray("BIGINT" if values and isinstance(values[0], int) else "TEXT", values)


def _pack_optional(pack_values: Callable[[Sequence[Any]], bytes], values: Sequence[Any]) -> bytes:
    return b"".join([_NULL if one is None else pack_values((one,)) for one in values])


def _pack_bytes(values: Iterable[bytes]) -> bytes:
    return b"".join([part for one in values for part in (len(one).to_bytes(4), one)])


def _pack_text(values: Iterable[str]) -> bytes:
    return _pack_bytes([one.encode() for one in values])


def _pack_numbers(code: str, size: int) -> Callable[[Sequence[Any]], bytes]:
    def pack_values(values: Sequence[Any]) -> bytes:
        pairs = [number for one in values for number in (size, one)]
        return pack("!" + f"i{code}" * len(values), *pairs)

    return pack_values


#: The number of a type and how to pack its values, by name
KINDS: Final[Mapping[str, tuple[int, Callable[[Sequence[Any]], bytes]]]] = {
    "TEXT": (25, _pack_text),
    "BYTEA": (17, _pack_bytes),
    "BIGINT": (20, _pack_numbers("q", 8)),
    "BOOLEAN": (16, _pack_numbers("?", 1)),
    "DOUBLE PRECISION": (701, _pack_numbers("d", 8)),
}

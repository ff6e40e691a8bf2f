"""A slate as bytes: what a list taught with when it was shown, to the last digit."""

import secrets
import struct
import time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import IndexArray
from variegate.errors import StateError
from variegate.slate import Slate
from variegate.store import SlateRow

#: Raised when a slate of before can no longer be read as one of now.
_FORMAT: Final = 1
#: The format, the length, and how many features, distances and topics there are.
_SIZES: Final = struct.Struct("<BxHIII")
#: Crockford's digits: no I, L, O or U, so that an id can be read aloud.
_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#: Two at a time, by their ten bits
_PAIRS: Final = [high + low for high in _DIGITS for low in _DIGITS]
#: Made once: a type that is given by its name is looked up for each array.
_ROW, _NUMBER = np.dtype("<i8"), np.dtype("<f8")


def packed_slate(slate: Slate) -> bytes:
    """Return the rows, scores and features of a slate: sizes first, then one part after another."""
    sizes = slate.relevance.shape[1], slate.diversity.shape[1], slate.coverage.shape[1]
    parts = slate.scores, slate.relevance, slate.diversity, slate.coverage
    raw = [_bytes_of(part, _NUMBER) for part in parts if part.size]
    head = _SIZES.pack(_FORMAT, len(slate), *sizes)
    return b"".join([head, _bytes_of(slate.items, _ROW), *raw])


def _bytes_of(part: NDArray[Any], dtype: np.dtype[Any]) -> bytes:
    return (part if part.dtype == dtype else part.astype(dtype)).tobytes()


def unpacked_slate(row: SlateRow) -> Slate:
    """Return the slate of a row, with the features that it was shown with."""
    raw = row.features
    if len(raw) < _SIZES.size or raw[0] != _FORMAT:
        raise StateError(f"slate {row.id!r} is kept in a form that this variegate does not read")
    _, k, d, m, c = _SIZES.unpack_from(raw)
    if len(raw) != _SIZES.size + 8 * k * (2 + d + m + c):
        raise StateError(f"slate {row.id!r} is not as it was written: {len(raw)} bytes")
    items: IndexArray = np.ndarray((k,), _ROW, raw, _SIZES.size)
    # Where scores, z, x and coverage begin, in the order in which they were written.
    scores = _SIZES.size + 8 * k
    z, x, coverage = (scores + 8 * k * numbers for numbers in (1, 1 + d, 1 + d + m))
    return Slate(
        items if items.dtype == np.intp else items.astype(np.intp),
        row.items,
        np.ndarray((k, d), _NUMBER, raw, z),
        np.ndarray((k, m), _NUMBER, raw, x),
        np.ndarray((k,), _NUMBER, raw, scores),
        np.ndarray((k, c), _NUMBER, raw, coverage) if c else np.zeros((k, 0)),
    )


def new_slate_id(now: float, number: int) -> str:
    """Return an id of 26 digits that sorts by time and that nobody can guess.

    `number` sorts those of one moment.
    """
    bits = int(now * 1000) << 80 | (number & 0xFFFF) << 64 | secrets.randbits(64)
    return _written(bits)


def first_slate_id(since: float) -> str:
    """Return the least id that a list of this time, or a later one, can have."""
    return _written(int(since * 1000) << 80)


def _written(bits: int) -> str:
    return "".join([_PAIRS[bits >> shift & 1023] for shift in range(120, -1, -10)])


def current_time() -> float:
    """Return seconds since 1970."""
    return time.time()

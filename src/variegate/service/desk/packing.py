"""A slate as bytes: what a list taught with when it was shown, to the last digit."""

import secrets
import struct
import time
from typing import Final

import numpy as np

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


def packed_slate(slate: Slate) -> bytes:
    """Return the rows, scores and features of a slate: sizes first, then one part after another."""
    sizes = slate.relevance.shape[1], slate.diversity.shape[1], slate.coverage.shape[1]
    parts = slate.scores, slate.relevance, slate.diversity, slate.coverage
    raw = [np.ascontiguousarray(part, dtype="<f8").tobytes() for part in parts]
    head = _SIZES.pack(_FORMAT, len(slate), *sizes)
    return b"".join([head, slate.items.astype("<i8").tobytes(), *raw])


def unpacked_slate(row: SlateRow) -> Slate:
    """Return the slate of a row, with the features that it was shown with."""
    raw = row.features
    if len(raw) < _SIZES.size or raw[0] != _FORMAT:
        raise StateError(f"slate {row.id!r} is kept in a form that this variegate does not read")
    _, k, d, m, c = _SIZES.unpack_from(raw)
    if len(raw) != _SIZES.size + 8 * k * (2 + d + m + c):
        raise StateError(f"slate {row.id!r} is not as it was written: {len(raw)} bytes")
    items: IndexArray = np.frombuffer(raw, "<i8", k, _SIZES.size).astype(np.intp)
    numbers = np.frombuffer(raw, "<f8", offset=_SIZES.size + 8 * k)
    ends = k, k + k * d, k + k * (d + m)
    return Slate(
        items,
        row.items,
        numbers[ends[0] : ends[1]].reshape(k, d),
        numbers[ends[1] : ends[2]].reshape(k, m),
        numbers[:k],
        numbers[ends[2] :].reshape(k, c),
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
    return "".join(_DIGITS[bits >> shift & 31] for shift in range(125, -1, -5))


def current_time() -> float:
    """Return seconds since 1970."""
    return time.time()

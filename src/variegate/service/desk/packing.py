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
_SIZES: Final = struct.Struct("<BHIII")
#: Crockford's digits: no I, L, O or U, so that an id can be read aloud.
_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def packed_slate(slate: Slate) -> bytes:
    """Return the rows, features and scores of a slate: four sizes, then a line for each item."""
    widths = slate.relevance.shape[1], slate.diversity.shape[1], slate.coverage.shape[1]
    lines = np.empty((len(slate), 2 + sum(widths)), dtype="<f8")
    lines[:, 0], lines[:, 1] = slate.items, slate.scores
    np.concatenate([slate.relevance, slate.diversity, slate.coverage], axis=1, out=lines[:, 2:])
    return _SIZES.pack(_FORMAT, len(slate), *widths) + lines.tobytes()


def unpacked_slate(row: SlateRow) -> Slate:
    """Return the slate of a row, with the features that it was shown with."""
    if len(row.features) < _SIZES.size or row.features[0] != _FORMAT:
        raise StateError(f"slate {row.id!r} is kept in a form that this variegate does not read")
    _, k, d, m, c = _SIZES.unpack_from(row.features)
    size = len(row.features) - _SIZES.size
    if k != len(row.items) or size != 8 * k * (2 + d + m + c):
        raise StateError(f"slate {row.id!r} is not as it was written: {size} bytes")
    lines = np.frombuffer(row.features, dtype="<f8", offset=_SIZES.size)
    table = lines.reshape(k, -1).astype(np.float64)
    relevance, diversity, coverage = np.split(table[:, 2:], [d, d + m], axis=1)
    items: IndexArray = table[:, 0].astype(np.intp)
    return Slate(items, row.items, relevance, diversity, table[:, 1], coverage)


def new_slate_id(now: float) -> str:
    """Return an id of 26 digits that sorts by time and that nobody can guess."""
    number = int(now * 1000) << 80 | secrets.randbits(80)
    return "".join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


def current_time() -> float:
    """Return seconds since 1970."""
    return time.time()
